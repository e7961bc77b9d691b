"""Which part of a node a tool means: by the driver's index, by bus address, by device name or by network interface.

Indexes come from those that print both index and address. Where none does, GPUs are numbered in the order of their
addresses, as the driver numbers them; NICs are called by name, or numbered likewise where nobody names them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...incident.ids import ComponentId, NodeId, gpu_id, nvswitch_id
from ...parsers.infiniband.ibstat import Hca, HcaPort
from ...parsers.infiniband.interface import Interface
from ...parsers.nccl.topo_xml import NVSWITCH_CLASS as NVSWITCH_TARGET
from ...parsers.nccl.topo_xml import UNSEEN_SWITCH, NcclGpu, NcclLink, NcclNet, NcclPci
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ...parsers.nvidia_smi.nvlink import LinkEnd
from ...parsers.pcie.device_places import DevicePlace
from ...parsers.pcie.lspci import PciDevice
from ..claims import Claim, PartClaim
from .nic_names import names_by_closeness

NVIDIA, MELLANOX = "10de", "15b3"
GPU_CLASSES = ("0300", "0302")
NVSWITCH_CLASS = "0680"
NIC_CLASSES = ("0200", "0207")
UNUSABLE_NAMES = frozenset({"", ".", ".."})


@dataclass(slots=True)
class Names:
    """The parts of one node."""

    node: NodeId
    gpus: dict[str, ComponentId] = field(default_factory=dict)
    """By bus address."""
    nics: dict[str, ComponentId] = field(default_factory=dict)
    """By bus address."""
    nvswitches: dict[str, ComponentId] = field(default_factory=dict)
    """By bus address."""
    interfaces: dict[str, ComponentId] = field(default_factory=dict)
    """NICs by the name of their network interface."""

    def nic(self, name: str) -> ComponentId:
        """The NIC a tool calls by name: `mlx5_4`, or `NIC3` where no legend tells."""
        return self.node / (name.lower() if name.upper().startswith("NIC") else name)

    def at(self, address: str) -> ComponentId | None:
        """The GPU, NIC or NVSwitch at a bus address."""
        return self.gpus.get(address) or self.nics.get(address) or self.nvswitches.get(address)


def names_of(node: NodeId, readings: Iterable[object], known: Iterable[Claim] = ()) -> Names:
    """What the readings of all tools say together; `known`: what the node itself told already, whose names stand."""
    census = _Census(node)
    for claim in known:
        census.know(claim)
    return census.taken(readings)


@dataclass(slots=True)
class _Census:
    node: NodeId
    indexes: dict[str, int] = field(default_factory=dict)
    gpus: set[str] = field(default_factory=set)
    nic_names: dict[str, str] = field(default_factory=dict)
    nics: set[str] = field(default_factory=set)
    switches: set[str] = field(default_factory=set)
    far_ends: set[str] = field(default_factory=set)
    interfaces: dict[str, str] = field(default_factory=dict)
    known_switches: dict[str, ComponentId] = field(default_factory=dict)

    def know(self, claim: Claim) -> None:
        """Take the name of a part at a bus address as it stands."""
        address = claim.facts.get("bus_address") if isinstance(claim, PartClaim) else None
        if not isinstance(claim, PartClaim) or not isinstance(address, str):
            return
        if claim.kind == "gpu":
            self._gpu(address, claim.part.number)
        elif claim.kind == "nic":
            self._nic(address, claim.part.name)
            if isinstance(netdev := claim.facts.get("netdev"), str):
                self.interfaces[netdev] = address
        elif claim.kind == "nvswitch":
            self.known_switches[address] = claim.part

    def taken(self, readings: Iterable[object]) -> Names:
        heard = list(readings)
        for reading in heard:
            self._hear(reading)
        self._join(heard)
        names = Names(self.node, gpus=self._numbered_gpus())
        switches = sorted((self.switches | (self.far_ends - self.gpus)) - self.known_switches.keys())
        first = max((switch.number for switch in self.known_switches.values()), default=-1) + 1
        numbered = {address: nvswitch_id(self.node, number) for number, address in enumerate(switches, first)}
        names.nvswitches = {**self.known_switches, **numbered}
        names.nics = self._named_nics()
        names.interfaces = {
            name: names.nics[address] for name, address in self.interfaces.items() if address in names.nics
        }
        return names

    def _hear(self, reading: object) -> None:
        match reading:
            case GpuReport(bus_address=str(address), index=index):
                self._gpu(address, index)
            case PciDevice():
                self._pci(reading)
            case DevicePlace(address=address, name=name, gpu=gpu):
                self._place(address, name, gpu)
            case LinkEnd(remote_address=address):
                self.far_ends.add(address)
            case Hca(device=device, bus_address=str(address)) | HcaPort(device=device, bus_address=str(address)):
                self._nic(address, device)
            case Interface(name=name, bus_address=str(address)):
                self.interfaces[name] = address
            case NcclGpu() | NcclPci() | NcclLink() | NcclNet():
                self._hear_nccl(reading)

    def _hear_nccl(self, reading: NcclGpu | NcclPci | NcclLink | NcclNet) -> None:
        match reading:
            case NcclGpu(address=address, dev=dev):
                self._gpu(address, dev)
            case NcclPci(address=address) if reading.is_gpu:
                self._gpu(address, None)
            case NcclPci(address=address) if reading.is_nic:
                self.nics.add(address)
            case NcclLink(target=target) if reading.target_class == NVSWITCH_TARGET and target != UNSEEN_SWITCH:
                self.far_ends.add(target)
            case NcclNet(name=str(name), nic_address=str(address)):
                self._nic(address, name)

    def _gpu(self, address: str, index: int | None) -> None:
        self.gpus.add(address)
        if index is not None and index not in self.indexes.values():
            self.indexes.setdefault(address, index)

    def _place(self, address: str, name: str, gpu: int | None) -> None:
        if name:
            self._nic(address, name)
        elif gpu is not None:
            self._gpu(address, gpu)

    def _nic(self, address: str, name: str) -> None:
        self.nics.add(address)
        if usable(name):
            self.nic_names.setdefault(address, name)

    def _pci(self, device: PciDevice) -> None:
        if device.vendor_id == NVIDIA or "nvidia" in device.name.lower():
            if device.class_id in GPU_CLASSES or device.class_name in ("3D controller", "VGA compatible controller"):
                self.gpus.add(device.address)
            elif device.class_id == NVSWITCH_CLASS or device.class_name == "Bridge":
                self.switches.add(device.address)
        elif device.class_id in NIC_CLASSES or device.class_name in ("Infiniband controller", "Ethernet controller"):
            self.nics.add(device.address)

    def _join(self, readings: Iterable[object]) -> None:
        """Give NICs at an address the names by which `topo -m` calls them."""
        gpus = {part.number: address for address, part in self._numbered_gpus().items()}
        unnamed = sorted(self.nics - self.nic_names.keys())
        for address, name in names_by_closeness(readings, gpus, unnamed, self.nic_names.values()).items():
            self._nic(address, name.lower() if name.startswith("NIC") else name)

    def _numbered_gpus(self) -> dict[str, ComponentId]:
        """By index where told; the others take the free numbers in the order of their addresses."""
        found = {address: gpu_id(self.node, index) for address, index in self.indexes.items()}
        taken = set(self.indexes.values())
        free = (number for number in range(len(self.gpus) + len(taken) + 1) if number not in taken)
        for address in sorted(self.gpus - found.keys()):
            found[address] = gpu_id(self.node, next(free))
        return found

    def _named_nics(self) -> dict[str, ComponentId]:
        found: dict[str, ComponentId] = {}
        for number, address in enumerate(sorted(self.nics)):
            name = self.nic_names.get(address)
            part = self.node / (name or f"nic{number}")
            found[address] = part if part not in found.values() else self.node / f"{name or 'nic'}-{number}"
        return found


def usable(name: str) -> bool:
    """Whether a name that a tool printed can be a segment of an id."""
    return name not in UNUSABLE_NAMES and len(name) <= 64 and all(c.isalnum() or c in "._-@" for c in name)
