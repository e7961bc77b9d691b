"""A PCIe link runs with fewer lanes than both its ends have. Width never saves power: that is a fault at any time.

Where the port above has no more lanes itself, or all equal devices have as few, the board is built that way and it is
no fault. What nodes stream is judged first; outputs and boot messages tell of links that nothing streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series
from ...parsers.infiniband.ibstat import HcaPort
from ..frus import fru_of
from ..pcie_links import PcieLink, pcie_links
from ..readings import Witness
from ..scene import Scene
from ..told_links import WIDTH, ToldLink

RULE = "pcie_narrow"
ACTIVE = "Active"


def pcie_narrow(scene: Scene) -> Iterator[Finding]:
    """One finding for each link that is narrower than it could be, or than its device could be."""
    yield from _streamed(scene)
    for link in scene.told_links:
        if link.what == WIDTH and not _is_streamed(scene, link.id):
            yield _built_so(link) if link.is_by_design else _told_narrow(link, _healthy_port(scene, link))


def _is_streamed(scene: Scene, link: ComponentId) -> bool:
    view = scene.snapshot.nodes.get(link.node)
    series = view.series.get("pci") if view else None
    return series is not None and not isnan(series.value(link, "current_width"))


def _streamed(scene: Scene) -> Iterator[Finding]:
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


def _told_narrow(link: ToldLink, port: Witness[HcaPort] | None) -> Finding:
    carries = f": it lets through {link.carries[0]:g} of {link.carries[1]:g} Gb/s" if link.carries else ""
    network = f"; its network port is Active at {port.reading.rate_gbps:g} Gb/s" if port else ""
    return Finding(
        component=link.id,
        fru=fru_of(link.devices[0] / "pcie" if len(link.devices) == 1 else link.id),
        fault_class="pcie-link/width-degraded",
        severity=Severity.CRITICAL if link.is_below_its_port else Severity.WARNING,
        confidence=_confidence(link),
        title=f"the PCIe link {link.place} trained x{link.now:g} instead of x{link.could:g}{carries}{network}",
        evidence=(*link.evidence, *((port.id,) if port else ())),
        argues_against=(
            "seating, riser, retimer, slot or baseboard may be at fault instead of the device",
            *(() if link.is_below_its_port else ("whether the port above has more lanes was not read",)),
        ),
        next=(
            "Take the node out of jobs that span nodes, power it off and on once and read LnkSta against LnkCap at "
            f"both ends; if x{link.now:g} returns, reseat or exchange riser and device."
        ),
        victims=tuple(part for part in link.devices if part != link.id.parent),
        rule=RULE,
    )


def _confidence(link: ToldLink) -> Confidence:
    """A slot without all lanes is common, in servers let as virtual machines above all: alone, a width is a lead."""
    if link.is_below_its_port:
        return Confidence.LIKELY
    return Confidence.POSSIBLE if link.better or link.carries else Confidence.UNKNOWN


def _healthy_port(scene: Scene, link: ToldLink) -> Witness[HcaPort] | None:
    """What a NIC behind the link says of its own port, if that is up."""
    names = {part.name for part in link.devices if part.kind == "nic"}
    ports = scene.readings.of(HcaPort, link.id.node)
    up = (one for one in ports if one.reading.device in names and one.reading.state == ACTIVE)
    return next((one for one in up if one.reading.rate_gbps), None)


def _built_so(link: ToldLink) -> Finding:
    why = f"the port above has only x{link.port:g}" if link.port else "so do all equal devices of the node"
    return Finding(
        component=link.id,
        fru="none",
        fault_class="not-a-fault/board-limit",
        severity=Severity.INFO,
        confidence=Confidence.LIKELY if link.port else Confidence.POSSIBLE,
        title=f"the PCIe link {link.place} runs x{link.now:g} of x{link.could:g}; {why}: built that way",
        evidence=link.evidence,
        next="Nothing to do, unless other nodes of its kind are wider.",
        rule=RULE,
    )
