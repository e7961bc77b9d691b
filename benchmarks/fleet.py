"""What a live fleet costs over SSH: `python -m lanescope.benchmarks.fleet`.

The collector runs on nodes of the simulated fleet, everything on this machine. Busy nodes are replayed ones (busy.py):
on them every sensor and every counter, those of errors too, moves at each tick.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import asyncssh
import orjson

from ..fleet.bootstrap import collector_payload, launch_command
from ..fleet.settings import Settings
from ..fleet.source import SshSource
from ..incident.events import FactsRead, SampleTaken
from ..incident.source import Intake
from ..sim.fleet import SimFleet
from .busy import Motion, Node, healthy_scenario, record_nodes
from .figure import Figure, print_table
from .replay import POLL, replayed_fleet
from .terminal import terminal

COMMAND = "python -m lanescope.benchmarks.fleet"
NODES = 8
SETTLING = 3.0
"""Seconds of streaming that are not counted: connecting, schemas, key frames."""
SPELL = 5.0
"""Seconds of one spell of streaming or polling; they take turns."""
SPELLS = 2
WATCHED = 10.0


def figures() -> list[Figure]:
    """From what is sent to a node to what a session costs."""
    everything, loaded = record_nodes(Motion.EVERYTHING, Motion.LOADED)
    return [
        Figure("collector, sent to a node", len(collector_payload("0" * 16, 1.0, 20.0)) / 1024, "KB", 16, COMMAND),
        *asyncio.run(_simulated()),
        _opening_screens(),
        *_replayed(everything, loaded),
    ]


async def _simulated() -> list[Figure]:
    """Real collectors on idle simulated nodes."""
    async with SimFleet(healthy_scenario(), nodes=NODES) as fleet:
        first, last = await _first_picture(SshSource(fleet.hosts, fleet.ssh_config, fleet.known_hosts))
        idle = await _bytes_per_tick(fleet.directory, fleet.hosts[0])
    return [
        Figure(f"first node's readings after connecting to {NODES}", first, "s", 2, COMMAND),
        Figure(f"first picture: all readings of {NODES} nodes", last, "s", 2, COMMAND),
        Figure("a tick of an idle node", idle / 1024, "KB", 0.5, COMMAND),
    ]


def _opening_screens() -> Figure:
    """From the start of the program, on simulated nodes."""

    async def measure() -> float:
        async with SimFleet(healthy_scenario(), nodes=NODES) as fleet:
            with tempfile.TemporaryDirectory() as cases:
                options = ["connect", "-F", str(fleet.ssh_config), "--cases", cases, *fleet.hosts]
                return await asyncio.to_thread(_until_all_are_up, options)

    return Figure(
        f"{NODES} of {NODES} nodes up on screen, from the start of `connect`", asyncio.run(measure()), "s", 4, COMMAND
    )


def _until_all_are_up(options: Sequence[str]) -> float:
    with terminal(options) as screen:
        return screen.wait_for(f"{NODES}/{NODES}", 30.0)


async def _first_picture(source: SshSource) -> tuple[float, float]:
    """Seconds until the first node, and all nodes, had told their facts and given a sample of every domain."""
    began, first, missing = time.perf_counter(), 0.0, {node: {"facts", "nvml", "ib", "pci"} for node in source.nodes}
    async with asyncio.timeout(30.0), aclosing(source.events()) as events:
        async for item in events:
            if isinstance(item, SampleTaken):
                missing.get(item.node, set()).discard(item.domain)
            elif isinstance(item, FactsRead) and item.source == "nvml":
                missing.get(item.node, set()).discard("facts")
            for node in [node for node, wanted in missing.items() if not wanted]:
                missing.pop(node)
                first = first or time.perf_counter() - began
            if not missing:
                return first, time.perf_counter() - began
    raise AssertionError("the source ended")


async def _bytes_per_tick(folder: Path, host: str) -> float:
    """Bytes that come through a collector's channel for one tick of differences, all domains together."""
    options = {"config": [str(folder / "ssh_config")], "known_hosts": str(folder / "known_hosts")}
    size, ticks, keyed = 0, 0, False
    async with asyncio.timeout(30.0), asyncssh.connect(host, **options) as connection:
        process = await connection.create_process(launch_command("benchmark"), encoding=None)
        process.stdin.write(collector_payload("benchmark", 1.0, 30.0))
        while ticks < 8:
            line = await process.stdout.readline()
            frame = orjson.loads(line)
            keyed = keyed or (frame[0] == "T" and frame[4] == "D")
            size += len(line) if keyed and frame[0] == "T" else 0
            ticks += keyed and frame[:2] == ["T", "nvml"]
        process.stdin.write(b"q\n")
    return size / ticks


def _replayed(everything: Node, loaded: Node) -> list[Figure]:
    """What the operator's side spends on busy nodes."""
    with replayed_fleet(everything, NODES) as (folder, names):
        busy = asyncio.run(_bytes_per_tick(folder, names[0]))
        streamed, polled = asyncio.run(_side_by_side(folder, names))
    text = len(everything.text) / 1024
    with replayed_fleet(loaded, NODES) as (folder, names):
        loaded_bytes = asyncio.run(_bytes_per_tick(folder, names[0]))
        share = _session_cpu(folder, names)
    return [
        Figure("a tick of a node whose sensors and counters all move", busy / 1024, "KB", 12, COMMAND),
        Figure("a tick of a node under load (sensors and traffic)", loaded_bytes / 1024, "KB", 12, COMMAND),
        Figure("CPU of a streamed sample, decoded", streamed, "ms", 2, COMMAND),
        Figure(f"the same to a poll of {text:.0f} KB of text, undecoded", streamed / polled, "x", 0.5, COMMAND),
        Figure(f"`lanescope connect` to {NODES} loaded nodes at 1 Hz", share, "% of a core", 5, COMMAND),
    ]


async def _side_by_side(folder: Path, names: Sequence[str]) -> tuple[float, float]:
    """Milliseconds of our CPU for one tick of one node, streamed and polled, in turns."""
    streamed, polled = [], []
    for _ in range(SPELLS):
        streamed.append(await _streaming(folder, names))
        polled.append(await _polling(folder, names))
    return 1000 * sum(streamed) / SPELLS, 1000 * sum(polled) / SPELLS


async def _streaming(folder: Path, names: Sequence[str]) -> float:
    source = SshSource(names, folder / "ssh_config", folder / "known_hosts")
    async with aclosing(source.events()) as events:
        await _samples_within(events, SETTLING)
        began = time.process_time()
        samples = await _samples_within(events, SPELL)
        return (time.process_time() - began) / samples


async def _samples_within(events: AsyncIterator[Intake], seconds: float) -> int:
    """How many ticks of nodes come within some seconds."""
    end, samples = time.monotonic() + seconds, 0
    async for item in events:
        samples += isinstance(item, SampleTaken) and item.domain == "nvml"
        if time.monotonic() > end:
            break
    return samples


async def _polling(folder: Path, names: Sequence[str]) -> float:
    options = {
        "config": [str(folder / "ssh_config")],
        "known_hosts": str(folder / "known_hosts"),
        # who polls has to notice a dead node too
        "keepalive_interval": Settings().keepalive,
    }
    connections = [await asyncssh.connect(name, **options) for name in names]
    try:
        await asyncio.gather(*(_poll(connection, 0.0, 1.0) for connection in connections))
        began = time.process_time()
        polls = [_poll(connection, at / len(names), SPELL) for at, connection in enumerate(connections)]
        samples = sum(await asyncio.gather(*polls))
        return (time.process_time() - began) / samples
    finally:
        for connection in connections:
            connection.abort()


async def _poll(connection: asyncssh.SSHClientConnection, phase: float, seconds: float) -> int:
    """Ask once a second over a new channel each time; how often it was asked."""
    await asyncio.sleep(phase)
    due, asked = time.monotonic(), 0
    while asked < seconds:
        await asyncio.sleep(due - time.monotonic())
        ended = await connection.run(POLL, encoding=None, check=True)
        assert ended.stdout
        due, asked = due + 1.0, asked + 1
    return asked


def _session_cpu(folder: Path, names: Sequence[str]) -> float:
    """Per cent of a core that the program takes with the fleet on screen, once it has settled."""
    with tempfile.TemporaryDirectory() as cases:
        with terminal(["connect", "-F", str(folder / "ssh_config"), "--cases", cases, *names]) as screen:
            screen.wait_for(f"{len(names)}/{len(names)}", 30.0)
            screen.read(SETTLING)
            began, cpu = time.monotonic(), screen.cpu()
            screen.read(WATCHED)
            return 100 * (screen.cpu() - cpu) / (time.monotonic() - began)


if __name__ == "__main__":
    print_table(figures())
