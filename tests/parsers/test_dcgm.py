"""DCGM: layouts and meanings that no capture shows, and bad input."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lanescope.parsers.dcgm import diag_text
from lanescope.parsers.dcgm.diag import DiagMessage, DiagMetadata, DiagNotRun, DiagResult, DiagStatus
from lanescope.parsers.dcgm.diag_json import DIAG_JSON, DIAG_JSON_4, parse_diag_json
from lanescope.parsers.dcgm.diag_text import parse_diag_text
from lanescope.parsers.dcgm.exporter import Metric, MetricType, parse_exporter
from lanescope.parsers.dcgm.nvlink import (
    NVLINK_ERRORS,
    NVLINK_STATUS,
    LinkState,
    parse_nvlink_errors,
    parse_nvlink_errors_json,
    parse_nvlink_status,
)
from lanescope.parsers.parsed import Missing

DATA = Path(__file__).parents[1] / "data" / "dcgm"


def data(name):
    return (DATA / name).read_text()


def results(parsed):
    return {(one.test, one.gpu): one.status for one in parsed.readings if isinstance(one, DiagResult)}


def messages(parsed):
    return [one for one in parsed.readings if isinstance(one, DiagMessage)]


def row(name, info):
    return f"| {name:<25} | {info:<46} |\n"


def test_dcgm_4_puts_a_gpus_warning_between_the_results_of_gpus():
    parsed = parse_diag_text(data("diag-r2-dcgm4-fail.txt"))
    assert results(parsed) == {
        ("memory", None): DiagStatus.FAIL,
        ("memory", 0): DiagStatus.FAIL,
        ("memory", 1): DiagStatus.PASS,
        ("memory", 2): DiagStatus.SKIP,
    }
    (message,) = messages(parsed)
    assert (message.gpu, message.test, message.text) == (
        0,
        "memory",
        "A contained uncorrectable error was found on this GPU",
    )
    assert parsed.unread == []


def test_the_line_that_says_success_is_no_result():
    assert parse_diag_text("Successfully ran diagnostic for group.\n").readings == []


def test_a_diagnostic_that_did_not_run_says_so_and_passes_nothing():
    text = "Error: Unable to complete diagnostic for group 2147483647. Return: (-21) The Nvvs Binary was not found."
    assert parse_diag_text(text).readings == [DiagNotRun(text)]
    assert diag_text.DIAG_TEXT.recognizes(text)


def test_one_test_may_pass_warn_fail_and_skip_on_different_gpus():
    text = (
        row("Targeted Power", "Pass - GPUs: 0, 1")
        + row("", "Fail - GPU: 2")
        + row("", "Warn - GPU: 3")
        + row("", "Skip - GPUs: 4, 5, 6, 7, 8, 9, 10, 11,")
        + row("", "12, 13")
    )
    counted = Counter(status for (_, gpu), status in results(parse_diag_text(text)).items() if gpu is not None)
    assert counted == {DiagStatus.PASS: 2, DiagStatus.FAIL: 1, DiagStatus.WARN: 1, DiagStatus.SKIP: 10}


def test_a_blank_that_falls_on_the_edge_of_a_cell_is_kept():
    text = row("Diagnostic", "Fail - GPU: 0")
    message = "x" * 44 + " " + "y" * 44 + "z tail"
    text += row("Warning", message[:45]) + row("", message[45:90]) + row("", message[90:])
    assert messages(parse_diag_text(text))[0].text == message


def test_runs_in_one_text_are_told_apart_by_iteration():
    text = (
        "Running iteration 1 of 2...\n"
        + row("PCIe", "Pass - All")
        + "Running iteration 2 of 2...\n"
        + row("PCIe", "Fail - All")
    )
    found = [(one.iteration, one.status, one.all_gpus) for one in parse_diag_text(text).readings]
    assert found == [(1, DiagStatus.PASS, True), (2, DiagStatus.FAIL, True)]


def test_a_row_that_is_no_result_is_unread_with_its_number():
    parsed = parse_diag_text(row("PCIe", "Pass - All") + row("SM Stress", "Maybe"))
    assert [line.number for line in parsed.unread] == [2]


def test_a_table_reads_the_same_with_carriage_returns_escapes_and_a_prompt(captures):
    text = captures.text("dcgm/dcgmi-diag-r2-pass-a100-333.txt")
    decorated = "root@n1:~# dcgmi diag -r 2\r\n" + text.replace("Pass", "\x1b[32mPass\x1b[0m").replace("\n", "\r\n")
    assert parse_diag_text(decorated).readings == parse_diag_text(text).readings
    assert parse_diag_text(decorated).unread == []


def test_dcgm_4_json_has_results_by_entity_and_one_for_the_test():
    text = data("diag-r1-dcgm4.json")
    assert DIAG_JSON_4.recognizes(text)
    assert not DIAG_JSON.recognizes(text)
    parsed = parse_diag_json(text)
    assert results(parsed) == {
        ("software", 0): DiagStatus.PASS,
        ("software", 1): DiagStatus.FAIL,
        ("software", None): DiagStatus.FAIL,
    }
    assert DiagMetadata("DCGM Version", "4.2.3") in parsed.readings
    assert DiagMetadata("Driver Version Detected", "570.148.08") in parsed.readings


def test_a_message_that_the_summary_repeats_is_read_once():
    found = messages(parse_diag_json(data("diag-r1-dcgm4.json")))
    assert [(one.entity, one.gpu, one.error_id, one.severity) for one in found] == [
        ("GPU", 1, 86, 2),
        ("", None, 40, 4),
    ]


def test_older_json_gives_warnings_as_objects_or_as_a_string():
    text = (
        '{"DCGM GPU Diagnostic": {"version": "3.3.5", "GPU Device IDs": ["20b2", "20b2"], "test_categories": [{'
        '"category":'
        ' "Hardware", "tests": [{"name": "GPU Memory", "results": [{"gpu_id": "3", "status": "Fail", "warnings": [null,'
        ' {"warning": "GPU 3 had a DBE", "error_id": 38}], "info": "ran 12 s"},'
        ' {"gpu_ids": "4,5", "status": "PASS"}]}]}]}}'
    )
    parsed = parse_diag_json(text)
    assert results(parsed) == {
        ("GPU Memory", 3): DiagStatus.FAIL,
        ("GPU Memory", 4): DiagStatus.PASS,
        ("GPU Memory", 5): DiagStatus.PASS,
    }
    assert [(one.kind, one.gpu, one.error_id, one.text) for one in messages(parsed)] == [
        ("Warning", 3, 38, "GPU 3 had a DBE"),
        ("Info", 3, None, "ran 12 s"),
    ]
    assert DiagMetadata("GPU Device IDs Detected", "20b2,20b2") in parsed.readings


def test_json_of_a_diagnostic_that_did_not_run_says_so():
    parsed = parse_diag_json(
        '{"DCGM GPU Diagnostic": {"runtime_error": "Unable to complete diagnostic", "version": "3.3.5"}}'
    )
    assert DiagNotRun("Unable to complete diagnostic") in parsed.readings
    assert results(parsed) == {}


def test_repeated_runs_in_json_are_told_apart():
    tests = '[{"name": "PCIe", "results": [{"gpu_id": "0", "status": "%s"}]}]'
    run = f'{{"DCGM GPU Diagnostic": {{"test_categories": [{{"category": "X", "tests": {tests}}}]}}}}'
    parsed = parse_diag_json(f'{{"Overall Result": "Fail", "iterations": [{run % "Pass"}, {run % "Fail"}]}}')
    assert [(one.iteration, one.status) for one in parsed.readings] == [(1, DiagStatus.PASS), (2, DiagStatus.FAIL)]


def test_a_test_without_results_is_unread_and_not_passed():
    parsed = parse_diag_json(
        '{"DCGM GPU Diagnostic": {"test_categories": [{"category": "X", "tests": [{"name": "PCIe"}]}]}}'
    )
    assert parsed.readings == []
    assert [line.text for line in parsed.unread] == ["PCIe"]


def test_links_that_a_board_does_not_have_are_not_down():
    parsed = parse_nvlink_status(data("nvlink-s.txt"))
    assert [one.link for one in parsed.readings if one.state is LinkState.DOWN] == [3]
    assert [one.link for one in parsed.readings if one.state is LinkState.NOT_SUPPORTED] == [6, 7]
    assert [one.subject for one in parsed.absent] == ["NvSwitches"]
    assert parsed.unread == []


def test_the_table_of_error_counts_is_read_and_a_reserved_number_is_no_count():
    text = data("nvlink-e.txt")
    assert NVLINK_ERRORS.recognizes(text)
    assert not NVLINK_STATUS.recognizes(text)
    parsed = parse_nvlink_errors(text)
    assert {(one.link, one.name): one.count.value for one in parsed.readings} == {
        (0, "CRC FLIT Error"): 0,
        (0, "CRC Data Error"): 0,
        (0, "Replay Error"): 7,
        (0, "Recovery Error"): 1,
    }
    assert [one.subject for one in parsed.absent] == ["gpu0 link 1 Replay Error", "gpu0 link 1 CRC FLIT Error"]
    assert parsed.unread == []


def test_error_counts_of_several_gpus_follow_one_another_in_json(captures):
    text = captures.text("dcgm/dcgmi-nvlink-e-gpu0-ok.json")
    parsed = parse_nvlink_errors_json(text + "\n" + text.replace("GPU 0", "GPU 1").replace('"0"', '"12"'))
    assert Counter((one.gpu, one.count.value) for one in parsed.readings) == {(0, 0): 8, (1, 12): 8}


def test_a_count_in_words_is_not_applicable():
    parsed = parse_nvlink_errors_json(
        '{"body": {"Link 2": {"children": {"Replay Error": {"value": "Not Supported"}}}},'
        ' "header": ["NVLINK Error Counts", "GPU 5"]}'
    )
    assert parsed.readings == []
    assert [(one.subject, one.reason) for one in parsed.absent] == [("gpu5 link 2 Replay Error", "Not Supported")]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("9223372036854775792", Missing.NOT_APPLICABLE),
        ("9223372036854775794", Missing.NOT_SUPPORTED),
        ("9223372036854775795", Missing.NOT_PERMITTED),
        ("140737488355328.000000", Missing.NOT_APPLICABLE),
        ("NaN", Missing.UNREADABLE),
    ],
)
def test_a_reserved_number_of_dcgm_is_no_value(value, why):
    (metric,) = parse_exporter(f'DCGM_FI_DEV_XID_ERRORS{{gpu="0"}} {value}').readings
    assert isinstance(metric, Metric)
    assert (metric.value, metric.missing) == (None, why)


def test_labels_may_hold_quotes_commas_and_braces():
    (metric,) = parse_exporter(
        r'DCGM_FI_DEV_GPU_TEMP{gpu="0",pod="a,b}",note="say \"hi\"\\",} 30 1700000000000'
    ).readings
    assert metric.labels == {"gpu": "0", "pod": "a,b}", "note": 'say "hi"\\'}
    assert (metric.value, metric.timestamp_ms) == (30, 1700000000000)


def test_metrics_of_other_exporters_have_no_gpu():
    (metric,) = parse_exporter('node_load1{instance="n1"} 0.5').readings
    assert (metric.gpu, metric.uuid, metric.value) == (None, None, 0.5)


def test_a_type_without_a_help_is_read():
    assert parse_exporter("# TYPE DCGM_FI_DEV_SM_CLOCK gauge").readings == [
        MetricType("DCGM_FI_DEV_SM_CLOCK", "gauge", "")
    ]


def test_a_sample_that_is_cut_is_unread():
    parsed = parse_exporter('DCGM_FI_DEV_GPU_TEMP{gpu="0"} 30\nDCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-6c')
    assert [one.gpu for one in parsed.readings] == [0]
    assert [line.number for line in parsed.unread] == [2]
