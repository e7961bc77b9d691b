"""The GPUs as nvidia-smi sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...hardware import Gpu
from ..machine import Machine

GPU_LOST_STATUS = 15
"""Exit status of nvidia-smi when a GPU is off the bus."""


@dataclass(frozen=True)
class Board:
    """One GPU."""

    machine: Machine
    gpu: Gpu

    @property
    def lost(self) -> bool:
        """Whether it is off the bus."""
        return self.machine.reading(self.gpu.name, "nvml_error") > 0

    @property
    def bus(self) -> str:
        """As nvidia-smi writes it: `00000000:19:00.0`."""
        return f"0000{self.gpu.address}".upper()

    @property
    def heading(self) -> str:
        """`GPU 0: NVIDIA … (UUID: …)`."""
        return f"GPU {self.gpu.index}: {self.fact('name')} (UUID: {self.fact('uuid')})"

    @property
    def complaint(self) -> str:
        """What nvidia-smi says of a GPU that is off the bus."""
        where = f"GPU{self.gpu.address.upper()}"
        return f"Unable to determine the device handle for {where}: GPU is lost.  Reboot the system to recover this GPU"

    def fact(self, key: str, part: str = "") -> Any:
        """What is written on it."""
        return self.machine.facts[self.gpu.name + part][key]

    def value(self, field: str, part: str = "") -> float:
        """A reading, NaN where there is none."""
        return self.machine.reading(self.gpu.name + part, field)

    def whole(self, field: str, part: str = "") -> str:
        """A reading as a whole number, `[N/A]` where there is none."""
        value = self.value(field, part)
        return "[N/A]" if math.isnan(value) else f"{value:.0f}"

    @property
    def memory_mib(self) -> int:
        """Memory in MiB, as nvidia-smi counts it."""
        return int(self.fact("memory_bytes")) >> 20


def boards(machine: Machine) -> list[Board]:
    """All GPUs in nvidia-smi's order."""
    return [Board(machine, gpu) for gpu in machine.hardware.gpus]


def chosen(machine: Machine, which: str | None) -> list[Board]:
    """The GPUs of `-i`: indices, bus ids or UUIDs, separated by commas; all without it. Raises LookupError."""
    every = boards(machine)
    if which is None:
        return every
    return [_board(every, name.strip()) for name in which.split(",")]


def _board(every: list[Board], name: str) -> Board:
    for board in every:
        if name in (str(board.gpu.index), board.fact("uuid")) or name.lower() in (board.bus.lower(), board.gpu.address):
            return board
    raise LookupError(name)


def first_lost(machine: Machine) -> Board | None:
    """The first GPU that is off the bus: of a node with one, most of nvidia-smi says nothing but that."""
    return next((board for board in boards(machine) if board.lost), None)
