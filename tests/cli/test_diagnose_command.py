"""`lanescope diagnose`: files that somebody has get the judgement of a live fleet."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .program import run
from .test_documents import errors_of

MISMATCH = (
    "n7 nv-fabricmanager[900]: fabric manager NVIDIA GPU driver interface version 550.54.14 don't match with driver "
    "version 550.90.07. Please update with matching NVIDIA driver package.\n"
    "n7 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.\n"
)
IDLE = "Fabric\n    State                             : Completed\n    Status                            : Success\n"
OFF_BUS = (
    "[  100.000000] NVRM: Xid (PCI:0000:91:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    "[  112.000000] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up\n"
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "n7").mkdir()
    (tmp_path / "n7" / "journal.txt").write_text(MISMATCH)
    return tmp_path


def test_a_fault_is_told_with_file_and_next_step_and_exits_with_1(files: Path) -> None:
    ended = run("diagnose", files)
    assert ended.code == 1, ended.err
    assert "nvlink-fabric/fm-version-mismatch" in ended.out
    assert "for it: n7/journal.txt" in ended.out
    assert "next: Install the Fabric Manager package" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_the_document_keeps_its_schema(files: Path) -> None:
    (files / "n7" / "notes.txt").write_text("we rebooted it twice\n")
    ended = run("diagnose", files, "--json", "--symptom", "CUDA 802", "--hardware", "8x H100")
    document = json.loads(ended.out)
    assert errors_of(document, "diagnose") == []
    assert document["findings"][0]["class"] == "nvlink-fabric/fm-version-mismatch"
    assert document["findings"][0]["where"] == ["n7/journal.txt"]
    assert [one["path"] for one in document["unread"]] == ["n7/notes.txt"]
    assert (document["nodes"], document["context"]["symptom"]) == (["n7"], "CUDA 802")


def test_nothing_wrong_exits_with_0(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(IDLE)
    ended = run("diagnose", tmp_path)
    assert ended.code == 0, ended.out
    assert "Nothing wrong is found" in ended.out


def test_what_no_tool_printed_exits_with_3_and_is_listed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("it was slow\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    ended = run("diagnose", tmp_path)
    assert ended.code == 3
    assert "notes.txt" in ended.out
    assert "picture.png" in ended.out


def test_a_path_that_is_not_there_is_a_sentence_and_64(tmp_path: Path) -> None:
    ended = run("diagnose", tmp_path / "nowhere")
    assert ended.code == 64
    assert ended.says_one_sentence("nowhere")


def test_consequences_stand_under_what_caused_them(tmp_path: Path) -> None:
    (tmp_path / "dmesg").write_text(OFF_BUS)
    document = json.loads(run("diagnose", tmp_path, "--json").out)
    assert [one["class"] for one in document["findings"]] == ["gpu-off-bus/unknown"]
    assert document["findings"][0]["victims"]
    assert document["findings"][0]["where"][0] == "dmesg:1"


def test_escapes_and_markup_in_files_are_shown_and_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.txt").write_text("[bold]\x1b]0;title\x07 hello\n")
    ended = run("diagnose", tmp_path)
    assert "\x1b" not in ended.out
    assert "\x07" not in ended.out


def test_a_pipe_in_the_folder_does_not_hang_it(files: Path) -> None:
    os.mkfifo(files / "n7" / "pipe")
    ended = run("diagnose", files)
    assert ended.code == 1
    assert "n7/pipe" in ended.out


def test_outputs_of_several_nodes_are_told_apart(files: Path) -> None:
    (files / "n8").mkdir()
    (files / "n8" / "q.txt").write_text(IDLE)
    document = json.loads(run("diagnose", files, "--json").out)
    assert sorted(document["nodes"]) == ["n7", "n8"]
    assert {one["component"] for one in document["findings"]} == {"n7/service/fabricmanager"}
