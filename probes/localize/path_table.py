"""The paths that trials can take: those within a node all at once, those across nodes as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...incident.ids import ComponentId, NodeId

Ints = npt.NDArray[np.int64]
Targets = tuple[ComponentId, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ProbePath:
    """One target of one probe."""

    index: int
    """Its place in the table."""
    probe: str
    node: NodeId
    targets: Targets
    seconds: float
    expected: float
    """GB/s of a healthy one by the data sheet; NaN where nobody says."""
    columns: Ints
    """Each once, ascending."""
    shares: Ints
    """Share code of each column in this path."""
    counted: Ints
    """Parts whose counters are read."""
    peers: int
    """Paths of the same number should measure the same."""
    is_shared: bool
    """Whether other traffic than ours may cross it: sockets, PCIe bridges and the network serve jobs as well."""


@dataclass(slots=True)
class PathTable:
    """Paths by number, and by probe and targets."""

    make: Callable[[int, str, Targets], ProbePath | None]
    """Makes the path of a number that was not asked for before."""
    _rows: list[ProbePath] = field(default_factory=list)
    _by_target: dict[tuple[str, Targets], ProbePath | None] = field(default_factory=dict)

    def find(self, probe: str, targets: Targets) -> ProbePath | None:
        """The path; None for targets that the probe can't be aimed at."""
        key = (probe, targets)
        if key not in self._by_target:
            found = self._by_target[key] = self.make(len(self._rows), probe, targets)
            if found is not None:
                self._rows.append(found)
        return self._by_target[key]

    def add(self, path: ProbePath) -> None:
        """Take in a path that is known already; its index must be the next."""
        self._rows.append(path)
        self._by_target[path.probe, path.targets] = path

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> ProbePath:
        return self._rows[index]

    def __iter__(self) -> Iterator[ProbePath]:
        return iter(self._rows)
