"""NCCL's RAS service: reports of uneven jobs, dead processes and errors, events in both forms, and bad input."""

from __future__ import annotations

from pathlib import Path

from lanescope.parsers.nccl.ras_event import RasEvent
from lanescope.parsers.nccl.ras_json import RAS_JSON, RasCommunicator, parse_ras_json
from lanescope.parsers.nccl.ras_report import RasJob, RasNodes, RasProblem, RasProcess, RasRank, RasShare
from lanescope.parsers.nccl.ras_text import RAS_TEXT, parse_ras_text

UNEVEN = (Path(__file__).parents[1] / "data" / "nccl" / "ras-uneven.txt").read_text()
EVENT = "[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 172.16.64.245 managing GPU 1"


def of_type(kind, text=UNEVEN):
    return [reading for reading in parse_ras_text(text).readings if isinstance(reading, kind)]


def test_a_job_of_uneven_shape_is_read_by_its_headings():
    assert of_type(RasNodes) == [RasNodes(3, 8, 1), RasNodes(1, 7, 1)]
    assert of_type(RasJob) == [RasJob(4, None, None, 31, 31)]


def test_a_dead_process_is_told_from_one_that_gave_no_data():
    assert of_type(RasProcess) == [RasProcess(3487984, "172.16.64.213", (0, 1), (4, 5), "DEAD")]
    assert [(one.kind, one.count) for one in of_type(RasProblem)] == [
        ("DEAD", 1),
        ("INCOMPLETE", 1),
        ("ERROR", 1),
        ("MISMATCH", None),
    ]


def test_ranks_say_what_sets_them_apart():
    missing, failed, behind = of_type(RasRank)
    assert (missing.rank, missing.gpu, missing.nvml_gpu, missing.of) == (21, 0, 5, "missing")
    assert (failed.rank, failed.of, failed.value) == (4, "error", "Remote process error")
    assert (behind.rank, behind.gpu, behind.pid, behind.of, behind.value) == (7, None, None, "operations", "0")


def test_a_share_belongs_to_the_communicator_above_it():
    assert of_type(RasShare) == [RasShare(0, 0, "cf264af53edbe986", 30, "operations", "12")]


def test_nothing_of_a_report_is_left_unread():
    assert parse_ras_text(UNEVEN).unread == []
    assert parse_ras_text(UNEVEN.replace("\n", "\r\n")).readings == parse_ras_text(UNEVEN).readings


def test_the_monitors_line_reads_as_its_json():
    (event,) = parse_ras_text(
        f"RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...\n=====\n{EVENT}\n"
    ).readings
    assert event == RasEvent("2025-12-19 13:07:07", "", "PEER_DEAD", "172.16.64.245", 1524345, (1,), (1,), "")
    assert RAS_TEXT.recognizes(EVENT)


def test_events_in_json_follow_one_another(captures):
    text = captures.text("nccl/ras-monitor-peer-dead.json")
    assert [one.event for one in parse_ras_json(text + text.replace("DEAD", "ADDED")).readings] == [
        "PEER_DEAD",
        "PEER_ADDED",
    ]


def test_of_a_status_in_json_that_is_cut_nothing_is_read_and_the_cut_is_noted(captures):
    text = captures.text("nccl/ras-json-missing-rank.json")
    parsed = parse_ras_json(text[:900])
    assert parsed.readings == []
    assert [line.number for line in parsed.unread] == [1]


def test_values_of_the_wrong_type_are_missing():
    (_, communicator) = parse_ras_json(
        '{"nccl_version": 2, "communicators": [{"hash": "0x1f", "size": "two", "ranks_count": true,'
        ' "ranks": [{"rank": null}, 7]}]}'
    ).readings
    assert communicator == RasCommunicator("000000000000001f", "", None, None, None)


def test_other_json_is_neither_recognized_nor_read_as_an_empty_job():
    assert not RAS_JSON.recognizes('{"event": "login", "user": "x"}')
    parsed = parse_ras_json('{"jobs": []}')
    assert parsed.readings == []
    assert len(parsed.unread) == 1
