"""NVLinks that are inactive because the board has no more: looks wrong, and is right.

Told once a node, and only where something shows or complains of them: a check with a fixed number of links drains good
nodes. Source: boards.toml for what a board wires; the same links inactive on every GPU alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId
from ...parsers.host.complaints import BelowLimit, InactiveLinks
from ...parsers.nvidia_smi.nvlink import LinkErrors, LinkState
from ...topology.expected import Deviation, Standing, compare
from ..readings import Witness
from ..scene import Scene

RULE = "links_by_design"
MOST_SHOWN = 3


def links_by_design(scene: Scene) -> Iterator[Finding]:
    """One finding for each node whose inactive NVLinks are the board's design."""
    shown = [told for told in scene.readings.of(LinkState) if not told.reading.up]
    complaints = scene.readings.of(InactiveLinks)
    if not shown and not complaints:
        return
    for node, deviation in _by_design(scene).items():
        mine = [told for told in (*shown, *complaints) if told.node == node]
        if mine:
            yield _finding(scene, node, deviation, [told.id for told in mine], bool(complaints))


def _by_design(scene: Scene) -> Mapping[NodeId, Deviation]:
    """The first GPU of each node of which that holds; it holds of all of them alike."""
    found: dict[NodeId, Deviation] = {}
    for deviation in compare(scene.fabric):
        if deviation.what == "NVLinks" and deviation.standing is Standing.BY_DESIGN and " wires " in deviation.reason:
            found.setdefault(deviation.component.node, deviation)
    return found


def _finding(scene: Scene, node: NodeId, deviation: Deviation, evidence: list[str], checked: bool) -> Finding:
    model = scene.fabric.facts(deviation.component).get("model", "this board")
    errors = [told for told in scene.readings.of(LinkErrors, node) if told.reading.count.value]
    low = scene.readings.of(BelowLimit, node)
    check = "The check expects another board: set" if checked else "Set"
    return Finding(
        component=node,
        fru="none",
        fault_class="not-a-fault/by-design",
        severity=Severity.INFO,
        confidence=Confidence.POSSIBLE if errors else Confidence.LIKELY,
        title=f"{model}: {deviation.reason}: that is this board's design, no fault",
        evidence=tuple(dict.fromkeys((*evidence, *(told.id for told in low)))),
        argues_against=tuple(_against(errors, low)),
        next=(
            f"{check} the number of links ({_wired(deviation)} of {deviation.expected}) and the bandwidth limit by the "
            f"board's name; keep the node."
        ),
        rule=RULE,
    )


def _wired(deviation: Deviation) -> str:
    return deviation.seen.removesuffix(" up")


def _against(errors: list[Witness[LinkErrors]], low: tuple[Witness[BelowLimit], ...]) -> Iterator[str]:
    if errors:
        yield "some of the links that are up count errors; that is a question of its own"
    for told in low[:MOST_SHOWN]:
        complaint = told.reading
        yield (
            f"{complaint.subject} measured {complaint.measured:g} where the check wants {complaint.limit:g}: that "
            "limit is of a board with all links"
        )
