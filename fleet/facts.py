"""What nodes say of themselves, as facts: typed, bounded, and without values that say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..incident.events import Fact
from ..incident.ids import ComponentId, NodeId, gpu_id, lane_id
from ..parsers.nvidia_smi.nvlink import parse_nvlink_remotes
from ..parsers.pcie import sysfs

MOST_FACTS = 20_000
LONGEST = 4096

_READ_TEXT: Mapping[str, Callable[[str], float]] = {"max_speed_gts": sysfs.speed_gts, "max_width": sysfs.link_width}


def read_facts(node: NodeId, triples: list[Any]) -> tuple[Fact, ...]:
    """Facts of `[component, key, value]` triples; what is no fact is left out."""
    facts = (_fact(node, *triple) for triple in triples[:MOST_FACTS] if isinstance(triple, list) and len(triple) == 3)
    return tuple(fact for fact in facts if fact is not None)


def facts_of_output(node: NodeId, command: str, text: str) -> tuple[Fact, ...]:
    """What the output of a tool adds: the far port of each NVLink, of `nvidia-smi nvlink -R`."""
    if command != "nvidia-smi nvlink -R":
        return ()
    ends = [(lane_id(gpu_id(node, end.gpu), end.link), end) for end in parse_nvlink_remotes(text).readings]
    ports = [Fact(lane, "remote_port", end.remote_port) for lane, end in ends]
    return (*ports, *(Fact(lane, "listed_address", end.remote_address) for lane, end in ends))


def _fact(node: NodeId, part: object, key: object, value: object) -> Fact | None:
    if not (isinstance(part, str) and isinstance(key, str) and (part + key).isprintable() and len(part) < 200):
        return None
    if key in _READ_TEXT and not isinstance(value, bool):
        number = _READ_TEXT[key](str(value))
        value = int(number) if number.is_integer() and key == "max_width" else number
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, str | int | float | bool) or value == "":
        return None
    component: ComponentId = node / part if part else node
    return Fact(component, key, value[:LONGEST] if isinstance(value, str) else value)
