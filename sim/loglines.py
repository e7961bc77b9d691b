"""Kernel log lines that faults write where a scenario doesn't say which: their own, and those of their victims.

Formats are those of real logs. In templates these words in braces stand for the part the line speaks of:
{bus} 0000:19:00.0 · {pci} 0000:19:00 · {uuid}, {serial} of a GPU · {netdev} of a NIC · {link} number of a lane ·
{switch}, {port}, {far} number, port and bus address of the NVSwitch a lane ends at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..incident.ids import ComponentId, lane_id
from ..incident.platforms import Platform
from .faults import Line
from .hardware import Hardware

WORDS = ("bus", "pci", "link", "switch", "port", "far", "netdev", "uuid", "serial")

FALLEN = "NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
FALLEN_AGAIN = "NVRM: GPU {bus}: GPU has fallen off the bus."
PORT_DOWN = "nvidia-nvswitch{switch}: SXid (PCI:{far}): 20034, Fatal, Link {port} LTSSM Fault Up"
PORT_DOWN_DETAIL = (
    "nvidia-nvswitch{switch}: SXid (PCI:{far}): 20034, Severity 1 Engine instance {port} Sub-engine instance 00"
)
LANE_FATAL = (
    "NVRM: Xid (PCI:{pci}): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link {link}"
    "(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
)
CHANNEL_GONE = "NVRM: Xid (PCI:{pci}): 45, pid=48211, name=python3, Ch 00000008"
NEEDS_RESET = "NVRM: Xid (PCI:{pci}): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
NEEDS_REBOOT = "NVRM: Xid (PCI:{pci}): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
SWITCH_DEAD = "nvidia-nvswitch{switch}: SXid (PCI:{bus}): 26006, SOE HALTED"
NET_DOWN = "mlx5_core {bus} {netdev}: Link down"
NET_UP = "mlx5_core {bus} {netdev}: Link up"
CABLE = "mlx5_core {bus}: Port module event: module 0, Cable unplugged"
MEMORY = (
    "NVRM: Xid (PCI:{pci}): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000018f31d80) "
    "marked for remapping, reset gpu to activate."
)


def usual_lines(component: ComponentId, kind: str, platform: Platform) -> tuple[Line, ...]:
    """What a fault of this kind at this part leaves in kernel logs."""
    if kind == "hard":
        writers = {"gpu": _fallen, "nvlink": _lane_down, "nvswitch": _switch_dead, "nic": _nic_down}
        writer = writers.get(component.kind)
        return tuple(writer(component, platform)) if writer else ()
    if component.kind == "nic" and kind == "intermittent":
        return (Line(NET_DOWN, component, 0.0, 1.0), Line(NET_UP, component, 4.0, 1.0))
    if component.kind == "hbm":
        return (Line(MEMORY, component.parent, 0.0, 1.0),)
    return ()


def _fallen(gpu: ComponentId, platform: Platform) -> Iterator[Line]:
    """The GPU goes, the switches lose its lanes, its peers lose their channels: cause first, consequences after."""
    yield Line(FALLEN, gpu, 0.0, 1.0)
    yield Line(FALLEN_AGAIN, gpu, 0.000004, 1.0)
    yield Line(NEEDS_REBOOT, gpu, 0.0021, 1.0)
    for lane in range(platform.lanes_per_gpu):
        yield Line(PORT_DOWN, lane_id(gpu, lane), 0.31 + 0.004 * lane, 1.0)
    for peer in range(platform.gpus):
        if peer != gpu.number:
            yield Line(CHANNEL_GONE, gpu.node / f"gpu{peer}", 1.9 + 0.02 * peer, 1.0)


def _lane_down(lane: ComponentId, platform: Platform) -> Iterator[Line]:
    yield Line(PORT_DOWN, lane, 0.0, 1.0)
    yield Line(PORT_DOWN_DETAIL, lane, 0.000011, 1.0)
    yield Line(LANE_FATAL, lane, 0.0031, 1.0)
    yield Line(NEEDS_RESET, lane.parent, 0.0044, 1.0)


def _switch_dead(switch: ComponentId, platform: Platform) -> Iterator[Line]:
    yield Line(SWITCH_DEAD, switch, 0.0, 1.0)
    for gpu in range(platform.gpus):
        for lane in range(platform.lanes_per_gpu):
            if platform.switch_of_lane(lane) == switch.number:
                after = 0.01 + 0.01 * gpu + 0.001 * lane
                yield Line(LANE_FATAL, switch.node / f"gpu{gpu}" / f"nvlink{lane}", after, 1.0)


def _nic_down(nic: ComponentId, platform: Platform) -> Iterator[Line]:
    yield Line(CABLE, nic, 0.0, 1.0)
    yield Line(NET_DOWN, nic, 0.0002, 1.0)


def unknown_words(template: str) -> list[str]:
    """Words in braces that stand for nothing."""
    return [word for word in re.findall(r"\{([^{}]*)\}", template) if word not in WORDS]


def written(template: str, hardware: Hardware, within: str) -> str:
    """The line as the part `within` the node gets it; a word that doesn't apply to the part reads `?`."""
    words = _words(hardware, within)
    return re.sub(r"\{([^{}]*)\}", lambda found: words.get(found[1], "?"), template)


def _words(hardware: Hardware, within: str) -> dict[str, str]:
    head, _, rest = within.partition("/")
    if head.startswith("nvswitch"):
        switch = int(head.removeprefix("nvswitch"))
        return {"bus": hardware.platform.nvswitches[switch], "switch": str(switch)}
    if head == "pcie":
        return {"bus": rest}
    if head.startswith("gpu"):
        return _gpu_words(hardware, head, rest)
    if any(nic.name == head for nic in hardware.nics):
        nic = hardware.nic(head)
        return {"bus": nic.address, "netdev": hardware.netdev(nic)}
    return {}


def _gpu_words(hardware: Hardware, name: str, rest: str) -> dict[str, str]:
    gpu = hardware.gpu(name)
    words = {
        "bus": gpu.address,
        "pci": gpu.short_address,
        "uuid": hardware.uuid(gpu),
        "serial": hardware.serial(gpu),
    }
    if rest.startswith("nvlink"):
        lane = int(rest.removeprefix("nvlink"))
        switch, port = hardware.switch_port(gpu.index, lane)
        words |= {
            "link": str(lane),
            "switch": str(switch),
            "port": f"{port:02d}",
            "far": hardware.platform.nvswitches[switch],
        }
    return words
