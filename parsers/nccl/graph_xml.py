"""NCCL's search results: what NCCL_GRAPH_DUMP_FILE writes and NCCL_GRAPH_FILE is given. Not a topology.

`<graphs>` holds a `<graph>` an algorithm, with a `<channel>` each for the order in which GPUs and nets follow.
Source: capture nccl/topo-azure-ncv4-graph; NVIDIA/nccl src/graph/search.cc and src/include/graph.h (patterns).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from ..parsed import Parsed
from ..tool import Tool
from .xml_elements import Element, elements, first_tag

ROOT = "graphs"
PATTERNS: Mapping[int, str] = MappingProxyType({1: "balanced tree", 2: "split tree", 3: "tree", 4: "ring", 5: "NVLS"})


@dataclass(frozen=True, slots=True)
class NcclGraph:
    """What was found for one algorithm."""

    id: int
    pattern: int | None
    cross_nic: bool | None
    """Whether a channel may leave a node by one NIC and enter by another."""
    channels: int | None
    speed_intra: float | None
    """GB/s of a channel between the GPUs of a node."""
    speed_inter: float | None
    """GB/s of a channel between nodes."""
    latency_inter: float | None
    type_intra: str
    """The worst path in it: `NVL`, `PIX`, `PHB`, `SYS`."""
    type_inter: str
    same_channels: bool | None

    @property
    def pattern_name(self) -> str:
        """Empty for one that is not known."""
        return PATTERNS.get(self.pattern or 0, "")


@dataclass(frozen=True, slots=True)
class NcclGraphChannel:
    """The order of one channel."""

    graph: int
    number: int
    """From 0, in the order of the file."""
    devices: tuple[int, ...]
    """GPUs."""
    nets: tuple[int, ...]


GraphReading: TypeAlias = NcclGraph | NcclGraphChannel

_INTEGER = re.compile(r"-?\d{1,9}")
_DECIMAL = re.compile(r"\d{1,9}(?:\.\d{1,9})?")


def parse_graph_xml(text: str) -> Parsed[GraphReading]:
    """Read the graphs; of a file that is cut, what comes before the cut."""
    parsed = Parsed[GraphReading]()
    members: list[tuple[Element, list[Element]]] = []
    numbers: dict[int, int] = {}
    for element in elements(text, ROOT, parsed):
        if element.name == "graph" and (graph := _graph(element)):
            parsed.add(graph)
        elif element.name == "channel":
            members.append((element, []))
        elif element.name in ("gpu", "net") and members and element.parent is members[-1][0]:
            members[-1][1].append(element)
        elif element.name != ROOT:
            parsed.cannot_read(element.line, f"<{element.name}>", "is not known here")
    for channel, inside in members:
        graph_id = _integer(channel.parent, "id") if channel.parent is not None else None
        if graph_id is None:
            parsed.cannot_read(channel.line, "<channel>", "stands in no graph")
            continue
        number = numbers[graph_id] = numbers.get(graph_id, -1) + 1
        parsed.add(NcclGraphChannel(graph_id, number, _devices(inside, "gpu"), _devices(inside, "net")))
    return parsed


def _graph(element: Element) -> NcclGraph | None:
    number = _integer(element, "id")
    if number is None:
        return None
    return NcclGraph(
        number,
        _integer(element, "pattern"),
        _flag(element, "crossnic"),
        _integer(element, "nchannels"),
        _decimal(element, "speedintra"),
        _decimal(element, "speedinter"),
        _decimal(element, "latencyinter"),
        element.attributes.get("typeintra", "")[:16],
        element.attributes.get("typeinter", "")[:16],
        _flag(element, "samechannels"),
    )


def _devices(inside: list[Element], name: str) -> tuple[int, ...]:
    numbers = (_integer(element, "dev") for element in inside if element.name == name)
    return tuple(number for number in numbers if number is not None)


def _integer(element: Element, name: str) -> int | None:
    found = _INTEGER.fullmatch(element.attributes.get(name, "").strip())
    return int(found[0]) if found else None


def _flag(element: Element, name: str) -> bool | None:
    number = _integer(element, name)
    return None if number is None else number != 0


def _decimal(element: Element, name: str) -> float | None:
    found = _DECIMAL.fullmatch(element.attributes.get(name, "").strip())
    return float(found[0]) if found else None


NCCL_GRAPH = Tool(
    name="NCCL_GRAPH_DUMP_FILE",
    recognizes=lambda head: first_tag(head) == ROOT,
    parse=parse_graph_xml,
    file_names=("*graph*.xml",),
)
