"""Red herrings: error counters on innocent parts, left over from the past or still moving now and then."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property

from .draws import generator, uniform
from .hardware import Hardware
from .ledger import Key
from .scenario import Scenario

STILL_MOVING = 0.25
"""Share of the herrings that still step."""

COUNTERS = {
    "nvlink": ("recovery_errors", "replay_errors"),
    "pcie": ("replays", "aer_correctable"),
    "nic": ("symbol_error", "port_rcv_errors"),
}
"""Counters that may be one, by kind of part."""


class Herrings:
    """The red herrings of one node."""

    def __init__(self, scenario: Scenario, hardware: Hardware) -> None:
        self._seed = scenario.seed
        self._world = scenario.world
        self._hardware = hardware

    @cached_property
    def standing(self) -> Mapping[Key, int]:
        """What innocent counters stood at when the world began."""
        return {key: 1 + int(10 ** (4 * self._draw("size", key))) for key in self._innocents()}

    @cached_property
    def moving(self) -> tuple[Key, ...]:
        """Those of them that still step."""
        return tuple(key for key in self.standing if self._draw("moving", key) < STILL_MOVING)

    def steps_until(self, time: float) -> Iterator[tuple[Key, int]]:
        """Steps since the world began, whatever is loaded."""
        per_second = self._world.herring_rate / 60
        for key in self.moving:
            yield key, max(0, math.floor(per_second * time + self._draw("phase", key)))

    def _innocents(self) -> Iterator[Key]:
        parts = list(self._parts())
        drawn = generator("herrings", self._seed, self._hardware.node).random(len(parts))
        for (part, kind), draw in zip(parts, drawn.tolist(), strict=True):
            if draw < self._world.herrings:
                names = COUNTERS[kind]
                yield part, names[int(self._draw("which", (part, kind)) * len(names))]

    def _parts(self) -> Iterator[tuple[str, str]]:
        for gpu in self._hardware.gpus:
            yield f"{gpu.name}/pcie", "pcie"
            for lane in self._hardware.lanes():
                yield f"{gpu.name}/nvlink{lane}", "nvlink"
        for nic in self._hardware.nics:
            yield nic.name, "nic"

    def _draw(self, what: str, key: Key) -> float:
        return uniform("herring", what, self._seed, self._hardware.node, *key)
