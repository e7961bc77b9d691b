"""What stands in a fabric: the words for groups of parts that have no component id of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..incident.ids import ComponentId
from .claims import Source


@dataclass(frozen=True, slots=True)
class PcieSwitch:
    """One PCIe switch (or the root port, where there is none) and the devices right below it."""

    id: ComponentId | None
    """Its upstream port, or the root port; None gathers the devices whose PCIe path is not known."""
    numa: int | None
    """None where not known or where devices disagree."""
    gpus: tuple[ComponentId, ...]
    nics: tuple[ComponentId, ...]

    @property
    def devices(self) -> tuple[ComponentId, ...]:
        """GPUs, then NICs."""
        return self.gpus + self.nics


@dataclass(frozen=True, slots=True)
class FarEnd:
    """What a lane is wired to."""

    part: ComponentId
    """An NVSwitch, or another GPU."""
    port: ComponentId | None
    """The port of the NVSwitch, or the lane of the other GPU; None where the node doesn't say."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """One link as it is and as it can be. What nobody says is None, and `state` then reads `unknown`."""

    component: ComponentId
    kind: str
    """`pcie`, `nvlink`, `c2c`, `cable` or `uplink`."""
    speed: float | None = None
    max_speed: float | None = None
    width: int | None = None
    """Lanes of a PCIe link or a cable; ports that are up of an uplink."""
    max_width: int | None = None
    unit: str = ""
    """GT/s a lane (PCIe), GB/s in one direction (NVLink, C2C), Gb/s (cable, uplink)."""
    state: str = "unknown"
    """`up`, `down` or `unknown`."""
    said: Mapping[str, Source] = field(default_factory=dict)
    """Who said what, by the names of these fields."""
