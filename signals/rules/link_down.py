"""An NVLink that is wired is down. A lane that is not wired, or not supported, is down by design and no finding."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId
from ...parsers.logs.sxid import SXid
from ...parsers.logs.xid import Xid
from ..down_lanes import DownLanes
from ..frus import fru_of
from ..scene import Scene
from ..wording import several

RULE = "link_down"


def link_down(scene: Scene) -> Iterator[Finding]:
    """Lanes that are down, told as the smallest part that explains them: a lane, a GPU, a switch, or the fabric."""
    for node, down in scene.down.items():
        if not any(down.up.values()):
            yield _whole_fabric(node, down)
        elif switch := _common_switch(scene, down):
            yield _one_switch(switch, down)
        else:
            yield from _gpu_by_gpu(down)


def _gpu_by_gpu(down: DownLanes) -> Iterator[Finding]:
    for gpu in dict.fromkeys(lane.parent for lane in down.lanes):
        lanes = [lane for lane in down.lanes if lane.parent == gpu]
        if down.up[gpu]:
            for lane in lanes:
                yield _one_lane(lane, down, len(lanes))
        else:
            yield _one_gpu(gpu, lanes, down)


def _one_lane(lane: ComponentId, down: DownLanes, of_its_gpu: int) -> Finding:
    up = down.up[lane.parent]
    return Finding(
        component=lane,
        fru=fru_of(lane),
        fault_class="nvlink-link/down",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=f"NVLink {lane.within} is down{_codes(down, lane)}; {up} of {up + of_its_gpu} links of its GPU are up",
        evidence=down.evidence([lane]),
        argues_against=("the far end (NVSwitch port, board trace) may be at fault instead of the GPU",),
        next="Save the logs, reset the GPU when idle; if it stays down, exchange the GPU with a good one's position.",
        rule=RULE,
    )


def _codes(down: DownLanes, lane: ComponentId) -> str:
    """` (SXid 20034, Xid 74)`: the numbers logged about a lane, in their order."""
    readings = [burst.reading for burst in down.told if burst.component == lane]
    codes = [f"{type(one).__name__} {one.code}" for one in readings if isinstance(one, Xid | SXid)]
    return f" ({', '.join(dict.fromkeys(codes))})" if codes else ""


def _one_gpu(gpu: ComponentId, lanes: list[ComponentId], down: DownLanes) -> Finding:
    return Finding(
        component=gpu,
        fru=fru_of(gpu),
        fault_class="nvlink-link/down",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=f"all {several(len(lanes), 'NVLink')} of {gpu.within} are down while other GPUs' are up",
        evidence=down.evidence(lanes),
        argues_against=("a GPU that was reset after the fabric manager started looks the same",),
        next="Check the GPU's fabric state and the fabric manager's log, then reset the GPU when idle.",
        rule=RULE,
    )


def _one_switch(switch: ComponentId, down: DownLanes) -> Finding:
    gpus = len({lane.parent for lane in down.lanes})
    return Finding(
        component=switch,
        fru=fru_of(switch),
        fault_class="nvlink-link/down",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE,
        title=f"{several(len(down.lanes), 'NVLink')} of {several(gpus, 'GPU')} to {switch.within} are down",
        evidence=down.evidence(down.lanes),
        argues_against=("a restart of the fabric manager can take a switch's links down for a while",),
        next="Check the fabric manager and SXid lines of this switch, then reset GPUs and switches together.",
        victims=down.lanes,
        rule=RULE,
    )


def _whole_fabric(node: NodeId, down: DownLanes) -> Finding:
    return Finding(
        component=node / "service" / "fabricmanager",
        fru="software",
        fault_class="nvlink-fabric/fm-not-running",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE,
        title=f"all {len(down.lanes)} NVLinks of {node} are down",
        evidence=down.evidence(down.lanes),
        argues_against=("a fault of the baseboard takes all links down as well",),
        next="Check that the fabric manager runs and that its version equals the driver's.",
        rule=RULE,
    )


def _common_switch(scene: Scene, down: DownLanes) -> ComponentId | None:
    """The NVSwitch that all dead lanes of several GPUs end at; None where there is no such one."""
    if len({lane.parent for lane in down.lanes}) < 2:
        return None
    switches = {scene.fabric.switch_of(lane) for lane in down.lanes}
    return switches.pop() if len(switches) == 1 else None
