"""A sceptic with nothing but the bundle can compute the belief again, and sum up by hand what convicts a part."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest
from lanescope.evidence.case import Case
from lanescope.evidence.verify import verify
from lanescope.incident.errors import InputError
from lanescope.incident.events import (
    AnyJournalEvent,
    BeliefUpdated,
    SearchBegan,
    Trial,
    TrialEnded,
    VerdictReached,
)
from lanescope.incident.ids import ComponentId
from lanescope.probes.catalogue import CATALOGUE
from lanescope.session.headless import localize, propose
from lanescope.session.recompute import Case as SumsOfCase
from lanescope.session.recompute import Recomputation, recompute
from lanescope.session.recompute_json import explain_document
from lanescope.session.recompute_text import explain_report
from lanescope.session.session import Session, running
from lanescope.sim.source import WorldSource
from lanescope.sim.world import World

from .resealing import resealed, scratched
from .test_investigation import validator
from .worlds import ready, small_world

NOT_COPIES = [name for name, probe in CATALOGUE.items() if probe.searches and name not in ("p2p", "h2d")]
"""Searches of these tests take few rounds."""


def world_of(name: str) -> World:
    """A shipped scenario whose faults are on so often that the outcome hangs on no draw."""
    scenario = small_world(name, seed=5, speed=400).scenario
    return World(replace(scenario, faults=tuple(replace(fault, duty=0.2) for fault in scenario.faults)))


def bundle_of(folder: Path, name: str, budget: float = 15.0, again: bool = False) -> Path:
    """A bundle of a search on a shipped scenario; `again`: another one was proposed after it and never run."""

    async def searched() -> Path:
        session = Session(WorldSource(world_of(name), pace=math.inf), Case.create(folder, "c1"))
        async with running(session):
            await ready(session)
            if budget != 0:
                await localize(session, session.source.nodes, budget, lambda _: None, NOT_COPIES)
            if again:
                await propose(session, session.source.nodes, None)
            return Path((await session.bundle(folder / f"{name}.evb.zip")).path)

    return asyncio.run(searched())


@pytest.fixture(scope="module")
def lane_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of(tmp_path_factory.mktemp("lane"), "lane_gates")


@pytest.fixture(scope="module")
def recomputed(lane_bundle: Path) -> Recomputation:
    return recompute(lane_bundle)


def case_of(found: Recomputation, part: ComponentId) -> SumsOfCase:
    """The sums of one part."""
    (case,) = [case for case in found.cases if case.accused.part == part]
    return case


def convicted(found: Recomputation) -> list[ComponentId]:
    """In the order of the recorded verdict."""
    assert found.search is not None
    assert found.search.verdict is not None
    return [verdict.component for verdict in found.search.verdict.verdicts]


def accused_lane() -> ComponentId:
    return ComponentId(small_world("lane_gates").scenario.expected[0].component)


def width_of(report: str) -> int:
    """Of its longest line; the bundle's path is as long as it is."""
    return max(len(line) for line in report.splitlines() if not line.startswith("bundle "))


def first_changed(kind: type, edit: Callable[[AnyJournalEvent], AnyJournalEvent]) -> Callable:
    """Changes the first event of a kind for which the edit changes anything."""
    done: list[AnyJournalEvent] = []

    def change(event: AnyJournalEvent) -> AnyJournalEvent:
        if done or not isinstance(event, kind) or (edited := edit(event)) == event:
            return event
        done.append(event)
        return edited

    return change


def slowed(event: TrialEnded) -> TrialEnded:
    """As if one window had been half as fast."""
    return (
        msgspec.structs.replace(event, windows=(event.windows[0] / 2, *event.windows[1:])) if event.windows else event
    )


def test_every_recorded_belief_and_the_conclusion_follow_from_the_trials_to_the_last_bit(
    recomputed: Recomputation,
) -> None:
    assert recomputed.equal, recomputed.difference
    assert recomputed.exit_code == 0
    assert recomputed.beliefs
    assert all(one.exact for one in recomputed.beliefs)
    assert recomputed.verdict is not None
    assert recomputed.verdict.exact


def test_the_sums_of_all_that_were_convicted_add_up(recomputed: Recomputation) -> None:
    assert [case.accused.part for case in recomputed.cases] == convicted(recomputed)
    for sums in (sums for case in recomputed.cases for sums in (case.accused, case.rival) if sums):
        terms = sum(term.nats for term in sums.terms)
        added = (
            sums.prior + sums.findings + sums.ways + terms + sums.held_back + sums.equals + sums.excused + sums.alike
        )
        assert added == pytest.approx(sums.total, abs=1e-9)


def test_what_is_excused_weighs_on_all_parts_alike(recomputed: Recomputation) -> None:
    for case in recomputed.cases:
        assert case.rival is not None
        assert case.accused.excused == pytest.approx(case.rival.excused, abs=1e-6)


def test_the_sum_of_the_convicted_part_is_that_of_its_recorded_posterior(recomputed: Recomputation) -> None:
    case = case_of(recomputed, accused_lane())
    sums = case.accused
    added = sums.prior + sums.findings + sums.ways + sums.held_back + sums.equals + sums.excused + sums.alike
    added += sum(term.nats for term in sums.terms)
    assert added == pytest.approx(sums.total, abs=1e-9)
    odds, others = math.exp(sums.total), math.exp(case.others)
    assert odds / (1 + odds + others) == pytest.approx(case.accused.posterior, abs=1e-6)
    assert case.verdict is not None
    assert case.accused.posterior == pytest.approx(case.verdict.posterior, abs=1e-3)


def test_each_convicting_trial_is_an_event_of_the_journal_that_crossed_the_part(recomputed: Recomputation) -> None:
    case = case_of(recomputed, accused_lane())
    assert recomputed.search is not None
    trials = {id_: trial for recorded in recomputed.search.rounds for id_, trial in recorded.trials}
    assert case.accused.convicting
    for term in case.accused.convicting:
        assert accused_lane().parent in trials[term.event].trial.targets
        assert len(term.windows) == len(trials[term.event].windows)


def test_the_report_fits_80_columns_and_shows_the_terms_of_both(recomputed: Recomputation) -> None:
    text = explain_report(recomputed)
    assert width_of(text) <= 80
    assert "EQUAL" in text
    assert f"Why {accused_lane()}" in text
    case = case_of(recomputed, accused_lane())
    for term in case.accused.convicting:
        assert f"[{term.event}]" in text
    assert f"{case.accused.total:+.2f}" in text
    assert case.rival is not None
    assert f"runner-up: {case.rival.part}" in text


def test_the_document_keeps_its_schema_and_its_terms_add_up(recomputed: Recomputation) -> None:
    document = json.loads(json.dumps(explain_document(recomputed), allow_nan=False))
    validator("explain").validate(document)
    for sums in (document["suspects"][0]["accused"], document["suspects"][0]["runner_up"]):
        terms = sum(trial["by_bandwidth"] + trial["by_counters"] for trial in sums["trials"])
        added = terms + sum(
            sums[name] for name in ("prior", "findings", "ways", "held_back", "equals", "excused", "alike")
        )
        assert added == pytest.approx(sums["total"], abs=1e-9)


@pytest.mark.parametrize("name", ["explain", "plan"])
def test_the_schemas_are_schemas(name: str) -> None:
    found = validator(name)
    found.check_schema(found.schema)


def test_a_trial_that_was_altered_under_hashes_made_anew_is_found_out(lane_bundle: Path, tmp_path: Path) -> None:
    forged = resealed(lane_bundle, tmp_path / "forged.evb.zip", first_changed(TrialEnded, slowed))
    assert verify(forged).intact
    found = recompute(forged)
    assert not found.equal
    assert found.exit_code == 1
    assert found.difference is not None
    assert found.difference.round == 1
    assert "DIFFERS: the belief after round 1" in explain_report(found)
    validator("explain").validate(json.loads(json.dumps(explain_document(found), allow_nan=False)))


def test_a_belief_that_was_altered_is_found_out_and_named(lane_bundle: Path, tmp_path: Path) -> None:
    def surer(event: BeliefUpdated) -> BeliefUpdated:
        return msgspec.structs.replace(event, no_fault=event.no_fault * 0.9) if event.round == 2 else event

    forged = resealed(lane_bundle, tmp_path / "forged.evb.zip", first_changed(BeliefUpdated, surer))
    difference = recompute(forged).difference
    assert difference is not None
    assert (difference.round, difference.what) == (2, "no_fault")


def test_a_verdict_on_another_part_is_found_out(lane_bundle: Path, tmp_path: Path) -> None:
    def blamed(event: VerdictReached) -> VerdictReached:
        innocent = msgspec.structs.replace(event.verdicts[0], component=ComponentId("sim1/gpu0/nvlink0"))
        return msgspec.structs.replace(event, verdicts=(innocent, *event.verdicts[1:]))

    forged = resealed(lane_bundle, tmp_path / "forged.evb.zip", first_changed(VerdictReached, blamed))
    found = recompute(forged)
    assert found.exit_code == 1
    assert all(one.equal for one in found.beliefs)
    assert found.difference is not None
    assert found.difference.what == "verdicts[0].component"


def test_an_altered_bundle_is_told_as_altered_even_where_its_beliefs_follow(lane_bundle: Path, tmp_path: Path) -> None:
    def later(event: BeliefUpdated) -> BeliefUpdated:
        return msgspec.structs.replace(event, time=event.time + 1)

    forged = scratched(lane_bundle, tmp_path / "forged.evb.zip", first_changed(BeliefUpdated, later))
    found = recompute(forged)
    assert found.equal
    assert found.exit_code == 1
    assert "altered" in explain_report(found)


def test_last_digits_that_another_processor_rounds_otherwise_are_no_difference(
    lane_bundle: Path, tmp_path: Path
) -> None:
    def rounded(event: BeliefUpdated) -> BeliefUpdated:
        return msgspec.structs.replace(event, no_fault=event.no_fault * (1 + 1e-13))

    found = recompute(resealed(lane_bundle, tmp_path / "other.evb.zip", first_changed(BeliefUpdated, rounded)))
    assert found.equal
    assert not all(one.exact for one in found.beliefs)
    assert "last digits" in explain_report(found)


def test_any_suspect_can_be_accounted_for_against_the_convicted(lane_bundle: Path) -> None:
    lane = accused_lane()
    (case,) = recompute(lane_bundle, str(lane.parent)).cases
    assert case.accused.part == lane.parent
    assert case.verdict is None
    assert case.rival is not None
    assert case.rival.part == lane


def test_a_suspect_that_no_trial_crossed_is_the_operators_mistake(lane_bundle: Path) -> None:
    with pytest.raises(InputError, match="crosses a part 'sim9/gpu0'"):
        recompute(lane_bundle, "sim9/gpu0")


def test_a_search_that_was_only_proposed_does_not_hide_the_one_before(tmp_path: Path) -> None:
    found = recompute(bundle_of(tmp_path, "lane_gates", again=True))
    assert found.equal
    assert found.beliefs


def test_a_search_that_ended_undecided_is_accounted_for_by_whom_it_suspects_most(tmp_path: Path) -> None:
    found = recompute(bundle_of(tmp_path, "healthy", budget=2.0))
    assert found.exit_code == 0
    assert found.search is not None
    assert found.search.verdict is not None
    assert found.search.verdict.outcome == "undecided"
    (case,) = found.cases
    assert case.verdict is None
    assert width_of(explain_report(found)) <= 80


def test_a_bundle_without_a_search_says_so(tmp_path: Path) -> None:
    found = recompute(bundle_of(tmp_path, "healthy", budget=0))
    assert found.exit_code == 3
    assert "no search was recorded" in explain_report(found)
    validator("explain").validate(json.loads(json.dumps(explain_document(found), allow_nan=False)))


def test_a_search_whose_beginning_is_missing_is_not_guessed_at(lane_bundle: Path, tmp_path: Path) -> None:
    forged = resealed(
        lane_bundle, tmp_path / "old.evb.zip", lambda event: None if isinstance(event, SearchBegan) else event
    )
    found = recompute(forged)
    assert found.exit_code == 3
    assert "without what it began from" in found.why_not


def test_a_probe_that_this_version_does_not_know_is_named(lane_bundle: Path, tmp_path: Path) -> None:
    def further(event: SearchBegan) -> SearchBegan:
        return msgspec.structs.replace(event, probes=(*event.probes, "warp-core"))

    found = recompute(resealed(lane_bundle, tmp_path / "new.evb.zip", first_changed(SearchBegan, further)))
    assert found.exit_code == 3
    assert "'warp-core'" in explain_report(found)


@pytest.mark.parametrize(
    "windows", [(math.nan,) * 16, (math.inf,) * 16, (1e308,) * 16, (5e-324,) * 16, (-1.0,) * 16, (1.0,) * 5000]
)
def test_numbers_that_no_search_writes_end_in_a_report(
    lane_bundle: Path, tmp_path: Path, windows: tuple[float, ...]
) -> None:
    def odd(event: TrialEnded) -> TrialEnded:
        return msgspec.structs.replace(event, windows=windows)

    found = recompute(resealed(lane_bundle, tmp_path / "odd.evb.zip", first_changed(TrialEnded, odd)))
    assert found.exit_code in (1, 3)
    explain_report(found)
    json.dumps(explain_document(found), allow_nan=False)


def test_names_out_of_a_bundle_reach_no_terminal_as_control_codes(lane_bundle: Path, tmp_path: Path) -> None:
    name = "\x1b[2Jp2p"

    def named(event: AnyJournalEvent) -> AnyJournalEvent:
        if isinstance(event, SearchBegan):
            return msgspec.structs.replace(event, probes=(*event.probes, name))
        if isinstance(event, TrialEnded):
            trial: Trial = msgspec.structs.replace(event.trial, id=name)
            return msgspec.structs.replace(event, trial=trial)
        return event

    report = explain_report(recompute(resealed(lane_bundle, tmp_path / "odd.evb.zip", named)))
    assert "\x1b" not in report


def test_what_is_no_bundle_is_unsafe_to_open_and_never_read(tmp_path: Path) -> None:
    junk = tmp_path / "x.evb.zip"
    junk.write_bytes(b"not a zip at all" * 100)
    found = recompute(junk)
    assert found.exit_code == 4
    assert found.search is None


def test_a_bundle_cut_short_is_incomplete(lane_bundle: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.evb.zip"
    cut.write_bytes(lane_bundle.read_bytes()[:-4000])
    assert recompute(cut).exit_code == 3


def test_a_file_that_is_not_there_is_the_operators_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        recompute(tmp_path / "missing.evb.zip")


resealed_unchanged = partial(resealed, change=lambda event: event)


def test_the_forger_of_these_tests_changes_nothing_by_itself(lane_bundle: Path, tmp_path: Path) -> None:
    assert recompute(resealed_unchanged(lane_bundle, tmp_path / "same.evb.zip")).exit_code == 0
