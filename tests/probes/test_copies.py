"""What the answers of the copy program are read as."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.errors import ProbeError, Unparsable
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.incident.platforms import platform
from lanescope.incident.source import TaskOutput
from lanescope.probes.catalogue import CATALOGUE
from lanescope.probes.probe import Disturbs
from lanescope.topology.sources.facts import build_fabric

P2P, H2D = CATALOGUE["p2p"], CATALOGUE["h2d"]
GPU3, GPU5, GPU6 = (ComponentId(f"gpu-001/gpu{number}") for number in (3, 5, 6))


def answer(trial, *lines, **more):
    return [TaskOutput(trial.id, lines, started=100.0, ended=101.0, seconds=0.7, **more)]


def windows(rates, **more):
    return [{"w": k, "ms": 30.0, "gbps": rate, "t": 30.0 * k, **more} for k, rate in enumerate(rates)]


def windows_late(*numbers):
    return [{"w": number, "gbps": 90.0, "late": 1} for number in numbers]


def test_every_probe_stands_in_the_catalogue_under_its_own_name():
    assert set(CATALOGUE) >= {"p2p", "h2d", "net_pair"}
    assert all(probe.name == name for name, probe in CATALOGUE.items())


def test_pairs_are_probed_in_both_directions_and_never_with_themselves(fabric):
    pairs = P2P.targets(fabric, NodeId("gpu-001"))
    assert len(pairs) == len(set(pairs)) == 8 * 7
    assert all(source != target for source, target in pairs)


def test_a_gpu_without_a_bus_address_is_no_target(fabric):
    bare = build_fabric([])
    assert P2P.targets(bare, NodeId("gpu-001")) == H2D.targets(bare, NodeId("gpu-001")) == ()


def test_a_target_that_lost_its_address_is_refused_in_a_sentence(pair):
    with pytest.raises(ProbeError, match=r"gpu-001/gpu3 .* bus address"):
        P2P.tasks(pair, build_fabric([]))


def test_a_pair_crosses_all_lanes_of_both_gpus_and_counts_them(fabric):
    path = {crossing.component for crossing in P2P.exercises(fabric, (GPU3, GPU5))}
    counted = P2P.counted(fabric, (GPU3, GPU5))
    assert len(counted) == 36
    assert path.issuperset(counted)


def test_a_host_copy_crosses_the_pcie_links_above_its_gpu_and_counts_the_first(fabric):
    path = {crossing.component for crossing in H2D.exercises(fabric, (GPU6,))}
    assert H2D.counted(fabric, (GPU6,)) == (GPU6 / "pcie",)
    assert path >= {GPU6, GPU6 / "pcie"}


def test_the_program_is_given_bus_addresses_and_never_indices(fabric, pair, host_copy):
    ((_, task),) = P2P.tasks(pair, fabric)
    assert (task.id, task.program, task.arguments["op"]) == ("R1T1", "cuda_copy", "p2p")
    assert task.arguments["gpus"] == [platform("h100_hgx").device(name).address for name in ("gpu3", "gpu5")]
    assert H2D.tasks(host_copy, fabric)[0][1].arguments["gpus"] == [platform("h100_hgx").device("gpu6").address]
    assert task.arguments["windows"] >= 16


def test_consent_is_asked_in_words_that_name_parts_node_and_time(fabric):
    assert P2P.cost((GPU3, GPU5)) == "loads GPU3 and GPU5 of gpu-001 and their NVLinks for 0.6 s"
    assert "GPU6 of gpu-001" in H2D.cost((GPU6,))
    assert Disturbs.NVLINK in P2P.disturbs
    assert Disturbs.NVLINK not in H2D.disturbs


def test_healthy_figures_come_from_the_platform_and_not_from_the_trained_width(fabric):
    assert P2P.expected(fabric, (GPU3, GPU5)) == platform("h100_hgx").expect["nvbandwidth_d2d_write_ce"].value
    assert H2D.expected(fabric, (GPU6,)) == platform("h100_hgx").expect["h2d_pinned"].value


def test_an_unknown_platform_has_no_healthy_figure():
    assert math.isnan(H2D.expected(build_fabric([]), (GPU6,)))
    assert math.isnan(P2P.expected(build_fabric([]), (GPU3, GPU5)))


def test_windows_are_read_in_the_order_of_time_whatever_the_order_of_lines(fabric, pair):
    lines = windows([float(rate) for rate in range(380, 396)])
    measured = P2P.read(answer(pair, *reversed(lines)), pair, fabric)
    assert measured.windows == tuple(float(rate) for rate in range(380, 396))


def test_late_windows_are_dropped_and_said_to_be(fabric, pair):
    lines = [*windows([395.0] * 14), *windows_late(14, 15)]
    measured = P2P.read(answer(pair, {"head": {"driver": 12080}}, *lines), pair, fabric)
    assert measured.windows == (395.0,) * 14
    assert measured.measured_by == "cuda_copy, CUDA driver 12.8; 14 of 16 windows used: 2 began late, 0 unreadable"


def test_seven_usable_windows_are_no_measurement(fabric, pair):
    lines = [*windows([395.0] * 7), *windows_late(*range(7, 16))]
    with pytest.raises(Unparsable, match="7 usable windows of 16, and 8 are needed"):
        P2P.read(answer(pair, *lines), pair, fabric)


def test_copies_staged_through_host_memory_measure_no_nvlink(fabric, pair):
    lines = [{"head": {"path": "staged through host memory"}}, *windows([20.0] * 16)]
    with pytest.raises(Unparsable, match="no peer access from gpu3 to gpu5"):
        P2P.read(answer(pair, *lines), pair, fabric)


def test_counters_are_read_also_where_they_stood_still(fabric, pair):
    rows = [counter(3, 7, 10, 12), counter(5, 0, 4, 4)]
    moves = P2P.read(answer(pair, *windows([395.0] * 16), {"counters": rows}), pair, fabric).moves
    assert {(move.component, move.step) for move in moves} == {(GPU3 / "nvlink7", 2.0), (GPU5 / "nvlink0", 0.0)}
    assert all(move.counter == "recovery_errors" for move in moves)


def test_the_pcie_counter_of_a_host_copy_belongs_to_its_link(fabric, host_copy):
    row = {**counter(6, None, 3, 9), "name": "replays"}
    (move,) = H2D.read(answer(host_copy, *windows([55.0] * 16), {"counters": [row]}), host_copy, fabric).moves
    assert (move.component, move.counter, move.step) == (GPU6 / "pcie", "replays", 6.0)


def test_counters_of_parts_the_trial_did_not_load_are_not_taken(fabric, pair):
    rows = [counter(1, 7, 0, 5), counter(3, 40, 0, 5), counter(3, None, 0, 5), {**counter(3, 1, 0, 5), "name": "x"}]
    assert P2P.read(answer(pair, *windows([395.0] * 16), {"counters": rows}), pair, fabric).moves == ()


def test_an_absent_counter_is_absent_and_never_zero(fabric, pair):
    rows = [{**counter(3, 7, 0, 5), "after": None}, {"gpu": 7}]
    assert P2P.read(answer(pair, *windows([395.0] * 16), {"counters": rows}), pair, fabric).moves == ()


def counter(gpu, lane, before, after):
    address = platform("h100_hgx").device(f"gpu{gpu}").address.upper()
    return {"gpu": address, "lane": lane, "name": "recovery_errors", "before": before, "after": after}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(["w", "gbps", "late", "head", "counters", "gpu", "lane", "name", "before", "after", "path"])
LINES = st.lists(st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON), max_size=3)) | JSON, max_size=24)


@settings(max_examples=60, deadline=None)
@given(lines=LINES, probe=st.sampled_from([P2P, H2D]))
def test_no_answer_however_mangled_raises_anything_but_unparsable(fabric, lines, probe):
    read_or_unparsable(fabric, lines, probe)


@settings(max_examples=50, deadline=None)
@given(cut=st.integers(0, 4000), stuff=st.binary(max_size=6), probe=st.sampled_from([P2P, H2D]))
def test_no_good_answer_cut_and_patched_raises_anything_but_unparsable(fabric, cut, stuff, probe):
    text = "\n".join(json.dumps(line) for line in [*windows([395.0] * 16), {"counters": [counter(3, 7, 0, 1)]}])
    mangled = text.encode()[:cut] + stuff + text.encode()[cut + len(stuff) :]
    read_or_unparsable(fabric, list(parsed(mangled)), probe)


def parsed(text):
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def read_or_unparsable(fabric, lines, probe):
    gpus = (3, 5) if probe is P2P else (3,)
    targets = tuple(gpu_id("gpu-001", gpu) for gpu in gpus)
    trial = Trial(id="R1T1", probe=probe.name, node=NodeId("gpu-001"), targets=targets, seconds=0.6)
    try:
        measured = probe.read(answer(trial, *lines), trial, fabric)
    except Unparsable:
        return
    assert len(measured.windows) >= 8
    assert all(0 < rate < math.inf for rate in measured.windows)
    assert all(math.isfinite(move.before) and math.isfinite(move.after) for move in measured.moves)
