"""The fabric of what a person points at: files of tools' outputs, a case folder, or live nodes."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..incident.events import NodeState
from ..incident.ids import NodeId
from ..incident.snapshot import NodeView
from ..parsers.intake import Section, read
from ..signals.readings import UNKNOWN_NODE
from ..topology.claims import NodeClaims
from ..topology.expected import Deviation, compare
from ..topology.fabric import Fabric
from ..topology.gather import Gathered, gather
from ..topology.merge import merge
from ..topology.sources.facts import claims_of
from ..topology.sources.inventory import claims_of as places_of
from ..topology.sources.inventory import read_inventory
from .files.handed_in import HandedIn, with_recordings
from .recorded import Recorded
from .session import Session

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
    root = paths[0].resolve().name if paths[0].is_dir() else paths[0].stem
    for one in with_recordings(paths, RECORDED):
        if isinstance(one, HandedIn):
            sections.append(replace(one.section, host=root if one.node == UNKNOWN_NODE else str(one.node)))
        else:
            claims += [claims_of(view) for view in one[1].nodes if view.facts]
            sections += _recorded_sections(*one)
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


def _recorded_sections(name: str, found: Recorded) -> Iterator[Section]:
    """What commands printed on nodes, as if it came from them now."""
    for event, data in found.outputs:
        yield from _read_whole(f"{event.node}/{' '.join(event.argv)}", event.node, data)
    for note in found.notes:
        yield Section(name, "", None, None, 0, (note,))
