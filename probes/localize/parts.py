"""Hypotheses: every part that the probes of the chosen nodes cross, as arrays.

A *path* is what one trial of one probe crosses. A *column* is how a part stands in all paths: parts of one column look
the same to bandwidth. A *group* is the parts that stand in the same paths, whatever share each carries: the level at
which bandwidth can convict. Parts of one column are told apart by counters alone, and only those that have some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...incident.ids import ComponentId, NodeId
from .path_table import PathTable, ProbePath
from .ways import Ways

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Parts:
    """All hypotheses of an investigation as arrays; a part is an index into `components`."""

    components: tuple[ComponentId, ...]
    index: Mapping[ComponentId, int]
    rate: Floats
    """Prior odds of each part against its like; sums to one."""
    kind: Ints
    """Number of every part's kind: parts of one kind are equals."""
    column: Ints
    group: Ints
    counted: Bools
    """Whether some probe reads counters of the part."""
    twin: Ints
    """Of a NIC its cable and of a cable its NIC, as the counters of the one tell of the other; else the part itself."""
    columns: int
    groups: int
    column_share: Ints
    """Largest share code of each column."""
    column_group: Ints
    column_shared: Bools
    """Columns that only paths cross which others use as well."""
    shares: tuple[float, ...]
    """Share of traffic by share code; code 0 is all of it."""
    paths: PathTable
    untestable: tuple[ComponentId, ...]
    """Parts of the fabric that no probe here crosses."""
    nodes: tuple[NodeId, ...]
    ways: Ways
    """What the paths were drawn from."""

    def find(self, probe: str, targets: tuple[ComponentId, ...]) -> ProbePath | None:
        """The path of a probe's target; None for one that it can't be aimed at."""
        return self.paths.find(probe, targets)

    def members(self, group: int) -> Ints:
        """Parts of a group."""
        return np.flatnonzero(self.group == group)


__all__ = ["Bools", "Floats", "Ints", "Parts", "ProbePath"]
