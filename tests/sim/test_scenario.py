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
        ("[world]\nduty_drift = 0.5", ["[world]", "duty_drift", "from 1 to 86400", "found 0.5"]),
        ("[world]\nnet_tenant = 0.5", ["[world]", "unknown key net_tenant", "did you mean net_tenants?"]),
        ("[network]\nspines = 0", ["[network]", "spines", "from 1 to 128", "found 0"]),
        ("[network]\nrouting = 'random'", ["[network]", "routing", "static, adaptive", "found 'random'"]),
        ("[network]\nspine = 3", ["[network]", "unknown key spine", "did you mean spines?"]),
        ("[network]\ntold = 1", ["[network]", "told", "true or false", "found 1"]),
        ('nodes = ["leaf-1"]', ["nodes", "none of the network's", "found 'leaf-1'"]),
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


@pytest.mark.parametrize(
    ("component", "kind", "more", "words"),
    [
        ("leaf-9", "degraded", "slowdown = 0.5", ["component", "leaf-1 to leaf-8", "found 'leaf-9'"]),
        ("spine-5", "degraded", "slowdown = 0.5", ["component", "spine-1 to spine-4", "found 'spine-5'"]),
        ("leaf-3/port12", "degraded", "slowdown = 0.5", ["component", "a port is told as its cable"]),
        ("uplink/leaf-1~spine-9", "degraded", "slowdown = 0.5", ["component", "uplink/leaf-1~spine-1"]),
        ("cable/sim2:mlx5_4~leaf-1:port2", "hard", "", ["component", "cable/sim2:mlx5_4~leaf-3:port2"]),
        ("cable/sim2:mlx5_4", "hard", "", ["component", "cable/sim2:mlx5_4~leaf-3:port2"]),
        ("leaf-3", "hard", "slowdown = 0.5", ["slowdown", "loses everything"]),
        ("leaf-3", "degraded", "", ["slowdown is missing"]),
        ("leaf-3", "degraded", "slowdown = 0.5\nwidth = 8", ["width", "only PCIe links have it"]),
        ("leaf-3", "degraded", "slowdown = 0.5\ncounters = { replays = 3 }", ["counters", "unknown key replays"]),
        ("leaf-3", "degraded", "slowdown = 0.5\n[[fault.log]]\ntext = 'x'", ["log 1", "on is missing"]),
        ("leaf-3", "hard", "[[fault.log]]\ntext = 'x'\non = 'leaf-3'", ["log 1", "a part of a node", "found 'leaf-3'"]),
        (
            "leaf-3",
            "intermittent",
            "slowdown = 0.5\nduty = 0.1\nburst = 1\n[[fault.log]]\ntext = 'x'\non = 'sim1/mlx5_0'",
            ["log", "no lines", "sim1/mlx5_0"],
        ),
    ],
)
def test_a_wrong_fault_of_the_network_is_refused_with_what_there_is(written, component, kind, more, words):
    text = f'nodes = 4\n[[fault]]\ncomponent = "{component}"\nkind = "{kind}"\n{more}'
    with pytest.raises(InputError) as complaint:
        load_scenario(written(text))
    for word in ["[[fault]] 1", *words]:
        assert word in str(complaint.value)


@pytest.mark.parametrize(
    ("component", "kind", "told"),
    [
        ("leaf-3", "degraded", "net-fabric"),
        ("spine-2", "intermittent", "net-fabric"),
        ("uplink/leaf-1~spine-4", "hard", "net-link"),
        ("cable/sim2:mlx5_4~leaf-3:port2", "intermittent", "net-link"),
        ("cable/sim2:mlx5_4~leaf-3:port2", "hard", "net-link/down"),
        ("sim2/mlx5_4", "degraded", "net-link"),
        ("sim2/mlx5_4", "intermittent", "net-link"),
        ("sim2/mlx5_4/pcie", "intermittent", "pcie-link"),
        ("sim2/pcie/0000:4a:01.0", "degraded", "pcie-link"),
    ],
)
def test_faults_on_the_way_between_nodes_are_expected_by_probing_and_in_words_of_the_vocabulary(
    written, component, kind, told
):
    more = {
        "hard": "",
        "degraded": "slowdown = 0.4",
        "intermittent": "slowdown = 0.4\nduty = 0.1\nburst = 0.1\ncounters = { }",
    }[kind]
    scenario = load_scenario(written(f'nodes = 4\n[[fault]]\ncomponent = "{component}"\nkind = "{kind}"\n{more}'))
    (expected,) = scenario.expected
    check_words(expected.fault_class, "none")
    assert (expected.component, expected.fault_class, expected.how) == (component, told, "localize")


def test_a_nic_whose_port_flaps_is_found_while_looking(written):
    text = '[[fault]]\ncomponent = "sim1/mlx5_0"\nkind = "intermittent"\nwhen = "always"\nduty = 0.1\nburst = 4'
    (expected,) = load_scenario(written(text)).expected
    assert (expected.fault_class, expected.how) == ("net-link", "finding")


def test_check_tells_the_network_and_what_is_not_perfect_about_it(written):
    told = check(written("nodes = 40\n[network]\ntold = false\n[world]\nnet_tenants = 0.1\nduty_drift = 60"))
    assert "network: 32 nodes to a leaf, 32 spines, traffic by destination, which nobody is told" in told
    assert "uplinks and leaves 10% of the time 30% busy" in told
    assert "duties change every 60 s" in told
    spread = check(written('nodes = 4\n[network]\nrouting = "adaptive"'))
    assert "32 nodes to a leaf, 4 spines, traffic spread over all spines" in spread


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
