"""What to call a convicted part, by its kind: class, FRU, and the test that would tell its alternatives apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...incident.ids import ComponentId


@dataclass(frozen=True, slots=True)
class Naming:
    """The words of one kind of part."""

    fault_class: str
    """When it is at fault all the time ..."""
    intermittent: str
    """... and when now and then."""
    fru: str
    next: str
    """The cheapest test or swap; `{part}` is the part, `{end}` what it belongs to."""


_UNNAMED = Naming("unknown", "unknown", "none", "swap {part} with a healthy one of its kind and probe again")

NAMINGS: Mapping[str, Naming] = {
    "nvlink": Naming(
        "nvlink-link", "nvlink-link/marginal", "gpu-module",
        "swap {end} with a neighbour's socket and probe again: the fault follows the module -> GPU side; "
        "it stays with the socket -> baseboard or NVSwitch port",
    ),
    "nvswitch": Naming(
        "nvlink-fabric", "nvlink-fabric", "baseboard",
        "read the NVSwitch SXids and the fabric manager's log: copies are striped over all switches, "
        "so only a switch's own errors tell them apart",
    ),
    "pcie": Naming(
        "pcie-link", "pcie-link/signal-integrity", "gpu-module",
        "read AER counters at both ends of {part} under load, then swap {end} with a neighbour's socket: "
        "follows the module -> GPU side; stays -> riser or PCIe switch",
    ),
    "nic/pcie": Naming(
        "pcie-link", "pcie-link/signal-integrity", "nic",
        "read AER counters at both ends of {part} under load, then swap {end} with a neighbour's slot: "
        "follows the NIC -> NIC; stays -> slot, riser or PCIe switch",
    ),
    "bridge": Naming(
        "pcie-link", "pcie-link/signal-integrity", "riser",
        "read AER counters of the bridges on the way, then move the riser to another root port: "
        "follows -> riser; stays -> board",
    ),
    "gpu": Naming(
        "straggler/gpu", "straggler/gpu", "gpu-module",
        "read clocks and clocks event reasons of {part} under load, then swap it with a neighbour's socket: "
        "the fault follows -> GPU module; it stays -> socket",
    ),
    "numa": Naming(
        "straggler/node", "straggler/node", "cpu-board",
        "measure memory bandwidth of {part} on the host itself: slow there too -> memory or CPU; else -> its PCIe root",
    ),
    "nic": Naming(
        "net-link", "net-link", "nic",
        "probe {part} through another cable and leaf port, then swap it with its neighbour: the fault follows the "
        "NIC -> NIC; it stays with the slot -> PCIe side; it stays with the cable -> cable or port",
    ),
    "cable": Naming(
        "net-link", "net-link", "cable",
        "move {part} to a spare leaf port and probe again: the fault follows -> cable or transceiver; it stays with "
        "the port -> leaf port; neither -> NIC",
    ),
    "leaf": Naming(
        "net-fabric", "net-fabric", "switch",
        "read the error counters of all ports of {part}, then move one NIC of it to another leaf and probe again: "
        "clean there -> the leaf",
    ),
    "spine": Naming(
        "net-fabric", "net-fabric", "switch",
        "read the error counters of all ports of {part}, then route around it and probe again: clean -> the spine",
    ),
    "uplink": Naming(
        "net-link", "net-link", "cable",
        "read the counters at both ends of {part}, then swap its cable with a neighbour's and probe again: "
        "follows -> cable or transceiver; stays -> switch port",
    ),
    "host": Naming(
        "straggler/node", "straggler/node", "cpu-board",
        "look for a job, a power cap or a CPU governor on {part}, then probe again",
    ),
}  # fmt: skip

PERSISTENT_FROM = 0.9
"""A fault that may be on for such a share of the time is not called intermittent."""


def naming(kind: str, part: ComponentId) -> Naming:
    """The words of a kind of part, as `kind_in` names it; a PCIe link goes by the device below it."""
    below = f"{part.parent.kind}/{kind}" if kind == "pcie" else kind
    return NAMINGS.get(below) or NAMINGS.get(kind, _UNNAMED)


def class_of(kind: str, part: ComponentId, duty: tuple[float, float], by: str) -> str:
    """`family/kind` for a part at fault for such a share of the time."""
    words = naming(kind, part)
    lasting = duty[1] >= PERSISTENT_FROM or kind == "pcie"  # its bandwidth says nothing about its signal
    return words.fault_class if by == "bandwidth" and lasting else words.intermittent


def next_test(kind: str, part: ComponentId) -> str:
    """The cheapest test that would separate the part from its alternatives, or confirm it."""
    return naming(kind, part).next.format(part=part, end=part.parent)


def plural(count: int, word: str) -> str:
    """`1 trial`, `3 trials`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def small(probability: float) -> str:
    """`3 %`, `0.2 %`, or `less than 0.1 %`."""
    if probability < 0.001:
        return "less than 0.1 %"
    return f"{probability * 100:.1f} %" if probability < 0.01 else f"{probability * 100:.0f} %"


def times_likelier(nats: float) -> str:
    """What nats add up to: `about 900 times likelier`."""
    if nats >= math.log(1e6):
        return "more than a million times likelier"
    return f"about {float(f'{math.exp(max(nats, 0.0)):.2g}'):,.0f} times likelier"
