"""In which versions and settings equal nodes and parts differ, and who is the odd one out.

Equals are GPUs of one model, adapters and switches of one board, nodes with GPUs of one model. With fewer than three of
them, or without a majority, nobody is odd: then it is a difference. What is a node's own by nature (names, addresses,
where its root file system lies) is no setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..incident.ids import ComponentId, NodeId, host_id
from ..incident.snapshot import FactValue, NodeView
from .drift_readings import told_by_tools
from .identity import cached_by_identity
from .kernel_words import only_differing, words_of
from .odd_ones import difference
from .readings import UNKNOWN_NODE, Readings
from .statements import BIOS, COMMAND_LINE, MACHINE, Statement

FACTS_OF_NODES: Mapping[str, str] = {"driver_version": "driver", "kernel": "kernel"}
FACTS_OF_GPUS: Mapping[str, str] = {"vbios": "VBIOS", "part_number": "board part number"}
MODEL, BOARD = "name", "board_id"
"""Facts by which a GPU and an adapter are equals of others."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing that equals don't agree on."""

    what: str
    """`driver`, `VBIOS`, ...: a word of `statements.KINDS`."""
    equals: str
    """What makes them equals: a model or board; empty of nodes whose GPUs nobody names."""
    said: Mapping[ComponentId, str]
    usual: str | None
    """What most say; None where nobody is the odd one."""
    evidence: Mapping[ComponentId, str]

    @property
    def odd(self) -> tuple[ComponentId, ...]:
        """Those that say otherwise than most; empty where nobody can be called odd."""
        return () if self.usual is None else tuple(part for part, value in self.said.items() if value != self.usual)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, and what came of it."""

    drifts: tuple[Drift, ...]
    compared: tuple[str, ...]
    """Things that at least two equals told of."""
    nodes: tuple[NodeId, ...]


def compare_fleet(views: Iterable[NodeView], readings: Readings) -> Comparison:
    """All that nodes and their tools say, equals against equals; of one part the newest word counts."""
    newest: dict[tuple[str, ComponentId], Statement] = {}
    for one in _statements(views, readings):
        newest[one.what, one.part] = one
    groups: dict[tuple[str, str], list[Statement]] = {}
    for one in _in_groups(newest):
        groups.setdefault((one.what, one.equals), []).append(one)
    told = {key: _of_whole_nodes(group) for key, group in groups.items()}
    compared = {what: None for (what, _), group in told.items() if len(group) > 1}
    drifts = (_drift(what, equals, group) for (what, equals), group in told.items())
    nodes = dict.fromkeys(part.node for _, part in newest)
    return Comparison(tuple(one for one in drifts if one is not None), tuple(compared), tuple(map(NodeId, nodes)))


def _statements(views: Iterable[NodeView], readings: Readings) -> Iterator[Statement]:
    for view in views:
        if view.id != UNKNOWN_NODE and view.facts_id:
            for one in _of_facts(view.facts):
                yield replace(one, evidence=view.facts_id)
    yield from told_by_tools(readings)


@cached_by_identity(size=4096)
def _of_facts(facts: Mapping[tuple[ComponentId, str], FactValue]) -> tuple[Statement, ...]:
    """What a node's facts say, without the event that they stand in."""
    found = []
    for (part, key), value in facts.items():
        if not isinstance(value, str) or not value:
            continue
        if part.kind == "node" and (what := FACTS_OF_NODES.get(key)):
            found.append(Statement(what, "", host_id(part), value))
        elif part.kind == "node" and key == "kernel_cmdline":
            found.append(Statement(COMMAND_LINE, "", host_id(part), words_of(value)))
        elif part.kind == "gpu" and (what := FACTS_OF_GPUS.get(key)):
            found.append(Statement(what, str(facts.get((part, MODEL)) or ""), part, value))
        elif part.kind == "nic" and key == "firmware":
            found.append(Statement("NIC firmware", str(facts.get((part, BOARD)) or ""), part, value))
    models = sorted({str(value) for (part, key), value in facts.items() if part.kind == "gpu" and key == MODEL})
    return tuple(replace(one, equals=", ".join(models)) if one.part.kind == "host" and models else one for one in found)


def _in_groups(newest: Mapping[tuple[str, ComponentId], Statement]) -> Iterator[Statement]:
    """Statements with what makes their parts equals: of nodes their GPUs, of a BIOS the machine."""
    models: dict[str, set[str]] = {}
    machines: dict[str, str] = {}
    for one in newest.values():
        if one.part.kind == "gpu" and one.equals:
            models.setdefault(one.part.node, set()).add(one.equals)
        elif one.part.kind == "host" and one.equals:
            models.setdefault(one.part.node, set()).update(one.equals.split(", "))
        if one.what == MACHINE:
            machines[one.part.node] = one.value
    known = {", ".join(sorted(of)) for of in models.values()}
    only = next(iter(known)) if len(known) == 1 else ""
    for one in newest.values():
        if one.what == BIOS:
            yield replace(one, equals=machines.get(one.part.node, ""))
        elif one.part.kind == "host":
            own = ", ".join(sorted(models.get(one.part.node, ())))
            yield replace(one, equals=own or only)
        else:
            yield one


def _of_whole_nodes(group: list[Statement]) -> list[Statement]:
    """Parts of one node that agree speak as their node, where there is another node to compare with."""
    by_node: dict[NodeId, list[Statement]] = {}
    for one in group:
        by_node.setdefault(one.part.node, []).append(one)
    agree = all(len({one.value for one in own}) == 1 for own in by_node.values())
    if len(by_node) < 2 or not agree or any(one.part.kind == "node" for one in group):
        return group
    return [replace(own[0], part=host_id(node)) for node, own in by_node.items()]


def _drift(what: str, equals: str, group: list[Statement]) -> Drift | None:
    found = difference({one.part: one.value for one in group})
    if found is None:
        return None
    said, usual = found.said, found.usual
    if what == COMMAND_LINE:
        shown = only_differing(said.values())
        said, usual = {part: shown[value] for part, value in said.items()}, shown[usual] if usual is not None else None
    return Drift(what, equals, said, usual, {one.part: one.evidence for one in group})
