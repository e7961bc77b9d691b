"""A node or part that runs other software, firmware or settings than its equals: rarely the fault, often the lead.

Source: as of `signals/drift.py`; which version is the right one nobody can tell from the versions.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ..drift import Drift, compare_fleet
from ..scene import Scene
from ..statements import NCCL, kind_of
from ..wording import quoted, several

RULE = "drift"
MOST_ODD = 16
"""Odd ones of one thing that get a finding each."""
NEXT = (
    "Compare with lanescope drift on all nodes, bring the odd one to what its equals run, and repeat the failing job."
)


def drift(scene: Scene) -> Iterator[Finding]:
    """One finding for each odd one out; where nobody is, one for the difference."""
    told = set[tuple[ComponentId, str]]()
    for one in compare_fleet(scene.snapshot.nodes.values(), scene.readings).drifts:
        if one.what == NCCL:
            continue
        for finding in _odd(one) if one.odd else _differ(one):
            if (finding.component, finding.fault_class) not in told:
                told.add((finding.component, finding.fault_class))
                yield finding


def _odd(found: Drift) -> Iterator[Finding]:
    usual = len(found.said) - len(found.odd)
    peers = [part for part, value in found.said.items() if value == found.usual]
    for part in found.odd[:MOST_ODD]:
        kind = kind_of(found.what)
        yield Finding(
            component=part,
            fru=kind.fru,
            fault_class=kind.fault_class,
            severity=kind.severity,
            confidence=Confidence.POSSIBLE,
            title=f"{_name(part)} has {found.what} {quoted(found.said[part])}, {several(usual, 'equal')} of it "
            f"{'has' if usual == 1 else 'have'} {quoted(found.usual or '')}",
            evidence=tuple(dict.fromkeys(found.evidence[one] for one in (part, *peers[:4]))),
            argues_against=("nothing shows that the difference is what fails",),
            next=NEXT,
            rule=RULE,
        )


def _differ(found: Drift) -> Iterator[Finding]:
    by_value: dict[str, ComponentId] = {}
    for part, value in found.said.items():
        by_value.setdefault(value, part)
    *others, last = by_value.items()
    kind = kind_of(found.what)
    shown = "; ".join(f"{quoted(value)} on {_name(part)}" for value, part in (*others, last)[:4])
    yield Finding(
        component=last[1],
        fru=kind.fru,
        fault_class=kind.fault_class,
        severity=Severity.INFO,
        confidence=Confidence.UNKNOWN,
        title=f"equals differ in {found.what}: {shown}",
        evidence=tuple(dict.fromkeys(found.evidence[part] for part in by_value.values())),
        argues_against=("with so few equals nobody is the odd one out",),
        next=NEXT,
        rule=RULE,
    )


def _name(part: ComponentId) -> str:
    return str(part.node if part.kind == "host" else part)
