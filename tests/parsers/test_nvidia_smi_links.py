from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.nvidia_smi.links import LINKS
from lanescope.parsers.nvidia_smi.nvlink import (
    AllInactive,
    LinkEnd,
    LinkErrorRate,
    LinkErrors,
    LinkState,
    parse_nvlink_errors,
    parse_nvlink_remotes,
    parse_nvlink_status,
)
from lanescope.parsers.nvidia_smi.p2p import parse_peer_access
from lanescope.parsers.nvidia_smi.topo import Affinity, Connection, parse_topo_matrix
from lanescope.parsers.parsed import MOST_UNREAD, Count

DATA = Path(__file__).parents[1] / "data" / "nvidia_smi"
GPU = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-12345678-1234-1234-1234-123456789abc)\n"
TWO = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"


def recognized(text):
    return [tool.name for tool in LINKS if tool.recognizes(text)]


def test_an_inactive_link_is_down_and_has_no_speed_rather_than_none_at_all():
    parsed = parse_nvlink_status(GPU + "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n")
    assert parsed.readings == [LinkState(0, 0, True, 26.562), LinkState(0, 1, False, None)]


def test_a_gpu_that_answers_in_a_sentence_says_so_in_its_own_words():
    parsed = parse_nvlink_status(GPU + "Nvlink queries are not supported for Devices in MIG mode\n")
    assert (parsed.readings, parsed.unread) == ([], [])
    assert parsed.absent[0].reason == "Nvlink queries are not supported for Devices in MIG mode"


def test_a_lost_gpu_between_others_is_named_by_its_address():
    lost = "Unable to determine the device handle for GPU0000:BB:00.0: GPU is lost.  Reboot the system\n"
    parsed = parse_nvlink_status(GPU + "\t Link 0: 25 GB/s\n" + lost)
    assert [(one.subject, one.reason[:12]) for one in parsed.absent] == [("0000:bb:00.0", "GPU is lost.")]
    assert parsed.unread == []


def test_a_link_after_a_lost_gpu_is_not_given_to_the_gpu_before_it():
    lost = "Unable to determine the device handle for GPU0000:BB:00.0: Unknown Error\n"
    parsed = parse_nvlink_status(GPU + lost + "\t Link 0: 25 GB/s\n")
    assert (parsed.readings, [line.number for line in parsed.unread]) == ([], [3])


def test_all_links_inactive_is_one_reading_by_the_gpus_own_index():
    sentence = "NVML: Unable to retrieve NVLink information as all links are inactive\n"
    assert parse_nvlink_status(GPU.replace("GPU 0", "GPU 6") + sentence).readings == [AllInactive(6)]


def test_a_shell_prompt_above_and_carriage_returns_are_no_trouble():
    text = f"root@gpu-017:~# nvidia-smi nvlink -s\n{GPU}\t Link 0: 25 GB/s\n".replace("\n", "\r\n")
    parsed = parse_nvlink_status(text)
    assert (len(parsed.readings), parsed.unread) == (1, [])


@pytest.mark.parametrize(("printed", "count"), [("65534", Count(65534)), ("65535", Count(65535, at_least=True))])
def test_a_crc_counter_at_its_ceiling_is_at_least_that(printed, count):
    assert parse_nvlink_errors(GPU + f"\t Link 0: CRC Errors: {printed}\n").readings[0].count == count


def test_a_counter_of_more_bits_is_not_taken_for_saturated():
    assert parse_nvlink_errors(GPU + "\t Link 0: Replay Errors: 65535\n").readings[0].count == Count(65535)


def test_a_counter_without_a_value_is_absent_and_never_zero():
    parsed = parse_nvlink_errors(GPU + "\t Link 3: Replay Errors: N/A\n")
    assert (parsed.readings, [one.subject for one in parsed.absent]) == ([], ["gpu0 link 3 replay_errors"])


def test_nvlink_5_prints_counters_and_rates_under_names_of_its_own():
    text = (DATA / "nvlink-e-b300.txt").read_text()
    parsed = parse_nvlink_errors(text)
    assert recognized(text) == ["nvidia-smi nvlink -e (NVLink 5)"]
    assert parsed.unread == []
    assert LinkErrors(0, 1, "link_recovery_successful_events", Count(1)) in parsed.readings
    assert LinkErrors(0, 0, "fec_errors_0", Count(36140749276)) in parsed.readings
    assert parsed.absent[0].subject == "gpu0 link 0 plr_xmit_retry_blocks"


def test_the_smallest_rate_that_can_be_told_means_that_no_error_was_seen():
    rates = [
        one
        for one in parse_nvlink_errors((DATA / "nvlink-e-b300.txt").read_text()).readings
        if isinstance(one, LinkErrorRate) and one.name == "symbol_ber"
    ]
    assert [(one.link, one.at_most) for one in rates] == [(0, True), (1, False)]
    assert rates[1].rate == pytest.approx(3e-12)


def test_a_raw_rate_printed_as_one_number_is_unpacked_as_nvml_packs_it():
    text = GPU + "\t Link 0: Raw BER Lane 0: 2061\n\t Link 0: Raw BER Total: 1037\n"
    lane, total = parse_nvlink_errors(text).readings
    assert (lane.rate, total.rate) == (pytest.approx(8e-13), pytest.approx(4e-13))


def test_the_far_end_of_a_link_is_an_address_and_a_port():
    parsed = parse_nvlink_remotes((DATA / "nvlink-r.txt").read_text())
    assert parsed.readings == [
        LinkEnd(0, 0, "0008:00:00.0", 29),
        LinkEnd(0, 1, "000a:00:00.0", 26),
        LinkEnd(1, 0, "0008:00:00.0", 30),
    ]
    assert [one.subject for one in parsed.absent] == ["gpu0 link 2"]


def test_a_line_that_fits_nothing_is_noted_with_its_number():
    parsed = parse_nvlink_remotes("rubbish\n" + GPU + "\t Link zero: nothing\n")
    assert [line.number for line in parsed.unread] == [1, 3]


@pytest.mark.parametrize(
    ("name", "tool"),
    [("nvlink-e-b300.txt", "nvidia-smi nvlink -e (NVLink 5)"), ("nvlink-r.txt", "nvidia-smi nvlink -R")],
)
def test_each_form_of_nvlink_is_told_from_the_others(name, tool):
    assert recognized((DATA / name).read_text()) == [tool]


def test_a_list_of_gpus_alone_is_no_output_about_links():
    assert recognized(GPU + GPU.replace("GPU 0", "GPU 1")) == []


def test_a_row_that_says_x_in_anothers_column_is_not_believed():
    parsed = parse_topo_matrix(TWO + "GPU0\tNV18\t X \t0-55\t0\t\tN/A\n")
    assert (parsed.readings, [line.number for line in parsed.unread]) == ([], [2])


@pytest.mark.parametrize("row", ["GPU0\t X \t0-55\t0\t\tN/A", "GPU0\t X \tNV18\tSYS\t0-55", "GPU0\t X \tBAD\t0-55"])
def test_a_row_with_more_or_fewer_cells_than_columns_is_noted_and_not_guessed_at(row):
    parsed = parse_topo_matrix(TWO + row + "\n")
    assert [one for one in parsed.readings if isinstance(one, Connection)] == []
    assert [line.number for line in parsed.unread] == [2]


def test_kinds_that_ran_together_are_taken_apart():
    text = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV18SYS\nGPU1\tNV18\t X \tPIX\n"
    parsed = parse_topo_matrix(text)
    assert Connection("GPU0", "NIC0", "SYS") in parsed.readings
    assert Connection("GPU0", "GPU1", "NV", 18) in parsed.readings


@pytest.mark.parametrize(
    ("cell", "kind"), [("PH0-115", "PHB"), ("PIX0-115", "PIX"), ("SY0-115", "SYS"), ("NO0-115", "NODE")]
)
def test_a_kind_cut_off_by_the_cpus_is_the_only_one_that_begins_so(cell, kind):
    parsed = parse_topo_matrix(f"\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t{cell}\t0\n")
    assert parsed.readings == [Connection("GPU0", "NIC0", kind), Affinity("GPU0", "0-115", "0")]


@pytest.mark.parametrize("cell", ["P0-115", "NV180-115"])
def test_a_kind_cut_off_where_several_begin_so_is_not_guessed(cell):
    parsed = parse_topo_matrix(f"\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t{cell}\t0\n")
    assert (parsed.readings, [line.number for line in parsed.unread]) == ([], [2])


def test_a_gpus_own_numa_node_is_read_where_it_has_one():
    parsed = parse_topo_matrix(TWO + "GPU0\t X \tNV18\t0-71\t0,2-17\t\t2\n")
    assert Affinity("GPU0", "0-71", "0,2-17", "2") in parsed.readings


def test_two_matrices_in_one_paste_keep_their_own_legends():
    matrix = "\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n\nNIC Legend:\n\n  NIC0: {}\n"
    parsed = parse_topo_matrix(matrix.format("mlx5_0") + matrix.format("bnxt_re0"))
    assert [one.there for one in parsed.readings if one.here == "GPU0"] == ["mlx5_0", "bnxt_re0"]
    assert parsed.unread == []


def test_what_peers_lack_is_unsupported_and_what_the_driver_does_not_know_unknown():
    parsed = parse_peer_access("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tCNS\tU\n")
    assert [(one.there, one.possible) for one in parsed.readings] == [("GPU1", False), ("GPU2", None)]


@pytest.mark.parametrize(
    "noise", ["\x00" * 5000, "GPU0 " * 20_000, "X " * 100_000, "GPU0\tGPU1\n" * 3000, "NIC1" * 9000]
)
def test_binary_and_endless_lines_are_bounded(noise):
    for tool in LINKS:
        tool.recognizes(noise)
        parsed = tool.parse(noise)
        assert parsed.readings == []
        assert len(parsed.unread) <= MOST_UNREAD


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 700), cut=st.integers(0, 30), noise=st.text(max_size=30))
def test_no_matrix_or_link_list_however_mangled_makes_a_parser_raise(at, cut, noise):
    text = GPU + "\t Link 0: 26.562 GB/s\n\t Link 0: Replay Errors: 0\n\t Link 0: Effective BER: 15e-255\n"
    text += "\t Link 0: Remote Device 00000008:00:00.0: Link 2\n" + TWO
    text += "GPU0\t X \tNV18\t0-55\t0\t\tN/A\nGPU1\tNV18\t X \tPH0-55\n\tGPU0\tGPU1\nGPU0\tX\tOK\nNIC0: mlx5_0\n"
    mangled = text[:at] + noise + text[at + cut :]
    for tool in LINKS:
        tool.recognizes(mangled)
        tool.parse(mangled)
