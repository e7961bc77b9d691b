"""How long it takes to build and to ask the fabric of a whole cluster: `python -m lanescope.benchmarks.topology`.

512 nodes of eight H100 with eight rails, 128 leaves and 32 spines, as the data sheets wire them; paths between GPUs
drawn at random; and one node's facts read into its fabric, as a live session does when a node tells something.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from statistics import median

from ..incident.ids import ComponentId, NodeId
from ..incident.platforms import platform
from ..incident.snapshot import NodeView
from ..sim.hardware import Hardware
from ..topology.compiled import CompiledFabric
from ..topology.fabric import Fabric
from ..topology.sources.facts import FabricReader, build_fabric
from ..topology.sources.platform import fabric_of
from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.topology"
NODES = 512
PAIRS = 20_000
READ_NODES = 20

_WEIGHED = """
from pathlib import Path
from lanescope.benchmarks.topology import cluster
resident = lambda: int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
before = resident()
fabric = cluster()
fabric.nodes
print(resident() - before)
"""


def cluster() -> Fabric:
    """The fabric that is measured."""
    names = [f"gpu-{number:03}" for number in range(NODES)]
    return fabric_of(names, platform("h100_hgx"), rails=8, leaves=128, spines=32)


def figures() -> list[Figure]:
    """Time and memory of the graph, time of a path, time of reading one node."""
    began = time.perf_counter()
    fabric = cluster()
    built = time.perf_counter() - began
    across, inside = _path_times(fabric)
    reading, asking = _reading_times()
    return [
        Figure("topology: 512 nodes, leaves and spines built", built, "s", 2, COMMAND),
        Figure("topology: memory of that", _megabytes(), "MB", 150, COMMAND),
        Figure("topology: path between two nodes, compiled", across, "us", 20, COMMAND),
        Figure("topology: path within a node, compiled", inside, "us", 20, COMMAND),
        Figure("topology: one node's facts into its fabric, median", reading, "ms", 15, COMMAND),
        Figure("topology: the fabric of 20 nodes that told nothing new", asking, "ms", 1, COMMAND),
    ]


def _path_times(fabric: Fabric) -> tuple[float, float]:
    """Microseconds a path, between nodes and within one, once the ends are compiled."""
    compiled, draw = CompiledFabric(fabric), random.Random(1)
    gpus = fabric.parts("gpu")
    across = [(draw.choice(gpus), draw.choice(gpus)) for _ in range(PAIRS)]
    inside = [(gpu, draw.choice(fabric.gpus(gpu.node))) for gpu in draw.choices(gpus, k=PAIRS)]
    return _each(compiled, across), _each(compiled, inside)


def _each(compiled: CompiledFabric, pairs: list[tuple[ComponentId, ComponentId]]) -> float:
    spent = 0.0
    for _ in range(2):
        began = time.perf_counter()
        for src, dst in pairs:
            compiled.path(src, dst)
        spent = time.perf_counter() - began
    return 1e6 * spent / len(pairs)


def _reading_times() -> tuple[float, float]:
    """Milliseconds to read one node's facts, and to ask a reader whom nobody told anything."""
    views = [_view(f"gpu-{number:03}") for number in range(READ_NODES)]
    times = []
    for view in views:
        began = time.perf_counter()
        build_fabric([view])
        times.append(time.perf_counter() - began)
    reader = FabricReader()
    reader.fabric(views)
    began = time.perf_counter()
    reader.fabric(views)
    return 1e3 * median(times), 1e3 * (time.perf_counter() - began)


def _view(name: str) -> NodeView:
    hardware = Hardware(1, name, 0, platform("h100_hgx"), storage_nics=True)
    facts = {
        (ComponentId(f"{name}/{part}" if part else name), key): value
        for part, known in hardware.facts.items()
        for key, value in known.items()
    }
    return NodeView(NodeId(name), facts=facts, facts_id="J1")


def _megabytes() -> float:
    """What the graph adds to a fresh process."""
    done = subprocess.run([sys.executable, "-c", _WEIGHED], capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    print_table(figures())
