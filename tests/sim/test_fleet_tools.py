"""The tools on a simulated node's PATH print what the real ones print: the product's parsers read them whole."""

from __future__ import annotations

import pickle
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest
from lanescope.incident.platforms import platform
from lanescope.parsers.nvidia_smi.nvlink import parse_nvlink_errors, parse_nvlink_remotes, parse_nvlink_status
from lanescope.parsers.nvidia_smi.topo import parse_topo_matrix
from lanescope.sim.hosts import prepare
from lanescope.sim.scenario import load_scenario

SCENARIO = """
platform = "h100_hgx"
nodes = 2
speed = 1000.0
[world]
tenants = 0.0
noise = 0.01
[[fault]]
component = "sim1/gpu2/nvlink4"
kind = "hard"
[[fault]]
component = "sim1/mlx5_4/pcie"
kind = "degraded"
width = 8
[[fault]]
component = "sim2/gpu5"
kind = "hard"
from = -100.0
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a command on a node; its stdout."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "two.toml").write_text(SCENARIO, "utf-8")
    scenario = load_scenario(folder / "two.toml")
    (folder / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    began = time.time()
    hosts = {name: prepare(folder, scenario, name, began) for name in scenario.nodes}

    def run(node: str, command: str, status: int = 0) -> str:
        host = hosts[node]
        argv = ["/bin/sh", "-c", command]
        done = subprocess.run(
            argv, env=host.environment(), cwd=host.home, capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    return run


def test_topo_m_is_read_whole_and_a_lane_down_shows_in_its_pairs(nodes: Run) -> None:
    text = nodes("sim1", "nvidia-smi topo -m")
    assert parse_topo_matrix(text).unread == []
    rows = {
        line.split("\t")[0]: line.split("\t")[1:] for line in text.splitlines() if re.match(r"(GPU|NIC)\d+\t", line)
    }
    assert rows["GPU0"][:3] == [" X ", "NV18", "NV17"]
    assert rows["GPU0"][8:13] == ["PIX", "NODE", "NODE", "NODE", "SYS"]


def test_nvlink_s_e_and_r_are_read_whole(nodes: Run) -> None:
    status = parse_nvlink_status(nodes("sim1", "nvidia-smi nvlink -s"))
    errors = parse_nvlink_errors(nodes("sim1", "nvidia-smi nvlink -e"))
    remotes = parse_nvlink_remotes(nodes("sim1", "nvidia-smi nvlink -R"))
    assert status.unread == errors.unread == remotes.unread == []
    assert "\t Link 4: <inactive>\n" in nodes("sim1", "nvidia-smi nvlink -s -i 2")
    assert (
        nodes("sim1", "nvidia-smi nvlink -R -i 0").splitlines()[1]
        == "\t Link 0: Remote Device 00000000:83:00.0: Link 0"
    )


def test_the_table_and_the_log_have_every_gpu(nodes: Run) -> None:
    table = nodes("sim1", "nvidia-smi")
    assert {len(line) for line in table.splitlines() if line.startswith(("|", "+"))} == {91}
    assert table.count("NVIDIA H100 80GB HBM3") == 8
    tree = ElementTree.fromstring(nodes("sim1", "nvidia-smi -q -x"))
    assert len(tree.findall("gpu")) == int(tree.findtext("attached_gpus") or 0) == 8
    assert tree.findtext("gpu/pci/pci_gpu_link_info/pcie_gen/max_link_gen") == "5"
    assert nodes("sim1", "nvidia-smi -q -i 3").count("Product Name") == 1


def test_query_gpu_answers_in_the_order_asked(nodes: Run) -> None:
    fields = "index,pci.bus_id,pcie.link.width.current,power.limit,clocks_event_reasons.gpu_idle"
    rows = nodes("sim1", f"nvidia-smi --query-gpu={fields} --format=csv").splitlines()
    assert rows[0] == "index, pci.bus_id, pcie.link.width.current, power.limit [W], clocks_event_reasons.gpu_idle"
    assert rows[4] == "3, 00000000:5D:00.0, 16, 700.00 W, Active"
    bare = nodes("sim1", "nvidia-smi --query-gpu=power.limit --format=csv,noheader,nounits -i 0")
    assert bare == "700.00\n"
    nodes("sim1", "nvidia-smi --query-gpu=beauty --format=csv", status=2)


def test_a_lost_gpu_silences_the_table_but_not_the_list(nodes: Run) -> None:
    complaint = "Unable to determine the device handle for GPU0000:BB:00.0: GPU is lost."
    assert nodes("sim2", "nvidia-smi", status=15).startswith(complaint)
    assert nodes("sim2", "nvidia-smi -L", status=15).count("UUID") == 7
    assert "5, [GPU is lost]" in nodes("sim2", "nvidia-smi --query-gpu=index,name --format=csv")
    assert "(rev ff)\n\t!!! Unknown header type 7f" in nodes("sim2", "lspci -v -s bb:00.0")


def test_dmesg_and_the_journal_tell_the_same_lines(nodes: Run) -> None:
    since_boot = [line.split("] ", 1)[1] for line in nodes("sim2", "dmesg").splitlines()]
    ctime = [line.split("] ", 1)[1] for line in nodes("sim2", "dmesg -T").splitlines()]
    journal = [
        line.split(" kernel: ", 1)[1] for line in nodes("sim2", "journalctl -k -o short-iso-precise").splitlines()
    ]
    assert since_boot == ctime == journal
    assert any("Xid (PCI:0000:bb:00): 79" in line for line in since_boot)
    assert re.match(r"\[ *\d+\.\d{6}\] ", nodes("sim2", "dmesg").splitlines()[-1])
    assert len(nodes("sim2", "journalctl -k -n 3").splitlines()) == 3


def test_lspci_shows_the_narrow_link_and_the_tree(nodes: Run) -> None:
    narrow = nodes("sim1", "lspci -vvv -s 4d:00.0")
    assert "LnkCap:\tPort #0, Speed 32GT/s, Width x16" in narrow
    assert "LnkSta:\tSpeed 32GT/s (ok), Width x8 (downgraded)" in narrow
    assert nodes("sim1", "lspci -nn -d 10de:2330").count("[10de:2330]") == 8
    tree = nodes("sim1", "lspci -t").splitlines()
    assert tree[0] == "-+-[0000:15]---01.0-[16-1a]----00.0-[17-1a]--+-00.0-[19]----00.0"


def test_ibstat_and_cat_show_the_port(nodes: Run) -> None:
    assert "State: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400" in nodes("sim1", "ibstat mlx5_0")
    assert nodes("sim1", "cat /sys/class/infiniband/mlx5_0/ports/1/phys_state") == "5: LinkUp\n"
    assert nodes("sim1", "echo own | cat -") == "own\n"
    nodes("sim1", "cat /sys/class/nothing 2>/dev/null", status=1)


def test_benchmarks_measure_what_the_platform_is_expected_to(nodes: Run) -> None:
    expect = platform("h100_hgx").expect
    reduce = nodes("sim2", "all_reduce_perf -b 8G -e 8G -g 4")
    average = float(re.search(r"# Avg bus bandwidth    : (\S+)", reduce)[1])  # type: ignore[index]
    assert average == pytest.approx(expect["nccl_all_reduce_busbw"].value, rel=0.08)
    matrix = nodes("sim1", "nvbandwidth -t host_to_device_memcpy_ce")
    total = float(re.search(r"SUM host_to_device_memcpy_ce (\S+)", matrix)[1])  # type: ignore[index]
    assert total / 8 == pytest.approx(expect["h2d_pinned"].value, rel=0.08)
