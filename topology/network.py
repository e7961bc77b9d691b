"""The network between nodes: cables from NICs to leaves, bundles of cables between switches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..incident.ids import ComponentId, host_id
from .addresses import natural
from .agreement import agree
from .claims import CableClaim, Contradiction, PartClaim, Source, Value
from .opinions import Opinions
from .shared_graph import Facts, Graph, connect, put_part

UP = frozenset({"active", "up", "linkup", "link up", "arm", "armed"})
DOWN = frozenset({"down", "disabled", "polling", "sleep", "inactive"})
TIERS: Mapping[str, int] = {"leaf": 0, "spine": 1, "core": 2}


@dataclass(frozen=True, slots=True, order=True)
class Socket:
    """One end of a cable."""

    part: ComponentId
    port: str
    """`port12`, or the port's own name."""


@dataclass(slots=True)
class Cable:
    """Both ends, the one nearer to the nodes first, and what is said about it."""

    near: Socket
    far: Socket
    facts: dict[str, Value] = field(default_factory=dict)
    said: dict[str, Source] = field(default_factory=dict)


class Network:
    """What is said about the network; claims come in the order of trust."""

    def __init__(self, opinions: Opinions, graph: Graph) -> None:
        self._opinions = opinions
        self._graph = graph
        self._cables: dict[tuple[Socket, Socket], Cable] = {}
        self._taken: dict[Socket, Socket] = {}
        self.contradictions: list[Contradiction] = []
        """What the network says otherwise than the nodes."""

    def hear_part(self, claim: PartClaim) -> None:
        """Take a switch, or what the network says of a NIC or host, into account."""
        self._opinions.say_all(claim.part, claim.facts, claim.source)
        kind = claim.kind
        if claim.part not in self._graph:
            put_part(self._graph, claim.part, {"kind": kind, "known": kind == "netswitch"})
            self._add_host(claim.part, kind)

    def hear_cable(self, claim: CableClaim) -> None:
        """Take one cable into account; an end that is plugged in elsewhere already contradicts."""
        here, there = Socket(claim.here, port_name(claim.here_port)), Socket(claim.there, port_name(claim.there_port))
        for end in (here.part, there.part):
            if end not in self._graph:
                kind = "nic" if "/" in end else "netswitch"
                put_part(self._graph, end, {"kind": kind, "known": False})
                self._add_host(end, kind)
        near, far = sorted((here, there), key=self._order)
        if self._is_taken(near, far, claim.source) or self._is_taken(far, near, claim.source):
            return
        cable = self._cables.setdefault((near, far), Cable(near, far))
        self._taken[near], self._taken[far] = far, near
        for attribute, value in {**claim.facts, "far": far.part}.items():
            if attribute not in cable.facts:
                cable.facts[attribute] = value
                cable.said[attribute] = claim.source

    def settle_parts(self) -> None:
        """Give the parts what stands about them."""
        for part in self._opinions.parts():
            if part in self._graph and (facts := self._opinions.facts(part)):
                known = self._graph.nodes[part]
                said = {**self._opinions.said(part), **known.get("said", {})}
                self._compare(part, facts, known)
                put_part(self._graph, part, {**facts, **known, "said": said})

    def wire(self) -> None:
        """Put the cables into the graph, one edge for all that join the same two parts."""
        bundles: dict[tuple[ComponentId, ComponentId], list[Cable]] = {}
        for cable in self._cables.values():
            bundles.setdefault((cable.near.part, cable.far.part), []).append(cable)
        around: dict[ComponentId, dict[ComponentId, Facts]] = {}
        for (near, far), cables in bundles.items():
            kind = "cable" if self._graph.nodes[near]["kind"] == "nic" else "uplink"
            around.setdefault(near, {})[far] = bundle(kind, sorted(cables, key=_port_order))
        for near, others in around.items():
            connect(self._graph, near, others)

    def _compare(self, part: ComponentId, facts: Mapping[str, Value], known: Mapping[str, Any]) -> None:
        """Note where the network says something else of a part than its node does."""
        sources = known.get("said", {})
        for attribute in facts.keys() & sources.keys() & known.keys():
            source, mine = self._opinions.said(part)[attribute], facts[attribute]
            if not agree(attribute, known[attribute], sources[attribute], mine, source):
                self.contradictions.append(
                    Contradiction(part, attribute, ((sources[attribute], known[attribute]), (source, mine)))
                )

    def _is_taken(self, end: Socket, by: Socket, source: Source) -> bool:
        """Whether a more trusted source plugged an end in elsewhere; noted as a contradiction."""
        other = self._taken.get(end, by)
        if other == by:
            return False
        port = end.part if self._graph.nodes[end.part]["kind"] == "nic" else end.part / end.port
        cable = self._cables[min((end, other), (other, end), key=lambda pair: pair not in self._cables)]
        self._opinions.say(port, "cable", _plug(other), cable.said["far"])
        self._opinions.contradict(port, "cable", _plug(by), source)
        return True

    def _order(self, end: Socket) -> tuple[object, ...]:
        """NICs, leaves, spines; parts of one tier by name."""
        if self._graph.nodes[end.part]["kind"] == "nic":
            return -1, natural(end.part), natural(end.port)
        tier = TIERS.get(str(self._opinions.value(end.part, "tier")), TIERS["leaf"])
        return tier, natural(end.part), natural(end.port)

    def _add_host(self, part: ComponentId, kind: str) -> None:
        """A node that only the network names."""
        host = host_id(part.node)
        if kind != "netswitch" and host not in self._graph:
            put_part(self._graph, host, {"kind": "host", "known": False})


def bundle(kind: str, cables: Sequence[Cable]) -> Facts:
    """The facts of the edge that holds cables between two parts; what is not told is NaN, or -1 for the state."""
    said: dict[str, Source] = {}
    for cable in cables:
        for attribute, source in cable.said.items():
            said.setdefault(NAMES.get(attribute, attribute), source)
    return {
        "kind": kind,
        "near": cables[0].near.part,
        "near_ports": tuple(cable.near.port for cable in cables),
        "far_ports": tuple(cable.far.port for cable in cables),
        "rates": _numbers(cables, "rate_gbps"),
        "max_rates": _numbers(cables, "max_rate_gbps"),
        "widths": _numbers(cables, "width"),
        "states": np.array([_state(cable.facts.get("state")) for cable in cables], dtype=np.int8),
        "said": said,
    }


NAMES: Mapping[str, str] = {"rate_gbps": "speed", "max_rate_gbps": "max_speed"}
"""What an attribute of a cable is called as that of a link."""


def port_name(port: int | str) -> str:
    """`port12` for a number, a name as it is."""
    text = str(port).strip()
    return f"port{text}" if text.isdigit() else text


def _numbers(cables: Iterable[Cable], attribute: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = (cable.facts.get(attribute) for cable in cables)
    return np.array([float(value) if isinstance(value, int | float) else np.nan for value in values])


def _state(value: Value | None) -> int:
    text = str(value).strip().lower()
    return 1 if text in UP or value is True else 0 if text in DOWN or value is False else -1


def _port_order(cable: Cable) -> tuple[object, ...]:
    return natural(cable.near.port), natural(cable.far.port)


def _plug(end: Socket) -> str:
    return f"{end.part}:{end.port}"
