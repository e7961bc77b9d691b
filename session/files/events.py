"""From outputs to the events of an incident: what each holds, the facts of its node, and the log lines rules know.

The log lines and facts are those that a live node streams, so that the same rules read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ...incident.events import Event, Fact, FactsRead, LogRead, NodeState, NodeStateChanged, OutputRead
from ...incident.ids import ComponentId, NodeId
from ...incident.source import ReadOutput
from ...parsers.logs.kernel_log import KernelLine
from ...parsers.logs.log_stamp import Clock, Stamp
from ...signals.wording import NO_DAY
from ...topology.fabric import Fabric
from .handed_in import HandedIn

FACTS = {"bus_address": "bus_address", "model": "name", "serial": "serial", "uuid": "uuid"}
"""What the graph calls a fact of a part, and what a node's own facts call it."""
KINDS = ("gpu", "nic", "nvswitch")
MOST_LINES = 400
"""Log lines of a node that become events, the first and the last of each half; the readings have all of them."""


def events_of(outputs: Iterable[HandedIn], fabric: Fabric) -> Iterator[Event | ReadOutput]:
    """Node by node: that it is there, its facts, its log lines in their order; then every output with its readings."""
    handed = tuple(outputs)
    for node in dict.fromkeys(one.node for one in handed):
        mine = [one for one in handed if one.node == node]
        yield NodeStateChanged(time=_latest(mine), node=node, state=NodeState.LIVE)
        if facts := tuple(_facts(fabric, node)):
            yield FactsRead(time=0.0, node=node, source="files", facts=facts)
        yield from _log_lines(mine)
    yield from (_output(one) for one in handed)


def _output(one: HandedIn) -> ReadOutput:
    section = one.section
    readings = tuple(section.parsed.readings) if section.parsed is not None else ()
    event = OutputRead(
        time=one.taken or 0.0,
        node=one.node,
        path=section.name,
        first_line=section.first_line,
        tool=section.tool.name if section.tool is not None else "",
        readings=len(readings),
        moment=one.moment,
        taken=one.taken,
        command=section.command,
        notes=section.notes,
    )
    return ReadOutput(event, readings)


def _latest(outputs: Iterable[HandedIn]) -> float:
    return max((one.taken or 0.0 for one in outputs), default=0.0)


def _facts(fabric: Fabric, node: NodeId) -> Iterator[Fact]:
    parts: Iterable[ComponentId] = chain(fabric.gpus(node), fabric.nics(node), fabric.nvswitches(node))
    for part in parts:
        known = fabric.facts(part)
        for theirs, ours in FACTS.items():
            value = known.get(theirs)
            if isinstance(value, str | int | float | bool):
                yield Fact(part, ours, value)


def _log_lines(outputs: Iterable[HandedIn]) -> Iterator[LogRead]:
    """Kernel lines in the order of their times, of one that has none in that of the files."""
    lines = [
        (at, one, line)
        for at, one in enumerate(outputs)
        if one.section.parsed is not None
        for line in one.section.parsed.readings
        if isinstance(line, KernelLine) and line.text
    ]
    lines.sort(key=lambda found: (found[1].moment, found[2].stamp.seconds if found[2].stamp else 0.0, found[0]))
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES // 2], *lines[-MOST_LINES // 2 :]]
    for _, one, line in lines:
        seconds = _seconds(line.stamp)
        yield LogRead(
            time=seconds or 0.0,
            node=one.node,
            source=f"{one.section.name}:{line.number}",
            text=line.text,
            node_time=seconds,
        )


def _seconds(stamp: Stamp | None) -> float | None:
    """When a line says it happened, on whichever clock of its node it counts."""
    if stamp is None:
        return None
    return NO_DAY + stamp.seconds if stamp.clock is Clock.DAYLESS else stamp.seconds
