"""Error counters that rise, judged against equal parts: differences in a window, never totals.

A counter that stands high but still says nothing about now. One storm counts once: a rise is told when it comes back,
or goes on. Where all equals rise alike, none of them is at fault by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...incident.snapshot import Series
from ..columns import Column, by_name
from ..counters import ERROR_COUNTERS, ErrorCounter
from ..frus import fru_of
from ..identity import cached_by_identity
from ..rates import Rise, moved_columns, rise_of, rough_rises
from ..scene import Scene
from ..wording import rate, several

RULE = "counters_rising"
WINDOW = 120.0
"""Seconds looked back."""
LASTS = 30.0
"""Seconds of going on after which a rise is no passing storm."""
LASTING_STEPS = 5
"""Readings that must have moved in that time."""
FEWEST_EQUALS = 3
"""Equal parts below which there is no yardstick."""
DEVIATIONS = 5.0
"""Robust standard deviations above its equals at which a part stands out."""
MAD_TO_DEVIATION = 1.4826


@dataclass(frozen=True, slots=True)
class _Riser:
    """One counter of one part that rises and stands out."""

    component: ComponentId
    counter: ErrorCounter
    rise: Rise
    equals: int
    evidence: tuple[str, ...]

    @property
    def per_second(self) -> float:
        return self.rise.total / self.rise.seconds if self.rise.seconds > 0 else 0.0


def counters_rising(scene: Scene) -> Iterator[Finding]:
    """One finding for each part and class whose counters rise, led by the gravest of them."""
    for view in scene.snapshot.nodes.values():
        for series in view.series.values():
            yield from _findings([riser for riser in _risers(series) if not scene.is_down(riser.component)])


def _risers(series: Series) -> Iterator[_Riser]:
    watched = _watched(series.fields)
    if len(series.samples) < 2 or not len(watched):
        return
    moved = set(moved_columns(series, watched, WINDOW))
    if not moved:
        return
    for name, column in by_name(series.fields).items():
        counter = ERROR_COUNTERS.get(name)
        if counter is None or not counter.fault_class:
            continue
        for position in _may_stand_out(series, column, moved):
            rise = rise_of(series, position, WINDOW)
            if rise and _is_worth_telling(rise, counter) and _stands_out(series, column, position, rise):
                evidence = tuple(series.ids[at] for at in rise.at)
                yield _Riser(series.fields[position].component, counter, rise, len(column.at) - 1, evidence)


@cached_by_identity(1024)
def _watched(fields: tuple[object, ...]) -> npt.NDArray[np.intp]:
    """Columns of all counters that say something by rising."""
    columns = [
        column.at
        for name, column in by_name(fields).items()  # type: ignore[arg-type]
        if name in ERROR_COUNTERS and ERROR_COUNTERS[name].fault_class
    ]
    return np.sort(np.concatenate(columns)) if columns else np.array([], dtype=np.intp)


def _may_stand_out(series: Series, column: Column, moved: set[int]) -> list[int]:
    """Those that moved and are not plainly among their equals, so that a storm on all links is not looked at link by
    link. It goes by the ends of the window alone: a part that stands out only just, and was reset within it, is missed.
    """
    rises = rough_rises(series, column.at, WINDOW)
    known = np.sort(rises[~np.isnan(rises)])
    if len(known) <= FEWEST_EQUALS:
        return [position for position in column.at.tolist() if position in moved]
    least_median = float(known[(len(known) - 2) // 2])
    ordinary = least_median + DEVIATIONS * sqrt(least_median)
    pairs = zip(column.at.tolist(), rises.tolist(), strict=True)
    return [position for position, rise in pairs if position in moved and not rise <= ordinary]


def _is_worth_telling(rise: Rise, counter: ErrorCounter) -> bool:
    lasts = rise.last_move - rise.first_move >= LASTS and rise.steps >= LASTING_STEPS
    comes_back = rise.bursts >= counter.bursts
    minutes = max(rise.seconds, 1.0) / 60
    return (lasts or comes_back) and rise.total / minutes >= counter.per_minute


def _stands_out(series: Series, column: Column, position: int, rise: Rise) -> bool:
    """Whether the part rose well above its equals in the same window (median and MAD over the others)."""
    others = column.at[column.at != position]
    rises = rough_rises(series, others, WINDOW)
    rises = rises[~np.isnan(rises)]
    if len(rises) < FEWEST_EQUALS:
        return True
    median = float(np.median(rises))
    spread = MAD_TO_DEVIATION * float(np.median(np.abs(rises - median)))
    return rise.total > median + DEVIATIONS * max(spread, sqrt(median))


def _findings(risers: list[_Riser]) -> Iterator[Finding]:
    gravity = list(ERROR_COUNTERS)
    by_part: dict[tuple[ComponentId, str], list[_Riser]] = {}
    for riser in sorted(risers, key=lambda riser: (riser.component, gravity.index(riser.counter.name))):
        by_part.setdefault((riser.component, riser.counter.fault_class), []).append(riser)
    for (component, fault_class), found in by_part.items():
        yield _finding(component, fault_class, found)


def _finding(component: ComponentId, fault_class: str, found: list[_Riser]) -> Finding:
    lead, *others = found
    also = f", also {', '.join(riser.counter.plain for riser in others)}" if others else ""
    return Finding(
        component=component,
        fru="cable" if fault_class.startswith("net-link") else fru_of(component),
        fault_class=fault_class,
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"{lead.counter.plain} rise on {component.within}, {rate(lead.per_second)}{also}",
        evidence=tuple(dict.fromkeys(id_ for riser in found for id_ in riser.evidence)),
        argues_against=tuple(_against(component, lead)),
        next=_next(component),
        rule=RULE,
    )


def _against(component: ComponentId, lead: _Riser) -> Iterator[str]:
    yield "a counter that rises steers and does not convict: only trials that load the part can"
    if component.kind in ("nvlink", "nic"):
        yield "a receive error accuses sender, medium and receiver alike"
    if lead.equals < FEWEST_EQUALS:
        yield f"only {several(lead.equals, 'equal part')} here to compare it with"


def _next(component: ComponentId) -> str:
    if component.kind in ("nvlink", "pcie"):
        return "Localize: probe this node, so that trials which load the part tell whether it is at fault."
    if component.kind == "nic":
        return "Read the same counters at the switch port, then clean and reseat the cable."
    return "Watch the rate, and read the row remapper."
