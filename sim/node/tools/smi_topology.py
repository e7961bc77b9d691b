"""`nvidia-smi topo`: -m (how parts are connected), -p2p (which GPUs reach each other's memory)."""

from __future__ import annotations

from ...hardware import Gpu, Nic
from ..machine import Machine
from ..sysfs import cpu_list
from .boards import GPU_LOST_STATUS, first_lost

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""
P2P_LEGEND = """
Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
  U    = Unknown
"""


def topology(machine: Machine, arguments: list[str]) -> int:
    """Run `nvidia-smi topo …`."""
    if (lost := first_lost(machine)) is not None:
        print(lost.complaint)
        return GPU_LOST_STATUS
    if "-m" in arguments or "--matrix" in arguments:
        _matrix(machine)
        return 0
    if "-p2p" in arguments:
        _reachable(machine)
        return 0
    print("Usage: nvidia-smi topo (-m | -p2p r|w|n|a|p)")
    return 2


def _matrix(machine: Machine) -> None:
    hardware = machine.hardware
    parts: list[Gpu | Nic] = [*hardware.gpus, *hardware.nics]
    names = [f"GPU{gpu.index}" for gpu in hardware.gpus] + [f"NIC{at}" for at in range(len(hardware.nics))]
    print("\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]))
    for name, part in zip(names, parts, strict=True):
        cells = [_connection(machine, part, other) for other in parts]
        if isinstance(part, Gpu):
            cells += [cpu_list(part.numa), str(part.numa), "\tN/A"]
        else:
            cells += ["", "", "", ""]
        print(f"{name}\t" + "\t".join(cells))
    print(LEGEND)
    print("NIC Legend:\n")
    for at, nic in enumerate(hardware.nics):
        print(f"  NIC{at}: {nic.name}")
    print()


def _connection(machine: Machine, one: Gpu | Nic, other: Gpu | Nic) -> str:
    if one is other:
        return " X "
    if isinstance(one, Gpu) and isinstance(other, Gpu):
        return f"NV{_lanes_up(machine, one, other)}"
    if one.numa != other.numa:
        return "SYS"
    if one.path[0] != other.path[0]:
        return "NODE"
    return "PIX" if one.path[:-1] == other.path[:-1] else "PXB"


def _lanes_up(machine: Machine, one: Gpu, other: Gpu) -> int:
    """Through NVSwitches, a pair has as many lanes as the poorer of the two has up."""
    up = [
        sum(machine.reading(f"{gpu.name}/nvlink{lane}", "state") == 1 for lane in machine.hardware.lanes())
        for gpu in (one, other)
    ]
    return min(up)


def _reachable(machine: Machine) -> None:
    names = [f"GPU{gpu.index}" for gpu in machine.hardware.gpus]
    print(" \t" + "\t".join(names) + "\t")
    for name in names:
        print(f" {name}\t" + "\t".join("X" if name == other else "OK" for other in names) + "\t")
    print(P2P_LEGEND)
