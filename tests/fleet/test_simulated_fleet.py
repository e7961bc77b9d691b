"""The whole way against simulated nodes: the real collector with the real pynvml on simulated drivers."""

from __future__ import annotations

import asyncio
import contextlib
import math
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import lanescope
import pytest
from lanescope.fleet.source import SshSource
from lanescope.fleet.stream import LineSession
from lanescope.incident.events import Entry, FactsRead, LogRead, NodeState, SampleTaken, SchemaDeclared
from lanescope.incident.fold import Incident
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id
from lanescope.incident.snapshot import NodeView
from lanescope.incident.source import Intake, Task
from lanescope.sim.fleet import SimFleet
from lanescope.sim.scenario import load_scenario

SCENARIOS = Path(lanescope.__file__).parent / "sim" / "scenarios"
DEMO = SCENARIOS / "demo.toml"
LOST_GPU = ComponentId(
    next(
        fault["component"]
        for fault in tomllib.loads(DEMO.read_text())["fault"]
        if "/" in fault["component"] and ComponentId(fault["component"]).kind == "gpu"
    )
)


@pytest.fixture
async def fleet() -> AsyncIterator[SimFleet]:
    async with SimFleet(load_scenario(DEMO)) as fleet:
        yield fleet


@contextlib.asynccontextmanager
async def connected(fleet: SimFleet, *hosts: str) -> AsyncIterator[SshSource]:
    own = fleet.directory / "own_known_hosts"
    source = SshSource(hosts, ssh_config=fleet.ssh_config, known_hosts=fleet.known_hosts, own_known_hosts=own)
    try:
        yield source
    finally:
        await source.close()


async def views(source: SshSource, done: Callable[[Intake, Counter[str]], bool]) -> dict[NodeId, NodeView]:
    """What is known when `done` says so of an event and the count of samples by node and domain."""
    incident = Incident()
    count: Counter[str] = Counter()
    number = 0
    async for item in source.events():
        number += 1
        incident.apply(Entry(number, f"e{number}", item))  # type: ignore[arg-type]
        if isinstance(item, SampleTaken):
            count[f"{item.node} {item.domain}"] += 1
        if done(item, count):
            break
    return dict(incident.snapshot().nodes)


async def test_a_healthy_node_shows_every_lane_every_nic_and_every_bridge(fleet) -> None:
    async with connected(fleet, "sim1") as source:
        seen: set[str] = set()

        def done(item: Intake, count: Counter[str]) -> bool:
            seen.update({item.source} if isinstance(item, FactsRead) else set())
            wired = "nvidia-smi nvlink -R" in seen
            return wired and all(count[f"sim1 {domain}"] >= 2 for domain in ("nvml", "ib", "pci"))

        (view,) = (await views(source, done)).values()
    assert view.state is NodeState.LIVE
    assert not view.unreadable
    gpu = gpu_id("sim1", 0)
    assert len(view.components("nvlink")) == 8 * 18
    assert all(view.value(lane, "state") == 1 for lane in view.components("nvlink"))
    assert all(view.value(lane, "recovery_errors") >= 0 for lane in view.components("nvlink"))
    assert all(view.value(nic, "port_state") in (1, 4) for nic in view.components("nic"))
    assert view.value(gpu / "pcie", "aer_correctable") >= 0
    assert view.value(gpu, "power_w") < 1500
    assert view.value(gpu, "nvml_error") == 0
    bridges = str(view.fact(gpu, "pcie_path")).split("/")
    assert set(bridges) <= {bridge.name for bridge in view.components("bridge")}
    assert view.fact(lane_id(gpu, 0), "remote_type") == "switch"
    assert isinstance(view.fact(lane_id(gpu, 0), "remote_port"), int)
    switches = {view.fact(switch, "bus_address") for switch in view.components("nvswitch")}
    assert {view.fact(lane, "remote_address") for lane in view.components("nvlink")} == switches


async def test_a_lost_gpu_reads_missing_with_its_code_and_costs_its_neighbours_nothing(fleet) -> None:
    node = LOST_GPU.node
    async with connected(fleet, node) as source:
        (view,) = (await views(source, lambda item, count: count[f"{node} nvml"] >= 2)).values()
    assert view.value(LOST_GPU, "nvml_error") == 15
    assert math.isnan(view.value(LOST_GPU, "temperature_c"))
    assert math.isnan(view.value(lane_id(LOST_GPU, 0), "recovery_errors"))
    others = [gpu for gpu in view.components("gpu") if gpu != LOST_GPU]
    assert len(others) == 7
    assert all(view.value(gpu, "temperature_c") > 0 for gpu in others)
    assert all(view.value(gpu, "nvml_error") == 0 for gpu in others)


async def test_the_kernel_log_comes_with_its_xid_and_the_time_the_node_gave_it(fleet) -> None:
    node = LOST_GPU.node
    async with connected(fleet, node) as source:
        logs: list[LogRead] = []

        def done(item: Intake, count: Counter[str]) -> bool:
            logs.extend([item] if isinstance(item, LogRead) else [])
            return "Xid" in logs[-1].text if logs else False

        await views(source, done)
    assert 0 < logs[-1].time - logs[-1].node_time < 3600


async def test_an_idle_node_costs_half_a_kilobyte_a_tick_and_its_start_less_than_a_picture(fleet, monkeypatch) -> None:
    received = 0
    take = LineSession.data_received

    def counting(session: LineSession, data: bytes, datatype: int | None) -> None:
        nonlocal received
        received += len(data)
        take(session, data, datatype)

    monkeypatch.setattr(LineSession, "data_received", counting)
    async with connected(fleet, "sim1") as source:
        marks: dict[int, int] = {}

        def done(item: Intake, count: Counter[str]) -> bool:
            marks.setdefault(count["sim1 nvml"], received)
            return count["sim1 nvml"] >= 6

        await views(source, done)
    assert marks[6] - marks[3] <= 3 * 512
    assert marks[3] <= 128 * 1024


async def test_a_probe_program_runs_beside_the_collector(fleet) -> None:
    async with connected(fleet, "sim1") as source:
        seen: list[object] = []

        async def probe() -> None:
            arguments = {
                "op": "h2d",
                "gpus": ["0000:19:00.0"],
                "windows": 4,
                "window_ms": 5.0,
                "warm_ms": 5.0,
                "bytes": 1 << 20,
            }
            seen.extend(await source.run_tasks(NodeId("sim1"), [Task("R1T1", "cuda_copy", arguments)], 20.0))

        probing: list[asyncio.Task[None]] = []

        def done(item: Intake, count: Counter[str]) -> bool:
            if count["sim1 nvml"] and not probing:
                probing.append(asyncio.create_task(probe()))
            return bool(probing) and probing[0].done()

        await views(source, done)
        probing[0].result()
    (output,) = seen
    assert output.error == ""
    assert sum("w" in one for one in output.lines) == 4


async def test_schemas_name_each_field_once(fleet) -> None:
    async with connected(fleet, "sim1") as source:
        schemas: list[SchemaDeclared] = []

        def done(item: Intake, count: Counter[str]) -> bool:
            schemas.extend([item] if isinstance(item, SchemaDeclared) else [])
            return len(schemas) == 3

        await views(source, done)
    for schema in schemas:
        assert len(set(schema.fields)) == len(schema.fields)
