"""Scenarios: strict reading, complaints that say where and what, and what each declared fault should be named."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from lanescope.incident.errors import InputError
from lanescope.incident.findings import check_words
from lanescope.sim.scenario import check, load_scenario

SHIPPED = sorted(Path(str(files("lanescope.sim.scenarios"))).glob("*.toml"))

LANE = """
[[fault]]
component = "sim3/gpu5/nvlink7"
kind = "intermittent"
duty = 0.05
burst = 0.045
slowdown = 0.9
"""


@pytest.fixture
def written(tmp_path: Path):
    """Write a scenario, give its path."""

    def write(text: str) -> Path:
        path = tmp_path / "it.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_scenario_reads_and_expects_only_words_of_the_vocabulary(path):
    for expectation in load_scenario(path).expected:
        check_words(expectation.fault_class, "none")


def test_the_demo_declares_an_intermittent_lane_a_narrow_nic_and_a_gpu_off_the_bus():
    demo = load_scenario(next(path for path in SHIPPED if path.stem == "demo"))
    assert len(demo.nodes) == 8
    assert {(e.fault_class, e.how) for e in demo.expected} == {
        ("nvlink-link/marginal", "localize"),
        ("pcie-link/width-degraded", "finding"),
        ("gpu-off-bus", "finding"),
    }


def test_a_count_of_nodes_names_them_sim1_and_on(written):
    assert load_scenario(written("nodes = 3")).nodes == ("sim1", "sim2", "sim3")


def test_nodes_can_have_names_of_their_own(written):
    assert load_scenario(written('nodes = ["gpu-017", "gpu-018"]')).nodes == ("gpu-017", "gpu-018")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodes = 0", ["nodes", "a count", "found 0"]),
        ('nodes = ["a", "a"]', ["nodes", "different names"]),
        ('nodes = ["../etc"]', ["nodes", "letters"]),
        ("sped = 4", ["unknown key sped", "did you mean speed?"]),
        ("speed = true", ["speed", "a number", "found True"]),
        ('platform = "h200"', ["platform", "h100_hgx", "found 'h200'"]),
        ("[world]\nnoise = 3.0", ["[world]", "noise", "from 0 to 0.5", "found 3.0"]),
        ("[world]\nnosie = 0.1", ["[world]", "unknown key nosie", "did you mean noise?"]),
        ('[[sick]]\nnode = "sim1"\nhow = "flu"', ["[[sick]] 1", "how", "refuses", "found 'flu'"]),
        ("world = 3", ["world", "a table [world]"]),
        ("fault = 3", ["fault", "tables [[fault]]"]),
        ("= 3", ["is no TOML"]),
    ],
)
def test_a_complaint_says_file_table_key_what_was_expected_and_what_was_found(written, text, words):
    path = written(text)
    with pytest.raises(InputError) as complaint:
        load_scenario(path)
    for word in [str(path), *words]:
        assert word in str(complaint.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("duty = 0.05", "duty = 1.0"), ["duty", "between 0 and 1", "found 1.0"]),
        (("duty = 0.05", ""), ["duty is missing"]),
        (("burst = 0.045", 'burst = "long"'), ["burst", "found 'long'"]),
        (("slowdown = 0.9", ""), ["slowdown is missing"]),
        (("slowdown = 0.9", "slowdown = 0.9\nwidth = 8"), ["width", "only PCIe links have it"]),
        (("sim3", "sim9"), ["component", "sim1, sim2", "found 'sim9/gpu5/nvlink7'"]),
        (("nvlink7", "nvlink18"), ["component", "nvlink0 to nvlink17"]),
        (("gpu5/nvlink7", "gpu8"), ["component", "gpu0 to gpu7"]),
        (("gpu5/nvlink7", "mlx5_1"), ["component", "mlx5_0, mlx5_3"]),
        (('"intermittent"', '"sometimes"'), ["kind", "hard, degraded, intermittent"]),
        (('"intermittent"', '"hard"'), ["slowdown", "loses everything"]),
        (('"intermittent"', '"degraded"'), ["duty", "on all the time"]),
        (
            ("slowdown = 0.9", "slowdown = 0.9\ncounters = { symbol_error = 3 }"),
            ["counters", "unknown key symbol_error"],
        ),
        (("slowdown = 0.9", 'slowdown = 0.9\nexpect = "nvlink/bad"'), ["expect", "classes.toml"]),
        (("slowdown = 0.9", 'slowdown = 0.9\n[[fault.log]]\ntext = "{cow}"'), ["log 1", "text", "{cow}"]),
        (("slowdown = 0.9", 'slowdown = 0.9\n[[fault.log]]\ntext = "x"\non = "sim1/gpu0"'), ["log", "sim1/gpu0"]),
    ],
)
def test_a_wrong_fault_is_refused_by_the_number_of_its_table(written, change, words):
    good = LANE.replace(*change)
    with pytest.raises(InputError) as complaint:
        load_scenario(written("nodes = 4\n" + LANE + good))
    for word in ["[[fault]] 2", *words]:
        assert word in str(complaint.value)


def test_a_file_that_is_not_there_is_an_error_of_input(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        load_scenario(tmp_path / "none.toml")


def test_a_pcie_link_left_with_half_its_lanes_and_a_generation_less_keeps_a_quarter(written):
    text = '[[fault]]\ncomponent = "sim1/gpu0/pcie"\nkind = "degraded"\nwidth = 8\ngeneration = 4'
    (fault,) = load_scenario(written(text)).faults
    assert fault.slowdown == pytest.approx(0.75)


def test_an_expectation_of_a_family_is_met_by_any_kind_of_it_and_one_of_a_kind_by_no_other(written):
    lane = load_scenario(written(LANE)).expected[0]
    assert lane.met_by("sim3/gpu5/nvlink7", "nvlink-link/marginal")
    assert not lane.met_by("sim3/gpu5/nvlink7", "nvlink-link/down")
    assert not lane.met_by("sim3/gpu5/nvlink8", "nvlink-link/marginal")
    lost = load_scenario(written('[[fault]]\ncomponent = "sim1/gpu0"\nkind = "hard"')).expected[0]
    assert lost.met_by("sim1/gpu0", "gpu-off-bus/link")
    assert lost.met_by("sim1/gpu0", "gpu-off-bus")


def test_a_fault_that_cannot_be_found_expects_nothing(written):
    assert load_scenario(written(LANE + 'expect = ""')).expected == ()


def test_check_tells_every_fault_in_words_and_what_is_to_be_named(written):
    told = check(written(LANE))
    assert "sim3/gpu5/nvlink7 intermittent: slower now and then, 0.05 of the time it is loaded, 45 ms at a time" in told
    assert "to be named: nvlink-link/marginal at sim3/gpu5/nvlink7, by localize" in told
    assert "nothing may be named" in check(written("nodes = 2"))
