"""One probe at a person's word: what it may be aimed at, how it is journalled, and what its windows say."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from lanescope.evidence.case import Case, entries
from lanescope.incident.errors import InputError, NodeError, NotTested
from lanescope.incident.events import Consented, RoundEnded, RoundPlanned, Trial, TrialEnded
from lanescope.incident.findings import CounterMove
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.incident.platforms import platform
from lanescope.incident.snapshot import Snapshot
from lanescope.probes.catalogue import CATALOGUE, probe_named
from lanescope.probes.probe import Probe
from lanescope.session.probe_document import catalogue_document, outcome_document, targets_document
from lanescope.session.probe_report import catalogue_report, outcome_report, targets_report
from lanescope.session.probe_targets import aimed_at, possible
from lanescope.session.probing import Aimed, Judgement, Outcome, Run, exit_code, run_probe, usable
from lanescope.session.session import Session, running
from lanescope.sim.source import WorldSource
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.platform import fabric_of

from .worlds import ready, small_world

SCHEMA = Path(__file__).parents[2] / "session" / "schemas" / "probe.json"
N0, N1 = NodeId("n0"), NodeId("n1")
BOTH = (N0, N1)


@pytest.fixture(scope="module")
def hgx() -> Fabric:
    return fabric_of(BOTH, platform("h100_hgx"), rails=8)


def valid(document: Any) -> bool:
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(json.dumps(document)))
    return True


def ended(*windows: float, check: str = "", error: str = "", code: str = "", moved: float = 0.0) -> Run:
    targets = (gpu_id("n0", 3), gpu_id("n0", 5))
    trial = Trial(id="R1T1", probe="p2p", node=N0, targets=targets, seconds=0.6)
    move = CounterMove(component=ComponentId("n0/gpu3/nvlink7"), counter="replay_errors", before=4.0, after=4.0 + moved)
    return Run(
        "J7",
        TrialEnded(
            time=1.0,
            trial=trial,
            round=1,
            windows=windows,
            moves=(move,),
            started=0.0,
            ended=1.0,
            measured_by="cuda_copy",
            check=check,
            error=error,
            code=code,
        ),
    )


def outcome(*runs: Run, probe: str = "p2p", expected: float = 400.0) -> Outcome:
    return Outcome(Aimed(CATALOGUE[probe], (gpu_id("n0", 3), gpu_id("n0", 5)), expected), runs)


@pytest.mark.parametrize(
    ("probe", "text", "named"),
    [
        ("p2p", "n0/gpu3,n0/gpu5", "n0/gpu3 n0/gpu5"),
        ("h2d", "n1/gpu3", "n1/gpu3"),
        ("rdma_loopback", "n0/mlx5_4", "n0/mlx5_4"),
        ("gpu_nic", "n0/gpu0, n0/mlx5_0", "n0/gpu0 n0/mlx5_0"),
        ("rdma_write", "n1/mlx5_0,n0/mlx5_4", "n1/mlx5_0 n0/mlx5_4"),
        ("net_pair", "n0/gpu0,n1/gpu7", "n0/gpu0 n1/gpu7"),
        ("fabric_state", "n0", "n0/host"),
        ("allreduce_subset", "n0/gpu1,n1/gpu1", "n0/gpu1 n1/gpu1"),
    ],
)
def test_parts_that_fit_are_taken_as_they_are_named(hgx: Fabric, probe: str, text: str, named: str) -> None:
    assert " ".join(aimed_at(hgx, CATALOGUE[probe], BOTH, text)) == named


def test_the_name_of_a_single_node_may_be_left_away(hgx: Fabric) -> None:
    assert aimed_at(hgx, CATALOGUE["p2p"], (N0,), "gpu3,gpu5") == (gpu_id("n0", 3), gpu_id("n0", 5))


def test_a_node_named_for_a_group_means_all_of_its_gpus(hgx: Fabric) -> None:
    assert aimed_at(hgx, CATALOGUE["allreduce_subset"], BOTH, "n1") == hgx.gpus("n1")


@pytest.mark.parametrize(
    ("probe", "text", "words"),
    [
        ("p2p", "n0/gpu3", "source first, and n0/gpu3 is not that.*--at n0/gpu0,n0/gpu1 would fit"),
        ("p2p", "n0/gpu3,n1/gpu3", "two GPUs of one node"),
        ("p2p", "n0/gpu3,n0/gpu3", "is not that"),
        ("p2p", "", "--at names two GPUs"),
        ("p2p", "n0/gpu3,n0/gpu9", "no part is called 'n0/gpu9'; there is .*n0/gpu"),
        ("p2p", "n7/gpu3,n0/gpu1", "n7/gpu3 is on none of the hosts: n0, n1"),
        ("rdma_write", "n0/mlx5_0,n0/mlx5_4", "two NICs of different nodes, source first"),
        ("rdma_write", "n0/gpu0,n1/mlx5_4", "n0/gpu0 is none that it takes; --at n0/mlx5_0,n1/mlx5_0 would fit"),
        ("gpu_nic", "n0/mlx5_0,n0/gpu0", "a GPU and a NIC of one node, in this order"),
        ("allreduce_subset", "n0/gpu0", "two or more GPUs"),
        ("fabric_state", "n0/gpu0", "a node, and n0/gpu0 is not that.*--at n0 would fit"),
    ],
    ids=lambda value: value.replace("/", "-") if len(value) < 30 else "",
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_what_would(hgx: Fabric, probe: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        aimed_at(hgx, CATALOGUE[probe], BOTH, text)


def test_a_probe_across_nodes_says_that_it_needs_a_second_one(hgx: Fabric) -> None:
    with pytest.raises(InputError, match="it needs a second node"):
        aimed_at(hgx, CATALOGUE["rdma_write"], (N0,), "mlx5_0")


def test_nodes_that_have_nothing_of_the_kind_are_not_tested() -> None:
    fabric = fabric_of(["p0"], platform("h100_pcie"))
    with pytest.raises(NotTested, match="fits nothing on p0"):
        aimed_at(fabric, CATALOGUE["fabric_state"], (NodeId("p0"),), "p0")


def test_all_targets_are_listed_with_one_to_copy(hgx: Fabric) -> None:
    can = possible(hgx, CATALOGUE["rdma_write"], BOTH)
    text = targets_report(CATALOGUE["rdma_write"], can)
    assert "For one: --at n0/mlx5_0,n1/mlx5_0" in text
    assert "16 ends here:" in text
    assert valid(targets_document(CATALOGUE["rdma_write"], can))


def test_the_catalogue_tells_of_every_probe_what_it_costs_needs_and_disturbs() -> None:
    text = catalogue_report(CATALOGUE.values())
    assert all(f"\n{name}: " in f"\n{text}" for name in CATALOGUE)
    assert text.count("needs: ") == text.count("disturbs: ") == len(CATALOGUE)
    assert text.count("a search may run it") == sum(probe.searches for probe in CATALOGUE.values())
    assert max(map(len, text.splitlines())) <= 80
    document = catalogue_document(CATALOGUE.values())
    assert valid(document)
    assert [entry["name"] for entry in document["probes"]] == list(CATALOGUE)


def test_a_variant_is_listed_under_its_own_name() -> None:
    (entry,) = catalogue_document([probe_named("rdma_write@gid=3")])["probes"]
    assert entry["name"] == "rdma_write@gid=3"


@pytest.mark.parametrize(
    ("found", "judgement", "code"),
    [
        (outcome(ended(395.0, 398.0, 401.0, 399.0)), Judgement.GOOD, 0),
        (outcome(ended(321.0, 321.0, 321.0)), Judgement.GOOD, 0),
        (outcome(ended(319.0, 319.0, 400.0)), Judgement.SLOW, 1),
        (outcome(ended(12.0), expected=math.nan), Judgement.MEASURED, 0),
        (outcome(ended(check="good"), expected=math.nan), Judgement.GOOD, 0),
        (outcome(ended(check="wrong"), expected=math.nan), Judgement.WRONG, 1),
        (outcome(ended(400.0, check="wrong")), Judgement.WRONG, 1),
        (outcome(ended(error="not tested: x (package: y)", code="not-tested")), Judgement.NOT_TESTED, 3),
        (outcome(ended(error="somebody computes there", code="busy")), Judgement.FAILED, 3),
        (outcome(ended(400.0), ended(error="lost", code="unreachable")), Judgement.FAILED, 3),
        (outcome(ended(100.0), ended(error="lost", code="unreachable")), Judgement.SLOW, 1),
        (outcome(ended(1.9), probe="rdma_latency", expected=1.9), Judgement.GOOD, 0),
        (outcome(ended(2.5), probe="rdma_latency", expected=1.9), Judgement.SLOW, 1),
    ],
    ids=["well", "rather-low", "slow", "no-figure", "check", "wrong", "fast-and-wrong", "lacking", "busy", "half",
         "slow-and-lost", "prompt", "late"],
)  # fmt: skip
def test_a_judgement_and_its_exit_code_follow_from_what_was_measured(
    found: Outcome, judgement: Judgement, code: int
) -> None:
    assert (found.judgement, found.exit_code) == (judgement, code)


def test_of_several_aims_a_fault_counts_most_and_what_could_not_run_more_than_what_is_good() -> None:
    good, slow = outcome(ended(400.0)), outcome(ended(100.0))
    lacking = outcome(ended(error="not tested", code="not-tested"))
    assert exit_code([good, good]) == 0
    assert exit_code([good, lacking]) == 3
    assert exit_code([lacking, slow, good]) == 1


def test_the_report_tells_the_distribution_the_moved_counters_and_who_measured() -> None:
    text = outcome_report([outcome(ended(*[400.0] * 13, 200.0, 390.0, 410.0, moved=5.0))])
    assert "16 windows: median 400 GB/s, lowest 200" in text
    assert "expected 400 GB/s" in text
    assert "1 of 16 windows are below 90 % of the median" in text
    assert "n0/gpu3/nvlink7 replay_errors +5" in text
    assert "measured by cuda_copy" in text
    assert "good: 100 %" in text
    assert max(map(len, text.splitlines())) <= 80


def test_counters_that_stood_still_are_counted_and_not_listed() -> None:
    text = outcome_report([outcome(ended(400.0))])
    assert "1 error counters read at its edges, none moved" in text
    assert "nvlink7" not in text


def test_runs_that_measured_nothing_are_told_beside_those_that_did() -> None:
    text = outcome_report([outcome(ended(400.0), ended(error="n0 is gone", code="unreachable"))])
    assert "1 of 2 runs measured nothing" in text
    assert "n0 is gone" in text
    assert "could not tell" in text


@pytest.mark.parametrize("runs", [(ended(400.0, 300.0),), (ended(error="x", code="busy"),), (ended(check="wrong"),)],
                         ids=["windows", "error", "check"])  # fmt: skip
def test_the_document_keeps_its_schema_and_has_null_where_there_is_no_number(runs: Sequence[Run]) -> None:
    found = outcome(*runs, expected=math.nan)
    document = outcome_document(found.aimed.probe, [found])
    assert valid(document)
    assert document["outcomes"][0]["expected"] is None


def session_on(tmp_path: Path, nodes: int = 1) -> Session:
    world = small_world("healthy", speed=400)
    return Session(WorldSource(world, nodes=world.scenario.nodes[:nodes]), Case.create(tmp_path, "c1"))


def aimed(probe: Probe, session: Session, text: str) -> Aimed:
    fabric = session.fabric()
    targets = aimed_at(fabric, probe, session.source.nodes, text)
    return Aimed(probe, targets, probe.expected(fabric, targets))


async def test_each_run_is_a_round_planned_consented_to_and_ended_in_the_journal(tmp_path: Path) -> None:
    session, said = session_on(tmp_path), list[str]()
    async with running(session):
        await ready(session)
        found = await run_probe(session, aimed(CATALOGUE["p2p"], session, "gpu3,gpu5"), 2, said.append)
    assert found.judgement is Judgement.GOOD
    assert len(found.windows) == 32
    assert len(said) == 2
    events = {entry.id: entry.event for entry in entries(session.case_path)}
    kinds = [
        type(event)
        for event in events.values()
        if isinstance(event, RoundPlanned | Consented | RoundEnded | TrialEnded)
    ]
    assert kinds == [RoundPlanned, Consented, RoundEnded, TrialEnded] * 2
    assert [events[run.id] for run in found.runs] == [run.trial for run in found.runs]
    assert [run.trial.trial.id for run in found.runs] == ["R1T1", "R2T1"]


async def test_a_node_that_lacks_the_tool_is_not_tested_and_the_session_goes_on(tmp_path: Path) -> None:
    session = session_on(tmp_path, nodes=2)
    async with running(session):
        await ready(session)
        found = await run_probe(session, aimed(CATALOGUE["dcgm_diag_1"], session, "sim1"), 1, lambda _: None)
        again = await run_probe(session, aimed(CATALOGUE["h2d"], session, "sim2/gpu1"), 1, lambda _: None)
    assert found.exit_code == 3
    assert found.runs[0].trial.error
    assert again.judgement is Judgement.GOOD


async def test_a_round_that_is_broken_off_ends_at_once(tmp_path: Path) -> None:
    world = small_world("healthy", speed=0.01)
    session = Session(WorldSource(world, nodes=world.scenario.nodes[:1]), Case.create(tmp_path, "c1"))
    async with running(session):
        await ready(session)
        task = asyncio.create_task(run_probe(session, aimed(CATALOGUE["p2p"], session, "gpu3,gpu5"), 1, lambda _: None))
        await asyncio.sleep(0.2)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 2


def test_a_node_that_is_not_live_is_refused_with_its_reason() -> None:
    with pytest.raises(NodeError, match="n0 is none of the hosts"):
        usable(Snapshot(), (gpu_id("n0", 3),))
