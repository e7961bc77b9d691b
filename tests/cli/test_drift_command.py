"""`lanescope drift`, as people and scripts use it."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Fleet
from .program import run
from .test_documents import errors_of


def put(folder: Path, drivers: dict[str, str]) -> None:
    for node, driver in drivers.items():
        (folder / node).mkdir()
        rows = "".join(f"{gpu}, NVIDIA H100 80GB HBM3, {driver}\n" for gpu in range(2))
        (folder / node / "gpus.csv").write_text(f"index, name, driver_version\n{rows}")


def test_the_odd_one_of_a_folder_is_named_in_table_and_document(tmp_path: Path) -> None:
    put(tmp_path, {"n1": "535.104.05", "n2": "535.104.05", "n3": "550.54.14", "n4": "535.104.05"})
    ended = run("drift", tmp_path)
    assert ended.code == 1, ended.err
    assert "odd  550.54.14  n3" in ended.out
    document = json.loads(run("drift", tmp_path, "--json").out)
    assert errors_of(document, "drift") == []
    (drift,) = document["drift"]
    assert (drift["what"], drift["odd"], drift["usual"]) == ("driver", ["n3/host"], "535.104.05")


def test_of_two_nodes_the_difference_is_shown_and_nobody_is_odd(tmp_path: Path) -> None:
    put(tmp_path, {"n1": "535.104.05", "n2": "550.54.14"})
    ended = run("drift", tmp_path)
    assert ended.code == 1
    assert "nobody is the odd one out" in ended.out
    assert "odd  " not in ended.out


def test_equals_that_agree_are_no_drift(tmp_path: Path) -> None:
    put(tmp_path, {"n1": "535.104.05", "n2": "535.104.05"})
    ended = run("drift", tmp_path)
    assert ended.code == 0
    assert "no drift" in ended.out


def test_what_says_nothing_to_compare_is_named_and_told_by_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello there\n")
    ended = run("drift", tmp_path)
    assert ended.code == 3
    assert "nothing to compare" in ended.out
    assert "notes.txt" in ended.out


def test_live_nodes_are_surveyed_and_a_node_that_does_not_answer_is_named(fleet: Fleet, tmp_path: Path) -> None:
    ended = run("drift", "-F", fleet.ssh_config, "sim[1-2,7]", "--json", "--cases", tmp_path)
    assert ended.code == 0, ended.err + ended.out
    document = json.loads(ended.out)
    assert errors_of(document, "drift") == []
    assert {"driver", "kernel", "VBIOS"} <= set(document["compared"])
    assert set(document["nodes"]) == {"sim1", "sim7"}
    assert any(note.startswith("sim2: ") for note in document["notes"])


def test_a_case_is_a_path_too(fleet: Fleet, tmp_path: Path) -> None:
    run("drift", "-F", fleet.ssh_config, "sim[1,7]", "--cases", tmp_path)
    (case,) = tmp_path.iterdir()
    document = json.loads(run("drift", case, "--json").out)
    assert set(document["nodes"]) == {"sim1", "sim7"}
    assert "driver" in document["compared"]
