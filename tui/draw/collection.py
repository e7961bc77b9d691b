"""What a vendor wants to be shown before a part is exchanged, and what of it this case holds already.

Source: what vendors ask for with a ticket (NVIDIA GPU RMA process and GPU Debug Guidelines; sysinfo-snapshot and
mlxlink for the network). What a reset or a reseat erases stands first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...incident.ids import NodeId
from ...incident.snapshot import Snapshot


@dataclass(frozen=True)
class Wanted:
    """One thing to collect."""

    text: str
    argv: tuple[str, ...] = ()
    """The command whose captured output is that thing; empty where a person has to bring it."""


@dataclass(frozen=True)
class Collection:
    """Commands whose outputs the case holds, by node."""

    held: frozenset[tuple[NodeId, tuple[str, ...]]]

    def holds(self, node: NodeId, wanted: Wanted) -> bool:
        """Whether this case has it of that node."""
        return bool(wanted.argv) and (node, wanted.argv) in self.held


_GPU = (
    Wanted("nvidia-bug-report.sh, before any reset"),
    Wanted("nvidia-smi -q: serial, part number, VBIOS, ECC", ("nvidia-smi", "-q")),
    Wanted("kernel log", ("dmesg",)),
    Wanted("NVLink error counters", ("nvidia-smi", "nvlink", "-e")),
    Wanted("DCGM diagnostic, level 3 or 4"),
    Wanted("field diagnostic log: a GPU RMA needs it"),
    Wanted("result of a swap"),
)
_BOARD = (
    *_GPU[:4],
    Wanted("NVLink state", ("nvidia-smi", "nvlink", "-s")),
    Wanted("BMC event log and firmware inventory"),
    Wanted("result of a swap"),
)
_NIC = (
    Wanted("sysinfo-snapshot.py, as root"),
    Wanted("port state", ("ibstat",)),
    Wanted("mlxlink of the port; mstflint q"),
    Wanted("PCIe state", ("lspci", "-vvv")),
    Wanted("kernel log", ("dmesg",)),
    Wanted("serial from the label or VPD"),
    Wanted("result of a swap"),
)
_CABLE = (
    Wanted("mlxlink -m -c -e of both ends, before it is reseated"),
    Wanted("port state", ("ibstat",)),
    Wanted("port counters of the switch"),
    Wanted("photo of the seated connector and its label"),
    Wanted("result of a swap"),
)
_SWITCH = (
    Wanted("tech-support dump of the switch"),
    Wanted("ibdiagnet output, after clearing and traffic"),
    Wanted("inventory with serials, port counters"),
    Wanted("result of routing around it"),
)
_HOST = (
    Wanted("kernel log", ("dmesg",)),
    Wanted("PCIe state", ("lspci", "-vvv")),
    Wanted("BMC event log: power, heat"),
    Wanted("BIOS and BMC versions"),
)
_BY_FRU: Mapping[str, tuple[Wanted, ...]] = {
    "gpu-module": _GPU,
    "baseboard": _BOARD,
    "nvswitch-tray": _BOARD,
    "riser": _BOARD,
    "nic": _NIC,
    "cable": _CABLE,
    "transceiver": _CABLE,
    "switch": _SWITCH,
    "switch-port": _SWITCH,
    "cpu-board": _HOST,
    "power": _HOST,
}


def wanted_for(fru: str) -> tuple[Wanted, ...]:
    """What to collect for an exchangeable unit, what is erased first at the top; empty for one that is no hardware."""
    return _BY_FRU.get(fru, ())


def collection_of(snapshot: Snapshot) -> Collection:
    """The commands that ended well, by node."""
    return Collection(frozenset(_held(snapshot)))


def _held(snapshot: Snapshot) -> Iterable[tuple[NodeId, tuple[str, ...]]]:
    for _, command in snapshot.commands:
        if command.exit_status == 0:
            yield command.node, command.argv
