"""What scripts read: one JSON document on stdout that keeps its schema, progress on stderr, an exit code that tells."""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from lanescope.demo import demo_scenario, judge_demo
from lanescope.incident.events import VerdictReached
from lanescope.incident.findings import Confidence, Finding, Severity, Verdict
from lanescope.incident.ids import ComponentId
from lanescope.incident.snapshot import Snapshot
from referencing import Registry, Resource

from .conftest import Fleet
from .program import run

SCHEMAS = Path(str(files("lanescope.session") / "schemas"))


def errors_of(document: Any, schema: str) -> list[str]:
    """How a document breaks a schema of the package."""
    all_of_them = [json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")]
    registry = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in all_of_them])
    validator = Draft202012Validator(json.loads((SCHEMAS / f"{schema}.json").read_text()), registry=registry)
    return [error.message for error in validator.iter_errors(document)]


def test_a_plan_is_one_document_and_runs_nothing(fleet: Fleet, tmp_path: Path) -> None:
    ended = run("localize", "-F", fleet.ssh_config, "sim[1,7]", "--plan", "--json", "--cases", tmp_path)
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert errors_of(document, "localize") == []
    assert document["outcome"] == "not_run"
    assert document["probes"] == 0
    assert document["plan"]["trials"]
    assert document["plan"]["seconds"] > 0
    assert "2 of 2 nodes live" in ended.err
    (journal,) = tmp_path.glob("*/journal.jsonl")
    assert "TrialEnded" not in journal.read_text()


def test_the_plain_openssh_client_reaches_a_served_node(fleet: Fleet) -> None:
    command = ["ssh", "-F", fleet.ssh_config, "sim1", "nvidia-smi", "topo", "-m"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert "NV18" in done.stdout


def claim(component: str, fault_class: str, fru: str) -> dict[str, Any]:
    return {"component": ComponentId(component), "fault_class": fault_class, "fru": fru, "evidence": ("J1",)}


def finding(component: str, fault_class: str, fru: str) -> Finding:
    return Finding(
        **claim(component, fault_class, fru), severity=Severity.CRITICAL, confidence=Confidence.LIKELY, title="made up"
    )


def snapshot(*findings: Finding, lane: str = "sim3/gpu5/nvlink7") -> Snapshot:
    verdict = Verdict(
        **claim(lane, "nvlink-link/marginal", "gpu-module"),
        alternatives=(),
        posterior=0.99,
        confidence=Confidence.LIKELY,
        duty=(0.01, 1.0),
        drop=(0.0, 1.0),
        by="counters",
        why=(),
        next="swap",
    )
    reached = VerdictReached(
        time=1.0,
        outcome="localized",
        verdicts=(verdict,),
        excludes=(),
        untestable=(),
        reason="",
        rounds=1,
        probes=1,
        seconds=1.0,
    )
    return Snapshot(findings=findings, verdict=reached)


def declared(how: str) -> list[Finding]:
    frus = {"gpu2": "gpu-module", "mlx5_4/pcie": "nic"}
    return [
        finding(str(one.component), one.fault_class, frus[str(one.component).partition("/")[2]])
        for one in demo_scenario().expected
        if one.how == how
    ]


def test_the_demo_is_right_when_everything_declared_and_nothing_else_is_named() -> None:
    judgement = judge_demo(snapshot(*declared("finding")), demo_scenario().expected)
    assert judgement.is_right, judgement.sentence()


def test_the_demo_is_wrong_when_a_declared_fault_is_missed() -> None:
    judgement = judge_demo(snapshot(*declared("finding")[1:]), demo_scenario().expected)
    assert not judgement.is_right
    assert "missed" in judgement.sentence()


def test_the_demo_is_wrong_when_an_innocent_part_is_called_faulty() -> None:
    innocent = finding("sim1/gpu0", "gpu-off-bus", "gpu-module")
    judgement = judge_demo(snapshot(*declared("finding"), innocent), demo_scenario().expected)
    assert not judgement.is_right
    assert "wrongly named: sim1/gpu0" in judgement.sentence()


def test_the_demo_is_wrong_when_the_verdict_names_a_neighbour() -> None:
    judgement = judge_demo(snapshot(*declared("finding"), lane="sim3/gpu5/nvlink8"), demo_scenario().expected)
    assert [str(one.component) for one in judgement.missed] == ["sim3/gpu5/nvlink7"]
    assert judgement.surplus
