from pathlib import Path

import pytest
from lanescope.parsers.bandwidth.cuda_bandwidth_test import CopyBandwidth, CopyVerdict, parse_cuda_bandwidth_test
from lanescope.parsers.bandwidth.nvbandwidth import (
    NvbandwidthCell,
    NvbandwidthDevice,
    NvbandwidthTest,
    NvbandwidthVersions,
    parse_nvbandwidth,
)
from lanescope.parsers.bandwidth.nvbandwidth_json import parse_nvbandwidth_json
from lanescope.parsers.bandwidth.p2p_latency_test import PeerMeasure, parse_p2p_latency_test
from lanescope.parsers.parsed import Missing
from lanescope.parsers.tools import recognize

JSON = (Path(__file__).parents[1] / "data" / "bandwidth" / "nvbandwidth.json").read_text()


def of_type(parsed, kind):
    return [reading for reading in parsed.readings if isinstance(reading, kind)]


def test_nvbandwidth_json_keeps_waived_failed_and_unfinished_tests_apart():
    parsed = parse_nvbandwidth_json(JSON)
    assert recognize(JSON).name == "nvbandwidth -j"
    assert [(test.name, test.status) for test in of_type(parsed, NvbandwidthTest)] == [
        ("device_to_device_memcpy_read_ce", "passed"),
        ("device_to_device_latency_sm", "waived"),
        ("host_to_device_memcpy_ce", "error"),
        ("device_local_copy", "unfinished"),
    ]
    assert of_type(parsed, NvbandwidthVersions) == [NvbandwidthVersions("v0.8", "13000", "", "580.95.05")]
    assert of_type(parsed, NvbandwidthDevice)[1] == NvbandwidthDevice(
        1, "NVIDIA H100 80GB HBM3", "0000:3b:00.0", "gpu-017"
    )


def test_nvbandwidth_json_and_text_give_the_same_cells():
    text = (
        "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
        "           0         1\n 0       N/A    389.50\n 1     21.50       N/A\n\n"
        "SUM device_to_device_memcpy_read_ce 411.00\n"
    )
    cells = of_type(parse_nvbandwidth(text), NvbandwidthCell)
    assert cells == of_type(parse_nvbandwidth_json(JSON), NvbandwidthCell)
    assert [(cell.row, cell.column, cell.value) for cell in cells if cell.value] == [(0, 1, 389.5), (1, 0, 21.5)]
    assert cells[0].missing == {"value": Missing.NOT_APPLICABLE}


def test_a_json_document_that_breaks_off_gives_nothing_and_says_where():
    parsed = parse_nvbandwidth_json("$ nvbandwidth -j\n" + JSON[:300])
    assert parsed.readings == []
    assert parsed.unread[0].why == "stands above the document"
    assert "not valid JSON" in parsed.unread[-1].why


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"nvbandwidth": []}', '{"nvbandwidth": {"testcases": [1, [], {}]}}', "{" * 9999]
)
def test_json_of_the_wrong_shape_raises_nothing(text):
    assert of_type(parse_nvbandwidth_json(text), NvbandwidthCell) == []


def test_a_test_that_fails_between_others_is_an_error_with_its_words():
    parsed = parse_nvbandwidth(
        "Running host_to_device_memcpy_ce.\n[CUDA_ERROR_ILLEGAL_ADDRESS] an illegal memory access in expression x\n"
        "Running device_to_host_memcpy_ce.\nERROR: Testcase failed!\nWaiving benchmark one_to_all_read_ce.\n"
    )
    assert [(test.name, test.status) for test in parsed.readings] == [
        ("host_to_device_memcpy_ce", "error"),
        ("device_to_host_memcpy_ce", "error"),
        ("one_to_all_read_ce", "waived"),
    ]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in parsed.readings[0].why


def test_a_run_that_ends_inside_a_matrix_keeps_its_rows_and_has_no_total():
    parsed = parse_nvbandwidth(
        "Running a_test.\nmemcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)\n"
        "           0         1\n 0       N/A    10.00\n 1     1"
    )
    assert [(test.rows, test.total) for test in of_type(parsed, NvbandwidthTest)] == [(1, None)]
    assert [line.number for line in parsed.unread] == [5]


def test_hosts_and_processes_of_newer_runs_are_told_apart():
    versions = "nvbandwidth Version: v0.9\nDriver Version: 610.43.02\n\n"
    one = parse_nvbandwidth(versions + "gpu-017\nDevice 0: NVIDIA GH200 480GB (00000009:01:00)\n")
    assert of_type(one, NvbandwidthDevice) == [NvbandwidthDevice(0, "NVIDIA GH200 480GB", "0009:01:00.0", "gpu-017")]
    assert of_type(one, NvbandwidthVersions)[0].host == "gpu-017"
    many = parse_nvbandwidth(versions + "Process 3 (gpu-018): device 1: NVIDIA GB200 (00000008:06:00)\n")
    assert of_type(many, NvbandwidthDevice) == [NvbandwidthDevice(1, "NVIDIA GB200", "0008:06:00.0", "gpu-018", 3)]


P2P = (
    "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     0\n     1\t     1     1\n"
    "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
    "   D\\D     0      1 \n     0 837.10   8.76 \n     1   8.75 837.33 \n"
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n"
    "   GPU     0      1 \n     0   2.10  12.83 \n     1  12.75   2.08 \n\n"
    "   CPU     0      1 \n     0   2.11   5.91 \n     1   5.86   2.04 \n"
)


def test_latency_is_told_from_bandwidth_and_the_gpus_clock_from_the_cpus():
    measures = of_type(parse_p2p_latency_test(P2P), PeerMeasure)
    told = [(m.what, m.timed_by, m.unit, m.bidirectional, m.value) for m in measures if (m.here, m.there) == (0, 1)]
    assert told == [
        ("bandwidth", "", "GB/s", True, 8.76),
        ("latency", "GPU", "us", False, 12.83),
        ("latency", "CPU", "us", False, 5.91),
    ]


def test_a_one_way_lack_of_peer_access_stays_one_way():
    access = [r for r in parse_p2p_latency_test(P2P).readings if not isinstance(r, PeerMeasure)]
    assert [(one.here, one.there, one.can) for one in access] == [(0, 1, False), (1, 0, True)]


def test_a_row_with_a_cell_too_few_is_unread_rather_than_shifted():
    parsed = parse_p2p_latency_test(P2P.replace("     1   8.75 837.33 ", "     1   8.75"))
    assert [line.number for line in parsed.unread] == [8]


TABLES = """[CUDA Bandwidth Test] - Starting...
Running on...

 Device 0: NVIDIA GeForce MX450
 Quick Mode

 Host to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(MB/s)
   33554432\t\t\t3076.7

 Device to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t\t70.8

Result = FAIL

NOTE: The CUDA Samples are not meant for performance measurements. Results may vary when GPU Boost is enabled.
"""


def test_tables_of_the_bandwidth_test_keep_their_units():
    parsed = parse_cuda_bandwidth_test(TABLES)
    assert recognize(TABLES).name == "bandwidthTest"
    assert parsed.unread == []
    assert of_type(parsed, CopyBandwidth) == [
        CopyBandwidth("H2D", "pinned", 33554432, 3076.7, "MB/s", 1),
        CopyBandwidth("D2D", "pinned", 32000000, 70.8, "GB/s", 1),
    ]
    assert of_type(parsed, CopyVerdict) == [CopyVerdict(False)]
