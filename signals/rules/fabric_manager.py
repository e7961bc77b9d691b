"""The software of the NVLink fabric before its hardware: fabric manager, its version, and what the driver keeps of it.

Source: NVIDIA fabric manager user guide (versions must match, states of registration); open-gpu-kernel-modules for the
NV_ERR_FABRIC_* codes; for the order in which a stale state is undone, operators' runbooks.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId
from ..fabric_service import NOT_PRESENT, OUT_OF_SYNC, FabricService, fabric_services
from ..scene import Scene

RULE = "fabric_manager"
MOST_HOLDERS = 6


def fabric_manager(scene: Scene) -> Iterator[Finding]:
    """At most one finding a node: a version that does not fit explains a service that is down, and so on."""
    for node, service in fabric_services(scene.readings).items():
        if service.mismatch:
            yield _mismatch(node, service)
        elif OUT_OF_SYNC in service.errors:
            yield _out_of_sync(node, service)
        elif service.is_up is False or NOT_PRESENT in service.errors:
            yield _not_running(node, service)
        elif service.waits:
            yield _waiting(node, service)
        elif service.unwell:
            yield _unwell(node, service)


def _part(node: NodeId) -> ComponentId:
    return ComponentId(f"{node}/service/fabricmanager")


def _mismatch(node: NodeId, service: FabricService) -> Finding:
    assert service.mismatch is not None
    versions, evidence = service.mismatch
    waiting = f"; the GPUs' fabric state is {_states(service)}" if service.waits else ""
    return Finding(
        component=_part(node),
        fru="software",
        fault_class="nvlink-fabric/fm-version-mismatch",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=(
            f"Fabric Manager {versions.fabric_manager} of {node} refuses the loaded driver {versions.driver}: the "
            f"versions must be the same{waiting}"
        ),
        evidence=_evidence(evidence, service),
        argues_against=(
            "if `modinfo nvidia` and /proc/driver/nvidia/version differ, the driver itself is half updated",
        ),
        next=(
            f"Install the Fabric Manager package of exactly the driver's version ({versions.driver}), hold both "
            "packages at one version, start it, and expect state Completed and status Success of every GPU."
        ),
        rule=RULE,
    )


def _out_of_sync(node: NodeId, service: FabricService) -> Finding:
    died = f", after Fabric Manager ended ({service.died[0]})" if service.died else ""
    supported = service.died is not None or NOT_PRESENT in service.errors or bool(service.refused)
    against = []
    if any(state.startswith("Completed") for state in service.states):
        against.append("every GPU reports its registration as done; that is what once was reached, not what holds now")
    if service.is_up:
        against.append("Fabric Manager runs again now; the driver keeps what it knew before")
    return Finding(
        component=_part(node),
        fru="software",
        fault_class="nvlink-fabric/state-out-of-sync",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY if supported else Confidence.POSSIBLE,
        title=f"the driver of {node} works with a stale NVLink fabric state ({OUT_OF_SYNC}){died}",
        evidence=_evidence(service.errors[OUT_OF_SYNC], service),
        argues_against=tuple(against),
        next=(
            f"Drain {node}; stop every process that holds a GPU{_holders(service)} and Fabric Manager; `nvidia-smi -r` "
            "on all GPUs at once; start Fabric Manager; then repeat the collective with NVLS forced (NCCL_ALGO=NVLS)."
        ),
        rule=RULE,
    )


def _not_running(node: NodeId, service: FabricService) -> Finding:
    said = service.status[0] if service.status else "the driver finds none"
    evidence = service.status[1] if service.status else service.errors[NOT_PRESENT]
    felt = service.waits or bool(service.refused) or NOT_PRESENT in service.errors
    return Finding(
        component=_part(node),
        fru="software",
        fault_class="nvlink-fabric/fm-not-running",
        severity=Severity.CRITICAL if felt else Severity.WARNING,
        confidence=Confidence.LIKELY if felt and service.status else Confidence.POSSIBLE,
        title=f"Fabric Manager of {node} does not run: {said}",
        evidence=_evidence(evidence, service),
        argues_against=("a machine without NVSwitches needs none",) if not felt else (),
        next="Read why it ended (`journalctl -u nvidia-fabricmanager`), start it, look at every GPU's fabric state.",
        rule=RULE,
    )


def _waiting(node: NodeId, service: FabricService) -> Finding:
    return Finding(
        component=_part(node),
        fru="software",
        fault_class="nvlink-fabric",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"GPUs of {node} wait for the NVLink fabric: state {_states(service)}; CUDA answers 802 until then",
        evidence=_evidence("", service),
        argues_against=("it may have been read while the node was starting",),
        next="Read the service's state and log (`systemctl status nvidia-fabricmanager`) and its version against "
        "the driver's.",
        rule=RULE,
    )


def _unwell(node: NodeId, service: FabricService) -> Finding:
    return Finding(
        component=_part(node),
        fru="none",
        fault_class="nvlink-fabric",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"GPUs of {node} are registered, and report of the NVLink fabric: {', '.join(service.unwell)}",
        evidence=tuple(dict.fromkeys(service.unwell.values())),
        argues_against=("a link, a switch tray or software may be behind it; the flag does not tell which",),
        next="Look at every GPU's links (`nvidia-smi nvlink -s`, `-e`), the kernel log, and the fabric manager's log.",
        rule=RULE,
    )


def _states(service: FabricService) -> str:
    return ", ".join(service.states)


def _holders(service: FabricService) -> str:
    if not service.holders:
        return ""
    shown = ", ".join(service.holders[:MOST_HOLDERS])
    return f" ({shown})" if len(service.holders) <= MOST_HOLDERS else f" ({shown}, ...)"


def _evidence(first: str, service: FabricService) -> tuple[str, ...]:
    others = [pair[1] for pair in (service.status, service.died) if pair]
    found = [first, *service.errors.values(), *others, *service.states.values(), *service.refused.values()]
    return tuple(dict.fromkeys(id_ for id_ in found if id_))
