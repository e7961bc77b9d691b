"""What a node says of its NVLink fabric: the real program in a real worker, all it looks at simulated."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lanescope.incident.source import Task

from .pipe_node import found  # noqa: TID251 (this folder, not the room)

SOURCE = Path(__file__).parents[1] / "rig" / "simulated_fabric.c"
VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U16)\n"
BUSES = [f"0000:{0x1A + number:02x}:00.0" for number in range(8)]


def libcuda_for(folder, *options):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("the simulated libcuda needs a C compiler, and there is none")
    target = str(folder / "libcuda.so.1")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *options, "-o", target, str(SOURCE)], check=True, timeout=60)
    return folder


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return libcuda_for(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def old_driver(tmp_path_factory):
    return libcuda_for(tmp_path_factory.mktemp("old"), "-DOLD")


@pytest.fixture
def board(node, tmp_path, driver):
    """Makes a node with what is given, and asks it for the state of its fabric."""

    async def ask(fabric="", switches=0, channels=(), library=driver, version=VERSION, **commands):
        for name in [f"nvidia-nvswitch{number}" for number in range(switches)] + ["nvidia-nvswitchctl", "nvidia0"]:
            (tmp_path / "dev" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "dev" / name).touch()
        for name in channels:
            (tmp_path / "imex" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "imex" / name).touch()
        if version:
            (tmp_path / "version").write_text(version)
        for name, text in {"systemctl": "print('inactive')", **commands}.items():
            path = tmp_path / "bin" / name.replace("_", "-")
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!{sys.executable} -IS\n{text}\n")
            path.chmod(0o755)
        swaps = {
            'NODES = "/dev"': f'NODES = "{tmp_path / "dev"}"',
            "/dev/nvidia-caps-imex-channels": str(tmp_path / "imex"),
            "/proc/driver/nvidia/version": str(tmp_path / "version"),
        }
        link, worker = node(path=tmp_path / "bin", swaps=swaps)
        link.env.update(
            LD_LIBRARY_PATH=str(library), SIMULATED_FABRIC=fabric, SIMULATED_FABRIC_LOG=str(tmp_path / "log")
        )
        (output,) = await worker.run([Task("T1", "fabric_state", {})], 15)
        assert not output.error
        (state,) = found(output, "state")
        return state

    return ask


@pytest.fixture
def made(tmp_path):
    """What became of multicast objects."""
    return lambda: (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []


async def test_a_board_with_switches_and_its_manager_is_described(board, made):
    state = await board(
        switches=12,
        channels=["channel10", "channel2"],
        systemctl="print('active')",
        nv_fabricmanager="print('Fabric Manager version is : 570.124.06')",
    )
    assert state["driver"]["version"] == "570.124.06"
    assert state["nvswitches"] == [f"nvidia-nvswitch{number}" for number in range(12)]
    assert state["imex_channels"] == ["channel2", "channel10"]
    manager = state["fabric_manager"]
    assert (manager["is"], manager["unit"], manager["version"]) == ("yes", "active", "570.124.06")
    assert state["multicast"] == {"is": "yes", "why": "", "gpus": dict.fromkeys(BUSES, True), "object": "yes"}
    assert made() == ["created 8 2097152", *(f"joined {number} 0" for number in range(8)), "released 0 0"]


async def test_a_manager_that_is_down_is_no_and_one_that_is_not_installed_is_missing(board):
    version = "print('Fabric Manager version is : 570.124.06')"
    down = (await board(switches=4, systemctl="print('failed')", nv_fabricmanager=version))["fabric_manager"]
    assert (down["is"], down["why"]) == ("no", "nvidia-fabricmanager is failed")


async def test_a_board_with_switches_lacks_a_manager_that_is_not_installed(board):
    lacks = (await board(switches=4))["fabric_manager"]
    assert (lacks["is"], lacks["why"]) == ("missing", "nv-fabricmanager (package: nvidia-fabricmanager)")


async def test_a_board_without_switches_needs_no_manager(board):
    assert (await board())["fabric_manager"]["is"] == "not applicable"


async def test_gpus_that_cant_multicast_say_no_and_no_object_is_tried(board, made):
    state = (await board("without=3"))["multicast"]
    assert (state["is"], state["object"]) == ("no", "not applicable")
    assert [bus for bus, supported in state["gpus"].items() if not supported] == [BUSES[3]]
    assert made() == []


@pytest.mark.parametrize(("fabric", "call"), [("create=1", "cuMulticastCreate"), ("refuses=5", "cuMulticastAddDevice")])
async def test_an_object_that_cant_be_made_is_failed_with_the_call_and_nothing_is_left(board, made, fabric, call):
    state = (await board(fabric))["multicast"]
    assert (state["is"], state["object"]) == ("yes", "failed")
    assert state["why"].startswith(call)
    assert sum(line.startswith("created") for line in made()) == sum(line.startswith("released") for line in made())


async def test_one_gpu_has_nobody_to_multicast_to(board):
    state = (await board("gpus=1"))["multicast"]
    assert (state["is"], state["object"]) == ("yes", "not applicable")


async def test_a_driver_before_12_1_lacks_multicast(board, old_driver):
    state = (await board(library=old_driver))["multicast"]
    assert state["object"] == "missing"
    assert "cuMulticastGetGranularity" in state["why"]


async def test_without_a_driver_its_absence_is_said_and_the_rest_is_still_told(board, tmp_path):
    (tmp_path / "empty").mkdir()
    state = await board(library=tmp_path / "empty", version="", switches=2)
    assert state["driver"] == {"version": "", "line": ""}
    assert len(state["nvswitches"]) == 2
    assert state["multicast"]["is"] in ("missing", "failed")
    assert "libcuda" in state["multicast"]["why"] or "cuInit" in state["multicast"]["why"]
