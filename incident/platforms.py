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

    @property
    def index(self) -> int:
        """3 of `gpu3`."""
        return int(self.name.removeprefix("gpu"))


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
class Model:
    """How the GPUs of a platform call themselves."""

    words: frozenset[str]
    without: frozenset[str]

    def is_of(self, name: str) -> bool:
        """Whether `NVIDIA H100 80GB HBM3` is such a GPU."""
        said = set(name.lower().replace("-", " ").split())
        return bool(self.words) and self.words <= said and not self.without & said


@dataclass(frozen=True, slots=True)
class Platform:
    """One kind of node. Counts are always known; `groups` and bus addresses only where a layout is."""

    key: str
    title: str
    gpus: int
    """In one node; a board that stands in any number counts one, see `gpus_most`."""
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
    model: Model = Model(frozenset(), frozenset())
    gpus_most: int = 0
    """The most GPUs that a node of this kind can have."""
    nics: int = 0
    """For the compute network."""
    sockets: int = 0
    """Grace CPUs with GPUs on C2C; 0 where GPUs hang on PCIe and the data sheet leaves the sockets open."""
    c2c_gbs: float = 0.0
    """GB/s of NVLink-C2C in one direction; 0 where there is none."""
    trays: int = 1
    """Nodes that are one NVLink domain."""
    switch_trays: int = 0
    """Trays the NVSwitches of such a domain stand in; 0 where each node has its own."""

    @property
    def has_layout(self) -> bool:
        """Whether it is known which bridges are above its devices."""
        return bool(self.groups)

    def is_model(self, name: str) -> bool:
        """Whether a GPU of this name, as nvidia-smi prints it, belongs to this platform."""
        return self.model.is_of(name)

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
def all_platform_names() -> tuple[str, ...]:
    """Those, then the platforms and boards of which only counts are known."""
    names = [*platform_names(), *table("platforms")["platform"], *table("boards")["board"]]
    return tuple(dict.fromkeys(names))


@cache
def all_platforms() -> tuple[Platform, ...]:
    """Every platform there is data for."""
    return tuple(platform(name) for name in all_platform_names())


@cache
def platform(name: str) -> Platform:
    """The platform of that name; raises InputError with the names there are."""
    if name in all_platform_names():
        layout = table("layouts").get(name, {})
        sheet = layout.get("platform", name)
        if sheet in table("platforms")["platform"]:
            return _of_sheet(name, sheet, layout)
        return _of_board(name, table("boards")["board"][name])
    raise InputError(f"platform {name!r} is not known; known are {', '.join(all_platform_names())}")


def _of_sheet(name: str, sheet: str, layout: dict[str, Any]) -> Platform:
    """A platform with a page in platforms.toml."""
    facts = table("platforms")["platform"][sheet]
    model = table("boards")["models"][sheet]
    nvlink, pcie, nvswitch = (facts[key]["value"] for key in ("nvlink", "pcie", "nvswitch"))
    nic = facts.get("nic", {}).get("value", {})
    gpus = facts["gpus_per_node"]["value"]
    c2c = facts.get("c2c", {}).get("value", {}).get("gbs_each_way_spec", 0.0)
    return Platform(
        key=name,
        title=facts["name"],
        gpus=gpus,
        lanes_per_gpu=nvlink["links_per_gpu"],
        lane_gbs=nvlink["gbs_per_link_each_way"],
        switch_lanes=_switch_lanes(nvswitch),
        nvswitches=tuple(layout.get("nvswitches", ())),
        pcie_generation=pcie["generation"],
        pcie_width=pcie["width"],
        nic_gbps=nic.get("speed_gbps", 0),
        board_watts=facts["tdp_w"]["value"],
        memory_gb=_memory(facts["memory"]),
        groups=tuple(_group(group) for group in layout.get("group", ())),
        expect=_expectations(facts["expect"]),
        model=_model(model),
        gpus_most=model.get("gpus_most", gpus),
        nics=nic.get("count", 0),
        sockets=facts.get("grace_cpus_per_node", {}).get("value", 1 if c2c else 0),
        c2c_gbs=c2c,
        trays=facts["gpus_per_node"].get("trays_per_rack", 1),
        switch_trays=nvswitch.get("trays", 0),
    )


def _of_board(name: str, facts: dict[str, Any]) -> Platform:
    """A board that boards.toml says the little about that is known."""
    gpus = facts.get("gpus", 1)
    return Platform(
        key=name,
        title=facts["name"],
        gpus=gpus,
        lanes_per_gpu=facts.get("links_per_gpu", 0),
        lane_gbs=facts.get("link_gbs", 0.0),
        switch_lanes=(),
        nvswitches=(),
        pcie_generation=facts["pcie"]["generation"],
        pcie_width=facts["pcie"]["width"],
        nic_gbps=0,
        board_watts=facts["tdp_w"],
        memory_gb=facts["memory_gb"],
        groups=(),
        expect={},
        model=_model(facts),
        gpus_most=facts.get("gpus_most", gpus),
    )


def _model(said: dict[str, Any]) -> Model:
    return Model(frozenset(said["words"]), frozenset(said.get("without", ())))


def _memory(memory: dict[str, Any]) -> int:
    """GB of the largest variant."""
    value = memory["value"]
    if isinstance(value, dict):
        return int(max(value["variants_gb"]))
    return int(memory.get("marketing_gb", value))


def _switch_lanes(nvswitch: dict[str, Any]) -> tuple[int, ...]:
    """Lanes of a GPU to each NVSwitch it reaches; those of a rack count as those of the node."""
    per_pair = nvswitch.get("links_per_gpu_switch_pair", 0)
    if isinstance(per_pair, list):
        return tuple(per_pair)
    return (per_pair,) * int(nvswitch.get("chips", nvswitch.get("count", 0)))


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
