"""GPUs that left the bus, and whom their going took along.

Shown by the driver (`GPU is lost`), by the kernel log (Xid 79, or the same in words), or by readings that went silent
on one GPU alone. First event wins: what other parts log in the seconds after is a consequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ..incident.ids import ComponentId
from ..incident.snapshot import NodeView, Series
from ..parsers.logs.kernel_log import OffBus
from ..parsers.logs.pcie_events import PcieContained, PcieError
from ..parsers.logs.sxid import SXid
from .columns import by_component, by_name
from .health import GPU_IS_LOST
from .logs import Burst
from .xid_facts import FOLLOWERS, LOCAL_FOLLOWERS, OFF_BUS

EARLY = 5.0
"""Seconds by which a consequence may be logged before its cause."""
LATE = 60.0
"""Seconds after which it is none any more."""
EVIDENCE_KEPT = 12
"""Event ids kept for one GPU."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A GPU that is off the bus, or was."""

    gpu: ComponentId
    """The bare bus address where the driver never saw the GPU."""
    earliest: float
    """When it went: not before this ..."""
    latest: float
    """... and not after this; the same moment where the kernel logged it."""
    uncertainty: float
    """Seconds, against other nodes; infinite where the node's clock was not measured."""
    evidence: tuple[str, ...]
    said_by: str
    """`the driver`, `the kernel log`, or `silence`."""
    logged: bool
    is_xid: bool
    """Whether it was logged as Xid 79, and not in other words."""
    answers_again: bool
    followers: tuple[Burst, ...] = ()
    broken_link: tuple[Burst, ...] = ()
    """PCIe errors that the node logged just before."""

    def holds(self, component: ComponentId) -> bool:
        """Whether a part is this GPU or a part of it."""
        return component == self.gpu or component.startswith(f"{self.gpu}/")


def gone_gpus(views: Sequence[NodeView], bursts: Sequence[Burst]) -> tuple[Gone, ...]:
    """All GPUs off the bus with their followers, the first to go first; each follower stands under one of them."""
    logged: dict[ComponentId, list[Burst]] = {}
    for burst in bursts:
        if _says_gone(burst):
            logged.setdefault(burst.component, []).append(burst)
    found: list[Gone] = []
    for view in views:
        lost = _lost_by_readings(view)
        named = {gpu: told for gpu, told in logged.items() if gpu.node == view.id}
        found += [_gone(view, gpu, named.get(gpu, []), lost.get(gpu)) for gpu in {**named, **lost}]
    found.sort(key=lambda gone: gone.latest)
    return _with_followers(found, bursts) if found else ()


def _says_gone(burst: Burst) -> bool:
    return burst.xid == OFF_BUS or isinstance(burst.reading, OffBus)


@dataclass(frozen=True, slots=True)
class _Lost:
    """What the samples say of a GPU that no longer answers."""

    good: float
    """Time of the last sample in which it was well; the session's first where none is held any more."""
    bad: float
    """Time of the first sample held in which it is not."""
    evidence: str
    said_by: str


def _lost_by_readings(view: NodeView) -> dict[ComponentId, _Lost]:
    series = view.series.get("nvml")
    column = by_name(series.fields).get("nvml_error") if series else None
    if series is None or column is None:
        return {}
    errors = series.last[column.at]
    if not (np.isnan(errors) | (errors == GPU_IS_LOST)).any():
        return {}
    others_answer = bool((errors == 0).any())
    found = {}
    for gpu, position, error in zip(column.components, column.at, errors, strict=True):
        if error == GPU_IS_LOST:
            found[gpu] = _lost(series, int(position), "the driver")
        elif np.isnan(error) and others_answer and _fell_silent(series, gpu):
            found[gpu] = _lost(series, int(position), "silence")
    return found


def _lost(series: Series, position: int, said_by: str) -> _Lost:
    """The unbroken run of samples, up to now, that read as the newest one."""
    values = np.array([sample[position] for sample in series.samples])
    differs = np.flatnonzero(~((values == values[-1]) | (np.isnan(values) & np.isnan(values[-1]))))
    start = int(differs[-1]) + 1 if len(differs) else 0
    good = series.times[start - 1] if start else min(series.first_time, series.times[0])
    return _Lost(good, series.times[start], series.ids[start], said_by)


def _fell_silent(series: Series, gpu: ComponentId) -> bool:
    """Whether a GPU that read something at the start of the session reads nothing at all now."""
    at = by_component(series.fields)[gpu]
    return bool(np.isnan(series.last[at]).all() and not np.isnan(series.first[at]).all())


def _gone(view: NodeView, gpu: ComponentId, told: list[Burst], lost: _Lost | None) -> Gone:
    times = [burst.first for burst in told]
    ids = [id_ for burst in told for id_ in burst.ids] + ([lost.evidence] if lost else [])
    series = view.series.get("nvml")
    heard_after = series is not None and bool(told) and series.last_time > max(burst.last for burst in told)
    by_clock = inf if view.clock_uncertainty is None else view.clock_uncertainty
    return Gone(
        gpu=gpu,
        earliest=min([*times, *([lost.good] if lost and not told else [])]),
        latest=min([*times, *([lost.bad] if lost and not told else [])]),
        uncertainty=told[0].uncertainty if told else by_clock,
        evidence=tuple(dict.fromkeys(ids))[:EVIDENCE_KEPT],
        said_by=lost.said_by if lost else "the kernel log",
        logged=bool(told),
        is_xid=any(burst.xid == OFF_BUS for burst in told),
        answers_again=lost is None and heard_after and view.value(gpu, "nvml_error") == 0,
    )


def _with_followers(found: list[Gone], bursts: Sequence[Burst]) -> tuple[Gone, ...]:
    followers: dict[ComponentId, list[Burst]] = {gone.gpu: [] for gone in found}
    broken: dict[ComponentId, list[Burst]] = {gone.gpu: [] for gone in found}
    for burst in bursts:
        if isinstance(burst.reading, PcieError | PcieContained):
            for gone in found:
                if _went_first(burst, gone):
                    broken[gone.gpu].append(burst)
        elif not _says_gone(burst):
            cause = next((gone for gone in found if _follows(burst, gone)), None)
            if cause is not None:
                followers[cause.gpu].append(burst)
    return tuple(
        replace(gone, followers=tuple(followers[gone.gpu]), broken_link=tuple(broken[gone.gpu])) for gone in found
    )


def _went_first(burst: Burst, gone: Gone) -> bool:
    return burst.node == gone.gpu.node and gone.earliest - LATE <= burst.first <= gone.latest + EARLY


def _follows(burst: Burst, gone: Gone) -> bool:
    if burst.node == gone.gpu.node:
        kind = isinstance(burst.reading, SXid) or burst.xid in LOCAL_FOLLOWERS
        in_time = gone.earliest - EARLY <= burst.first <= gone.latest + LATE
        return (kind or gone.holds(burst.component)) and in_time
    error = burst.uncertainty + gone.uncertainty
    in_time = gone.earliest - error <= burst.first <= gone.latest + LATE + error
    return burst.xid in FOLLOWERS and error < LATE and in_time
