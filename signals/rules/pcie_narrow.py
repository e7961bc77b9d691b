"""A PCIe link runs with fewer lanes than both its ends have. Width never saves power: that is a fault at any time.

Where the port above has no more lanes itself, the board is built that way and it is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.snapshot import NodeView, Series
from ..frus import fru_of
from ..pcie_links import PcieLink, pcie_links
from ..scene import Scene

RULE = "pcie_narrow"


def pcie_narrow(scene: Scene) -> Iterator[Finding]:
    """One finding for each link that is narrower than it could be, or than its device could be."""
    for view in scene.snapshot.nodes.values():
        series = view.series.get("pci")
        if series is None:
            continue
        for link in pcie_links(view.facts):
            width = series.value(link.id, "current_width")
            if not 0 < width < max(link.max_width, link.own_width):
                continue
            evidence = tuple(id_ for id_ in (series.ids[-1], view.facts_id) if id_)
            if width < link.max_width:
                yield _narrow(link, width, series, evidence)
            elif link.device is not None:
                yield _board_limit(view, link, width, evidence)


def _narrow(link: PcieLink, width: float, series: Series, evidence: tuple[str, ...]) -> Finding:
    part = link.device or link.id
    speed = series.value(link.id, "speed_gts")
    cost = (
        f" (at {speed:.0f} GT/s it carries {100 * (width / link.max_width):.0f} % of what it should)"
        if speed > 0
        else ""
    )
    return Finding(
        component=link.id,
        fru=fru_of(link.id),
        fault_class="pcie-link/width-degraded",
        severity=Severity.CRITICAL if link.device else Severity.WARNING,
        confidence=Confidence.LIKELY,
        title=f"the PCIe link of {part.within} trained x{width:.0f} instead of x{link.max_width:.0f}{cost}",
        evidence=evidence,
        argues_against=("seating, riser, retimer or the slot may be at fault instead of the device",),
        next="Power the node off and on once and read the width again; if it returns, reseat or exchange the device.",
        rule=RULE,
    )


def _board_limit(view: NodeView, link: PcieLink, width: float, evidence: tuple[str, ...]) -> Finding:
    above = link.upper.within if link.upper else "the port above it"
    device = link.device.within if link.device else link.id.within
    return Finding(
        component=link.id,
        fru="none",
        fault_class="not-a-fault/board-limit",
        severity=Severity.INFO,
        confidence=Confidence.LIKELY,
        title=f"{device} could run x{link.own_width:.0f}, but {above} has only x{width:.0f}: built that way",
        evidence=evidence,
        next=f"Nothing to do, unless other nodes of {view.id}'s kind are wider.",
        rule=RULE,
    )
