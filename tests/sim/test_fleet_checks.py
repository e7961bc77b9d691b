"""The checking programs in the probe worker of a simulated node: as on a healthy GPU, in simulated seconds."""

from __future__ import annotations

import json
import pickle
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lanescope.fleet.probe_program import probe_program
from lanescope.incident.platforms import platform
from lanescope.sim.hosts import Host, prepare
from lanescope.sim.scenario import load_scenario

SCENARIO = """
platform = "h100_hgx"
nodes = 1
speed = 100.0
"""
GPUS = [platform("h100_hgx").device(name).address for name in ("gpu0", "gpu1")]


class Worker:
    """A probe worker at work."""

    def __init__(self, host: Host, program: Path) -> None:
        self.process = subprocess.Popen(
            [host.folder / "bin" / "python3", "-I", "-S", "-u", "-c", f"exec(open({str(program)!r}).read())"],
            env=host.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All lines of one task."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        task = {"id": "T1", "program": program, "arguments": arguments}
        self.process.stdin.write(json.dumps({"run": [task], "deadline": 60}) + "\n")
        self.process.stdin.flush()
        lines = []
        for text in self.process.stdout:
            line = json.loads(text)
            if "over" in line:
                return lines
            lines.append(line)
        raise AssertionError(f"the worker ended: {lines}")


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("checks")
    (folder / "one.toml").write_text(SCENARIO, "utf-8")
    scenario = load_scenario(folder / "one.toml")
    (folder / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    (folder / "program.py").write_bytes(probe_program())
    worker = Worker(prepare(folder, scenario, "sim1", time.time()), folder / "program.py")
    yield worker
    worker.process.kill()
    worker.process.communicate()


def found(lines: list[dict[str, Any]], key: str) -> list[Any]:
    return [line[key] for line in lines if key in line]


@pytest.mark.parametrize(("op", "ends"), [("p2p", 2), ("h2d", 1), ("d2h", 1)])
def test_data_that_were_copied_come_back_as_they_were(worker: Worker, op: str, ends: int) -> None:
    lines = worker.run("verify_copy", {"op": op, "gpus": GPUS[:ends], "bytes": 8 << 20, "rounds": 3})
    (verdict,) = found(lines, "verify")
    assert (verdict["wrong_bytes"], verdict["bytes"]) == (0, 24 << 20)
    assert len(found(lines, "w")) == 3


def test_all_free_memory_is_checked_without_taking_any_here(worker: Worker) -> None:
    (memory,) = found(worker.run("memory_check", {"gpus": GPUS[:1]}), "memory")
    assert memory["wrong_words"] == 0
    assert memory["covered"] > 64 << 30
    assert memory["left_out"] == []


def test_a_load_takes_its_simulated_seconds_and_shows_on_the_board(worker: Worker) -> None:
    lines = worker.run("burn", {"gpus": GPUS[:1], "kinds": ["integer", "wmma"], "seconds": 2.0})
    integer, wmma = found(lines, "burn")
    assert (integer["wrong_warps"], wmma["wrong_warps"]) == (0, 0)
    assert wmma["vitals"]["power_w"]["max"] > 100
    assert 8 <= wmma["vitals"]["looks"] <= 14
    assert lines[-1]["seconds"] == pytest.approx(2.0, abs=1.5)


def test_both_directions_at_once_carry_their_sum_over_a_link_that_is_looked_at(worker: Worker) -> None:
    lines = worker.run("cuda_copy", {"op": "bidir", "gpus": GPUS[:1]})
    (foot,) = found(lines, "foot")
    expect = platform("h100_hgx").expect
    assert foot["median"] == pytest.approx(expect["h2d_pinned"].value + expect["d2h_pinned"].value, rel=0.1)
    assert foot["link"]["during"] == ["32.0 GT/s PCIe x16"]
