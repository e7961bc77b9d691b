"""What a simulated node is made of: parts, addresses, serial numbers, wiring. Nothing here changes by the second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..incident.platforms import Platform
from .board import Board, board_of
from .board import Gpu as Gpu
from .board import Nic as Nic
from .draws import hexadecimal, uniform

FactValue = str | int | float | bool | None

GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""GT/s of a PCIe generation."""


@dataclass(frozen=True, eq=False)
class Hardware:
    """The parts of one node, and what is written on them."""

    seed: int
    node: str
    index: int
    platform: Platform
    storage_nics: bool

    @cached_property
    def board(self) -> Board:
        """What it has alike with all other nodes of its kind."""
        return board_of(self.platform, self.storage_nics)

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """All GPUs by index."""
        return self.board.gpus

    @property
    def nics(self) -> tuple[Nic, ...]:
        """NICs of the compute network, then the two ports of the storage NIC where the node has one."""
        return self.board.nics

    @property
    def devices(self) -> tuple[Gpu | Nic, ...]:
        """GPUs, then NICs: all that hangs on PCIe."""
        return self.board.devices

    @property
    def bridges(self) -> tuple[str, ...]:
        """Bus addresses of all PCIe bridges, sorted."""
        return self.board.bridges

    def gpu(self, name: str) -> Gpu:
        """The GPU `gpu3`."""
        return self.board.gpu(name)

    def nic(self, name: str) -> Nic:
        """The NIC `mlx5_4`."""
        return self.board.nic(name)

    def gpu_at(self, address: str) -> Gpu | None:
        """The GPU at a bus address, whatever its case; None where there is none."""
        return next((gpu for gpu in self.gpus if gpu.address == address.lower()), None)

    def lanes(self) -> range:
        """Numbers of the lanes of a GPU."""
        return range(self.platform.lanes_per_gpu)

    def switch_port(self, gpu: int, lane: int) -> tuple[int, int]:
        """NVSwitch and port at which a GPU's lane ends."""
        counts = self.platform.switch_lanes
        switch = self.platform.switch_of_lane(lane)
        return switch, gpu * counts[switch] + lane - sum(counts[:switch])

    @cached_property
    def facts(self) -> Mapping[str, Mapping[str, FactValue]]:
        """All facts by path within the node (`""`: the node itself) and key."""
        found: dict[str, Mapping[str, FactValue]] = {}
        for gpu in self.gpus:
            found.update(self._gpu_facts(gpu))
        for number, address in enumerate(self.platform.nvswitches):
            found[f"nvswitch{number}"] = {"bus_address": address}
        for nic in self.nics:
            found[nic.name] = self._nic_facts(nic)
            found[f"{nic.name}/pcie"] = self._link_facts()
        for bridge in self.bridges:
            found[f"pcie/{bridge}"] = self._link_facts()
        return found

    def _gpu_facts(self, gpu: Gpu) -> Iterator[tuple[str, Mapping[str, FactValue]]]:
        yield (
            gpu.name,
            {
                "name": "NVIDIA H100 80GB HBM3",
                "uuid": self.uuid(gpu),
                "serial": self.serial(gpu),
                "part_number": "2G520-0200-000",
                "vbios": "96.00.89.00.01",
                "bus_address": gpu.address,
                "numa": gpu.numa,
                "memory_bytes": 85520809984,
                "mig": False,
                "fabric_state": "completed",
                "pcie_path": "/".join(gpu.path),
            },
        )
        yield f"{gpu.name}/pcie", {"max_generation": self.platform.pcie_generation, **self._link_facts()}
        for lane in self.lanes():
            switch, port = self.switch_port(gpu.index, lane)
            yield (
                f"{gpu.name}/nvlink{lane}",
                {
                    "remote_address": self.platform.nvswitches[switch],
                    "remote_type": "switch",
                    "remote_port": port,
                },
            )

    def _nic_facts(self, nic: Nic) -> Mapping[str, FactValue]:
        return {
            "bus_address": nic.address,
            "numa": nic.numa,
            "firmware": "28.39.1002",
            "board_id": "MT_0000000891" if nic.ethernet else "MT_0000000838",
            "node_guid": self.guid(nic),
            "link_layer": "Ethernet" if nic.ethernet else "InfiniBand",
            "netdev": self.netdev(nic),
            "pcie_path": "/".join(nic.path),
        }

    def _link_facts(self) -> Mapping[str, FactValue]:
        return {"max_speed_gts": GTS[self.platform.pcie_generation], "max_width": self.platform.pcie_width}

    def uuid(self, gpu: Gpu) -> str:
        """`GPU-…` of this very GPU."""
        digits = hexadecimal(32, "uuid", self.seed, self.node, gpu.index)
        return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def serial(self, gpu: Gpu) -> str:
        """Board serial number of this very GPU."""
        return f"165{int(uniform('serial', self.seed, self.node, gpu.index) * 1e10):010d}"

    def guid(self, nic: Nic) -> str:
        """Node GUID of this very NIC, as sysfs prints it."""
        digits = "a088c203" + hexadecimal(8, "guid", self.seed, self.node, nic.name)
        return ":".join(digits[at : at + 4] for at in range(0, 16, 4))

    def netdev(self, nic: Nic) -> str:
        """Name of its network interface."""
        if nic.ethernet:
            return f"enp{int(nic.address[5:7], 16)}s0f{nic.address[-1]}np{nic.address[-1]}"
        return f"ib{nic.name.removeprefix('mlx5_')}"
