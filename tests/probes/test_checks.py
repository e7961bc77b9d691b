"""What the answers of the programs that check GPUs, memory and copies are read as."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.errors import NotTested, Unparsable
from lanescope.incident.events import Fact, Trial
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.incident.platforms import platform
from lanescope.incident.snapshot import NodeView
from lanescope.incident.source import TaskOutput
from lanescope.probes.catalogue import CATALOGUE
from lanescope.probes.probe import Aim, Disturbs, Measure
from lanescope.topology.sources.facts import build_fabric

from .conftest import trial

NODE = NodeId("gpu-001")
GPU3, GPU5, GPU6 = (ComponentId(f"gpu-001/gpu{number}") for number in (3, 5, 6))
NAMES = ("d2h", "bidir", "h2d_group", "h2d_verify", "p2p_verify", "memory_check", "checksum", "power_load")
ENDS = {"h2d_group": (3, 5, 6), "p2p_verify": (3, 5)}


def trial_of(name):
    return trial(name, "R1T1", *ENDS.get(name, (3,)))


def answer(name, *lines):
    return TaskOutput(name, lines, started=100.0, ended=101.0, seconds=0.7)


def windows(rates):
    return [{"w": number, "ms": 30.0, "gbps": rate} for number, rate in enumerate(rates)]


def read(fabric, name, *lines):
    return CATALOGUE[name].read([answer("R1T1", *lines)], trial_of(name), fabric)


# All of them.


@pytest.mark.parametrize("name", NAMES)
def test_a_search_never_chooses_them_by_itself(name):
    assert not CATALOGUE[name].searches


@pytest.mark.parametrize("name", NAMES)
def test_each_is_aimed_at_parts_it_can_address_and_asks_in_words_that_name_them(fabric, name):
    probe = CATALOGUE[name]
    targets = probe.targets(fabric, NODE)[0]
    tasks = probe.tasks(Trial(id="R1T1", probe=name, node=NODE, targets=targets, seconds=probe.seconds), fabric)
    addresses = [address for _, task in tasks for address in task.arguments["gpus"]]
    assert addresses == [platform("h100_hgx").device(gpu.name).address for gpu in targets]
    assert "gpu-001" in probe.cost(targets)
    assert f"{probe.seconds:g}" in probe.cost(targets)
    assert {crossing.component for crossing in probe.exercises(fabric, targets)} >= set(targets)


@pytest.mark.parametrize("name", NAMES)
def test_what_they_read_counters_of_they_also_cross(fabric, name):
    targets = CATALOGUE[name].targets(fabric, NODE)[0]
    crossed = {crossing.component for crossing in CATALOGUE[name].exercises(fabric, targets)}
    assert crossed >= set(CATALOGUE[name].counted(fabric, targets))


@pytest.mark.parametrize("name", ["checksum", "power_load"])
def test_those_that_draw_power_say_so(name):
    assert Disturbs.POWER in CATALOGUE[name].disturbs


# Host copies, and the links under them.

FAST, SLOW = "32.0 GT/s PCIe x16", "8.0 GT/s PCIe x16"


def foot(during, transitions, **more):
    return {"foot": {"link": {"bus": "0000:5d:00.0", "during": during, "transitions": transitions}, **more}}


@pytest.mark.parametrize("name", ["h2d", "d2h", "bidir"])
def test_a_link_that_changed_under_load_is_told_in_the_order_of_time(fabric, name):
    measured = read(fabric, name, *windows([55.0] * 16), foot([FAST, SLOW, FAST], 2))
    said = "its PCIe link changed 2 times while loaded: 32.0 GT/s x16, 8.0 GT/s x16, 32.0 GT/s x16"
    assert measured.detail == said


def test_a_link_that_stood_still_is_told_too_and_one_above_it_only_where_it_differs(fabric):
    above = [
        {"bus": "0000:17:00.0", "during": [FAST], "transitions": 0},
        {"bus": "0000:16:00.0", "during": ["32.0 GT/s PCIe x8"], "transitions": 0},
    ]
    measured = read(fabric, "d2h", *windows([55.0] * 16), foot([FAST], 0, above=above))
    assert measured.detail == (
        "its PCIe link ran at 32.0 GT/s x16 while loaded; the link at 0000:16:00.0 ran at 32.0 GT/s x8 while loaded"
    )


@pytest.mark.parametrize(
    "wrong",
    [[FAST, 7], "32", None, ["[bold]x"], [FAST + "\n"], [{}]],
    ids=["kind", "text", "none", "markup", "line", "object"],
)
def test_a_link_that_reads_like_nothing_is_not_told(fabric, wrong):
    assert read(fabric, "d2h", *windows([55.0] * 16), foot(wrong, 2)).detail == ""


def test_device_to_host_has_its_own_healthy_figure_and_both_ways_has_none(fabric):
    assert CATALOGUE["d2h"].expected(fabric, (GPU3,)) == platform("h100_hgx").expect["d2h_pinned"].value
    assert math.isnan(CATALOGUE["bidir"].expected(fabric, (GPU3,)))


# Groups.


def switched_fabric():
    """Four GPUs: two and two below a switch, both switches below one root port; two more on another socket."""
    chains = {
        0: ("0000:15:01.0", "0000:16:00.0", "0000:17:00.0"),
        1: ("0000:15:01.0", "0000:16:00.0", "0000:17:01.0"),
        2: ("0000:15:01.0", "0000:26:00.0", "0000:27:00.0"),
        3: ("0000:15:01.0", "0000:26:00.0", "0000:27:01.0"),
        4: ("0000:85:01.0", "0000:86:00.0", "0000:87:00.0"),
        5: ("0000:95:01.0", "0000:96:00.0", "0000:97:00.0"),
    }
    facts = {}
    for number, chain in chains.items():
        gpu = ComponentId(f"gpu-001/gpu{number}")
        told = {
            "name": "NVIDIA H100 80GB HBM3",
            "bus_address": f"0000:a{number}:00.0",
            "numa": number // 4,
            "pcie_path": "/".join(chain),
        }
        facts |= {
            (fact.component, fact.key): fact.value for key, value in told.items() for fact in [Fact(gpu, key, value)]
        }
    return build_fabric([NodeView(NODE, facts=facts)])


def names(groups):
    return ["".join(gpu.name[-1] for gpu in group) for group in groups]


def test_groups_are_those_of_switch_root_port_socket_and_node_each_once():
    assert names(CATALOGUE["h2d_group"].targets(switched_fabric(), NODE)) == ["01", "23", "0123", "45", "012345"]


def test_an_uplink_carries_the_share_of_the_group_below_it():
    group = tuple(ComponentId(f"gpu-001/gpu{number}") for number in range(6))
    path = CATALOGUE["h2d_group"].exercises(switched_fabric(), group)
    shares = {crossing.component.within: crossing.share for crossing in path}
    assert shares["gpu0/pcie"] == pytest.approx(1 / 6)
    assert shares["pcie/0000:16:00.0"] == pytest.approx(2 / 6)
    assert shares["pcie/0000:15:01.0"] == pytest.approx(4 / 6)
    assert shares["host"] == pytest.approx(1.0)


def test_a_group_runs_a_task_on_each_gpu_with_ids_that_differ(fabric):
    tasks = CATALOGUE["h2d_group"].tasks(trial_of("h2d_group"), fabric)
    assert [task.id for _, task in tasks] == ["R1T1.0", "R1T1.1", "R1T1.2"]
    assert {task.arguments["op"] for _, task in tasks} == {"h2d"}


def group_answers(fabric, *rates):
    outputs = [answer(f"R1T1.{place}", *windows(each)) for place, each in enumerate(rates)]
    return CATALOGUE["h2d_group"].read(outputs, trial_of("h2d_group"), fabric)


def test_the_windows_of_a_group_are_the_sum_over_its_gpus_and_each_share_is_told(fabric):
    measured = group_answers(fabric, [50.0] * 16, [30.0] * 16, [10.0] * 16)
    assert measured.windows == (90.0,) * 16
    assert measured.detail == "GB/s by GPU: gpu3 50.0, gpu5 30.0, gpu6 10.0"


def test_a_window_that_one_gpu_lacks_is_no_window_of_the_group(fabric):
    measured = group_answers(fabric, [50.0] * 16, [30.0] * 10, [10.0] * 16)
    assert len(measured.windows) == 10
    with pytest.raises(Unparsable, match="7 windows that all 3 GPUs can use"):
        group_answers(fabric, [50.0] * 16, [30.0] * 7, [10.0] * 16)


def test_a_group_below_one_root_port_has_the_figure_of_one_link(fabric):
    probe, hgx = CATALOGUE["h2d_group"], platform("h100_hgx")
    assert math.isnan(probe.expected(fabric, (GPU3, GPU5)))
    assert probe.expected(fabric, (GPU3, GPU3)) == hgx.expect["h2d_pinned"].value


# Data.


def verify(**more):
    return {
        "verify": {"bytes": 1 << 30, "wrong_bytes": 0, "bits": "0" * 16, "stride": 0, "first": [], "blame": "", **more}
    }


def test_good_data_say_how_much_was_compared(fabric):
    measured = read(fabric, "p2p_verify", *windows([390.0] * 16), verify())
    assert (measured.check, measured.windows) == ("good", (390.0,) * 16)
    assert measured.detail == "1.0 GiB were compared and every byte was right"


@pytest.mark.parametrize(
    ("blame", "said"),
    [
        ("copy", "the copy itself changed the data: GPU5 holds something else than GPU3"),
        ("read-back", "GPU5 holds the right data, and the way from there to the host changes it"),
        ("target memory", "the memory of GPU5 does not keep"),
        ("source memory", "the memory of GPU3 does not keep"),
        ("write to the source", "the way from the host to GPU3 changed the data before the copy"),
        ("", "can't be told"),
        ("[bold]nobody", "can't be told"),
        (7, "can't be told"),
    ],
)
def test_wrong_data_say_which_part_of_the_way_is_to_blame(fabric, blame, said):
    wrong = verify(wrong_bytes=256, bits="1000000000000000", stride=4096, first=[{"offset": 4088}], blame=blame)
    measured = read(fabric, "p2p_verify", wrong)
    assert measured.check == "wrong"
    assert said in measured.detail
    assert measured.detail.startswith("256 bytes are wrong")
    assert (
        "first at offset 4088, bits 1000000000000000 of 8 bytes, places multiples of 4096 bytes apart"
        in measured.detail
    )


def test_a_copy_from_the_host_is_told_with_host_memory_as_its_source(fabric):
    detail = read(fabric, "h2d_verify", verify(wrong_bytes=1, blame="copy")).detail
    assert detail.startswith(
        "1 byte is wrong: the copy itself changed the data: GPU3 holds something else than host memory"
    )


def test_data_that_went_through_host_memory_prove_nothing_of_nvlink(fabric):
    with pytest.raises(Unparsable, match="no peer access"):
        read(fabric, "p2p_verify", {"head": {"path": "staged through host memory"}}, verify())


def test_a_verdict_without_a_number_of_bytes_is_none(fabric):
    for wrong in (verify(bytes=0), verify(wrong_bytes=None), verify(bytes=1, wrong_bytes=2), {}):
        with pytest.raises(Unparsable, match="how many bytes"):
            read(fabric, "h2d_verify", wrong)


# Memory.


def memory(**more):
    usual = {"wrong_words": 0, "covered": 72 << 30, "total": 80 << 30, "patterns": ["mixed", "ones"], "left_out": []}
    return {"memory": {**usual, **more}}


def test_good_memory_says_how_much_of_it_was_looked_at(fabric):
    measured = read(fabric, "memory_check", *windows([2500.0] * 4), memory(left_out=["zeros"]))
    assert measured.check == "good"
    assert measured.detail == ("72.0 GiB (90 % of all) held 2 patterns and lost no bit; 1 left out for want of time")


def test_bad_memory_says_where_and_in_which_bit(fabric):
    rows = [{"chunk": 1, "offset": 4096, "pattern": name} for name in ("mixed", "ones")]
    measured = read(fabric, "memory_check", memory(wrong_words=2, wrong_again=2, bits="00000400", first=rows))
    assert measured.check == "wrong"
    assert measured.detail.startswith(
        "2 words of 4 bytes read back wrong, 2 of them twice; bits 00000400; at offset 4096 of chunk 1; 72.0 GiB"
    )


def test_what_reads_right_the_second_time_is_laid_to_the_reading(fabric):
    assert "it is the reading" in read(fabric, "memory_check", memory(wrong_words=3, wrong_again=0)).detail


def test_ecc_counters_belong_to_the_memory_of_the_gpu(fabric):
    address = platform("h100_hgx").device("gpu3").address
    rows = [
        {"gpu": address, "lane": None, "name": name, "before": 1, "after": 4}
        for name in ("ecc_corrected", "remapped_correctable", "remap_pending", "replays")
    ]
    moves = read(fabric, "memory_check", {"counters": rows}, memory()).moves
    assert {(move.component, move.counter, move.step) for move in moves} == {
        (GPU3 / "hbm", "ecc_corrected", 3.0),
        (GPU3 / "hbm", "remapped_correctable", 3.0),
    }


# Arithmetic.


def burn(kind, **more):
    usual = {
        "kind": kind,
        "warps": 8448,
        "wrong_warps": 0,
        "launches": 400,
        "digest": "0123456789abcdef",
        "known": False,
    }
    return {"burn": {**usual, "tflops": {"median": 51.0}, **more}}


def all_burns(**fma):
    return [burn("integer", known=True), burn("fma", **fma), burn("wmma")]


def test_right_arithmetic_tells_the_digests_by_which_gpus_are_compared(fabric):
    measured = read(fabric, "checksum", *all_burns(digest="fedcba9876543210"))
    assert (measured.check, measured.windows) == ("good", ())
    assert "single precision fedcba9876543210 (51.0 TFLOP/s)" in measured.detail
    assert "integer 0123456789abcdef (51.0 TOP/s)" in measured.detail
    assert "1200 launches" in measured.detail
    assert measured.digests[1] == "single precision fedcba9876543210"


def test_wrong_arithmetic_names_kind_warps_and_multiprocessor(fabric):
    measured = read(fabric, "checksum", *all_burns(wrong_warps=3, sms=[{"sm": 17, "wrong": 96}], wrong_sms=1))
    assert measured.check == "wrong"
    assert measured.detail == "single precision: 3 of 8448 warps computed something else, on SM 17"


def test_a_kind_that_says_nothing_is_no_clean_bill(fabric):
    with pytest.raises(Unparsable, match="tensor cores"):
        read(fabric, "checksum", *all_burns()[:2])
    with pytest.raises(Unparsable, match="single precision"):
        read(fabric, "checksum", *all_burns(wrong_warps=9000))


# Power and heat.


def vitals(reasons, **more):
    usual = {
        "looks": 100,
        "looks_without_reasons": 0,
        "reasons": reasons,
        "power_w": {"min": 80.0, "median": 690.0, "max": 699.4},
        "temperature_c": {"min": 40, "median": 70, "max": 74},
        "sm_mhz": {"min": 1605, "median": 1755, "max": 1980},
        "power_limit_w": 700.0,
    }
    return {**usual, **more}


def test_a_gpu_at_its_power_limit_is_good_and_told_in_figures(fabric):
    measured = read(fabric, "power_load", burn("wmma", vitals=vitals({"sw_power_cap": 95, "gpu_idle": 1})))
    assert measured.check == "good"
    assert measured.detail == (
        "clocks held down by the power limit (95 of 100 looks); up to 699 W of 700 W; up to 74 °C; "
        "SM clock 1755 MHz, never below 1605; 51.0 TFLOP/s"
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("hw_slowdown", "hardware slowdown"),
        ("sw_thermal_slowdown", "heat, by the driver"),
        ("hw_thermal_slowdown", "heat, by the hardware"),
        ("hw_power_brake", "the power brake from outside the GPU"),
    ],
)
def test_what_only_a_sick_machine_room_does_is_wrong_and_comes_first(fabric, reason, words):
    measured = read(fabric, "power_load", burn("wmma", vitals=vitals({"sw_power_cap": 90, reason: 4})))
    assert measured.check == "wrong"
    assert measured.detail.startswith(f"clocks held down by {words} (4 of 100 looks), the power limit")


def test_wrong_results_under_load_are_wrong_whatever_the_clocks_do(fabric):
    assert read(fabric, "power_load", burn("wmma", wrong_warps=1, vitals=vitals({}))).check == "wrong"


def test_without_nvml_it_is_not_tested(fabric):
    with pytest.raises(NotTested, match=r"libnvidia-ml\.so\.1 \(the NVIDIA driver\)"):
        read(fabric, "power_load", burn("wmma", vitals={"looks": 0}))
    with pytest.raises(NotTested, match="does not tell what holds the clocks"):
        read(fabric, "power_load", burn("wmma", vitals=vitals({}, looks_without_reasons=100)))


# Anything a node may answer.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
WORDS = """
w gbps head foot link above during transitions verify bytes wrong_bytes first offset blame memory covered total
wrong_words patterns burn kind warps digest wrong_warps vitals looks reasons sms sm tflops power_w max counters
"""
KEYS = st.sampled_from(WORDS.split())
OBJECTS = st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON), max_size=3) | st.dictionaries(KEYS, JSON))
GOOD = [*windows([50.0] * 16), verify(), memory(), *all_burns(), foot([FAST], 0), burn("wmma", vitals=vitals({}))]


@settings(max_examples=120, deadline=None)
@given(name=st.sampled_from(NAMES), mangled=st.lists(OBJECTS | JSON, max_size=8), keep=st.lists(st.sampled_from(GOOD)))
def test_no_answer_however_mangled_raises_anything_but_unparsable(fabric, name, mangled, keep):
    outputs = [answer(f"R1T1.{place}", *mangled, *keep) for place in range(len(ENDS.get(name, (3,))))]
    try:
        measured = CATALOGUE[name].read(outputs, trial_of(name), fabric)
    except (Unparsable, NotTested):
        return
    assert (CATALOGUE[name].measure is Measure.CHECK) == bool(measured.check)
    assert len(measured.detail) < 2000
    assert measured.detail.isprintable()


def test_groups_are_aimed_at_groups_and_pairs_at_pairs():
    assert CATALOGUE["h2d_group"].aim is Aim.GROUP
    assert CATALOGUE["p2p_verify"].aim is Aim.PAIR
