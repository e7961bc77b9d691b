"""What all nodes of one kind have alike: GPUs, NICs and bridges, where they sit and how they are wired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..incident.platforms import PcieDevice, PcieGroup, Platform

STORAGE_CHAIN = ("0000:26:01.0",)
STORAGE_ADDRESSES = ("0000:27:00.0", "0000:27:00.1")


@dataclass(frozen=True)
class Nic:
    """A port of a NIC."""

    name: str
    address: str
    numa: int
    path: tuple[str, ...]
    """Bridges from the root port down to the one above it."""
    ethernet: bool
    gbps: int
    disabled: bool
    """Nothing is plugged into this port and an administrator has switched it off: by design."""


@dataclass(frozen=True)
class Gpu:
    """A GPU."""

    index: int
    name: str
    address: str
    numa: int
    path: tuple[str, ...]

    @property
    def short_address(self) -> str:
        """As the driver prints it in Xid lines: `0000:19:00`."""
        return self.address.rpartition(".")[0]


@dataclass(frozen=True, eq=False)
class Board:
    """The parts of a node of a platform, with or without NICs for storage."""

    platform: Platform
    storage_nics: bool

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """All GPUs by index."""
        found = [
            Gpu(int(part.name.removeprefix("gpu")), part.name, part.address, group.numa, (*group.chain, part.port))
            for group, part in self._devices("gpus")
        ]
        return tuple(sorted(found, key=lambda gpu: gpu.index))

    @cached_property
    def compute_nics(self) -> tuple[Nic, ...]:
        """NICs of the compute network: NIC k is on rail k."""
        return tuple(
            Nic(part.name, part.address, group.numa, (*group.chain, part.port), False, self.platform.nic_gbps, False)
            for group, part in self._devices("nics")
        )

    @cached_property
    def nics(self) -> tuple[Nic, ...]:
        """NICs of the compute network, then the two ports of the storage NIC where the node has one."""
        taken = [nic.name for nic in self.compute_nics]
        return self.compute_nics + (self._storage(taken) if self.storage_nics else ())

    @cached_property
    def devices(self) -> tuple[Gpu | Nic, ...]:
        """GPUs, then NICs: all that hangs on PCIe."""
        return (*self.gpus, *self.nics)

    @cached_property
    def bridges(self) -> tuple[str, ...]:
        """Bus addresses of all PCIe bridges, sorted."""
        return tuple(sorted({bridge for part in self.devices for bridge in part.path}))

    @cached_property
    def narrow(self) -> frozenset[str]:
        """Parts where transfers that meet halve each other: GPUs, NICs, PCIe bridges above several.

        The links and cables of a single device carry no more than the device. Sockets and NVSwitches have room.
        """
        shared = (f"pcie/{bridge}" for device in self.devices for bridge in device.path[:-1])
        return frozenset((*(device.name for device in self.devices), *shared))

    def gpu(self, name: str) -> Gpu:
        """The GPU `gpu3`."""
        return self.gpus[int(name.removeprefix("gpu"))]

    def nic(self, name: str) -> Nic:
        """The NIC `mlx5_4`."""
        return next(nic for nic in self.nics if nic.name == name)

    def rail(self, nic: Nic) -> int:
        """The rail a NIC of the compute network is on."""
        return self._rails[nic.name]

    def nic_beside(self, gpu: Gpu) -> Nic:
        """The NIC below the same PCIe switch, of several the one with the GPU's place among its fellows."""
        return self._beside[gpu.name]

    @cached_property
    def _rails(self) -> dict[str, int]:
        return {nic.name: rail for rail, nic in enumerate(self.compute_nics)}

    @cached_property
    def _beside(self) -> dict[str, Nic]:
        found = {}
        for gpu in self.gpus:
            fellows = [other for other in self.gpus if other.path[:-1] == gpu.path[:-1]]
            nics = [nic for nic in self.compute_nics if nic.path[:-1] == gpu.path[:-1]]
            found[gpu.name] = nics[fellows.index(gpu) % len(nics)]
        return found

    def _devices(self, kind: str) -> Iterator[tuple[PcieGroup, PcieDevice]]:
        for group in self.platform.groups:
            for part in group.gpus if kind == "gpus" else group.nics:
                yield group, part

    def _storage(self, taken: list[str]) -> tuple[Nic, ...]:
        free = [f"mlx5_{number}" for number in range(32) if f"mlx5_{number}" not in taken]
        return tuple(
            Nic(name, address, 0, STORAGE_CHAIN, True, 200, disabled)
            for name, address, disabled in zip(free[:2], STORAGE_ADDRESSES, (False, True), strict=True)
        )


def board_of(platform: Platform, storage_nics: bool) -> Board:
    """The board of a platform, the same one for all its nodes."""
    key = (platform.key, storage_nics)
    known = _BOARDS.get(key)
    if known is None or known.platform is not platform:
        known = _BOARDS[key] = Board(platform, storage_nics)
    return known


_BOARDS: dict[tuple[str, bool], Board] = {}
