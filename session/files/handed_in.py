"""Outputs of tools in whatever was handed in: files, folders, archives, bug reports, cases and bundles."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...incident.errors import EvidenceError
from ...incident.ids import NodeId
from ...parsers.intake import Section, read
from ..recorded import is_bundle, recorded_in_bundle, recorded_in_case
from .found import FoundFile, Passed, Recording, found_below
from .whose import moment_of, node_of_file, owners


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
    sections: list[Section] = []
    recorded: list[HandedIn] = []
    for one in found_below(paths):
        match one:
            case FoundFile():
                sections += _read(one)
            case Recording():
                recorded += _recorded(one)
            case Passed(name, why):
                sections.append(_unread(name, why))
    owner = owners(sections)
    for section in sections:
        node, note = node_of_file(section, owner)
        told = replace(section, notes=(*section.notes, note)) if note and section.tool else section
        yield HandedIn(told, node, moment_of(section.name), None)
    yield from recorded


def _read(file: FoundFile) -> Iterator[Section]:
    try:
        with file.open() as stream:
            yield from read(file.name, stream)
    except (OSError, EOFError, zlib.error, ValueError, RuntimeError, NotImplementedError) as error:
        why = getattr(error, "strerror", None) or str(error)[:200] or type(error).__name__
        yield _unread(file.name, f"can't be read: {why}")


def _recorded(one: Recording) -> Iterator[HandedIn]:
    """What commands printed on nodes, as a case or a bundle of ours kept it."""
    try:
        found = recorded_in_bundle(one.path, None) if is_bundle(one.path) else recorded_in_case(one.path, None)
    except EvidenceError as error:
        yield HandedIn(_unread(one.name, str(error)), NodeId("unknown"), "", None)
        return
    for event, data in found.outputs:
        name = f"{one.name}/{event.node}/{' '.join(event.argv)}"
        for section in read(name, io.BytesIO(data)):
            yield HandedIn(section, event.node, "", event.ended)
    for note in found.notes:
        yield HandedIn(_unread(one.name, note), NodeId("unknown"), "", None)


def _unread(name: str, why: str) -> Section:
    return Section(name, "", None, None, 0, (why,))
