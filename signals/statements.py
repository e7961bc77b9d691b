"""A version or setting of one part, as the comparison of equals takes it; and what it means if equals differ in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..incident.findings import Severity
from ..incident.ids import ComponentId

COMMAND_LINE = "kernel command line"
BIOS = "BIOS"
MACHINE = "machine"
NCCL = "NCCL"


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that one part is said to run or be."""

    what: str
    equals: str
    """The model or board that makes others its equals; empty where that is not known."""
    part: ComponentId
    value: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """What it means that equals differ in something."""

    fault_class: str
    fru: str
    severity: Severity


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "driver": Kind("software/driver-mismatch", "software", Severity.WARNING),
        NCCL: Kind("software/nccl-version", "software", Severity.WARNING),
        "fabric manager": Kind("nvlink-fabric/fm-version-mismatch", "software", Severity.WARNING),
        "OFED": Kind("software/driver", "software", Severity.WARNING),
        "VBIOS": Kind("gpu-firmware/vbios-mismatch", "firmware", Severity.WARNING),
        "GSP firmware": Kind("gpu-firmware", "firmware", Severity.WARNING),
        "NIC firmware": Kind("nic-host/firmware-mismatch", "firmware", Severity.WARNING),
        "switch firmware": Kind("net-fabric", "firmware", Severity.INFO),
        "kernel": Kind("host-config", "software", Severity.INFO),
        BIOS: Kind("host-config", "firmware", Severity.INFO),
        COMMAND_LINE: Kind("host-config", "configuration", Severity.INFO),
        "setting": Kind("host-config", "configuration", Severity.INFO),
        "board part number": Kind("unknown", "none", Severity.INFO),
        MACHINE: Kind("unknown", "none", Severity.INFO),
    }
)
"""By what differs. A job spans its nodes, so what must work together across them warns; the rest is for information."""


def kind_of(what: str) -> Kind:
    """A kernel setting goes by its own name: `setting vm.nr_hugepages`."""
    return KINDS.get(what) or KINDS[what.partition(" ")[0]]
