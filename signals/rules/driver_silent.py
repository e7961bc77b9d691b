"""What nvidia-smi says when it gets no report at all: the driver first, before any GPU is blamed for it.

Source: messages of nvidia-smi and NVML (`Driver/library version mismatch` follows an update without a reload).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, bridge_id, host_id
from ...parsers.nvidia_smi.errors import DriverSilent, InforomCorrupted, NoDevices, Silence
from ..scene import Scene
from ..wording import quoted

RULE = "driver_silent"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """One way to be silent."""

    title: str
    fault_class: str
    next: str
    confidence: Confidence = Confidence.POSSIBLE
    against: tuple[str, ...] = ()


_MEANINGS: Mapping[Silence, _Meaning] = {
    Silence.MISMATCH: _Meaning(
        "the driver's library and its loaded kernel module are of different versions",
        "software/driver-mismatch",
        "Compare /proc/driver/nvidia/version with `modinfo nvidia`; drain the node, then reload the modules or reboot, "
        "and hold driver, Fabric Manager and libraries at one version.",
        Confidence.LIKELY,
        ("in a container the library may be the image's own: then the node is well",),
    ),
    Silence.NOT_LOADED: _Meaning(
        "the NVIDIA kernel module is not loaded",
        "software/driver",
        "Read `dmesg | grep -i -e nvrm -e nouveau` for why, then `modprobe nvidia`.",
    ),
    Silence.NO_CONTACT: _Meaning(
        "nvidia-smi can't reach the NVIDIA driver",
        "software/driver",
        "Read `lsmod | grep nvidia`, `dkms status` and the kernel log: a kernel update without its module is the usual "
        "reason.",
    ),
    Silence.UNKNOWN: _Meaning(
        "the NVIDIA driver does not start, and does not say why",
        "software/driver",
        "Read the kernel log of the node's boot for NVRM lines.",
    ),
}
"""What is not here says nothing about the node: a tool that is missing, or a user who may not ask."""


def driver_silent(scene: Scene) -> Iterator[Finding]:
    """One finding for each node and reason, and for each board whose InfoROM is damaged."""
    seen: set[tuple[NodeId, Silence]] = set()
    for told in scene.readings.of(DriverSilent):
        meaning = _MEANINGS.get(told.reading.why)
        if meaning and (told.node, told.reading.why) not in seen:
            seen.add((told.node, told.reading.why))
            yield _silent(told.node, meaning, told.reading.said, told.id)
    for found in scene.readings.of(NoDevices):
        yield _no_devices(found.node, found.id)
    for damaged in scene.readings.of(InforomCorrupted):
        yield _inforom(scene, damaged.node, damaged.reading.bus_address, damaged.id)


def _silent(node: NodeId, meaning: _Meaning, said: str, evidence: str) -> Finding:
    return Finding(
        component=ComponentId(f"{node}/service/driver"),
        fru="software",
        fault_class=meaning.fault_class,
        severity=Severity.CRITICAL,
        confidence=meaning.confidence,
        title=f"{meaning.title} on {node}: {quoted(said)}",
        evidence=(evidence,),
        argues_against=meaning.against,
        next=meaning.next,
        rule=RULE,
    )


def _no_devices(node: NodeId, evidence: str) -> Finding:
    return Finding(
        component=host_id(node),
        fru="none",
        fault_class="gpu-off-bus",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE,
        title=f"the driver of {node} can use none of its GPUs",
        evidence=(evidence,),
        argues_against=("a machine or container that was given no GPU says the same",),
        next=f"Compare with `lspci -d 10de:` of {node}; GPUs that it shows and the driver refuses are named in the "
        "kernel log.",
        rule=RULE,
    )


def _inforom(scene: Scene, node: NodeId, address: str | None, evidence: str) -> Finding:
    known = scene.fabric.component_at(node, address) if address else None
    gpu = known or (bridge_id(node, address) if address else host_id(node))
    return Finding(
        component=gpu,
        fru="gpu-module",
        fault_class="gpu-firmware",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        title=f"the InfoROM of {f'the GPU at {address}' if address else 'a GPU'} of {node} is corrupted",
        evidence=(evidence,),
        argues_against=("the GPU may compute well all the same: what is lost is its own record of errors",),
        next="Power the node off and on once; if the warning stands, open a support case with the serial number.",
        rule=RULE,
    )
