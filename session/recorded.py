"""A case folder or a bundle, folded to what its nodes said and what commands printed on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..evidence.case import Case, entries
from ..evidence.journal import read_lines
from ..evidence.names import raw_folders
from ..evidence.safe_open import SafeArchive
from ..incident.errors import EvidenceError, InputError
from ..incident.events import CommandEnded, Entry
from ..incident.fold import Incident
from ..incident.snapshot import NodeView, Snapshot

CASE_FILE = "case.json"
JOURNAL = "journal.jsonl"
BUNDLE = ".evb.zip"
LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an incident left behind."""

    nodes: tuple[NodeView, ...]
    outputs: tuple[tuple[CommandEnded, bytes], ...]
    """Of the chosen commands that ended well."""
    notes: tuple[str, ...] = ()
    """What could not be read, one sentence each."""


def is_case(path: Path) -> bool:
    """Whether a folder is one that a session keeps."""
    return (path / JOURNAL).is_file() and (path / CASE_FILE).is_file()


def is_bundle(path: Path) -> bool:
    """Whether a file is named as a bundle."""
    return path.name.endswith(BUNDLE) and path.is_file()


def recorded_in_case(path: Path, argvs: Iterable[tuple[str, ...]] | None) -> Recorded:
    """Read a case folder, of `argvs` or else of all commands; raises InputError for one that is none."""
    damage: list[str] = []
    case = Case.open(path)
    snapshot = _folded(entries(path, damage))
    return _recorded(snapshot, argvs, lambda _, event: case.bytes_of(event.stdout), damage)


def recorded_in_bundle(path: Path, argvs: Iterable[tuple[str, ...]] | None) -> Recorded:
    """Read a bundle in place, within limits; raises EvidenceError for one that is unsafe, cut or altered.

    Whether it is as it was written says `lanescope verify`.
    """
    damage: list[str] = []
    try:
        with SafeArchive(path) as archive:
            lines = read_lines(_lines(archive.blocks(f"data/{JOURNAL}")), damage)
            snapshot = _folded(_known(line.entry for line in lines))
            folders = raw_folders(snapshot.commands)
            return _recorded(snapshot, argvs, lambda id_, _: archive.read(f"data/{folders[id_]}/stdout"), damage)
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from error


def _folded(found: Iterable[Entry]) -> Snapshot:
    incident = Incident()
    for entry in found:
        incident.apply(entry)
    return incident.snapshot()


def _known(found: Iterable[Callable[[], Entry]]) -> Iterator[Entry]:
    """Entries without those that are redacted."""
    for entry in found:
        try:
            yield entry()
        except msgspec.ValidationError:
            continue


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines with their ends; one that never ends is cut."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from (line + b"\n" for line in whole)
        if len(rest) > LONGEST_LINE:
            break
    if rest:
        yield rest


def _recorded(
    snapshot: Snapshot,
    argvs: Iterable[tuple[str, ...]] | None,
    output: Callable[[str, CommandEnded], bytes],
    damage: list[str],
) -> Recorded:
    chosen, found = None if argvs is None else set(argvs), []
    for id_, event in snapshot.commands:
        if (chosen is None or event.argv in chosen) and event.exit_status == 0:
            try:
                found.append((event, output(id_, event)))
            except EvidenceError as error:
                damage.append(f"{event.node}/{' '.join(event.argv)}: {error}")
    return Recorded(tuple(snapshot.nodes.values()), tuple(found), tuple(damage))
