"""Live, through real OpenSSH servers: what a node streams, and what becomes of the others when one is sick."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time

import pytest
from lanescope.incident.events import NodeState
from lanescope.incident.ids import NodeId, gpu_id, lane_id
from lanescope.incident.snapshot import NodeView, Snapshot

N1, N2 = NodeId("rig1"), NodeId("rig2")
SOON = 12.0


def live(*nodes: NodeId):
    def all_live(snapshot: Snapshot) -> bool:
        views = [snapshot.nodes.get(node, NodeView(node)) for node in nodes]
        return all(view.state is NodeState.LIVE and "nvml" in view.series for view in views)

    return all_live


def whose(node: NodeId, holds):
    return lambda snapshot: node in snapshot.nodes and holds(snapshot.nodes[node])


async def test_a_node_behind_real_sshd_streams_what_its_driver_library_says(rig):
    (node,) = rig.up(N1)
    node.rule(
        "gpu3 temperature_c 71", "gpu3 power_mw 412500", "gpu3/nvlink7 recovery_errors 40", "gpu4/nvlink2 state 0"
    )
    async with rig.session(N1) as session:
        assert await session.until(live(N1), SOON)
        view = session.snapshot().nodes[N1]
        assert view.value(gpu_id(N1, 3), "temperature_c") == 71
        assert view.value(gpu_id(N1, 3), "power_w") == 412.5
        assert view.value(lane_id(gpu_id(N1, 3), 7), "recovery_errors") == 40
        assert view.value(lane_id(gpu_id(N1, 3), 8), "recovery_errors") == 0
        assert view.value(lane_id(gpu_id(N1, 4), 2), "state") == 0
        assert view.fact(gpu_id(N1, 5), "uuid") == node.machine.facts["gpu5"]["uuid"]
        assert view.fact(lane_id(gpu_id(N1, 5), 17), "remote_type") == "switch"


async def test_nodes_whose_gpus_share_an_nvlink_fabric_name_it(rig):
    nodes = rig.up(N1, N2)
    for node in nodes:
        node.rule("gpu* cluster 171", "gpu* clique 3")
    async with rig.session(N1, N2) as session:
        assert await session.until(live(N1, N2), SOON)
        fabric = session.fabric()
        assert (
            session.snapshot().nodes[N2].fact(gpu_id(N2, 5), "cluster_uuid") == "abababab-abab-abab-abab-abababababab"
        )
        assert fabric.domain_of(N1) == fabric.domain_of(N2) == "nvl-abababab-3"


@pytest.mark.usefixtures("with_devices")
async def test_hostname_nics_pcie_links_and_kernel_log_are_the_nodes_own(rig):
    node, _ = rig.up(N1, N2)
    async with rig.session(N1, N2) as session:
        assert await session.until(live(N1, N2), SOON)
        node.log("NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus.")
        node.write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "12\n")
        assert await session.until(
            whose(N1, lambda view: view.logs and view.value(N1 / "mlx5_0", "symbol_error") == 12), SOON
        )
        mine, other = (session.snapshot().nodes[name] for name in (N1, N2))
        assert (mine.fact(N1, "hostname"), other.fact(N2, "hostname")) == ("rig1", "rig2")
        assert [line.text for _, line in mine.logs if "fallen off" in line.text]
        assert not other.logs
        assert other.value(N2 / "mlx5_0", "symbol_error") == 0
        assert mine.value(N1 / "gpu0" / "pcie", "current_width") == 16
        assert len(mine.components("nic")) == len(node.machine.hardware.nics)
        assert mine.fact(N1 / "gpu0", "pcie_path") == node.machine.facts["gpu0"]["pcie_path"]


async def test_a_gpu_lost_under_way_shows_its_code_while_the_others_go_on(rig):
    (node,) = rig.up(N1)
    lost, other = gpu_id(N1, 5), gpu_id(N1, 4)
    async with rig.session(N1) as session:
        assert await session.until(live(N1), SOON)
        node.rule("gpu5 return 15", "gpu4 temperature_c 66")
        assert await session.until(whose(N1, lambda view: view.value(lost, "nvml_error") == 15), SOON)
        view = session.snapshot().nodes[N1]
        assert math.isnan(view.value(lost, "temperature_c"))
        assert view.value(other, "nvml_error") == 0
        assert view.value(other, "temperature_c") == 66
        assert view.state is NodeState.LIVE
        assert await session.until(lambda snapshot: lost in [one.component for one in snapshot.findings], SOON)


@pytest.mark.usefixtures("with_devices")
async def test_a_driver_that_hangs_is_named_with_its_seconds_while_the_nics_keep_reporting(rig):
    (node,) = rig.up(N1)
    os.mkfifo(node.folder / "never")
    async with rig.session(N1) as session:
        assert await session.until(live(N1), SOON)
        node.rule(f"gpu2 block.nvmlDeviceGetTemperature {node.folder / 'never'}")
        assert await session.until(whose(N1, lambda view: view.hung), 8.0)
        stuck = session.snapshot().nodes[N1]
        (hung,) = stuck.hung
        assert hung.domain == "nvml"
        assert 2.0 < session.snapshot().now - hung.since < 8.0
        assert await session.until(whose(N1, lambda view: beyond(view, stuck) >= 2), SOON)
        assert session.snapshot().nodes[N1].state is NodeState.LIVE
        node.rule(f"gpu2 block.nvmlDeviceGetTemperature {os.devnull}")
        (node.folder / "never").write_text("go on")
        assert await session.until(whose(N1, lambda view: not view.hung), SOON)


def beyond(view: NodeView, then: NodeView) -> int:
    """How many samples of its NICs have come since."""
    return sum(taken > then.series["ib"].last_time for taken in view.series["ib"].times)


async def test_a_killed_sshd_is_a_lost_node_with_its_reason_and_back_after_a_restart(rig):
    first, _ = rig.up(N1, N2)
    async with rig.session(N1, N2) as session:
        assert await session.until(live(N1, N2), SOON)
        first.kill()
        assert await session.until(whose(N1, lambda view: view.state is NodeState.LOST), 5.0)
        assert f"the connection to {first.address}" in session.snapshot().nodes[N1].reason
        rig.expect_nothing_left_on(first)
        assert session.snapshot().nodes[N2].state is NodeState.LIVE
        first.start()
        assert await session.until(whose(N1, lambda view: view.state is NodeState.LIVE), SOON)


async def test_a_connection_whose_far_end_stands_still_is_lost_within_five_seconds(rig):
    (node,) = rig.up(N1)
    async with rig.session(N1) as session:
        assert await session.until(live(N1), SOON)
        stopped = time.monotonic()
        with standing_still(node.sessions()):
            assert await session.until(whose(N1, lambda view: view.state is NodeState.LOST), 7.0)
            assert time.monotonic() - stopped < 5.5
            assert "keepalive" in session.snapshot().nodes[N1].reason


@contextlib.contextmanager
def standing_still(pids):
    """Processes stopped for the length of a block."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
