"""Variants of a probe by name: `rdma_write@gid=3,tc=106` is `rdma_write` with that GID index and traffic class.

The options stand in the name, so that what was recorded under it says how it was run.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from ..incident.errors import InputError
from .probe import Probe

MARK = "@"
LONGEST_NUMBER = 6


@runtime_checkable
class HasVariants(Protocol):
    """A probe that can be run in other ways."""

    def with_options(self, options: Mapping[str, int]) -> Probe:
        """The probe with options; raises InputError for one that it does not take."""


def variant(name: str, catalogue: Mapping[str, Probe]) -> Probe:
    """The probe of a name; raises InputError that names what there is."""
    plain, mark, options = name.partition(MARK)
    probe = catalogue.get(plain)
    if probe is None:
        near = difflib.get_close_matches(plain, catalogue, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(catalogue))}"
        raise InputError(f"no probe is called {plain!r}; {hint}")
    if not mark:
        return probe
    if not isinstance(probe, HasVariants):
        raise InputError(f"{plain} has no variants; leave away {MARK}{options}")
    return probe.with_options(_options(name, options))


def _options(name: str, text: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for pair in text.split(","):
        key, _, value = pair.partition("=")
        if not value.isdecimal() or len(value) > LONGEST_NUMBER or key in found:
            raise InputError(f"{name!r} is no variant; write it as rdma_write{MARK}gid=3,tc=106")
        found[key] = int(value)
    return found
