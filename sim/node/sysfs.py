"""The /sys of a simulated node: PCIe devices in their hierarchy, InfiniBand ports and counters, network interfaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ..hardware import Gpu, Nic
from ..readings import IB_COUNTERS
from .machine import Machine
from .tree import File, Tree

PORT_STATES = {1: "DOWN", 2: "INIT", 3: "ARMED", 4: "ACTIVE", 5: "ACTIVE_DEFER"}
PHYSICAL_STATES = {1: "Sleep", 2: "Polling", 3: "Disabled", 4: "PortConfigurationTraining", 5: "LinkUp"}
RATES = {100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}

CORRECTABLE = [
    "RxErr",
    "BadTLP",
    "BadDLLP",
    "Rollover",
    "Timeout",
    "NonFatalErr",
    "CorrIntErr",
    "HeaderOF",
    "TOTAL_ERR_COR",
]
UNCORRECTABLE = [
    "Undefined",
    "DLP",
    "SDES",
    "TLP",
    "FCP",
    "CmpltTO",
    "CmpltAbrt",
    "UnxCmplt",
    "RxOF",
    "MalfTLP",
    "ECRC",
    "UnsupReq",
    "ACSViol",
    "UncorrIntErr",
    "BlockedTLP",
    "AtomicOpBlocked",
    "TLPBlockedErr",
    "PoisonTLPBlocked",
]
AER_FILES = {
    "aer_dev_correctable": ("aer_correctable", CORRECTABLE, "BadTLP"),
    "aer_dev_nonfatal": ("aer_nonfatal", [*UNCORRECTABLE, "TOTAL_ERR_NONFATAL"], "CmpltTO"),
    "aer_dev_fatal": ("aer_fatal", [*UNCORRECTABLE, "TOTAL_ERR_FATAL"], "DLP"),
}
"""File: the reading it shows, its lines, and the line that carries all of the total."""

CPUS_PER_SOCKET = 56


def sysfs(machine: Machine) -> Tree:
    """The whole tree of this node."""
    tree = Tree()
    hardware = machine.hardware
    for bridge in hardware.bridges:
        _add_bridge(tree, machine, bridge)
    for gpu in hardware.gpus:
        _add_gpu(tree, machine, gpu)
    for nic in hardware.nics:
        _add_nic(tree, machine, nic)
    for address in hardware.platform.nvswitches:
        path = _add_device(tree, address, (), "0x068000", "0x10de", "0x22a3", 1)
        tree.link(f"{path}/driver", "/sys/bus/pci/drivers/nvidia-nvswitch")
    _add_host(tree, machine)
    return tree


def cpu_list(numa: int) -> str:
    """CPUs of a socket as the kernel lists them, hyper-threads included."""
    first, second = numa * CPUS_PER_SOCKET, (numa + 2) * CPUS_PER_SOCKET
    return f"{first}-{first + CPUS_PER_SOCKET - 1},{second}-{second + CPUS_PER_SOCKET - 1}"


def _add_bridge(tree: Tree, machine: Machine, bridge: str) -> None:
    below = next((part for part in (*machine.hardware.gpus, *machine.hardware.nics) if bridge in part.path), None)
    assert below is not None
    above = below.path[: below.path.index(bridge)]
    device = "0x352a" if not above else "0xc030"
    path = _add_device(tree, bridge, above, "0x060400", "0x8086" if not above else "0x1000", device, below.numa)
    tree.link(f"{path}/driver", "/sys/bus/pci/drivers/pcieport")
    _add_link(tree, machine, path, f"pcie/{bridge}")


def _add_gpu(tree: Tree, machine: Machine, gpu: Gpu) -> None:
    path = _add_device(tree, gpu.address, gpu.path, "0x030200", "0x10de", "0x2330", gpu.numa)
    tree.link(f"{path}/driver", "/sys/bus/pci/drivers/nvidia")
    _add_link(tree, machine, path, f"{gpu.name}/pcie")


def _add_nic(tree: Tree, machine: Machine, nic: Nic) -> None:
    kind = "0x020000" if nic.ethernet else "0x020700"
    path = _add_device(tree, nic.address, nic.path, kind, "0x15b3", "0x1021", nic.numa)
    tree.link(f"{path}/driver", "/sys/bus/pci/drivers/mlx5_core")
    _add_link(tree, machine, path, f"{nic.name}/pcie")
    _add_infiniband(tree, machine, nic, path)
    _add_interface(tree, machine, nic, path)


def _add_device(
    tree: Tree, address: str, above: tuple[str, ...], kind: str, vendor: str, device: str, numa: int
) -> str:
    root = (above[0] if above else address)[: len("0000:15")]
    path = "/".join((f"/sys/devices/pci{root}", *above, address))
    for name, value in (
        ("class", kind),
        ("vendor", vendor),
        ("device", device),
        ("subsystem_vendor", vendor),
        ("subsystem_device", device),
        ("revision", "0xa1"),
        ("numa_node", numa),
        ("local_cpulist", cpu_list(numa)),
        ("enable", 1),
    ):
        tree.text(f"{path}/{name}", value)
    tree.text(f"{path}/uevent", f"PCI_SLOT_NAME={address}")
    tree.link(f"{path}/subsystem", "/sys/bus/pci")
    tree.link(f"/sys/bus/pci/devices/{address}", path)
    return path


def _add_link(tree: Tree, machine: Machine, path: str, part: str) -> None:
    """Speed, width and AER counters of the link above a device."""
    facts = machine.facts[part]
    tree.text(f"{path}/max_link_speed", f"{facts['max_speed_gts']:.1f} GT/s PCIe")
    tree.text(f"{path}/max_link_width", facts["max_width"])
    tree.live(f"{path}/current_link_speed", lambda: f"{_answer(machine, part, 'speed_gts'):.1f} GT/s PCIe")
    tree.live(f"{path}/current_link_width", lambda: f"{_answer(machine, part, 'current_width'):.0f}")
    for name, (field, lines, carrier) in AER_FILES.items():
        tree.add(f"{path}/{name}", File(_aer(machine, part, field, lines, carrier)))


def _aer(machine: Machine, part: str, field: str, lines: list[str], carrier: str) -> Callable[[], bytes]:
    def read() -> bytes:
        total = int(_answer(machine, part, field))
        shown = ((line, total if line in (carrier, lines[-1]) else 0) for line in lines)
        return "".join(f"{line} {count}\n" for line, count in shown).encode()

    return read


def _answer(machine: Machine, part: str, field: str) -> float:
    """A reading; a device that answers no configuration read gives EINVAL, as once the kernel knows it is gone."""
    value = machine.reading(part, field)
    if math.isnan(value):
        raise OSError(22, "Invalid argument")
    return value


def _add_infiniband(tree: Tree, machine: Machine, nic: Nic, device: str) -> None:
    facts = machine.facts[nic.name]
    path = f"{device}/infiniband/{nic.name}"
    for name, value in (
        ("fw_ver", facts["firmware"]),
        ("board_id", facts["board_id"]),
        ("hca_type", "MT4129"),
        ("hw_rev", 0),
        ("node_guid", facts["node_guid"]),
        ("sys_image_guid", facts["node_guid"]),
        ("node_type", "1: CA"),
        ("node_desc", f"{machine.hostname} {nic.name}"),
    ):
        tree.text(f"{path}/{name}", value)
    tree.link(f"{path}/device", device)
    tree.link(f"{path}/subsystem", "/sys/class/infiniband")
    tree.link(f"/sys/class/infiniband/{nic.name}", path)
    _add_port(tree, machine, nic, f"{path}/ports/1")


def _add_port(tree: Tree, machine: Machine, nic: Nic, path: str) -> None:
    tree.text(f"{path}/link_layer", machine.facts[nic.name]["link_layer"])
    tree.live(f"{path}/state", lambda: _state(machine, nic.name, "port_state", PORT_STATES))
    tree.live(f"{path}/phys_state", lambda: _state(machine, nic.name, "phys_state", PHYSICAL_STATES))
    tree.live(f"{path}/rate", lambda: _rate(_answer(machine, nic.name, "rate_gbps")))
    for name, value in (
        ("lid", "0x0" if nic.ethernet else f"0x{int(nic.address[5:7], 16) + 16:x}"),
        ("sm_lid", "0x0" if nic.ethernet else "0x1"),
        ("lid_mask_count", 0),
        ("cap_mask", "0x04010000" if nic.ethernet else "0xa751e848"),
        ("gids/0", "fe80:0000:0000:0000:" + str(machine.facts[nic.name]["node_guid"])),
        ("pkeys/0", "0xffff"),
    ):
        tree.text(f"{path}/{name}", value)
    for name in counter_names(machine, nic.name):
        folder = "counters" if name in IB_COUNTERS else "hw_counters"
        tree.live(f"{path}/{folder}/{name}", _counter(machine, nic.name, name))
    tree.text(f"{path}/hw_counters/lifespan", 12)


def counter_names(machine: Machine, nic: str) -> Iterator[str]:
    """Counters this NIC has."""
    for part, field in machine.readings():
        if part == nic and field not in ("port_state", "phys_state", "rate_gbps"):
            yield field


def _counter(machine: Machine, nic: str, name: str) -> Callable[[], str]:
    return lambda: f"{_answer(machine, nic, name):.0f}"


def _state(machine: Machine, nic: str, field: str, words: dict[int, str]) -> str:
    state = int(_answer(machine, nic, field))
    return f"{state}: {words.get(state, '<unknown>')}"


def _rate(gbps: float) -> str:
    return f"{gbps:g} Gb/sec ({RATES.get(int(gbps), '4X')})"


def _add_interface(tree: Tree, machine: Machine, nic: Nic, device: str) -> None:
    name = str(machine.facts[nic.name]["netdev"])
    path = f"{device}/net/{name}"
    guid = str(machine.facts[nic.name]["node_guid"]).replace(":", "")
    tree.text(f"{path}/address", ":".join(guid[at : at + 2] for at in range(4, 16, 2)))
    tree.text(f"{path}/mtu", 9000 if nic.ethernet else 4092)
    tree.text(f"{path}/type", 1 if nic.ethernet else 32)
    tree.live(f"{path}/operstate", lambda: "up" if _is_up(machine, nic) else "down")
    tree.live(f"{path}/carrier", lambda: "1" if _is_up(machine, nic) else "0")
    tree.live(f"{path}/speed", lambda: f"{_answer(machine, nic.name, 'rate_gbps') * 1000:.0f}")
    tree.link(f"{path}/device", device)
    tree.link(f"/sys/class/net/{name}", path)


def _is_up(machine: Machine, nic: Nic) -> bool:
    return machine.reading(nic.name, "port_state") == 4


def _add_host(tree: Tree, machine: Machine) -> None:
    sockets = sorted({gpu.numa for gpu in machine.hardware.gpus})
    for numa in sockets:
        tree.text(f"/sys/devices/system/node/node{numa}/cpulist", cpu_list(numa))
    tree.text("/sys/devices/system/node/online", f"{sockets[0]}-{sockets[-1]}")
    tree.text("/sys/module/nvidia/version", machine.driver_version)
    tree.text("/sys/module/mlx5_core/version", "24.10-1.1.4")
    tree.text("/sys/class/dmi/id/sys_vendor", "Simulated")
    tree.text("/sys/class/dmi/id/product_name", f"Simulated {machine.hardware.platform.title}")
