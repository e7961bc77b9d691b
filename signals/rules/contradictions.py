"""Two sources say different things about one part: one of them is wrong, or somebody changed the wiring.

Either way nobody should build on it: a conclusion about the wrong part is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...topology.claims import Contradiction
from ..scene import Scene

RULE = "contradictions"


def contradictions(scene: Scene) -> Iterator[Finding]:
    """One finding for each part and attribute that sources disagree about."""
    for said in scene.fabric.contradictions:
        view = scene.snapshot.nodes.get(said.component.node)
        if view is not None and view.facts_id:
            yield _finding(said, view.facts_id)


def _finding(said: Contradiction, evidence: str) -> Finding:
    believed = said.said[0][0]
    return Finding(
        component=said.component,
        fru="configuration",
        fault_class="unknown",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"sources disagree about {said.component.within}: {said.sentence}",
        evidence=(evidence,),
        argues_against=("they may have been read before and after a change",),
        next=f"Read both again; until they agree, {believed} is what is drawn and probed by.",
        rule=RULE,
    )
