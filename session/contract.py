"""The JSON that scripts rely on; its schemas stand in `schemas/`, and tests hold every document against them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..evidence.index import evidence_index
from ..evidence.verify import Verification
from ..incident.events import RoundPlanned, VerdictReached
from ..incident.findings import Finding, Verdict
from ..incident.snapshot import Snapshot
from .plan import Outlook
from .session import Session

Json = dict[str, Any]

SHOWN_SUSPECTS = 16


def localize_document(session: Session) -> Json:
    """What `localize --json` prints."""
    snapshot = session.snapshot()
    reached = snapshot.verdict
    verdicts = [_verdict(verdict) for verdict in reached.verdicts] if reached else []
    return {
        "outcome": reached.outcome if reached else "not_run",
        "reason": reached.reason if reached else _why_not(session),
        "verdicts": verdicts,
        "verdict": verdicts[0] if verdicts else None,
        "suspects": _suspects(snapshot),
        "excludes": [_exclusion(reached, at) for at in range(len(reached.excludes))] if reached else [],
        "untestable": [str(part) for part in reached.untestable] if reached else [],
        "rounds": reached.rounds if reached else 0,
        "probes": reached.probes if reached else 0,
        "probe_seconds": round(reached.seconds, 3) if reached else 0.0,
        "nodes": {str(node): str(view.state) for node, view in snapshot.nodes.items()},
        "evidence_index": _index(session, _referenced(snapshot)),
    }


def demo_document(session: Session, bundle: Path | None, verified: Verification | None) -> Json:
    """What `demo --headless --json` prints."""
    snapshot = session.snapshot()
    return localize_document(session) | {
        "findings": [finding_document(finding) for finding in snapshot.findings],
        "bundle": str(bundle) if bundle else None,
        "verified": verified is not None and verified.intact,
        "signed": False,
    }


def finding_document(finding: Finding) -> Json:
    """A finding, as it stands everywhere."""
    return {
        "component": str(finding.component),
        "fru": finding.fru,
        "class": finding.fault_class,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "title": finding.title,
        "evidence": list(finding.evidence),
        "argues_against": list(finding.argues_against),
        "next": finding.next,
        "victims": [str(victim) for victim in finding.victims],
    }


def _verdict(verdict: Verdict) -> Json:
    return {
        "component": str(verdict.component),
        "fru": verdict.fru,
        "class": verdict.fault_class,
        "alternatives": [str(part) for part in verdict.alternatives],
        "posterior": round(verdict.posterior, 6),
        "confidence": str(verdict.confidence),
        "duty": [round(share, 4) for share in verdict.duty],
        "drop": [round(share, 4) for share in verdict.drop],
        "by": verdict.by,
        "why": list(verdict.why),
        "next": verdict.next,
        "evidence": list(verdict.evidence),
    }


def _suspects(snapshot: Snapshot) -> list[Json]:
    belief = snapshot.belief
    suspects = belief.suspects[:SHOWN_SUSPECTS] if belief else ()
    return [{"component": str(one.component), "posterior": round(one.posterior, 6)} for one in suspects]


def _exclusion(reached: VerdictReached, at: int) -> Json:
    excluded = reached.excludes[at]
    return {
        "family": excluded.family,
        "duty": round(excluded.duty, 4),
        "drop": round(excluded.drop, 4),
        "by": excluded.by,
    }


def _referenced(snapshot: Snapshot) -> set[str]:
    named = {id_ for finding in snapshot.findings for id_ in (*finding.evidence, *finding.argues_against)}
    if snapshot.verdict:
        named |= {id_ for verdict in snapshot.verdict.verdicts for id_ in verdict.evidence}
    return named


def _index(session: Session, ids: set[str]) -> Mapping[str, Any]:
    session.case.flush()
    index = evidence_index(session.snapshot(), session.case)
    return {id_: index[id_] for id_ in sorted(ids) if id_ in index}


def _why_not(session: Session) -> str:
    return session.investigation.error if session.investigation else "no probe was run"


def plan_document(proposal: RoundPlanned | None, outlook: Outlook | None = None) -> Json:
    """What `--plan` adds: what could be found out, and the first round, proposed and not run."""
    found: Json = {"outlook": _outlook(outlook)} if outlook else {}
    if proposal is None:
        return found
    trials = [
        {
            "probe": trial.probe,
            "node": str(trial.node),
            "targets": [str(target) for target in trial.targets],
            "seconds": trial.seconds,
        }
        for trial in proposal.trials
    ]
    return found | {"plan": {"trials": trials, "seconds": round(proposal.seconds, 3), "reason": proposal.reason}}


def _outlook(outlook: Outlook) -> Json:
    seen = outlook.separability
    return {
        "probes": list(outlook.probes),
        "nodes": [str(node) for node in outlook.nodes],
        "left_out": [str(node) for node in outlook.left_out],
        "alike": [
            {
                "nodes": [str(node) for node in alike.nodes],
                "kinds": [
                    {
                        "kind": row.kind,
                        "parts": row.parts,
                        "alone": row.alone,
                        "by_counters": row.by_counters,
                        "in_groups": [{"size": size, "parts": parts} for size, parts in row.in_groups],
                        "untestable": row.untestable,
                    }
                    for row in alike.kinds
                ],
                "groups": [
                    {
                        "make": dict(group.make),
                        "count": group.count,
                        "counted": group.counted,
                        "example": [str(part) for part in group.example],
                        "tests": list(group.tests),
                        "probes": list(outlook.splitters.get(group.make, ())),
                    }
                    for group in alike.groups
                ],
            }
            for alike in seen.alike
        ],
        "faint": [
            {"kind": one.kind, "share": one.share, "duty": one.duty, "drop": one.drop, "counted": one.counted}
            for one in seen.faint
        ],
        "weighed": [str(node) for node in outlook.weighed],
        "gains": [
            {
                "probe": gain.probe,
                "title": gain.title,
                "allowed": gain.allowed,
                "searches": gain.searches,
                "reached": dict(gain.reached),
                "alone": dict(gain.alone),
                "crosses": list(gain.crosses),
            }
            for gain in outlook.gains
        ],
    }
