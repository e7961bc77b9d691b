"""The headless report: what a person reads on a terminal, in a pipe or in a ticket; plain text, 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ..incident.findings import Exclusion, Finding, Verdict
from ..incident.snapshot import Snapshot

WIDTH = 80
_MARK = {"critical": "X", "warning": "!", "info": "."}


def report(snapshot: Snapshot) -> str:
    """Nodes, findings, verdict, and what was excluded, as lines of text."""
    return "\n".join(_lines(snapshot)) + "\n"


def _lines(snapshot: Snapshot) -> Iterator[str]:
    yield f"case {snapshot.case}: {snapshot.up()} of {len(snapshot.nodes)} nodes live"
    for view in snapshot.nodes.values():
        if view.reason:
            yield from _wrapped(f"? {view.id}: {view.state}: {view.reason}", "  ")
    yield ""
    yield f"Findings ({len(snapshot.findings)})"
    for finding in snapshot.findings:
        yield from _finding(finding)
    if snapshot.verdict is not None:
        yield ""
        yield from _outcome(snapshot)
    if snapshot.bundle:
        yield ""
        yield f"Bundle: {snapshot.bundle}"


def _finding(finding: Finding) -> Iterator[str]:
    yield from _wrapped(f"{_MARK[finding.severity]} {finding.component}: {finding.title}", "    ")
    if finding.victims:
        yield from _wrapped(f"consequences: {', '.join(finding.victims)}", "    ", "    ")
    if finding.next:
        yield from _wrapped(f"next: {finding.next}", "    ", "    ")


def _outcome(snapshot: Snapshot) -> Iterator[str]:
    reached = snapshot.verdict
    assert reached is not None
    words = {
        "localized": "Verdict",
        "none": "No fault found",
        "undecided": "Undecided",
        "not_run": "Not probed",
    }
    yield f"{words[reached.outcome]} after {reached.rounds} rounds, {reached.probes} probes, {reached.seconds:.1f} s"
    if reached.reason:
        yield from _wrapped(reached.reason, "  ", "  ")
    for verdict in reached.verdicts:
        yield from _verdict(verdict)
    if reached.excludes:
        yield "  Excluded (95 % confidence):"
        for excluded in reached.excludes:
            yield from _wrapped(_exclusion(excluded), "      ", "    ")
    if reached.untestable:
        yield from _wrapped(f"Not testable with these probes: {len(reached.untestable)} parts", "    ", "  ")


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield from _wrapped(
        f"X {verdict.component}  {verdict.confidence} ({100 * verdict.posterior:.1f} %), {verdict.fault_class}, "
        f"FRU {verdict.fru}",
        "    ",
        "  ",
    )
    for part in verdict.alternatives:
        yield f"    or {part}: no probe can tell these apart"
    low, high = verdict.duty
    yield from _wrapped(
        f"on {100 * low:.1f} % to {100 * high:.1f} % of the time, shown by {verdict.by}", "      ", "    "
    )
    for sentence in verdict.why:
        yield from _wrapped(sentence, "      ", "    ")
    yield from _wrapped(f"next: {verdict.next}", "      ", "    ")


def _exclusion(excluded: Exclusion) -> str:
    by = (
        f"by at least {100 * excluded.drop:.0f} % of its traffic"
        if excluded.by == "bandwidth"
        else "as its counters show it"
    )
    return f"no {excluded.family} fails more than {100 * excluded.duty:.1f} % of the time {by}"


def _wrapped(text: str, later: str, first: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False)
