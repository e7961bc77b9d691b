"""One probe as documents: the catalogue, what a probe could be aimed at, and what its runs measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..incident.events import TrialEnded
from ..probes.probe import Probe
from .probe_report import disturbed
from .probe_targets import Possible, on_example_nodes
from .probing import Outcome, Run, exit_code

Json = dict[str, Any]


def catalogue_document(probes: Iterable[Probe]) -> Json:
    """What `probe --list --json` prints."""
    return {"probes": [_entry(probe) for probe in probes]}


def targets_document(probe: Probe, can: Possible) -> Json:
    """What `probe NAME HOSTS --json` prints without `--at`."""
    return {
        "probe": probe.name,
        "targets": [[str(part) for part in target] for target in can.targets],
        "example": [str(part) for part in can.example],
    }


def outcome_document(probe: Probe, outcomes: Sequence[Outcome]) -> Json:
    """What `probe NAME HOSTS --at ... --json` prints."""
    return {
        "probe": probe.name,
        "title": probe.title,
        "measure": str(probe.measure),
        "exit_code": exit_code(outcomes),
        "outcomes": [_outcome(outcome) for outcome in outcomes],
    }


def _entry(probe: Probe) -> Json:
    example = on_example_nodes(probe).example
    return {
        "name": probe.name,
        "title": probe.title,
        "aim": str(probe.aim),
        "measure": str(probe.measure),
        "cost": probe.cost(example) if example else "",
        "seconds": probe.seconds,
        "needs": [{"name": need.name, "package": need.package} for need in probe.needs],
        "disturbs": list(disturbed(probe)),
        "searches": probe.searches,
    }


def _outcome(outcome: Outcome) -> Json:
    windows = outcome.windows
    return {
        "targets": [str(part) for part in outcome.aimed.targets],
        "judgement": str(outcome.judgement),
        "expected": _number(outcome.aimed.expected),
        "median": _number(outcome.median),
        "lowest": min(windows, default=None),
        "highest": max(windows, default=None),
        "spread": _number(outcome.spread),
        "share": _number(outcome.share),
        "odd": outcome.odd,
        "runs": [_run(run) for run in outcome.runs],
    }


def _run(run: Run) -> Json:
    trial = run.trial
    return {
        "id": run.id,
        "trial": trial.trial.id,
        "windows": list(trial.windows),
        "check": trial.check,
        "detail": trial.detail,
        "measured_by": trial.measured_by,
        "seconds": round(trial.seconds, 3),
        "error": trial.error,
        "code": trial.code,
        "counters_read": len(trial.moves),
        "moved": _moved(trial),
    }


def _moved(trial: TrialEnded) -> list[Json]:
    return [
        {"component": str(move.component), "counter": move.counter, "before": move.before, "after": move.after}
        for move in trial.moves
        if move.step > 0
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
