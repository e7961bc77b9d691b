"""`explain X.evb.zip` computes a bundle's belief again; with anything else `explain` means what it always meant."""

from __future__ import annotations

import asyncio
import json
import math
import zipfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from lanescope.evidence.case import Case
from lanescope.probes.catalogue import CATALOGUE
from lanescope.session.headless import localize
from lanescope.session.investigation import probeable
from lanescope.session.session import Session, running
from lanescope.sim.scenario import load_scenario
from lanescope.sim.source import WorldSource
from lanescope.sim.world import World

from .program import Ended, run
from .test_documents import errors_of

LANE = "sim4/gpu1/nvlink3"
NOT_COPIES = [name for name, probe in CATALOGUE.items() if probe.searches and name not in ("p2p", "h2d")]
"""The search takes few rounds."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a search that convicts one lane, which is bad so often that this hangs on no draw."""
    folder = tmp_path_factory.mktemp("explained")
    scenario = load_scenario(Path(str(files("lanescope.sim.scenarios") / "lane_gates.toml")))

    async def searched() -> Path:
        often = tuple(replace(fault, duty=0.2) for fault in scenario.faults)
        world = World(replace(scenario, faults=often, speed=400))
        session = Session(WorldSource(world, pace=math.inf), Case.create(folder, "c1"))
        async with running(session):
            everyone = session.source.nodes
            assert await session.until(lambda seen: len(probeable(seen, everyone)) == len(everyone), 30)
            await localize(session, everyone, 15.0, lambda _: None, NOT_COPIES)
            return Path((await session.bundle(folder / "lane.evb.zip")).path)

    assert scenario.expected[0].component == LANE
    return asyncio.run(searched())


def explain(*arguments: str | Path) -> Ended:
    return run("explain", *arguments)


def test_a_bundles_belief_is_computed_again_and_its_verdict_summed_up(bundle: Path) -> None:
    ended = explain(bundle)
    assert ended.code == 0, ended.err
    assert "EQUAL" in ended.out
    assert f"Why {LANE}" in ended.out
    assert "posterior = e^" in ended.out


def test_the_same_as_a_document_that_keeps_its_schema(bundle: Path) -> None:
    ended = explain(bundle, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert errors_of(document, "explain") == []
    assert document["equal"]
    assert document["table_agrees"] is True
    assert LANE in [suspect["component"] for suspect in document["suspects"]]


def test_another_suspect_is_accounted_for_when_asked(bundle: Path) -> None:
    ended = explain(bundle, "--suspect", "sim4/gpu1")
    assert ended.code == 0, ended.err
    assert "What speaks for sim4/gpu1 " in ended.out
    refused = explain(bundle, "--suspect", "sim9/gpu1")
    assert refused.code == 64
    assert refused.says_one_sentence("sim9/gpu1")


def test_a_bundle_in_which_bytes_changed_is_not_believed(bundle: Path, tmp_path: Path) -> None:
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 0xFF
    altered = tmp_path / "altered.evb.zip"
    altered.write_bytes(data)
    ended = explain(altered)
    assert ended.code in (1, 4)
    assert "EQUAL: " not in ended.out or "integrity  altered" in ended.out


def test_a_bundle_that_is_not_there_is_refused_in_one_sentence(tmp_path: Path) -> None:
    ended = explain(tmp_path / "missing.evb.zip")
    assert ended.code == 64
    assert ended.says_one_sentence("missing.evb.zip")


def test_codes_counters_and_lines_are_explained_as_before() -> None:
    ended = explain("xid", "79")
    assert ended.code == 0
    assert "79" in ended.out
    refused = explain("xid", "79", "--json")
    assert refused.code == 64
    assert refused.says_one_sentence("bundles")


def test_the_table_in_the_bundle_gives_what_a_trial_was_said_to_add(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        name = next(name for name in archive.namelist() if name.endswith("localization/likelihoods.json"))
        table = json.loads(archive.read(name))
    assert table["format"] == "likelihood-tables/1"
    assert len(table["ratios"]) == len(table["shares"])
    assert {len(mode) for share in table["ratios"] for mode in share} == {table["bins"]}
    as_expected = int((0.0 - table["lowest"]) / table["step"])
    assert max(mode[as_expected] for mode in table["ratios"][0]) < 0
