"""A node or a GPU that reaches less than its equals in the same test, with no error of its own seen yet."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ..equal_measures import Equals, Measure, equals_measured
from ..scene import Scene
from ..wording import quoted

RULE = "below_equals"
MOST_NAMED = 16


def below_equals(scene: Scene) -> Iterator[Finding]:
    """One finding for each slow part; a node whose GPUs are all slow is told instead of them."""
    for equals in equals_measured(scene.readings):
        slow = {one.part: one for one in equals.slow}
        whole = {node for node in {part.node for part in slow} if _all_slow(node, equals, slow)}
        for node in sorted(whole)[:MOST_NAMED]:
            worst = _worst([one for one in slow.values() if one.part.node == node], equals)
            yield _finding(node, worst, equals)
        for one in [one for one in slow.values() if one.part.node not in whole][:MOST_NAMED]:
            yield _finding(one.part, one, equals)


def _all_slow(node: ComponentId, equals: Equals, slow: dict[ComponentId, Measure]) -> bool:
    parts = [one.part for one in equals.measures if one.part.node == node]
    return len(parts) > 1 and all(part in slow for part in parts)


def _worst(measures: list[Measure], equals: Equals) -> Measure:
    return min(measures, key=lambda one: one.value if equals.more_is_better else -one.value)


def _finding(part: ComponentId, measure: Measure, equals: Equals) -> Finding:
    is_gpu = part.kind == "gpu"
    name = f"GPU {part.number} of {part.node}" if is_gpu else f"node {part}"
    return Finding(
        component=part,
        fru="none",
        fault_class="straggler/gpu" if is_gpu else "straggler/node",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=(
            f"{name} stands out among {len(equals.measures)} equals: {quoted(equals.what, 60)} {measure.value:g}, "
            f"median {equals.typical:.4g}"
        ),
        evidence=(measure.id,),
        argues_against=(
            "one measurement: other programs, clocks set by hand, a lower power limit or heat slow a part as well",
        ),
        next=(
            "Measure it again while idle, then read clocks event reasons, power limit and temperature beside those of "
            "an equal part; exchange positions where no cause is found."
        ),
        rule=RULE,
    )
