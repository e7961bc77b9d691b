"""One node of a fabric as the XML that NCCL takes in NCCL_TOPO_FILE, so that NCCL can be given what we saw.

Only what is known is written: NCCL asks the system for attributes that are left out. Like NCCL itself it leaves ports
of switches out: of the bridges above a device every second one stands there, from the device up.
Source: NCCL src/graph/xml.cc (ncclTopoGetXmlFromSys, ncclTopoGetXmlFromGpu), src/graph/topo.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from ..incident.errors import InputError
from ..incident.ids import ComponentId, NodeId
from ..parsers.nccl.topo_xml import (
    BRIDGE_CLASS,
    GPU_CLASS,
    INFINIBAND_CLASS,
    LINK_SPEEDS,
    NVSWITCH_CLASS,
    UNSEEN_SWITCH,
    VERSION,
)
from .claims import Source
from .fabric import Fabric

NO_NUMA = "-1"


def nccl_xml(fabric: Fabric, node: str) -> str:
    """The file of one node; raises InputError for a node that is not there or has no GPU at a known address."""
    known = NodeId(node)
    if known not in fabric.nodes:
        raise InputError(f"{node} is not there; known are {', '.join(map(str, fabric.nodes[:20])) or 'no nodes'}")
    gpus = [gpu for gpu in fabric.gpus(known) if fabric.bus_address(gpu)]
    if not gpus:
        raise InputError(f"no bus address of any GPU of {node} is known: NCCL needs them; add nvidia-smi -q or lspci")
    return _Writer(fabric, known).written(gpus)


class _Writer:
    def __init__(self, fabric: Fabric, node: NodeId) -> None:
        self._fabric = fabric
        self._node = node
        self._system = ElementTree.Element("system", version=str(VERSION))
        self._cpus: dict[str, ElementTree.Element] = {}
        self._bridges: dict[ComponentId, ElementTree.Element] = {}
        self._nics: dict[str, ElementTree.Element] = {}

    def written(self, gpus: Sequence[ComponentId]) -> str:
        for socket in self._fabric.sockets(self._node):
            self._cpu(str(socket.number), self._fabric.facts(socket).get("cpu_mask"))
        for gpu in gpus:
            self._gpu(gpu)
        for number, nic in enumerate(nic for nic in self._fabric.nics(self._node) if self._fabric.bus_address(nic)):
            self._net(nic, number)
        ElementTree.indent(self._system)
        return ElementTree.tostring(self._system, encoding="unicode") + "\n"

    def _cpu(self, numa: str, mask: object = None) -> ElementTree.Element:
        if numa not in self._cpus:
            told = {"numaid": numa} | ({"affinity": str(mask)} if mask else {})
            self._cpus[numa] = ElementTree.SubElement(self._system, "cpu", told)
        return self._cpus[numa]

    def _gpu(self, gpu: ComponentId) -> None:
        pci = self._pci(gpu, GPU_CLASS)
        element = ElementTree.SubElement(pci, "gpu", dev=str(gpu.number))
        for target, count in self._nvlinks(gpu):
            kind = NVSWITCH_CLASS if target == UNSEEN_SWITCH or not self._is_gpu(target) else GPU_CLASS
            ElementTree.SubElement(element, "nvlink", target=target, count=str(count), tclass=kind)

    def _nvlinks(self, gpu: ComponentId) -> list[tuple[str, int]]:
        """Where the NVLinks of a GPU end, and how many that are not down."""
        counts, states = self._fabric.lane_counts(gpu), self._fabric.lane_states(gpu)
        found = []
        for part, count in counts.items():
            down = sum(states.get(lane.number) == "down" for lane in self._fabric.lanes_to(gpu, part))
            if address := self._fabric.bus_address(part):
                found.append((address, count - down))
        if not found and (total := self._fabric.lane_count(gpu)):
            found.append((UNSEEN_SWITCH, total - list(states.values()).count("down")))
        return [(address, count) for address, count in sorted(found) if count > 0]

    def _is_gpu(self, address: str) -> bool:
        part = self._fabric.component_at(self._node, address)
        return part is not None and part.kind == "gpu"

    def _net(self, nic: ComponentId, number: int) -> None:
        address = self._fabric.bus_address(nic) or ""
        if address not in self._nics:
            self._nics[address] = ElementTree.SubElement(self._pci(nic, INFINIBAND_CLASS), "nic")
        port = len(self._nics[address]) + 1
        told = {"name": nic.name, "dev": str(number), "port": str(port)}
        if rate := self._fabric.facts(nic).get("rate_gbps"):
            told["speed"] = str(round(float(rate) * 1000))
        ElementTree.SubElement(self._nics[address], "net", told)

    def _pci(self, device: ComponentId, class_id: str) -> ElementTree.Element:
        above = self._above(device)
        told = {"busid": self._fabric.bus_address(device) or "", "class": class_id}
        return ElementTree.SubElement(above, "pci", told | self._link(device / "pcie"))

    def _above(self, device: ComponentId) -> ElementTree.Element:
        """The element a device hangs in: its lowest switch, made with all above it, or its CPU."""
        numa = self._fabric.numa_of(device)
        element = self._cpu(NO_NUMA if numa is None else str(numa.number))
        for bridge in reversed(self._switches(device)):
            if bridge not in self._bridges:
                told = {"busid": self._fabric.bus_address(bridge) or bridge.name, "class": BRIDGE_CLASS}
                self._bridges[bridge] = ElementTree.SubElement(element, "pci", told | self._link(bridge))
            element = self._bridges[bridge]
        return element

    def _switches(self, device: ComponentId) -> Sequence[ComponentId]:
        """The bridges above a device that NCCL keeps, the lowest first."""
        bridges = [bridge for bridge in self._fabric.chain(device)[1:] if self._fabric.bus_address(bridge)]
        return bridges if self._fabric.source_of(device, "bridges") is Source.NCCL else bridges[1::2]

    def _link(self, link: ComponentId) -> dict[str, str]:
        state = self._fabric.link(link)
        told = {}
        if state is not None and state.max_speed is not None and state.max_speed in LINK_SPEEDS:
            told["link_speed"] = LINK_SPEEDS[state.max_speed]
        if state is not None and state.max_width:
            told["link_width"] = str(state.max_width)
        return told
