"""An investigation asks before it probes, and ends in a verdict or says what it excludes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from lanescope.evidence.case import Case, entries
from lanescope.incident.errors import NodeError
from lanescope.incident.events import Consented, RoundPlanned, TrialEnded
from lanescope.session.contract import demo_document, localize_document, plan_document
from lanescope.session.headless import exit_code, localize, propose, settle
from lanescope.session.report import report
from lanescope.session.session import Session, running
from lanescope.sim.source import WorldSource
from referencing import Registry, Resource

from .worlds import ready, small_world

SCHEMAS = Path(__file__).parents[2] / "session" / "schemas"


def validator(name: str) -> Draft202012Validator:
    schemas = [json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")]
    registry = Registry().with_resources([(schema["$id"], Resource.from_contents(schema)) for schema in schemas])
    return Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text()), registry=registry)


def quiet(_: str) -> None:
    """Progress that nobody reads."""


def session_on(tmp_path: Path, name: str, nodes: int | None = None) -> Session:
    world = small_world(name, speed=400)
    return Session(WorldSource(world, nodes=world.scenario.nodes[:nodes]), Case.create(tmp_path, "c1"))


@pytest.mark.parametrize("name", ["finding", "localize", "demo"])
def test_the_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(json.loads((SCHEMAS / f"{name}.json").read_text()))


async def test_a_round_waits_for_the_operators_yes(tmp_path: Path) -> None:
    session = session_on(tmp_path, "lane_gates")
    async with running(session):
        await ready(session)
        investigation = session.investigate(session.source.nodes)
        assert await session.until(lambda _: investigation.state == "proposed", 20)
        assert not session.snapshot().trials
        investigation.approve()
        assert await session.until(lambda seen: bool(seen.beliefs), 20)
        assert await session.until(lambda _: investigation.state in ("proposed", "ended"), 20)
        assert len(session.snapshot().beliefs) == 1
    kinds = [type(entry.event) for entry in entries(session.case_path)]
    assert kinds.index(RoundPlanned) < kinds.index(Consented) < kinds.index(TrialEnded)


async def test_the_operators_no_ends_it_and_keeps_what_was_learned(tmp_path: Path) -> None:
    session = session_on(tmp_path, "lane_gates")
    async with running(session):
        await ready(session)
        investigation = session.investigate(session.source.nodes)
        await session.until(lambda _: investigation.state == "proposed", 20)
        investigation.cancel()
        await investigation.wait()
        assert investigation.state == "cancelled"
        assert session.snapshot().rounds
        assert session.investigate(session.source.nodes) is not investigation


async def test_a_fault_is_localized_and_the_document_keeps_its_contract(tmp_path: Path) -> None:
    session = session_on(tmp_path, "lane_gates")
    async with running(session):
        await ready(session)
        await localize(session, session.source.nodes, None, quiet)
        document = localize_document(session)
        whole = demo_document(session, None, None)
        text = report(session.snapshot())
    validator("localize").validate(document)
    validator("demo").validate(whole)
    declared = small_world("lane_gates").scenario.expected[0]
    assert document["outcome"] == "localized"
    assert document["verdict"]["component"] == declared.component
    assert set(document["verdict"]["evidence"]) <= document["evidence_index"].keys()
    assert exit_code(session.snapshot()) == 1
    assert declared.component in text
    assert max(map(len, text.splitlines())) <= 80 + len(str(session.case_path))


async def test_a_healthy_fleet_is_certified_with_what_that_excludes(tmp_path: Path) -> None:
    session = session_on(tmp_path, "healthy", nodes=2)
    async with running(session):
        await ready(session)
        await localize(session, session.source.nodes, None, quiet)
        document = localize_document(session)
    validator("localize").validate(document)
    assert document["outcome"] == "none"
    assert document["verdicts"] == []
    assert document["excludes"]
    assert exit_code(session.snapshot()) == 0


async def test_a_budget_ends_the_search_undecided(tmp_path: Path) -> None:
    session = session_on(tmp_path, "healthy")
    async with running(session):
        await ready(session)
        await localize(session, session.source.nodes, 2.0, quiet)
    reached = session.snapshot().verdict
    assert reached is not None
    assert reached.outcome == "undecided"
    assert exit_code(session.snapshot()) == 2


async def test_a_plan_is_shown_and_nothing_runs(tmp_path: Path) -> None:
    session = session_on(tmp_path, "healthy")
    async with running(session):
        await ready(session)
        investigation = await propose(session, session.source.nodes, None)
        document = localize_document(session) | plan_document(investigation.proposal)
        assert not session.snapshot().trials
    validator("localize").validate(document)
    assert document["plan"]["trials"]
    assert document["outcome"] == "not_run"


async def test_sick_nodes_are_named_with_reasons_and_cost_the_others_nothing(tmp_path: Path) -> None:
    session = session_on(tmp_path, "sick_nodes")
    said: list[str] = []
    async with running(session):
        await settle(session, said.append)
        snapshot = session.snapshot()
    assert 0 < snapshot.up() < len(snapshot.nodes)
    assert any("python" in line for line in said)


async def test_with_no_live_node_probing_is_refused_in_one_sentence(tmp_path: Path) -> None:
    world = small_world("sick_nodes")
    sick = [row.node for row in world.scenario.sick if row.how in ("refuses", "no-python")]
    session = Session(WorldSource(world, nodes=sick), Case.create(tmp_path, "c1"))
    async with running(session):
        await session.until(lambda seen: all(view.code for view in seen.nodes.values()), 10)
        with pytest.raises(NodeError, match="no node can be probed"):
            await localize(session, session.source.nodes, None, quiet)
