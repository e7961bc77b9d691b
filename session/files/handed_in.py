"""Outputs of tools in whatever was handed in: files, folders, archives, bug reports, cases and bundles."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...incident.errors import EvidenceError, InputError
from ...incident.ids import NodeId
from ...parsers.intake import Section, read
from ...signals.readings import UNKNOWN_NODE
from ..recorded import Recorded, is_bundle, recorded_in_bundle, recorded_in_case
from .archives import DAMAGED
from .found import FoundFile, Passed, Recording, found_below
from .names import shown
from .places import moment_of
from .whose import with_nodes


@dataclass(frozen=True, slots=True)
class HandedIn:
    """One output in what was handed in, or why something in it was not read (a section without a tool, with notes)."""

    section: Section
    node: NodeId
    """`UNKNOWN_NODE` where neither text nor folder says whose it is."""
    moment: str
    """`t0`, `t1`, ... of a point in time; empty where nothing says."""
    taken: float | None
    """When it was printed, in seconds since the epoch, where the text says."""


def handed_in(paths: Sequence[Path]) -> Iterator[HandedIn]:
    """Every output in these paths; raises InputError for a path that is not there.

    Whose an output is may be told by others, so all are read before the first is given.
    """
    for one in with_recordings(paths, None):
        if isinstance(one, HandedIn):
            yield one
        else:
            yield from _outputs(*one)


def with_recordings(
    paths: Sequence[Path], argvs: Iterable[tuple[str, ...]] | None
) -> Iterator[HandedIn | tuple[str, Recorded]]:
    """The same, but cases and bundles as they are, by name, with the outputs of `argvs` or of all commands.

    Raises EvidenceError for one of `paths` that is a bundle and can't be opened.
    """
    sections: list[Section] = []
    for one in found_below(paths):
        match one:
            case FoundFile():
                sections += _read(one)
            case Recording(name, path):
                try:
                    yield name, recorded_in_bundle(path, argvs) if is_bundle(path) else recorded_in_case(path, argvs)
                except (EvidenceError, InputError) as error:
                    if path in paths:
                        raise
                    sections.append(_unread(name, str(error)))
            case Passed(name, why):
                sections.append(_unread(name, why))
    for section, node in with_nodes(sections):
        yield HandedIn(section, node, moment_of(section.name), section.taken)


def _read(file: FoundFile) -> Iterator[Section]:
    """The outputs in a file, each with the last time that was told above it."""
    taken = None
    try:
        for section in read(file.name, file.stream, file.first_line):
            taken = section.taken or taken
            yield replace(section, taken=taken)
    except DAMAGED as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        yield _unread(file.name, f"can't be read: {shown(why)}")


def _outputs(name: str, found: Recorded) -> Iterator[HandedIn]:
    """What commands printed on nodes, as a case or a bundle of ours kept it."""
    for event, data in found.outputs:
        for section in read(f"{name}/{event.node}/{' '.join(event.argv)}", io.BytesIO(data)):
            yield HandedIn(section, event.node, "", event.ended)
    for note in found.notes:
        yield HandedIn(_unread(name, note), UNKNOWN_NODE, "", None)


def _unread(name: str, why: str) -> Section:
    return Section(name, "", None, None, 0, (why,))
