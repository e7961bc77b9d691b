"""Where in a sample's vector things stand, worked out once a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..incident.events import Field
from ..incident.ids import ComponentId
from .identity import cached_by_identity


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """All fields of one name: one value for each of some equal parts."""

    at: npt.NDArray[np.intp]
    """Positions in the vector."""
    components: tuple[ComponentId, ...]


@cached_by_identity(1024)
def by_name(fields: tuple[Field, ...]) -> Mapping[str, Column]:
    """The fields of a schema by their name, in the order of the schema."""
    found: dict[str, list[int]] = {}
    for position, column in enumerate(fields):
        found.setdefault(column.name, []).append(position)
    return {
        name: Column(np.array(at, dtype=np.intp), tuple(fields[position].component for position in at))
        for name, at in found.items()
    }


@cached_by_identity(1024)
def by_component(fields: tuple[Field, ...]) -> Mapping[ComponentId, npt.NDArray[np.intp]]:
    """Positions of all fields of each part."""
    found: dict[ComponentId, list[int]] = {}
    for position, column in enumerate(fields):
        found.setdefault(column.component, []).append(position)
    return {component: np.array(at, dtype=np.intp) for component, at in found.items()}
