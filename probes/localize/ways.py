"""What the trials of a search cross, as numbers of components."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...incident.ids import ComponentId
from ...topology.compiled import Arrays, CompiledFabric
from ...topology.fabric import Fabric
from ..probe import Aim, Probe, Targets

BETWEEN_ITS_TARGETS = (Aim.PAIR, Aim.ACROSS)
"""A searching probe of such an aim crosses what `topology.paths.path` says between its two targets."""


class Ways:
    """Numbers components as they are met; every way once."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.compiled = CompiledFabric(fabric)

    @property
    def components(self) -> list[ComponentId]:
        """By number; grows."""
        return self.compiled.components

    def of(self, probe: Probe, targets: Targets) -> Arrays:
        """Numbers of the components a trial crosses, and the share of its traffic each carries."""
        if probe.aim in BETWEEN_ITS_TARGETS:
            return self.compiled.path(*targets)
        return self._arrays((crossing.component, crossing.share) for crossing in probe.exercises(self.fabric, targets))

    def _arrays(self, rows: Iterable[tuple[ComponentId, float]]) -> Arrays:
        numbered = [(self.compiled.number(part), share) for part, share in rows]
        return np.array([at for at, _ in numbered], dtype=np.int32), np.array([share for _, share in numbered])
