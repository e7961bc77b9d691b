"""NVLinks whose error counters moved between two readings while those of equal links stood still."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ..frus import fru_of
from ..link_moves import LinkMove, StandingOut, links_standing_out
from ..scene import Scene
from ..wording import several

RULE = "links_moving"
MOST_NAMED = 16
"""Links that are told one by one; those of which most counters moved are told first."""
WHOLE_GPU = 3
"""Links of one GPU that stand out together from which on the GPU explains them better than each link by itself."""


def links_moving(scene: Scene) -> Iterator[Finding]:
    """A finding for each link, or for a GPU of which several links stand out and no other GPU's do."""
    found = [one for one in links_standing_out(scene.readings) if not scene.is_down(one.link)]
    gpus: dict[ComponentId, list[StandingOut]] = {}
    for one in found:
        gpus.setdefault(one.link.parent, []).append(one)
    if len(gpus) == 1 and len(found) >= WHOLE_GPU:
        yield _one_gpu(found[0].link.parent, found, scene)
        return
    for one in sorted(found, key=lambda one: -one.moves[0].step)[:MOST_NAMED]:
        yield _one_link(one, scene)


def _one_link(one: StandingOut, scene: Scene) -> Finding:
    lead, logged = one.moves[0], _logged(one.link, scene)
    gpu = one.link.parent
    return Finding(
        component=one.link,
        fru=fru_of(one.link),
        fault_class="nvlink-link/marginal",
        severity=Severity.WARNING,
        confidence=_confidence(one, logged),
        title=(
            f"NVLink {one.link.number} (link {one.link.number} of GPU {gpu.number}) of {gpu.node} "
            f"{'keeps recovering' if lead.is_recovery else 'collects errors'}: {_step(lead)}, "
            f"{_equals(one)}"
        ),
        evidence=tuple(dict.fromkeys((*(id_ for move in one.moves for id_ in move.evidence), *logged))),
        argues_against=tuple(_against(one, lead)),
        next=(
            f"Read the counters of link {one.link.number} and its siblings again under load, and set an alarm on "
            f"their rate; have the kernel log of {gpu.node} read for NVLink Xids; keep new jobs off the node "
            "meanwhile. Which end is at fault shows after an exchange of positions."
        ),
        rule=RULE,
    )


def _one_gpu(gpu: ComponentId, found: list[StandingOut], scene: Scene) -> Finding:
    logged = tuple(id_ for one in found for id_ in _logged(one.link, scene))
    moves = [one.moves[0] for one in found]
    numbers = ", ".join(str(one.link.number) for one in found[:MOST_NAMED])
    return Finding(
        component=gpu,
        fru=fru_of(gpu),
        fault_class="nvlink-link/marginal",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"NVLinks {numbers} of GPU {gpu.number} of {gpu.node} count errors together: {_step(moves[0])}",
        evidence=tuple(dict.fromkeys((*(id_ for move in moves for id_ in move.evidence), *logged))),
        argues_against=(
            "a reset of the GPU, or of its peers, between the two readings moves the counters of all its links",
            "a switch tray or connector that all these links share looks the same",
        ),
        next=f"Read the counters under load at both ends, and see whether they follow GPU {gpu.number} in a swap.",
        victims=tuple(one.link for one in found),
        rule=RULE,
    )


def _confidence(one: StandingOut, logged: tuple[str, ...]) -> Confidence:
    if not one.equals:
        return Confidence.UNKNOWN
    return Confidence.LIKELY if logged else Confidence.POSSIBLE


def _logged(link: ComponentId, scene: Scene) -> tuple[str, ...]:
    """Log lines that name the link itself."""
    return tuple(id_ for burst in scene.bursts if burst.component == link for id_ in burst.ids)


def _step(move: LinkMove) -> str:
    """`total_recovery 502 -> 505 in 21 min`."""
    reset = " (reset between)" if move.after < move.before else ""
    return f"{move.counter} {move.before} -> {move.after}{reset} {move.between}"


def _equals(one: StandingOut) -> str:
    if not one.equals:
        return "and no other link was read"
    if one.still == one.equals:
        return f"while {several(one.equals, 'other link')} stood still"
    return f"while {one.still} of {several(one.equals, 'other link')} stood still"


def _against(one: StandingOut, lead: LinkMove) -> Iterator[str]:
    yield "either end may be at fault: the GPU's port, the connector or board between, or the switch's port"
    if lead.is_recovery:
        yield "a link that recovers is up at full speed between times, and explains no stall on links that did not move"
    yield (
        f"the {lead.before} counted before the first reading say nothing about when"
        if lead.before
        else ("a counter that moves steers; only trials that load the link convict")
    )
    if not one.equals:
        yield "without a reading of its siblings nothing says that they stand still"
