from pathlib import Path

import pytest
from lanescope.parsers.bandwidth.perftest import (
    RdmaBandwidth,
    RdmaFailure,
    RdmaLatency,
    RdmaRun,
    parse_perftest,
)
from lanescope.parsers.bandwidth.perftest_json import parse_perftest_json
from lanescope.parsers.tools import recognize

DATA = Path(__file__).parents[1] / "data" / "bandwidth"
GBITS = """                    RDMA_Read BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_2
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 TX depth        : 128
 Mtu             : 1024[B]
 Link type       : Ethernet
 GID index       : 3
 Outstand reads  : 16
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0107 PSN 0x41d4ae OUT 0x10 RKey 0x007e4d VAddr 0x007f3dea182000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:110:16:182
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
"""


def of_type(parsed, kind):
    return [reading for reading in parsed.readings if isinstance(reading, kind)]


def test_gigabits_are_not_taken_for_megabytes():
    parsed = parse_perftest(GBITS + " 65536      5000           198.45             197.82               0.377312\n")
    row = of_type(parsed, RdmaBandwidth)[0]
    assert (row.unit, row.average, row.gbps, row.device) == ("Gb/s", 197.82, 197.82, "mlx5_2")
    run = of_type(parsed, RdmaRun)[0]
    assert (run.test, run.qps, run.mtu, run.link, run.gid_index) == ("RDMA_Read BW Test", 4, 1024, "Ethernet", 3)
    assert parsed.unread == []


def test_a_peak_of_zero_was_not_measured():
    parsed = parse_perftest(GBITS + " 65536      529037          0.00              92.46                0.176344\n")
    assert [row.peak for row in of_type(parsed, RdmaBandwidth)] == [None]


def test_a_service_level_column_does_not_shift_the_others():
    heading = " #bytes    #sl      #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    row = of_type(
        parse_perftest(heading + " 65536    3      5000     11000.10    10999.50     0.175992\n"), RdmaBandwidth
    )[0]
    assert (row.iterations, row.average) == (5000, 10999.5)


def test_a_negative_bandwidth_is_an_overflow_and_no_reading():
    parsed = parse_perftest(GBITS + " 65536      529037          0.00              -3.46                0.176344\n")
    assert of_type(parsed, RdmaBandwidth) == []
    assert [line.number for line in parsed.unread] == [15]


def test_a_latency_over_a_given_time_has_an_average_alone():
    heading = " #bytes        #iterations       t_avg[usec]    tps average\n"
    row = of_type(parse_perftest(heading + " 2             2000000           1.05           950000.12\n"), RdmaLatency)[
        0
    ]
    assert (row.average, row.typical, row.p99) == (1.05, None, None)


@pytest.mark.parametrize(
    "line",
    [
        " Completion with error at client",
        " Failed status 12: wr_id 0 syndrom 0x81",
        "Couldn't connect to 10.0.0.2:18515",
        " Unable to Connect the HCA's through the link",
        "mlx5: gpu-017: got completion with error:",
    ],
)
def test_why_a_test_did_not_run_is_kept_in_its_words(line):
    assert parse_perftest(GBITS + line + "\n").readings[-1] == RdmaFailure(line.strip())


def test_a_setting_of_an_unknown_name_is_not_swallowed():
    parsed = parse_perftest(GBITS.replace(" Outstand reads  : 16", " Broken lanes    : 2"))
    assert [line.text for line in parsed.unread] == ["Broken lanes    : 2"]


def test_json_tells_gigabits_by_size_times_message_rate():
    text = (DATA / "ib_write_bw.json").read_text()
    parsed = parse_perftest_json(text)
    assert recognize(text).name == "perftest --out_json"
    row = of_type(parsed, RdmaBandwidth)[0]
    assert (row.size, row.average, row.unit, row.gbps, row.device) == (65536, 393.92, "Gb/s", 393.92, "mlx5_4")
    megabytes = parse_perftest_json(text.replace("393.92", "46958.88").replace("394.12", "46960.11"))
    assert of_type(megabytes, RdmaBandwidth)[0].unit == "MB/s"
    unlike = parse_perftest_json(text.replace("393.92", "1000.0"))
    assert (of_type(unlike, RdmaBandwidth)[0].unit, of_type(unlike, RdmaBandwidth)[0].gbps) == ("", None)


def test_the_json_of_old_versions_that_is_none_is_read_all_the_same():
    text = (DATA / "ib_write_lat.json").read_text()
    parsed = parse_perftest_json(text)
    assert recognize(text).name == "perftest --out_json"
    assert parsed.unread == []
    row = of_type(parsed, RdmaLatency)[0]
    assert (row.test, row.device, row.size, row.typical, row.average, row.p999) == (
        *("RDMA_Write Latency Test", "rxe0", 128),
        *(2.42, 2.43, 4.03),
    )
    assert of_type(parsed, RdmaRun)[0].gid_index == 1


def test_both_directions_of_a_bidirectional_document_are_read():
    text = (DATA / "ib_write_bw.json").read_text()
    result = text[text.index('"results"') + 9 : -2].rstrip()
    both = text[: text.index('"results"')] + f'"results_local"{result},\n"results_remote"{result}\n}}\n'
    assert len(of_type(parse_perftest_json(both), RdmaBandwidth)) == 2
