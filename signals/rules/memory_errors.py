"""GPU memory: uncorrectable errors that came during the session, and rows that wait for or failed their replacement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series
from ..columns import by_name
from ..frus import fru_of
from ..rates import moved_columns
from ..scene import Scene
from ..wording import several

RULE = "memory_errors"


def memory_errors(scene: Scene) -> Iterator[Finding]:
    """Findings about the HBM of each GPU; totals from before the session raise none."""
    for view in scene.snapshot.nodes.values():
        series = view.series.get("nvml")
        if series is None:
            continue
        for hbm in _set(series, "remap_failure"):
            yield _remap_failed(hbm, _evidence(series, view))
        for hbm in _set(series, "remap_pending"):
            yield _remap_pending(hbm, _evidence(series, view))
        yield from _uncorrectable(series, view)


def _set(series: Series, name: str) -> Iterator[ComponentId]:
    """Parts of which a flag is set."""
    column = by_name(series.fields).get(name)
    if column is not None:
        for position in np.flatnonzero(series.last[column.at] > 0):
            yield column.components[int(position)]


def _evidence(series: Series, view: NodeView) -> tuple[str, ...]:
    return tuple(id_ for id_ in (series.ids[-1], view.facts_id) if id_)


def _uncorrectable(series: Series, view: NodeView) -> Iterator[Finding]:
    column = by_name(series.fields).get("ecc_uncorrected")
    if column is None:
        return
    since_start = series.last[column.at] - series.first[column.at]
    in_window = set(moved_columns(series, column.at))
    for hbm, position, risen in zip(column.components, column.at, since_start, strict=True):
        if risen > 0:
            shown = (series.ids[0],) if int(position) in in_window else ()
            yield _uncorrected(hbm, int(risen), (*shown, *_evidence(series, view)))


def _uncorrected(hbm: ComponentId, count: int, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=hbm,
        fru=fru_of(hbm),
        fault_class="gpu-memory/uncontained",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=f"{several(count, 'uncorrectable memory error')} on {hbm.parent.within} during this session",
        evidence=evidence,
        argues_against=("the error may have been contained to one program (Xid 94), and SRAM instead of HBM",),
        next="Save the logs and ECC counters before any reset, then read the row remapper and reset the GPU when idle.",
        rule=RULE,
    )


def _remap_failed(hbm: ComponentId, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=hbm,
        fru=fru_of(hbm),
        fault_class="gpu-memory/row-remap-failure",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=f"{hbm.parent.within} could not replace a bad memory row: its row remapper failed",
        evidence=evidence,
        next="Reset the GPU and read the flag again; if it stands, run the field diagnostic and open a case.",
        rule=RULE,
    )


def _remap_pending(hbm: ComponentId, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=hbm,
        fru=fru_of(hbm),
        fault_class="gpu-memory/row-remap-pending",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        title=f"a memory row of {hbm.parent.within} waits for a GPU reset to be replaced",
        evidence=evidence,
        argues_against=("a first remap that a reset clears is ordinary wear",),
        next="Reset the GPU when idle; the flag must clear.",
        rule=RULE,
    )
