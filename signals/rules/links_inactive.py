"""NVLinks that a tool prints as inactive and that the board has: told as the smallest part that explains them.

For nodes whose links nobody streams; what a board does not have is no fault (`links_by_design`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, lane_id
from ...parsers.nvidia_smi.nvlink import AllInactive, LinkState
from ...topology.expected import Standing, compare
from ..frus import fru_of
from ..scene import Scene

RULE = "links_inactive"
FEW = 3
"""Lanes of one GPU that are told one by one; more of them are the GPU's or its socket's."""


def links_inactive(scene: Scene) -> Iterator[Finding]:
    """Findings on lanes, on GPUs, or on the fabric of a node."""
    evidence: dict[NodeId, dict[str, None]] = {}
    for told in (*scene.readings.of(LinkState), *scene.readings.of(AllInactive)):
        evidence.setdefault(told.node, {})[told.id] = None
    if not evidence:
        return
    missing: dict[NodeId, list[ComponentId]] = {}
    for one in compare(scene.fabric):
        if one.what == "NVLinks" and one.standing is Standing.MISSING and one.component.node in evidence:
            missing.setdefault(one.component.node, []).append(one.component)
    for node, gpus in missing.items():
        view = scene.snapshot.nodes.get(node)
        if view is None or "nvml" not in view.series:
            yield from _of_node(scene, node, gpus, tuple(evidence[node]))


def _of_node(scene: Scene, node: NodeId, gpus: list[ComponentId], evidence: tuple[str, ...]) -> Iterator[Finding]:
    down = {gpu: _down(scene, gpu) for gpu in gpus}
    up = {gpu: sum(state == "up" for state in scene.fabric.lane_states(gpu).values()) for gpu in gpus}
    all_gpus = scene.fabric.gpus(node)
    if len(gpus) == len(all_gpus) > 1 and not any(up.values()):
        yield _whole_fabric(node, evidence)
        return
    for gpu, lanes in down.items():
        if up[gpu] and 0 < len(lanes) <= FEW:
            yield from (_one_lane(lane_id(gpu, lane), up[gpu], len(lanes), evidence) for lane in lanes)
        elif lanes or not up[gpu]:
            yield _one_gpu(gpu, lanes, up[gpu], evidence)


def _down(scene: Scene, gpu: ComponentId) -> list[int]:
    return [lane for lane, state in scene.fabric.lane_states(gpu).items() if state == "down"]


def _one_lane(lane: ComponentId, up: int, down: int, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=lane,
        fru=fru_of(lane),
        fault_class="nvlink-link/down",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE,
        title=f"NVLink {lane.number} of {lane.parent.within} of {lane.node} is inactive; {up} of {up + down} links of "
        "its GPU are up",
        evidence=evidence,
        argues_against=("the far end (NVSwitch port, board trace, cable) may be at fault instead of the GPU",),
        next="Save the kernel log, reset the GPU when idle; if it stays down, exchange it with a good one's position.",
        rule=RULE,
    )


def _one_gpu(gpu: ComponentId, lanes: list[int], up: int, evidence: tuple[str, ...]) -> Finding:
    told = f"{len(lanes)} of its {up + len(lanes)} NVLinks" if lanes else "all of its NVLinks"
    return Finding(
        component=gpu,
        fru=fru_of(gpu),
        fault_class="nvlink-link/down",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE,
        title=f"{gpu.within} of {gpu.node} has {told} inactive, while other GPUs of the node have theirs",
        evidence=evidence,
        argues_against=("MIG mode, and a GPU that waits for a reset, show the same",),
        next="Read the kernel log for Xids of this GPU, reset it when idle; if it stays so, reseat or exchange it.",
        rule=RULE,
    )


def _whole_fabric(node: NodeId, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=ComponentId(f"{node}/service/fabricmanager"),
        fru="software",
        fault_class="nvlink-fabric",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE,
        title=f"no NVLink of any GPU of {node} is active: the fabric is not set up",
        evidence=evidence,
        argues_against=("a board that lost its NVSwitches shows the same",),
        next="Read the fabric manager's state, log, and version against the driver's, before any part is touched.",
        rule=RULE,
    )
