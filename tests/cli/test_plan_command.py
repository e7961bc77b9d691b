"""`localize --plan` says what could be told apart before anything runs, and real runs keep to the same limits."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Fleet
from .program import Ended, run
from .test_documents import errors_of


def localize(fleet: Fleet, cases: Path, *arguments: str) -> Ended:
    return run("localize", "-F", fleet.ssh_config, "--cases", cases, *arguments)


def journal(cases: Path) -> str:
    (path,) = cases.glob("*/journal.jsonl")
    return path.read_text()


def test_a_plan_names_the_18_lanes_and_what_would_split_them_in_80_columns(fleet: Fleet, tmp_path: Path) -> None:
    ended = localize(fleet, tmp_path, "sim1", "--plan")
    assert ended.code == 0, ended.err
    assert "8 groups of 18 nvlink" in ended.out
    assert "told from the rest by its own counters" in ended.out
    assert "to split it: swap sim1/gpu0" in ended.out
    assert "Round 1 would run" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_equal_nodes_are_told_once(fleet: Fleet, tmp_path: Path) -> None:
    ended = localize(fleet, tmp_path, "sim[1,7]", "--plan")
    assert ended.code == 0, ended.err
    assert "Each of 2 nodes (sim1, sim7)" in ended.out
    assert ended.out.count("groups of 18 nvlink") == 1


def test_a_plan_document_keeps_its_schema_and_its_limits(fleet: Fleet, tmp_path: Path) -> None:
    limits = ("--without", "p2p", "--exclude", "sim7")
    ended = localize(fleet, tmp_path, "sim[1,7]", "--plan", "--json", *limits)
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert errors_of(document, "plan") == []
    outlook = document["outlook"]
    assert (outlook["nodes"], outlook["left_out"]) == (["sim1"], ["sim7"])
    assert "p2p" not in outlook["probes"]
    assert {trial["node"] for trial in document["plan"]["trials"]} == {"sim1"}
    assert "p2p" not in {trial["probe"] for trial in document["plan"]["trials"]}
    (gain,) = [gain for gain in outlook["gains"] if gain["probe"] == "p2p"]
    assert not gain["allowed"]
    assert gain["reached"]["nvlink"] == 144


def test_a_run_keeps_to_the_probes_and_nodes_it_is_left(fleet: Fleet, tmp_path: Path) -> None:
    limits = ("--without", "p2p", "--exclude", "sim7", "--budget", "3")
    ended = localize(fleet, tmp_path, "sim[1,7]", "--yes", "--json", *limits)
    assert ended.code in (0, 2), ended.err
    written = journal(tmp_path)
    assert '"probe":"h2d"' in written
    assert '"probe":"p2p"' not in written
    assert '"targets":["sim7' not in written


def test_a_probe_that_no_search_runs_is_refused_before_a_node_is_bothered(fleet: Fleet, tmp_path: Path) -> None:
    ended = localize(fleet, tmp_path, "sim1", "--plan", "--without", "warp-core")
    assert ended.code == 64
    assert ended.says_one_sentence("'warp-core'", "p2p")
    assert not list(tmp_path.iterdir())


def test_excluding_a_stranger_or_everyone_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    stranger = localize(fleet, tmp_path, "sim1", "--plan", "--exclude", "sim99")
    assert stranger.code == 64
    assert stranger.says_one_sentence("sim99", "none of the hosts")
    everyone = localize(fleet, tmp_path, "sim[1,7]", "--plan", "--exclude", "sim[1,7]")
    assert everyone.code == 64
    assert everyone.says_one_sentence("leave at least one")
