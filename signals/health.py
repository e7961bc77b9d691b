"""The state of a part from its newest readings and the findings that stand on it.

Unknown (no answer, or stale), not applicable (this board has no such thing) and not tested are never folded into ok,
degraded or failed: a part that nobody could read is not a part that is well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan

from ..incident.events import NodeState
from ..incident.findings import Finding, Health, Severity
from ..incident.ids import ComponentId
from ..incident.snapshot import STALE_AFTER, NodeView, Series, Snapshot

PORT_ACTIVE = 4.0
PHYS_DISABLED = 3.0
GPU_IS_LOST = 15.0
"""NVML_ERROR_GPU_IS_LOST."""

DOMAIN_OF_KIND: Mapping[str, str] = {
    "gpu": "nvml",
    "hbm": "nvml",
    "nvlink": "nvml",
    "nvswitch": "nvml",
    "port": "nvml",
    "nic": "ib",
    "pcie": "pci",
    "bridge": "pci",
}
"""Which hang domain a kind of part is read in (NVSwitches are inferred from the far ends of their links)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The state of a part and, where it is not plainly ok, why."""

    health: Health
    reason: str = ""


def health_of(snapshot: Snapshot, component: ComponentId) -> Health:
    """The state of one part."""
    return judged(snapshot, component).health


def judged(snapshot: Snapshot, component: ComponentId) -> Judged:
    """The state of one part, with the reason to show beside it."""
    view = snapshot.nodes.get(component.node)
    if view is None:
        return Judged(Health.UNKNOWN, "no such node here")
    if silent := _silence(snapshot, view):
        return Judged(Health.UNKNOWN, silent)
    if component.kind == "node":
        return _from_findings(snapshot, component) or Judged(Health.OK)
    if unread := _unread(snapshot, view, component):
        return Judged(Health.UNKNOWN, unread)
    read = _READERS.get(component.kind)
    own = read(view, component) if read else Judged(Health.NOT_TESTED, "nothing here reads its state yet")
    if own.health is Health.NOT_APPLICABLE:
        return own
    return _from_findings(snapshot, component) or own


def _silence(snapshot: Snapshot, view: NodeView) -> str:
    """Why nothing at all is known of the node now; empty while it speaks."""
    if view.state is not NodeState.LIVE:
        return view.reason or f"node is {view.state}"
    if view.last_heard <= 0:
        return "known from files only" if snapshot.source == "files" else "nothing heard yet"
    if snapshot.is_stale(view.id):
        return f"nothing heard for {snapshot.now - view.last_heard:.0f} s"
    return ""


def _unread(snapshot: Snapshot, view: NodeView, component: ComponentId) -> str:
    """Why the part's own readings can't be believed while the node still speaks; empty when they can."""
    domain = DOMAIN_OF_KIND.get(component.kind)
    if domain is None:
        return ""
    for hung in view.hung:
        if hung.domain == domain:
            return f"{domain} hung for {snapshot.now - hung.since:.0f} s"
    if domain in view.unreadable:
        return view.unreadable[domain]
    series = view.series.get(domain)
    if series is None:
        return f"no {domain} readings yet"
    age = snapshot.now - series.last_time
    return f"{domain} readings are {age:.0f} s old" if age > STALE_AFTER else ""


def _from_findings(snapshot: Snapshot, component: ComponentId) -> Judged | None:
    """The worst finding on the part itself, or on a part of it; None where none speaks against it."""
    below = f"{component}/"
    own = [f for f in snapshot.findings if f.is_fault and f.component == component]
    inside = [f for f in snapshot.findings if f.is_fault and f.component.startswith(below)]
    for finding in own:
        if finding.severity is Severity.CRITICAL:
            return Judged(Health.FAILED, finding.title)
    reasons: list[Finding] = own or inside
    return Judged(Health.DEGRADED, reasons[0].title) if reasons else None


def _gpu(view: NodeView, gpu: ComponentId) -> Judged:
    series = view.series["nvml"]
    error = series.value(gpu, "nvml_error")
    if error == GPU_IS_LOST:
        return Judged(Health.FAILED, "the driver says the GPU is lost")
    if isnan(error):
        return Judged(Health.UNKNOWN, "the driver returns nothing for it")
    return Judged(Health.OK) if error == 0 else Judged(Health.UNKNOWN, f"the driver answers with error {error:.0f}")


def _hbm(view: NodeView, hbm: ComponentId) -> Judged:
    series = view.series["nvml"]
    values = [series.value(hbm, name) for name in ("ecc_uncorrected", "remap_failure", "remap_pending")]
    if all(isnan(value) for value in values):
        return _silent_part(series, hbm, "no ECC on this board or ECC is off", view)
    if values[1] > 0:
        return Judged(Health.FAILED, "row remap failed")
    return Judged(Health.DEGRADED, "row remap waits for a GPU reset") if values[2] > 0 else Judged(Health.OK)


def _nvlink(view: NodeView, lane: ComponentId) -> Judged:
    series = view.series["nvml"]
    state = series.value(lane, "state")
    if isnan(state):
        return _silent_part(series, lane, "NVLink is not supported here", view)
    if state == 1:
        return Judged(Health.OK)
    was_up = series.first[series.index[lane, "state"]] == 1
    if was_up or view.fact(lane, "remote_type"):
        return Judged(Health.FAILED, "link is down")
    return Judged(Health.NOT_APPLICABLE, "not wired on this board")


def _nvswitch(view: NodeView, switch: ComponentId) -> Judged:
    """Inferred from the far ends: no tool reads the switch itself."""
    address = view.fact(switch, "bus_address")
    return _far_ends(view, lambda lane: bool(address) and view.fact(lane, "remote_address") == address)


def _port(view: NodeView, port: ComponentId) -> Judged:
    address = view.fact(port.parent, "bus_address")
    return _far_ends(
        view,
        lambda lane: (
            bool(address)
            and view.fact(lane, "remote_address") == address
            and view.fact(lane, "remote_port") == port.number
        ),
    )


def _far_ends(view: NodeView, ends_here: Callable[[ComponentId], bool]) -> Judged:
    series = view.series["nvml"]
    states = [series.value(lane, "state") for lane, key in view.facts if key == "remote_address" and ends_here(lane)]
    known = [state for state in states if not isnan(state)]
    if not known:
        return Judged(Health.UNKNOWN, "no link is known to end here")
    up = sum(state == 1 for state in known)
    if up == len(known):
        return Judged(Health.OK, "inferred from its links")
    return Judged(Health.DEGRADED if up else Health.FAILED, f"{up} of {len(known)} of its links are up")


def _nic(view: NodeView, nic: ComponentId) -> Judged:
    series = view.series["ib"]
    state, phys = series.value(nic, "port_state"), series.value(nic, "phys_state")
    if isnan(state):
        return Judged(Health.UNKNOWN, "the port answers nothing")
    if state == PORT_ACTIVE:
        return Judged(Health.OK)
    if phys == PHYS_DISABLED:
        return Judged(Health.NOT_APPLICABLE, "port is administratively disabled")
    was = series.index.get((nic, "port_state"))
    if was is not None and series.first[was] == PORT_ACTIVE:
        return Judged(Health.FAILED, "port was active and is down")
    return Judged(Health.UNKNOWN, "port is down and was never seen active")


def _pcie(view: NodeView, link: ComponentId) -> Judged:
    width, speed = (view.series["pci"].value(link, name) for name in ("current_width", "speed_gts"))
    if isnan(width) and isnan(speed):
        return Judged(Health.UNKNOWN, "its PCIe link answers nothing")
    return Judged(Health.OK)


def _silent_part(series: Series, part: ComponentId, reason: str, view: NodeView) -> Judged:
    """A part whose fields are declared but empty: unsupported while its GPU answers, unknown when the GPU does not."""
    declared = any(column.component == part for column in series.fields)
    if not declared:
        return Judged(Health.UNKNOWN, "never read")
    if _gpu(view, part.parent).health is Health.OK:
        return Judged(Health.NOT_APPLICABLE, reason)
    return Judged(Health.UNKNOWN, "its GPU does not answer")


_READERS: Mapping[str, Callable[[NodeView, ComponentId], Judged]] = {
    "gpu": _gpu,
    "hbm": _hbm,
    "nvlink": _nvlink,
    "nvswitch": _nvswitch,
    "port": _port,
    "nic": _nic,
    "pcie": _pcie,
    "bridge": _pcie,
}
