"""A recomputed bundle as JSON (`schemas/explain.json`): every trial with what it added, so that sums can be checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..probes.localize.reckoning import Reckoning, Rival, Term
from .recompute import Case, Compared, Recomputation, recomputed_by
from .recorded_search import RecordedSearch

Json = dict[str, Any]


def explain_document(found: Recomputation) -> Json:
    """What `explain X.evb.zip --json` prints."""
    search = found.search
    trials = {id_: ended.trial.id for recorded in search.rounds for id_, ended in recorded.trials} if search else {}
    difference = found.difference
    return {
        "bundle": found.verification.document(),
        "recomputed": search is not None and not found.why_not,
        "why_not": found.why_not,
        "recomputed_by": recomputed_by(),
        "search": _search(search) if search else None,
        "equal": found.equal,
        "table_agrees": found.table_agrees,
        "difference": None
        if difference is None
        else {
            "round": difference.round or None,
            "what": difference.what,
            "recorded": difference.recorded,
            "recomputed": difference.recomputed,
        },
        "beliefs": [_compared(one) for one in found.beliefs],
        "conclusion": _compared(found.verdict) if found.verdict else None,
        "suspects": [_case(case, trials) for case in found.cases],
    }


def _search(search: RecordedSearch) -> Json:
    began = search.began
    return {
        "nodes": [str(node) for node in began.nodes],
        "probes": list(began.probes),
        "first_round": began.first_round,
        "rounds": len(search.rounds),
        "trials": sum(len(recorded.trials) for recorded in search.rounds),
        "seconds": sum(recorded.seconds for recorded in search.rounds),
        "outcome": search.verdict.outcome if search.verdict else None,
        "recorded_by": search.version,
        "notes": list(search.notes),
    }


def _compared(one: Compared) -> Json:
    return {"round": one.round or None, "equal": one.equal, "exact": one.exact}


def _case(case: Case, trials: Mapping[str, str]) -> Json:
    verdict = case.verdict
    return {
        "component": str(case.accused.part),
        "convicted": verdict is not None,
        "recorded_posterior": verdict.posterior if verdict else None,
        "after_round": case.after_round,
        "accused": _sums(case.accused, trials),
        "runner_up": _sums(case.rival, trials) if case.rival else None,
        "others": _number(case.others),
        "no_fault": case.no_fault,
        "rivals": [_rival(rival) for rival in case.rivals],
    }


def _sums(sums: Reckoning, trials: Mapping[str, str]) -> Json:
    mode = sums.mode
    return {
        "component": str(sums.part),
        "members": [str(part) for part in sums.members],
        "mode": None
        if mode is None
        else {"duty": mode.duty, "drop": [mode.low, mode.high], "whole_transfers_wait": sums.gated},
        "prior": _number(sums.prior),
        "findings": _number(sums.findings),
        "ways": _number(sums.ways),
        "trials": [_term(term, trials) for term in sums.terms],
        "not_counted": sums.unheard,
        "held_back": _number(sums.held_back),
        "equals": _number(sums.equals),
        "excused": _number(sums.excused),
        "alike": _number(sums.alike),
        "total": _number(sums.total),
        "posterior": sums.posterior,
    }


def _term(term: Term, trials: Mapping[str, str]) -> Json:
    return {
        "event": term.event,
        "trial": trials.get(term.event, ""),
        "round": term.round,
        "probe": term.probe,
        "targets": [str(target) for target in term.targets],
        "windows": [round(share, 6) for share in term.windows],
        "failed": term.failed,
        "bad": term.bad,
        "struck": term.struck,
        "by_bandwidth": _number(term.by_bandwidth),
        "by_counters": _number(term.by_counters),
    }


def _rival(rival: Rival) -> Json:
    return {
        "component": str(rival.part),
        "alike": rival.alike,
        "shared": rival.shared,
        "clean_elsewhere": rival.clean_elsewhere,
        "nats_elsewhere": _number(rival.nats_elsewhere),
        "strikes": rival.strikes if rival.counted else None,
        "posterior": rival.posterior,
    }


def _number(value: float) -> float | None:
    """Null where nothing could ever show a fault of the part."""
    return value if math.isfinite(value) else None
