import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.ids import ComponentId
from lanescope.parsers.nvlink import (
    AllInactive,
    LinkEnd,
    LinkState,
    parse_nvlink_errors,
    parse_nvlink_remotes,
    parse_nvlink_status,
)
from lanescope.parsers.pci import bus_address
from lanescope.parsers.topo import Affinity, Connection, parse_topo_matrix

GPU = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-12345678-1234-1234-1234-123456789abc)\n"


def test_all_18_links_of_an_h200_are_up(captures):
    states = parse_nvlink_status(captures.text("nvidia-smi/nvlink-s-h200-590.txt"), "n").readings
    assert states == [LinkState(ComponentId(f"n/gpu0/nvlink{i}"), True, 26.562) for i in range(18)]


def test_eight_gpus_with_twelve_links_each_are_read(captures):
    parsed = parse_nvlink_status(captures.text("nvidia-smi/nvlink-s-a100-8gpu.txt"), "n")
    assert len(parsed.readings) == 96
    assert all(state.up and state.gbs == 25 for state in parsed.readings)
    assert parsed.unread == []


def test_an_inactive_link_is_down_and_no_missing_one():
    parsed = parse_nvlink_status(GPU + "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n", "n")
    assert [state.up for state in parsed.readings] == [True, False]


@pytest.mark.parametrize("name", ["nvlink-s-l40s-unsupported-595.txt", "nvlink-s-mig-unsupported-590.txt"])
def test_a_gpu_that_answers_in_a_sentence_is_not_applicable_and_no_fault(captures, name):
    parsed = parse_nvlink_status(captures.text(f"nvidia-smi/{name}"), "n")
    assert (parsed.readings, parsed.unread, [one.subject for one in parsed.absent]) == ([], [], ["n/gpu0"])


def test_a_gpu_whose_links_are_all_inactive_says_so_by_its_own_index(captures):
    parsed = parse_nvlink_status(captures.text("nvidia-smi/nvlink-s-a100-all-inactive.txt"), "n")
    assert parsed.readings == [AllInactive(ComponentId("n/gpu6"))]


def test_error_counters_keep_the_names_their_driver_prints(captures):
    errors = parse_nvlink_errors(captures.text("nvidia-smi/nvlink-e-h100-flit-data-variant.txt"), "n").readings
    assert {one.name for one in errors} >= {"replay_errors", "recovery_errors", "crc_flit_errors", "crc_data_errors"}
    assert [(one.link.name, one.count) for one in errors if one.count] == [("nvlink0", 1), ("nvlink1", 2)]


def test_gpus_and_links_missing_from_an_excerpt_are_missing(captures):
    errors = parse_nvlink_errors(captures.text("nvidia-smi/nvlink-e-v100-crc-saturated-excerpt.txt"), "n").readings
    assert {one.link: one.count for one in errors if one.name == "replay_errors"} == {
        "n/gpu0/nvlink3": 2353,
        "n/gpu2/nvlink0": 148,
    }


def test_a_healthy_board_reads_288_counters_of_zero(captures):
    parsed = parse_nvlink_errors(captures.text("nvidia-smi/nvlink-e-8xa100-zero-535.txt"), "n")
    assert (len(parsed.readings), {one.count for one in parsed.readings}, parsed.unread) == (288, {0}, [])


def test_the_far_end_of_a_link_is_an_address_and_a_port():
    parsed = parse_nvlink_remotes(GPU + "\t Link 0: Remote Device 00000008:00:00.0: Link 29\n", "n")
    assert parsed.readings == [LinkEnd(ComponentId("n/gpu0/nvlink0"), "0008:00:00.0", 29)]


def test_a_line_that_fits_nothing_is_noted_with_its_number():
    parsed = parse_nvlink_remotes("rubbish\n" + GPU + "\t Link zero: nothing\n", "n")
    assert [line.number for line in parsed.unread] == [1, 3]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:9B:00.0", "0000:9b:00.0"),
        ("PCI:0000:9b:00", "0000:9b:00.0"),
        ("9b:00.1", "0000:9b:00.1"),
        ("0018:01:00", "0018:01:00.0"),
    ],
)
def test_a_bus_address_has_one_form_however_it_is_written(text, address):
    assert bus_address(text) == address


@pytest.mark.parametrize("text", ["", "0000", "zz:00.0", "0000:9b:00.9", "0000:9b:00.0; rm"])
def test_what_is_no_bus_address_is_none(text):
    assert bus_address(text) is None


def connections(parsed):
    return [one for one in parsed.readings if isinstance(one, Connection)]


def affinities(parsed):
    return [one for one in parsed.readings if isinstance(one, Affinity)]


def test_every_pair_of_an_h100_board_has_18_links_and_each_gpu_its_nic(captures):
    parsed = parse_topo_matrix(captures.text("nvidia-smi/topo-m-8xh100-10nic-excerpt.txt"))
    pairs = [one for one in connections(parsed) if one.here.startswith("GPU") and one.there.startswith("GPU")]
    assert (len(pairs), {(one.kind, one.lanes) for one in pairs}) == (56, {("NV", 18)})
    near = {one.here: one.there for one in connections(parsed) if one.kind == "PIX" and one.here.startswith("GPU")}
    assert [near[f"GPU{i}"] for i in range(8)] == [f"NIC{i}" for i in (0, 1, 2, 5, 6, 7, 8, 9)]


def test_the_legend_gives_nics_their_own_names(captures):
    parsed = parse_topo_matrix(captures.text("nvidia-smi/topo-m-4xh100-oci-nic-legend.txt"))
    assert {one.there for one in connections(parsed) if one.here == "GPU0"} == {
        "GPU1", "GPU2", "GPU3", "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3",
    }  # fmt: skip
    assert Affinity("GPU0", "0-55,112-167", "0") in affinities(parsed)


def test_a_heading_wrapped_in_terminal_escapes_is_read(captures):
    parsed = parse_topo_matrix(captures.text("nvidia-smi/topo-m-rtxpro6000-8gpu-pcie-595-ansi.txt"))
    assert Connection("GPU0", "GPU1", "PIX") in connections(parsed)
    assert Affinity("GPU7", "64-127,192-238", "1") in affinities(parsed)


def test_a_single_gpu_has_an_affinity_and_no_connections(captures):
    parsed = parse_topo_matrix(captures.text("nvidia-smi/topo-m-h200-1gpu-590-ansi.txt"))
    assert (connections(parsed), affinities(parsed)) == ([], [Affinity("GPU0", "0-23", "0")])


@pytest.mark.parametrize("name", ["topo-m-fused-nic-columns.txt", "topo-m-8xa100-vm-fused-affinity-535.txt"])
def test_a_row_that_does_not_fit_its_headings_is_noted_and_not_guessed_at(captures, name):
    parsed = parse_topo_matrix(captures.text(f"nvidia-smi/{name}"))
    assert {line.text.split()[0] for line in parsed.unread} >= {"GPU0", "GPU1"}
    assert [one for one in connections(parsed) if one.here == "GPU0"] == []


@settings(max_examples=50)
@given(at=st.integers(0, 400), noise=st.text(max_size=30))
def test_no_matrix_or_link_list_however_mangled_makes_a_parser_raise(at, noise):
    text = (
        GPU + "\t Link 0: 26.562 GB/s\n\t Link 0: Replay Errors: 0\n\t Link 0: Remote Device 00000008:00:00.0: Link 2\n"
    )
    text += "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-55\nGPU1\tNV18\t X \t0-55\n"
    mangled = text[:at] + noise + text[at + 3 :]
    for parse in (parse_nvlink_status, parse_nvlink_errors, parse_nvlink_remotes):
        parse(mangled, "n")
    parse_topo_matrix(mangled)
