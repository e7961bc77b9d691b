"""The state of one link, read from the edge that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..incident.ids import ComponentId
from ..incident.platforms import Platform
from .claims import Source
from .components import LinkState
from .shared_graph import Graph, around
from .wires import cable_ends

STATES: Mapping[int, str] = {1: "up", 0: "down", -1: "unknown"}


def link_state(graph: Graph, component: ComponentId, platform: Platform | None) -> LinkState | None:
    """A PCIe link, lane, C2C, cable or uplink; None for what is none of them or does not stand in the graph."""
    match component.kind:
        case "pcie" | "bridge":
            return _pcie(graph, component)
        case "nvlink":
            return _lane(graph, component, platform)
        case "c2c":
            return _c2c(graph, component)
        case "cable" | "uplink":
            return _cable(graph, component)
    return None


def _pcie(graph: Graph, component: ComponentId) -> LinkState | None:
    below = component if component.kind == "bridge" else component.parent
    if below not in graph or "above" not in graph.nodes[below]:
        return None
    facts = graph[below][below.node / graph.nodes[below]["above"]]
    width = facts.get("width")
    said = {"speed" if key == "speed_gts" else key: source for key, source in facts["said"].items()}
    if "max_speed_gts" in said:
        said["max_speed"] = said.pop("max_speed_gts")
    state = "unknown" if width is None else ("up" if width else "down")
    return LinkState(
        component, "pcie", facts.get("speed_gts"), facts.get("max_speed_gts"), width, facts.get("max_width"), "GT/s",
        state, said,
    )  # fmt: skip


def _lane(graph: Graph, lane: ComponentId, platform: Platform | None) -> LinkState | None:
    gpu = lane.parent
    if gpu not in graph:
        return None
    found = _lane_row(graph, gpu, lane.number)
    if found is None:
        return None
    state, speed, told = found
    nominal = platform.lane_gbs if platform and platform.lane_gbs else None
    said = {{"up": "state", "gbs": "speed"}.get(key, key): source for key, source in told.items()}
    if nominal is not None:
        said["max_speed"] = Source.PLATFORM
    return LinkState(lane, "nvlink", None if np.isnan(speed) else speed, nominal, unit="GB/s", state=state, said=said)


def _lane_row(graph: Graph, gpu: ComponentId, lane: int) -> tuple[str, float, Mapping[str, Source]] | None:
    """State, GB/s (NaN: not told) and who said so, from the bundle that has the lane."""
    for lanes, up, gbs, said, facts in _rows(graph, gpu):
        at = np.flatnonzero(facts[lanes] == lane).tolist() if lanes in facts else []
        if at:
            return STATES[int(facts[up][at[0]])], float(facts[gbs][at[0]]), facts[said]
    return None


def lane_states(graph: Graph, gpu: ComponentId) -> Mapping[int, str]:
    """`up`, `down` or `unknown` of every lane of a GPU that is told apart, by number."""
    found: dict[int, str] = {}
    for lanes, up, _, _, facts in _rows(graph, gpu) if gpu in graph else ():
        if lanes in facts:
            found |= {
                lane: STATES[state] for lane, state in zip(facts[lanes].tolist(), facts[up].tolist(), strict=True)
            }
    return dict(sorted(found.items()))


def _rows(graph: Graph, gpu: ComponentId) -> Iterator[tuple[str, str, str, str, Mapping[str, Any]]]:
    """Where lanes stand, at their GPU or in one of its bundles: the names of the arrays of lanes, states and speeds."""
    yield "loose_lanes", "loose_up", "loose_gbs", "loose_said", graph.nodes[gpu]
    for facts in graph[gpu].values():
        if facts["kind"] == "nvlink":
            mine = facts.get("near", gpu) == gpu
            lanes, up, gbs = ("lanes", "up", "gbs") if mine else ("far_lanes", "far_up", "far_gbs")
            yield lanes, up, gbs, "said", facts


def _c2c(graph: Graph, component: ComponentId) -> LinkState | None:
    for facts in around(graph, component.parent).values():
        if facts["kind"] == "c2c":
            return LinkState(component, "c2c", None, facts.get("max_gbs"), unit="GB/s", said=facts["said"])
    return None


def _cable(graph: Graph, component: ComponentId) -> LinkState | None:
    ends = cable_ends(component)
    if ends is None or not graph.has_edge(*ends):
        return None
    facts = graph.edges[ends]
    states = [STATES[state] for state in facts["states"].tolist()]
    if facts["kind"] == "cable":
        width = _known(facts["widths"][:1])
        speed, most = _known(facts["rates"][:1]), _known(facts["max_rates"][:1])
        return LinkState(
            component, "cable", speed, most, None if width is None else int(width), unit="Gb/s", state=states[0],
            said=facts["said"],
        )  # fmt: skip
    return _uplink(component, facts, states)


def _uplink(component: ComponentId, facts: Mapping[str, Any], states: list[str]) -> LinkState:
    """All cables between two switches together."""
    up = None if "unknown" in states else states.count("up")
    state = "up" if "up" in states else "unknown" if up is None else "down"
    return LinkState(
        component, "uplink", _known(facts["rates"]), _known(facts["max_rates"]), up, len(states), "Gb/s", state,
        facts["said"],
    )  # fmt: skip


def _known(values: Any) -> float | None:
    """The sum; None where one is not told."""
    total = float(np.sum(values))
    return None if np.isnan(total) else total
