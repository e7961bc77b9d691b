"""`lanescope probe` runs what a person chose, where they said, on simulated nodes over SSH."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Fleet
from .program import PROGRAM, Ended, run
from .test_documents import errors_of


def probe(fleet: Fleet, cases: Path, *arguments: str) -> Ended:
    return run("probe", arguments[0], "-F", fleet.ssh_config, "--cases", cases, *arguments[1:])


def test_the_catalogue_needs_no_hosts() -> None:
    text = run("probe", "--list")
    assert text.code == 0, text.err
    assert "rdma_write: RDMA write between two nodes" in text.out
    document = json.loads(run("probe", "--list", "--json").out)
    assert errors_of(document, "probe") == []


def test_a_probe_that_there_is_not_is_refused_before_a_node_is_bothered(fleet: Fleet, tmp_path: Path) -> None:
    ended = probe(fleet, tmp_path, "p3p", "sim1", "--at", "gpu0,gpu1", "--yes")
    assert ended.code == 64
    assert ended.says_one_sentence("'p3p'", "p2p")
    assert not list(tmp_path.iterdir())


def test_without_a_word_about_targets_they_are_listed_and_nothing_runs(fleet: Fleet, tmp_path: Path) -> None:
    ended = probe(fleet, tmp_path, "rdma_write", "sim[1,7]")
    assert ended.code == 0, ended.err
    assert "--at sim1/mlx5_0,sim7/mlx5_0" in ended.out
    (journal,) = tmp_path.glob("*/journal.jsonl")
    assert "RoundPlanned" not in journal.read_text()


def test_nothing_runs_without_a_yes(fleet: Fleet, tmp_path: Path) -> None:
    ended = probe(fleet, tmp_path, "p2p", "sim1", "--at", "gpu3,gpu5")
    assert ended.code == 64
    assert ended.says_one_sentence("--yes")
    assert not list(tmp_path.iterdir())


def at_a_terminal(fleet: Fleet, cases: Path, act: Callable[[int, subprocess.Popen[bytes]], object]) -> tuple[int, str]:
    """Exit code and stderr of a probe whose question is answered by `act`, given the terminal and the process."""
    terminal, theirs = os.openpty()
    where = ("-F", str(fleet.ssh_config), "--cases", str(cases))
    command = [*PROGRAM, "probe", "p2p", "sim1", *where, "--at", "gpu3,gpu5"]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        said = b""
        while not said.rstrip().endswith(b"[y/N]"):
            piece = os.read(process.stderr.fileno(), 4096)
            assert piece, said
            said += piece
        act(terminal, process)
        rest = process.communicate(timeout=20)[1]
    finally:
        process.kill()
        os.close(terminal)
        os.close(theirs)
    return process.returncode, (said + rest).decode()


def test_a_person_is_asked_with_the_cost_and_a_no_runs_nothing(fleet: Fleet, tmp_path: Path) -> None:
    code, said = at_a_terminal(fleet, tmp_path, lambda terminal, _: os.write(terminal, b"n\n"))
    assert code == 3
    assert "loads GPU3 and GPU5 of sim1 and their NVLinks for 0.6 s" in said
    assert "was not run: you did not say yes" in said
    (journal,) = tmp_path.glob("*/journal.jsonl")
    assert "RoundPlanned" not in journal.read_text()


def test_an_interrupt_at_the_question_needs_no_answer(fleet: Fleet, tmp_path: Path) -> None:
    code, said = at_a_terminal(fleet, tmp_path, lambda _, process: process.send_signal(signal.SIGINT))
    assert code == 130
    assert "interrupted" in said


def test_a_part_that_does_not_fit_is_refused_with_one_that_does(fleet: Fleet, tmp_path: Path) -> None:
    ended = probe(fleet, tmp_path, "p2p", "sim1", "--at", "gpu3,mlx5_0", "--yes")
    assert ended.code == 64
    assert ended.says_one_sentence("two GPUs of one node", "--at sim1/gpu0,sim1/gpu1 would fit")


def test_a_copy_is_measured_and_told_as_a_distribution(fleet: Fleet, tmp_path: Path) -> None:
    ended = probe(fleet, tmp_path, "p2p", "sim1", "--at", "gpu3,gpu5", "--yes")
    assert ended.code == 0, ended.err
    assert "GPU to GPU copy (p2p) at sim1/gpu3,sim1/gpu5" in ended.out
    assert "16 windows: median " in ended.out
    assert "error counters read at its edges" in ended.out
    (journal,) = tmp_path.glob("*/journal.jsonl")
    written = journal.read_text()
    assert all(kind in written for kind in ("RoundPlanned", "Consented", "RoundEnded", "TrialEnded"))


@pytest.mark.parametrize(
    ("name", "at", "words"),
    [
        ("rdma_write@tc=106", "sim1/mlx5_0,sim7/mlx5_0", "ib_write_bw of perftest"),
        ("dcgm_diag_1", "sim1", "dcgmi diag -r 1"),
    ],
)
def test_a_tool_on_the_nodes_is_driven_and_named(fleet: Fleet, tmp_path: Path, name: str, at: str, words: str) -> None:
    ended = probe(fleet, tmp_path, name, "sim[1,7]", "--at", at, "--yes", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert errors_of(document, "probe") == []
    (outcome,) = document["outcomes"]
    assert words in outcome["runs"][0]["measured_by"]
    assert document["probe"].split("@")[0] == name.split("@")[0]
