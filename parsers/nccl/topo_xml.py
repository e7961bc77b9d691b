"""NCCL's topology of a machine: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE is given.

`<system>` holds `<cpu>` (a NUMA node), in which `<pci>` nest as the bus does; a `<pci>` may hold a `<gpu>` with its
`<nvlink>`s, or a `<nic>` with `<net>`s. Files shipped by clouds leave out what NCCL finds itself: GPUs are then nothing
but a `<pci>` of class 0x0302, switches have made-up addresses (ffff:ff:01.0), and speeds may be empty. link_speed and
link_width are the *largest* of device and port, not what was negotiated.
Source: captures nccl/topo-*; NVIDIA/nccl src/graph/xml.cc and topo.cc (`c2c`, `pcilink` and `host_hash` from there).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import Parsed
from ..pci import bus_address
from ..tool import Tool
from .xml_elements import Element, elements, first_tag

ROOT = "system"
VERSION = "1"
"""Of `<system version=...>`; NCCL takes no other."""
GPU_CLASS = "0x030200"
"""PCI class of a GPU without a display; any that begins 0x03 is one to NCCL."""
ETHERNET_CLASS = "0x020000"
INFINIBAND_CLASS = "0x020700"
"""Any class that begins 0x02 is a NIC to NCCL."""
BRIDGE_CLASS = "0x060400"
NVSWITCH_CLASS = "0x068000"
"""As `tclass` of an nvlink: it ends at an NVSwitch. A GPU's own class there means that it ends at a GPU."""
CPU_LINK_CLASS = "0x068001"
"""As `tclass`: the NVLink ends at a CPU (POWER9)."""
UNSEEN_SWITCH = "fffffff:ffff:ff"
"""As `target`: an NVSwitch that this virtual machine does not see."""
LINK_SPEEDS: Mapping[float, str] = {
    2.5: "2.5 GT/s PCIe",
    5.0: "5.0 GT/s PCIe",
    8.0: "8.0 GT/s PCIe",
    16.0: "16.0 GT/s PCIe",
    32.0: "32.0 GT/s PCIe",
    64.0: "64.0 GT/s PCIe",
}
"""link_speed by GT/s, as /sys has it and NCCL looks it up; before Linux 5.7 without ` PCIe` and `.0`. One that is not
in NCCL's table counts as 8 GT/s, a width of 0 as 16."""


@dataclass(frozen=True, slots=True)
class NcclCpu:
    """A NUMA node."""

    numa: int | None
    """None where Linux does not know (-1)."""
    affinity: str
    """Mask of CPUs as /sys prints it, groups of 32 bits, highest first; empty where left out, and so below."""
    arch: str
    """`x86_64`, `arm64` or `ppc64`."""
    vendor: str
    """`GenuineIntel`, `AuthenticAMD`, ..."""
    host_hash: str | None
    """Tells the machines of one file apart (multi-node NVLink)."""
    family: int | None = None
    model: int | None = None


@dataclass(frozen=True, slots=True)
class NcclPci:
    """A PCI device or bridge."""

    address: str
    parent: str | None
    """Bus address of the bridge above, `numa0` where it hangs on a CPU; None where that NUMA node is not known."""
    class_id: str | None
    """`0x030200`; None where left out."""
    speed_gts: float | None
    """Largest speed of the link above, a lane; None where left out or empty."""
    width: int | None
    vendor_id: str | None = None
    device_id: str | None = None
    subsystem_vendor_id: str | None = None
    subsystem_device_id: str | None = None
    host_hash: str | None = None

    @property
    def is_gpu(self) -> bool:
        """By its class; a file that leaves classes out tells nothing."""
        return (self.class_id or "").startswith("0x03")

    @property
    def is_nic(self) -> bool:
        """By its class."""
        return (self.class_id or "").startswith("0x02")

    @property
    def is_bridge(self) -> bool:
        """By its class."""
        return (self.class_id or "").startswith("0x0604")


@dataclass(frozen=True, slots=True)
class NcclGpu:
    """A GPU as NCCL sees it."""

    address: str
    dev: int | None
    """NVML index."""
    sm: int | None
    """Compute capability without its dot: 90 is Hopper."""
    rank: int | None
    gdr: bool | None
    """Whether NICs may read its memory."""


@dataclass(frozen=True, slots=True)
class NcclLink:
    """NVLinks of a GPU that end at the same device."""

    gpu: str
    target: str
    """Bus address, or UNSEEN_SWITCH. The GPU's own address where a virtual machine hides the far end."""
    count: int | None
    target_class: str | None


@dataclass(frozen=True, slots=True)
class NcclC2c:
    """NVLink-C2C between a GPU and its CPU (Grace)."""

    gpu: str
    count: int | None
    bandwidth_mbs: int | None
    """MB/s of one link."""


@dataclass(frozen=True, slots=True)
class NcclPciLink:
    """A link between two PCIe switches that the tree does not show."""

    address: str
    target: str


@dataclass(frozen=True, slots=True)
class NcclNic:
    """The card that nets are on."""

    address: str | None
    """None of a virtual card, which hangs on the first CPU."""
    parent: str | None
    """As of the PCI device it is."""


@dataclass(frozen=True, slots=True)
class NcclNet:
    """A network device (a port) as NCCL uses it."""

    name: str
    nic_address: str | None
    dev: int | None
    """The index that NCCL's log names."""
    port: int | None
    speed_mbps: int | None
    guid: str | None
    """16 hex digits as NCCL writes the number; None of zero."""
    max_connections: int | None
    gdr: bool | None
    latency_us: float | None = None

    @property
    def system_image_guid(self) -> str | None:
        """As InfiniBand tools print it: NCCL reads the bytes of the wire as a number of an x86 or ARM machine."""
        return bytes.fromhex(self.guid)[::-1].hex() if self.guid else None


TopologyReading: TypeAlias = NcclCpu | NcclPci | NcclGpu | NcclLink | NcclC2c | NcclPciLink | NcclNic | NcclNet

_SPEED = re.compile(r"\s{0,4}(\d{1,4}(?:\.\d{1,3})?)\s{0,4}GT/s")
_INTEGER = re.compile(r"\s{0,4}(-?\d{1,18})\s{0,4}")
_DECIMAL = re.compile(r"\s{0,4}(\d{1,12}(?:\.\d{1,9})?)\s{0,4}")
_CLASS = re.compile(r"0x[0-9a-f]{2,6}")
_HEX = re.compile(r"0x([0-9a-f]{1,16})")
_PASSED_OVER = frozenset({ROOT, "gin", "rma"})
"""Other users of the same NICs; elements like `<net>`."""


def parse_topo_xml(text: str) -> Parsed[TopologyReading]:
    """Read a topology; of one that is cut, what comes before the cut."""
    parsed = Parsed[TopologyReading]()
    for element in elements(text, ROOT, parsed):
        read = _READERS.get(element.name)
        readings = list(read(element)) if read else []
        for reading in readings:
            parsed.add(reading)
        if not readings and element.name not in _PASSED_OVER:
            shown = f"<{element.name} {' '.join(f'{k}={v!r}' for k, v in element.attributes.items())}>"
            parsed.cannot_read(element.line, shown, "lacks what names it" if read else "is not known")
    return parsed


def _cpu(element: Element) -> Iterator[NcclCpu]:
    numa = _integer(element, "numaid")
    if numa is not None:
        affinity, arch, vendor = (element.attributes.get(name, "")[:4096] for name in ("affinity", "arch", "vendor"))
        family, model = _integer(element, "familyid"), _integer(element, "modelid")
        yield NcclCpu(numa if numa >= 0 else None, affinity, arch, vendor, _host_hash(element), family, model)


def _pci(element: Element) -> Iterator[NcclPci]:
    if address := _address(element):
        speed = _SPEED.match(element.attributes.get("link_speed", ""))
        yield NcclPci(
            address,
            parent=_parent(element),
            class_id=_class(element, "class"),
            speed_gts=float(speed[1]) if speed else None,
            width=_integer(element, "link_width") or None,
            vendor_id=_class(element, "vendor"),
            device_id=_class(element, "device"),
            subsystem_vendor_id=_class(element, "subsystem_vendor"),
            subsystem_device_id=_class(element, "subsystem_device"),
            host_hash=_host_hash(element),
        )


def _gpu(element: Element) -> Iterator[NcclGpu]:
    if address := _device(element):
        dev, sm, rank = (_integer(element, name) for name in ("dev", "sm", "rank"))
        yield NcclGpu(address, dev, sm, rank, _flag(element, "gdr"))


def _nvlink(element: Element) -> Iterator[NcclLink]:
    gpu, target = _device(element), element.attributes.get("target", "").strip().lower()[:40]
    if gpu and target:
        yield NcclLink(gpu, bus_address(target) or target, _integer(element, "count"), _class(element, "tclass"))


def _c2c(element: Element) -> Iterator[NcclC2c]:
    if gpu := _device(element):
        yield NcclC2c(gpu, _integer(element, "count"), _integer(element, "bw"))


def _pcilink(element: Element) -> Iterator[NcclPciLink]:
    address, target = _device(element), bus_address(element.attributes.get("target", ""))
    if address and target:
        yield NcclPciLink(address, target)


def _nic(element: Element) -> Iterator[NcclNic]:
    holder = element.parent
    if holder is not None and holder.name == "pci" and (address := _address(holder)):
        yield NcclNic(address, _parent(holder))
    elif holder is not None and holder.name == "cpu":
        yield NcclNic(None, _parent(element))


def _net(element: Element) -> Iterator[NcclNet]:
    if name := element.attributes.get("name", "").strip()[:80]:
        guid = _HEX.fullmatch(element.attributes.get("guid", "").strip().lower())
        latency = _DECIMAL.fullmatch(element.attributes.get("latency", ""))
        yield NcclNet(
            name,
            nic_address=_device(element),
            dev=_integer(element, "dev"),
            port=_integer(element, "port"),
            speed_mbps=_integer(element, "speed"),
            guid=f"{int(guid[1], 16):016x}" if guid and int(guid[1], 16) else None,
            max_connections=_integer(element, "maxconn"),
            gdr=_flag(element, "gdr"),
            latency_us=float(latency[1]) if latency else None,
        )


_READERS: Mapping[str, Callable[[Element], Iterator[TopologyReading]]] = {
    "cpu": _cpu,
    "pci": _pci,
    "gpu": _gpu,
    "nvlink": _nvlink,
    "c2c": _c2c,
    "pcilink": _pcilink,
    "nic": _nic,
    "net": _net,
}


def _address(element: Element) -> str | None:
    return bus_address(element.attributes.get("busid", ""))


def _device(element: Element) -> str | None:
    """Bus address of the PCI device that the element stands in."""
    holder = element.above("pci")
    return _address(holder) if holder is not None else None


def _parent(element: Element) -> str | None:
    """What the element hangs on: a bridge's bus address, or a NUMA node."""
    holder = element.parent
    if holder is None or holder.name == "pci":
        return _address(holder) if holder is not None else None
    numa = _integer(holder, "numaid") if holder.name == "cpu" else None
    return f"numa{numa}" if numa is not None and numa >= 0 else None


def _host_hash(element: Element) -> str | None:
    cpu = element if element.name == "cpu" else element.above("cpu")
    return cpu.attributes.get("host_hash", "")[:40] or None if cpu is not None else None


def _integer(element: Element, name: str) -> int | None:
    found = _INTEGER.fullmatch(element.attributes.get(name, ""))
    return int(found[1]) if found else None


def _flag(element: Element, name: str) -> bool | None:
    number = _integer(element, name)
    return None if number is None else number != 0


def _class(element: Element, name: str) -> str | None:
    found = _CLASS.fullmatch(element.attributes.get(name, "").strip().lower())
    return found[0] if found else None


NCCL_TOPOLOGY = Tool(
    name="NCCL_TOPO_DUMP_FILE",
    recognizes=lambda head: first_tag(head) == ROOT and ("<cpu" in head or "<pci" in head),
    parse=parse_topo_xml,
    file_names=("*topo*.xml", "nccl*.xml", "*nccl*topo*"),
)
