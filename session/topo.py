"""The fabric of what a person points at: files of tools' outputs, a case folder, or live nodes."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..incident.errors import EvidenceError, InputError
from ..incident.events import NodeState
from ..incident.ids import NodeId
from ..incident.snapshot import NodeView
from ..parsers.intake import Section, read
from ..topology.claims import NodeClaims
from ..topology.expected import Deviation, compare
from ..topology.fabric import Fabric
from ..topology.gather import Gathered, gather
from ..topology.merge import merge
from ..topology.sources.facts import claims_of
from ..topology.sources.inventory import claims_of as places_of
from ..topology.sources.inventory import read_inventory
from .recorded import Recorded, is_bundle, is_case, recorded_in_bundle, recorded_in_case
from .session import Session

MOST_FILES = 5_000
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi", "-q"),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "nvlink", "-R"),
    ("lspci", "-vvv"),
)
"""Read-only commands that say more of the wiring than the collector reads."""
RECORDED = (*COMMANDS, ("nvidia-smi", "nvlink", "-s"), ("ibstat",))
"""What is read of a case or bundle: the same, and what else that was collected tells of wiring."""
PER_COMMAND = 20.0
"""Seconds a command may take."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A fabric, how it differs from its platforms, and what it was read from."""

    fabric: Fabric
    deviations: tuple[Deviation, ...]
    used: tuple[str, ...]
    unused: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 nothing found, 1 contradictions or parts that are missing or downgraded, 3 nothing could be read."""
        if not self.fabric.nodes and not self.fabric.netswitches:
            return 3
        return 1 if self.fabric.contradictions or any(one.standing.is_fault for one in self.deviations) else 0

    def document(self) -> dict[str, Any]:
        """What `topo --json` prints."""
        return {
            "fabric": self.fabric.to_json(),
            "deviations": [
                {
                    "component": str(one.component), "what": one.what, "standing": str(one.standing),
                    "expected": one.expected, "seen": one.seen, "reason": one.reason,
                    "source": str(one.source) if one.source else None,
                }
                for one in self.deviations
            ],
            "used": list(self.used),
            "unused": list(self.unused),
            "remarks": list(self.remarks),
        }  # fmt: skip


def topology_of_paths(paths: Sequence[Path], inventory: Path | None = None) -> Topology:
    """What files and folders say together; raises InputError for a path that can't be read at all."""
    claims: list[NodeClaims] = []
    sections: list[Section] = []
    for path in paths:
        for found in _found(path):
            if isinstance(found, Recorded):
                claims += [claims_of(view) for view in found.nodes if view.facts]
                sections += _recorded_sections(found, path)
            else:
                sections.append(found)
    root = paths[0].resolve().name if paths[0].is_dir() else paths[0].stem
    gathered = gather(sections, root, claims)
    return _topology([*claims, *gathered.claims], gathered, inventory)


async def topology_of_session(session: Session, inventory: Path | None = None) -> Topology:
    """What live nodes say: their facts, and the outputs of `COMMANDS`, which go into the case as well."""
    views = session.snapshot().nodes.values()
    outputs = await asyncio.gather(*(_outputs(session, view.id) for view in views if view.state is NodeState.LIVE))
    sections = [section for node_sections in outputs for section in node_sections]
    sections += [_silent(view) for view in views if view.state is not NodeState.LIVE]
    claims = [claims_of(view) for view in session.snapshot().nodes.values() if view.facts]
    gathered = await asyncio.to_thread(gather, sections, "node", claims)
    return await asyncio.to_thread(_topology, [*claims, *gathered.claims], gathered, inventory)


def _topology(claims: Sequence[NodeClaims], gathered: Gathered, inventory: Path | None) -> Topology:
    if inventory is not None:
        nodes = [said.node for said in claims if said.node is not None]
        claims = [*claims, *places_of(read_inventory(inventory), inventory, dict.fromkeys(nodes))]
    fabric = merge(claims)
    return Topology(fabric, compare(fabric), gathered.used, gathered.unused, gathered.remarks)


async def _outputs(session: Session, node: NodeId) -> list[Section]:
    sections: list[Section] = []
    for argv in COMMANDS:
        output = await session.source.run_command(node, argv, PER_COMMAND)
        session.record_output(output)
        name = f"{node}/{' '.join(argv)}"
        if output.exit_status != 0:
            why = output.why or f"exit status {output.exit_status}"
            sections.append(Section(name, node, None, None, 0, (why,)))
        else:
            sections += await asyncio.to_thread(_read_whole, name, node, output.stdout)
    return sections


def _read_whole(name: str, node: NodeId, data: bytes) -> list[Section]:
    """The outputs in one command's, all of them its node's, whoever they name."""
    return [
        Section(one.name, node, one.tool, one.parsed, one.first_line, one.notes) for one in read(name, io.BytesIO(data))
    ]


def _silent(view: NodeView) -> Section:
    return Section(str(view.id), view.id, None, None, 0, (f"{view.state}: {view.reason}",))


def _recorded_sections(found: Recorded, path: Path) -> Iterator[Section]:
    """What commands printed on nodes, as if it came from them now."""
    for event, data in found.outputs:
        yield from _read_whole(f"{event.node}/{' '.join(event.argv)}", event.node, data)
    for note in found.notes:
        yield Section(path.name, "", None, None, 0, (note,))


def _found(path: Path) -> Iterator[Section | Recorded]:
    """What a path holds: cases and bundles wherever they lie, the outputs in all other files; no link is followed."""
    if is_case(path):
        yield recorded_in_case(path, RECORDED)
    elif path.is_file():
        yield from _file(path, path.name)
    elif path.is_dir():
        yield from _folder(path)
    else:
        raise InputError(f"{path} is neither a file nor a folder; name outputs of tools, or hosts")


def _folder(folder: Path) -> Iterator[Section | Recorded]:
    for number, path in enumerate(_paths(folder)):
        if number == MOST_FILES:
            yield Section(str(folder), "", None, None, 0, (f"only the first {MOST_FILES} files were read",))
            return
        try:
            if path.is_dir():
                yield recorded_in_case(path, RECORDED)
            else:
                yield from _file(path, str(path.relative_to(folder)))
        except EvidenceError as error:
            yield Section(str(path.relative_to(folder)), "", None, None, 0, (str(error),))


def _paths(folder: Path) -> Iterator[Path]:
    """Files and case folders below a folder."""
    for place, folders, names in os.walk(folder, followlinks=False):
        here = sorted(Path(place, name) for name in folders if not name.startswith("."))
        cases = [path for path in here if is_case(path) and not path.is_symlink()]
        yield from cases
        folders[:] = [path.name for path in here if path not in cases]
        for name in sorted(names):
            file = Path(place, name)
            if file.is_file() and not file.is_symlink():
                yield file


def _file(path: Path, name: str) -> Iterator[Section | Recorded]:
    if is_bundle(path):
        yield recorded_in_bundle(path, RECORDED)
        return
    try:
        with path.open("rb") as stream:
            yield from read(name, stream)
    except OSError as error:
        yield Section(name, "", None, None, 0, (f"can't be read: {error.strerror}",))
