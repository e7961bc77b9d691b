"""What stands in a fabric: the words for groups of parts that have no component id of their own."""

from __future__ import annotations

from dataclasses import dataclass

from ..incident.ids import ComponentId


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
