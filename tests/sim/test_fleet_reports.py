"""What a simulated node's nvidia-smi reports goes through the same parsers as what a real one prints."""

from __future__ import annotations

import pickle
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
from lanescope.parsers.nvidia_smi.errors import GpuLost
from lanescope.parsers.nvidia_smi.gpu_report import Driver, GpuReport
from lanescope.parsers.parsed import Parsed
from lanescope.parsers.tools import recognize
from lanescope.sim.hosts import prepare
from lanescope.sim.scenario import load_scenario

SCENARIO = """
platform = "h100_hgx"
nodes = 2
speed = 1000.0
[[fault]]
component = "sim2/gpu5"
kind = "hard"
from = -100.0
"""

Read = Callable[[str, str], tuple[str, Parsed[Any]]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Runs a command on a node; the tool that its output is recognized as, and what it says."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "two.toml").write_text(SCENARIO, "utf-8")
    scenario = load_scenario(folder / "two.toml")
    (folder / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    hosts = {name: prepare(folder, scenario, name, time.time()) for name in scenario.nodes}

    def run(node: str, command: str) -> tuple[str, Parsed[Any]]:
        host = hosts[node]
        argv = ["/bin/sh", "-c", command]
        done = subprocess.run(
            argv, env=host.environment(), cwd=host.home, capture_output=True, text=True, timeout=30, check=False
        )
        tool = recognize(done.stdout)
        assert tool is not None, done.stdout[:200]
        return tool.name, tool.parse(done.stdout)

    return run


def gpus(parsed: Parsed[Any]) -> list[GpuReport]:
    return [reading for reading in parsed.readings if isinstance(reading, GpuReport)]


QUERY = "nvidia-smi --query-gpu=index,pci.bus_id,name,serial,pcie.link.width.current,remapped_rows.pending --format=csv"


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("nvidia-smi", "nvidia-smi"),
        ("nvidia-smi -L", "nvidia-smi -L"),
        ("nvidia-smi -q", "nvidia-smi -q"),
        ("nvidia-smi -q -x", "nvidia-smi -q -x"),
        (QUERY, "nvidia-smi --query-gpu"),
    ],
)
def test_a_report_of_a_healthy_node_is_read_whole(read: Read, command: str, tool: str) -> None:
    name, parsed = read("sim1", command)
    assert (name, parsed.unread) == (tool, [])
    assert [gpu.index for gpu in gpus(parsed)] == list(range(8))


def test_text_xml_and_csv_say_the_same_of_a_gpu(read: Read) -> None:
    text, xml, csv = (gpus(read("sim1", command)[1])[3] for command in ("nvidia-smi -q", "nvidia-smi -q -x", QUERY))
    assert (text.bus_address, text.name, text.serial) == (csv.bus_address, csv.name, csv.serial)
    assert (text.pcie_width, text.remapped.pending) == (csv.pcie_width, csv.remapped.pending) == (16, False)
    assert (xml.pcie_width, xml.uuid, xml.ecc, xml.memory) == (text.pcie_width, text.uuid, text.ecc, text.memory)


def test_the_driver_counts_more_gpus_than_an_excerpt_shows(read: Read) -> None:
    parsed = read("sim1", "nvidia-smi -q -i 3")[1]
    driver = next(reading for reading in parsed.readings if isinstance(reading, Driver))
    assert (driver.attached, driver.reported) == (8, 1)
    assert [gpu.index for gpu in gpus(parsed)] == [None]


def test_a_lost_gpu_is_lost_in_every_report_that_is_still_given(read: Read) -> None:
    assert [type(reading) for reading in read("sim2", "nvidia-smi")[1].readings] == [GpuLost]
    listed = read("sim2", "nvidia-smi -L")[1]
    assert [gpu.index for gpu in gpus(listed)] == [0, 1, 2, 3, 4, 6, 7]
    queried = gpus(read("sim2", QUERY)[1])
    assert [gpu.index for gpu in queried if gpu.lost] == [5]
