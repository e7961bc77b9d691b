"""A node under load, made of one simulated node: recorded through the product's own way, then set in motion.

The collector runs on a simulated node over SSH and is recorded up to its first key frames. What moves from there on is
a matter of choice; the differences are coded by the collector's own code.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import asyncssh
import msgspec
import orjson

from ..fleet.bootstrap import collector_payload, launch_command
from ..sim.fleet import SimFleet
from ..sim.scenario import Scenario, load_scenario

DOMAINS = frozenset(("nvml", "ib", "pci"))
TICKS = 20
"""Ticks made; after the last the first follows, with the sensors where they began and the counters going on."""
RECORD_WITHIN = 20.0
SMI_QUERIES = (
    "nvidia-smi --query-gpu=index,uuid,temperature.gpu,power.draw,utilization.gpu,memory.used --format=csv",
    "nvidia-smi nvlink -s",
    "nvidia-smi nvlink -e",
)

STANDING = [
    "power_limit_w",
    "memory_clock_mhz",
    "clocks_event_reasons",
    "performance_state",
    "compute_processes",
    "nvml_error",
    "remap_pending",
    "remap_failure",
    "generation",
    "width",
    "state",
    "speed_mbps",
    "lifespan",
    "current_width",
    "port_state",
    "phys_state",
    "rate_gbps",
    "speed_gts",
]
"""Readings that load does not change."""
WANDERS = {"temperature_c": 2, "power_w": 9_000, "sm_clock_mhz": 15, "utilization_pct": 3, "memory_used_bytes": 1 << 22}
"""By how much a sensor strays, in the collector's units."""
STEPS = {
    "energy_j": 655_000,
    "tx_kib": 12_000_000,
    "rx_kib": 12_000_000,
    "port_xmit_data": 9_000_000_000,
    "port_rcv_data": 9_000_000_000,
    "port_xmit_packets": 9_000_000,
    "port_rcv_packets": 9_000_000,
    "unicast_xmit_packets": 9_000_000,
    "unicast_rcv_packets": 9_000_000,
}
"""By how much a counter moves in a second at most, in the collector's units."""
FEW = 9
"""The same of all other counters."""


class Motion(Enum):
    """What changes at each tick of a replayed node."""

    STILL = "nothing"
    LOADED = "every sensor and every traffic counter, as under a job on all GPUs and NICs"
    EVERYTHING = "every sensor and every counter, those of errors too: more than a node ever does"


class Node(msgspec.Struct, frozen=True):
    """What a replayed node says."""

    opening: tuple[bytes, ...]
    """Lines up to the first key frame of every domain."""
    ticks: tuple[tuple[tuple[bytes, bytes], ...], ...]
    """The frames of each tick: what stands before the time, and after it."""
    text: bytes
    """The same readings as the tools of a node print them."""


def healthy_scenario() -> Scenario:
    """Eight nodes of which none has a fault."""
    return load_scenario(Path(str(resources.files("lanescope.sim.scenarios"))) / "healthy.toml")


def record_nodes(*motions: Motion) -> list[Node]:
    """The same node in several kinds of motion; takes some seconds."""
    opening, text = asyncio.run(_record())
    return [Node(tuple(opening), tuple(_ticks(opening, motion)), text) for motion in motions]


async def _record() -> tuple[list[bytes], bytes]:
    async with SimFleet(healthy_scenario(), nodes=1) as fleet:
        options = {"config": [str(fleet.ssh_config)], "known_hosts": str(fleet.known_hosts)}
        async with asyncio.timeout(RECORD_WITHIN), asyncssh.connect(fleet.hosts[0], **options) as connection:
            opening = await _opening(connection)
            text = "".join([str((await connection.run(query, check=True)).stdout) for query in SMI_QUERIES])
    return opening, text.encode() + b"".join(_as_text(opening))


async def _opening(connection: asyncssh.SSHClientConnection) -> list[bytes]:
    process = await connection.create_process(launch_command("benchmark"), encoding=None)
    process.stdin.write(collector_payload("benchmark", 1.0, RECORD_WITHIN))
    lines, missing, wired = [], set(DOMAINS), False
    while missing or not wired:
        line = await process.stdout.readline()
        frame = orjson.loads(line)
        if frame[0] == "T":
            missing.discard(frame[1])
        wired = wired or frame[0] == "O"
        if frame[0] != "T" or frame[4] == "K":
            lines.append(line)
    process.stdin.write(b"q\n")
    await process.wait_closed()
    return lines


def _as_text(opening: Sequence[bytes]) -> Iterator[bytes]:
    """What is left: traffic of lanes as `nvidia-smi nvlink -gt d` prints it, the rest as `grep -r .` does."""
    for domain, columns, values in _vectors(opening):
        for (component, name), value in zip(columns, values, strict=True):
            if name in ("tx_kib", "rx_kib"):
                lane = component.rpartition("nvlink")[2]
                yield f"\t Link {lane}: Data {name[:2].title()}: {value} KiB\n".encode()
            elif domain == "ib":
                yield f"/sys/class/infiniband/{component}/ports/1/counters/{name}:{value}\n".encode()
            elif domain == "pci":
                yield f"/sys/bus/pci/devices/{component.removeprefix('pcie/')}/{name}:{value}\n".encode()


def _vectors(opening: Iterable[bytes]) -> Iterator[tuple[str, list[tuple[str, str]], list[Any]]]:
    """Each domain with its columns and its first values."""
    columns: dict[str, list[tuple[str, str]]] = {}
    for frame in map(orjson.loads, opening):
        if frame[0] == "S":
            columns[frame[1]] = [(component, name) for component, names in frame[3] for name in names]
        elif frame[0] == "T":
            yield frame[1], columns[frame[1]], frame[5]


def _ticks(opening: Sequence[bytes], motion: Motion) -> Iterator[tuple[tuple[bytes, bytes], ...]]:
    """The differences from tick to tick, once round."""
    chance = random.Random(1)
    deltas = _product_deltas()
    first = {domain: values for domain, _, values in _vectors(opening)}
    now = {domain: list(values) for domain, values in first.items()}
    coders = {domain: deltas.Deltas(key_every=10 * TICKS) for domain in first}
    columns = {domain: names for domain, names, _ in _vectors(opening)}
    for domain, coder in coders.items():
        coder.frame(list(now[domain]))
    for tick in range(TICKS):
        frames = []
        for domain, coder in coders.items():
            for at, (_, name) in enumerate(columns[domain]):
                if _moves(name, now[domain][at], motion):
                    now[domain][at] = _moved(name, now[domain][at], first[domain][at], chance, tick == TICKS - 1)
            head = f'["T","{domain}","{domain}-1",'.encode()
            rest = json.dumps(coder.frame(list(now[domain])), separators=(",", ":"))
            frames.append((head, b"," + rest[1:].encode() + b"\n"))
        yield tuple(frames)


def _moves(name: str, value: Any, motion: Motion) -> bool:
    if motion is Motion.STILL or type(value) is not int or name in STANDING:
        return False
    return motion is Motion.EVERYTHING or name in WANDERS or name in STEPS


def _moved(name: str, value: int, first: int, chance: random.Random, last: bool) -> int:
    """The next value; a sensor is back where it began after the `last` tick."""
    if name in WANDERS:
        return first if last else max(0, first + chance.randint(-WANDERS[name], WANDERS[name]))
    most = STEPS.get(name, FEW)
    return value + chance.randint(1 + most // 2, most)


def _product_deltas() -> ModuleType:
    """The collector's coder; what runs on nodes is read as text and imported by nobody."""
    module = ModuleType("deltas")
    exec((resources.files("lanescope.fleet") / "node" / "deltas.py").read_text(), module.__dict__)
    return module
