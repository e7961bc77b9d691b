"""One GPU node as files: its /sys on disk and the rules of its management library, in the formats of the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lanescope.incident.platforms import platform
from lanescope.sim.hardware import Gpu, Hardware
from lanescope.sim.node.sysfs import sysfs
from lanescope.sim.node.tree import File, Link
from lanescope.sim.scenario import Scenario, Surroundings
from lanescope.sim.world import Ledger, World

PLATFORM = "h100_hgx"
QUIET = Surroundings(herrings=0.0, tenants=0.0, clock_skew=0.0)
RULES = {"power_w": "power_mw", "power_limit_w": "power_limit_mw", "energy_j": "energy_mj"}
"""Readings that NVML gives in thousandths."""


class Machine:
    """A healthy node at rest, as the simulator's sysfs writer wants to see one. Readings stand still."""

    def __init__(self, name: str) -> None:
        world = World(Scenario("rig", platform(PLATFORM), (name,), world=QUIET))
        self.hostname = name
        self.hardware: Hardware = world.hardware(name)
        self.facts = world.identity(name)
        self.driver_version = str(self.facts[""]["driver_version"])
        self._readings = world.readings(name, world.began, Ledger())

    def readings(self) -> Mapping[tuple[str, str], float]:
        """All readings by path within the node and name."""
        return self._readings

    def reading(self, part: str, field: str) -> float:
        """One reading."""
        return self._readings[part, field]

    def write_sys(self, root: Path) -> None:
        """Write the whole /sys of the node below `root`."""
        tree = sysfs(self)  # type: ignore[arg-type]
        for path, entry in tree.walk("/sys"):
            target = root / path.removeprefix("/sys/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(entry, File):
                target.write_bytes(entry.read())
            elif isinstance(entry, Link):
                target.symlink_to(entry.to)

    def nvml_rules(self) -> list[str]:
        """What the node's management library answers, in the language of nvml.c."""
        facts = self.facts[""]
        major, minor = str(facts["cuda_driver_version"]).split(".")
        rules = [f"node {key} {facts[key]}" for key in ("driver_version", "nvml_version")]
        rules += [f"node count {len(self.hardware.gpus)}", f"node cuda_driver_version {major}0{minor}0"]
        rules += [f"gpu*/nvlink{lane} {rule}" for lane in self.hardware.lanes() for rule in self._lane_rules(lane)]
        for gpu in self.hardware.gpus:
            rules += [f"{gpu.name} {rule}" for rule in self._gpu_rules(gpu)]
        return rules

    def cuda_rules(self) -> str:
        """Where its GPUs sit, in the language of simulated_libcuda.c."""
        return ";".join(f"at {gpu.address} {gpu.index}" for gpu in self.hardware.gpus)

    def _lane_rules(self, lane: int) -> Iterator[str]:
        facts = self.facts[f"gpu0/nvlink{lane}"]
        yield f"remote_address {facts['remote_address']}"
        yield "remote_type 2"
        for (part, name), value in self._readings.items():
            if part == f"gpu0/nvlink{lane}":
                yield f"{name} {value:.0f}"

    def _gpu_rules(self, gpu: Gpu) -> Iterator[str]:
        facts = self.facts[gpu.name]
        for key in ("name", "uuid", "serial", "part_number", "vbios", "bus_address", "memory_bytes"):
            yield f"{key} {facts[key]}"
        yield from ("mig 0", "fabric_state 3", f"lanes {len(self.hardware.lanes())}")
        link = self.facts[f"{gpu.name}/pcie"]
        yield f"max_generation {link['max_generation']}"
        yield f"max_width {link['max_width']}"
        for (part, name), value in self._readings.items():
            if part in (gpu.name, f"{gpu.name}/hbm", f"{gpu.name}/pcie"):
                yield f"{RULES.get(name, name)} {value * 1000 if name in RULES else value:.0f}"


def replace_text(path: Path, text: str) -> None:
    """Write a file that is read meanwhile: as it was or as it is to be, never a part."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)
