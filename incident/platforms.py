"""Platforms: how many parts a node has, how they are wired, and what healthy transfers measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from .errors import InputError
from .facts import table


@dataclass(frozen=True, slots=True)
class PcieDevice:
    """A GPU or NIC below a PCIe switch."""

    name: str
    """`gpu3` or `mlx5_4`."""
    port: str
    """Bus address of the switch's downstream port."""
    address: str
    """Bus address of the device itself, `0000:19:00.0`."""


@dataclass(frozen=True, slots=True)
class PcieGroup:
    """One PCIe switch and what hangs below it."""

    numa: int
    chain: tuple[str, ...]
    """Bridges from the root port down to the switch's upstream port."""
    gpus: tuple[PcieDevice, ...]
    nics: tuple[PcieDevice, ...]

    @property
    def devices(self) -> tuple[PcieDevice, ...]:
        """GPUs, then NICs."""
        return self.gpus + self.nics


@dataclass(frozen=True, slots=True)
class Expected:
    """What a healthy part measures, and below what it is called degraded."""

    value: float
    degraded_below: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Platform:
    """One kind of node."""

    key: str
    title: str
    gpus: int
    lanes_per_gpu: int
    lane_gbs: float
    """GB/s of one NVLink in one direction, raw line rate as nvidia-smi shows it."""
    switch_lanes: tuple[int, ...]
    """Lanes of each GPU that end at NVSwitch 0, 1, ...; lanes are numbered through in that order."""
    nvswitches: tuple[str, ...]
    """Bus addresses of the NVSwitches."""
    pcie_generation: int
    pcie_width: int
    nic_gbps: int
    board_watts: int
    memory_gb: int
    groups: tuple[PcieGroup, ...]
    expect: dict[str, Expected]
    """By metric of platforms.toml; of several conditions the first stands. Rates in GB/s unless the unit says Gb/s."""

    def switch_of_lane(self, lane: int) -> int:
        """Index of the NVSwitch a GPU's lane ends at; -1 where the platform has none."""
        for switch, count in enumerate(self.switch_lanes):
            if lane < count:
                return switch
            lane -= count
        return -1

    def group_of(self, device: str) -> PcieGroup:
        """The PCIe switch above `gpu3` or `mlx5_4`."""
        for group in self.groups:
            if any(part.name == device for part in group.devices):
                return group
        raise InputError(f"platform {self.key} has no {device}; it has {', '.join(self.device_names())}")

    def device(self, name: str) -> PcieDevice:
        """The GPU or NIC of that name."""
        return next(part for part in self.group_of(name).devices if part.name == name)

    def device_names(self) -> list[str]:
        """All GPUs and NICs by name."""
        return [part.name for group in self.groups for part in group.devices]


def platform_names() -> list[str]:
    """Platforms whose wiring is known (layouts.toml)."""
    return sorted(name for name in table("layouts") if name != "meta")


@cache
def platform(name: str) -> Platform:
    """The platform of that name; raises InputError with the names there are."""
    layouts = table("layouts")
    if name == "meta" or name not in layouts:
        raise InputError(f"platform {name!r} is not known; known are {', '.join(platform_names())}")
    layout = layouts[name]
    facts = table("platforms")["platform"][layout["platform"]]
    nvlink, pcie = facts["nvlink"]["value"], facts["pcie"]["value"]
    return Platform(
        key=name,
        title=facts["name"],
        gpus=facts["gpus_per_node"]["value"],
        lanes_per_gpu=nvlink["links_per_gpu"],
        lane_gbs=nvlink["gbs_per_link_each_way"],
        switch_lanes=_switch_lanes(facts["nvswitch"]["value"]),
        nvswitches=tuple(layout["nvswitches"]),
        pcie_generation=pcie["generation"],
        pcie_width=pcie["width"],
        nic_gbps=facts["nic"]["value"]["speed_gbps"],
        board_watts=facts["tdp_w"]["value"],
        memory_gb=facts["memory"]["value"],
        groups=tuple(_group(group) for group in layout["group"]),
        expect=_expectations(facts["expect"]),
    )


def _switch_lanes(nvswitch: dict[str, Any]) -> tuple[int, ...]:
    per_pair = nvswitch.get("links_per_gpu_switch_pair", 0)
    if isinstance(per_pair, list):
        return tuple(per_pair)
    return (per_pair,) * int(nvswitch["count"])


def _group(group: dict[str, Any]) -> PcieGroup:
    return PcieGroup(
        numa=group["numa"],
        chain=tuple(group["chain"]),
        gpus=tuple(PcieDevice(f"gpu{g['gpu']}", g["port"], g["address"]) for g in group["gpus"]),
        nics=tuple(PcieDevice(n["nic"], n["port"], n["address"]) for n in group["nics"]),
    )


def _expectations(rows: list[dict[str, Any]]) -> dict[str, Expected]:
    found: dict[str, Expected] = {}
    for row in rows:
        found.setdefault(
            row["metric"], Expected(row["expected"], row["degraded_below"], row["unit"], str(row["source"]))
        )
    return found
