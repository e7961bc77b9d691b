"""From `nvidia-smi topo -m` to claims: how close devices are, how many NVLinks lead where, which NUMA node is near."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ...incident.ids import ComponentId, gpu_id
from ...parsers.nvidia_smi.topo import Affinity, Connection
from ..claims import ChainClaim, Claim, ClosenessClaim, LaneCountClaim, PartClaim, Source
from .names import Names, usable

MOST_LANES = 18
"""NVLinks that a GPU has at most (NVLink 4 and 5); NV18 to each of seven others needs NVSwitches."""


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What one matrix says."""
    known = list(readings)
    connections = [reading for reading in known if isinstance(reading, Connection)]
    lanes: dict[ComponentId, dict[ComponentId, int]] = defaultdict(dict)
    for connection in connections:
        here, there = _part(connection.here, names), _part(connection.there, names)
        if here is None or there is None:
            continue
        for part in (here, there):
            yield PartClaim(part, "gpu" if part.kind == "gpu" else "nic", Source.TOPO_MATRIX)
        yield ClosenessClaim(here, there, connection.kind, Source.TOPO_MATRIX, connection.lanes)
        if connection.lanes:
            lanes[here][there] = lanes[there][here] = connection.lanes
    yield from _lane_counts(lanes)
    for reading in known:
        gpu = _part(reading.device, names) if isinstance(reading, Affinity) else None
        if isinstance(reading, Affinity) and gpu is not None and reading.numa and reading.numa.isdecimal():
            yield ChainClaim(gpu, Source.TOPO_MATRIX, numa=int(reading.numa))


def _lane_counts(lanes: dict[ComponentId, dict[ComponentId, int]]) -> Iterator[Claim]:
    """More lanes in sum than a GPU has lead through NVSwitches, all of them to each other GPU."""
    for gpu, others in lanes.items():
        if sum(others.values()) > MOST_LANES and len(set(others.values())) == 1:
            yield LaneCountClaim(gpu, None, max(others.values()), Source.TOPO_MATRIX)
        else:
            for other, count in others.items():
                yield LaneCountClaim(gpu, other, count, Source.TOPO_MATRIX)


def _part(name: str, names: Names) -> ComponentId | None:
    if name.startswith("GPU") and name[3:].isdecimal():
        return gpu_id(names.node, int(name[3:]))
    return names.nic(name) if usable(name) else None
