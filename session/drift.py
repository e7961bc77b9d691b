"""In what equal nodes and parts differ: of files that a person points at, or of live nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..incident.events import NodeState
from ..incident.ids import NodeId
from ..incident.snapshot import NodeView
from ..incident.source import CommandOutput
from ..signals.drift import Comparison, compare_fleet
from ..signals.drift_readings import SETTINGS
from ..signals.readings import Moment, Output, Readings
from ..topology.text import folded
from .files.handed_in import HandedIn, with_recordings
from .outputs import outputs_of_command
from .session import Session

SURVEY: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi", "-q"),
    ("grep", "-H", ".", *(f"/sys/class/dmi/id/{name}" for name in ("bios_version", "product_name", "board_name"))),
    ("ofed_info", "-s"),
    ("nv-fabricmanager", "--version"),
    ("sysctl", "-e", *sorted(SETTINGS)),
)
"""Read-only commands for what the collector does not read; what a node lacks is left out."""
PER_COMMAND = 20.0
"""Seconds a command may take."""
MOST_NOTES = 40
MOST_SHOWN = 100
"""Characters of a value in the table."""


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """What differs, what was compared, and what could not be read."""

    comparison: Comparison
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 all equals agree, 1 some don't, 3 there was nothing to compare."""
        if not self.comparison.compared:
            return 3
        return 1 if self.comparison.drifts else 0

    def document(self) -> dict[str, Any]:
        """What `drift --json` prints."""
        return {
            "drift": [
                {
                    "what": one.what,
                    "equals": one.equals or None,
                    "usual": one.usual,
                    "odd": [str(part) for part in one.odd],
                    "values": {str(part): value for part, value in one.said.items()},
                }
                for one in self.comparison.drifts
            ],
            "compared": list(self.comparison.compared),
            "nodes": [str(node) for node in self.comparison.nodes],
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The same as a table, without anything that a terminal could take for a command."""
        lines = list(_table(self.comparison))
        shown = self.notes[:MOST_NOTES]
        left = len(self.notes) - len(shown)
        lines += ["", *(f"not compared: {note}" for note in shown)] if shown else []
        lines += [f"and {left} more notes"] if left else []
        return "\n".join("".join(c if c.isprintable() else "\ufffd" for c in line) for line in lines) + "\n"


def drift_of_paths(paths: Sequence[Path]) -> FleetDrift:
    """Of files, folders, archives, cases and bundles; raises InputError for a path that is not there."""
    views: list[NodeView] = []
    outputs: list[Output] = []
    notes: list[str] = []
    for one in with_recordings(paths, SURVEY):
        if isinstance(one, HandedIn):
            outputs += _output_of(one, len(outputs))
            notes += _note_of(one)
        else:
            name, recorded = one
            views += [view for view in recorded.nodes if view.facts]
            notes += [f"{name}: {note}" for note in recorded.notes]
            for event, data in recorded.outputs:
                run = CommandOutput(event.node, event.argv, event.exit_status, data, b"", event.started, event.ended)
                outputs += outputs_of_command(name, run)
    return FleetDrift(compare_fleet(views, Readings(tuple(outputs))), tuple(notes))


async def drift_of_session(session: Session) -> FleetDrift:
    """Of live nodes: their facts, and the outputs of `SURVEY`, which go into the case as well."""
    views = tuple(session.snapshot().nodes.values())
    await asyncio.gather(*(_survey(session, view.id) for view in views if view.state is NodeState.LIVE))
    readings = await session.readings()
    notes = tuple(f"{view.id}: {view.state}: {view.reason}" for view in views if view.state is not NodeState.LIVE)
    live = [view for view in session.snapshot().nodes.values() if view.state is NodeState.LIVE]
    return FleetDrift(await asyncio.to_thread(compare_fleet, live, readings), notes)


async def _survey(session: Session, node: NodeId) -> None:
    for argv in SURVEY:
        session.record_output(await session.source.run_command(node, argv, PER_COMMAND))


def _output_of(one: HandedIn, number: int) -> Sequence[Output]:
    section = one.section
    if section.tool is None or section.parsed is None:
        return ()
    moment = Moment(one.moment, one.taken)
    return (Output(f"F{number}", one.node, section.tool.name, section.name, moment, tuple(section.parsed.readings)),)


def _note_of(one: HandedIn) -> Sequence[str]:
    return [f"{one.section.name}: {note}" for note in one.section.notes] if one.section.tool is None else ()


def _table(comparison: Comparison) -> Sequence[str]:
    if not comparison.compared:
        return ["nothing to compare: no two equal nodes or parts say the same kind of thing"]
    nodes = folded(comparison.nodes)
    lines = [f"{nodes}: compared {', '.join(comparison.compared)}"]
    if not comparison.drifts:
        return [*lines, "no drift: all equals agree"]
    for one in comparison.drifts:
        of = f" of {one.equals}" if one.equals else ""
        lines += ["", f"{one.what}{of}" + ("" if one.usual is not None else ": differs, nobody is the odd one out")]
        parts: dict[str, list[str]] = {}
        for part, value in one.said.items():
            parts.setdefault(value, []).append(str(part.node if part.kind == "host" else part))
        for value, told in sorted(parts.items(), key=lambda item: -len(item[1])):
            mark = "odd  " if one.usual is not None and value != one.usual else "     "
            lines.append(f"  {mark}{value[:MOST_SHOWN]}  {_names(told)}")
    return lines


def _names(parts: Sequence[str]) -> str:
    """Nodes folded; parts one after the other, the first of many."""
    if all("/" not in part for part in parts):
        return folded(parts)
    return ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
