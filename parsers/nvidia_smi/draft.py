"""A reading while its values come in, one printed value after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..parsed import SHOWN, Missing
from .gpu_fields import Field, Names, field_called, fields_below
from .gpu_report import GpuProcess, GpuReport, MigDevice
from .gpu_values import (
    BankHistogram,
    Clocks,
    Ecc,
    EccCounts,
    EventReasons,
    EventReasonTimes,
    FabricHealth,
    MemoryUsage,
    Placement,
    Power,
    RemappedRows,
    RetiredPages,
    SramSources,
    Temperatures,
    Utilization,
)
from .printed_value import why_missing

Reading = TypeVar("Reading", GpuReport, MigDevice, GpuProcess)

MOST_OTHERS = 1_000
"""Values with no field of their own that are kept of one reading."""

_PARTS: Mapping[str, type] = {
    "placement": Placement,
    "fabric_health": FabricHealth,
    "event_reasons": EventReasons,
    "event_reason_times": EventReasonTimes,
    "memory": MemoryUsage,
    "bar1": MemoryUsage,
    "utilization": Utilization,
    "ecc.volatile": EccCounts,
    "ecc.aggregate": EccCounts,
    "ecc.sram_sources": SramSources,
    "ecc": Ecc,
    "remapped.histogram": BankHistogram,
    "remapped": RemappedRows,
    "retired": RetiredPages,
    "temperature": Temperatures,
    "power": Power,
    "clocks": Clocks,
    "max_clocks": Clocks,
}
"""What the parts of a report are; a part of a part stands before it."""


@dataclass(slots=True)
class Draft:
    """The values of one GPU, MIG device or process so far."""

    values: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    """By part and field."""
    missing: dict[str, Missing] = field(default_factory=dict)
    other: dict[str, str] = field(default_factory=dict)

    def take(self, names: Names, printed: str, text: str) -> bool:
        """Take the value that the tool printed under a name; False where the text is no such value."""
        found = field_called(names, printed)
        if found:
            return self.put(found, text)
        why = why_missing(text[:SHOWN])
        below = fields_below(names, printed) if why else []
        for one in below:
            self._note_missing(one, why)
        if not below and len(self.other) < MOST_OTHERS:
            self.other[printed[:SHOWN]] = text[:SHOWN]
        return True

    def put(self, where: Field, text: str) -> bool:
        """Read a value into its field; False where the text is neither such a value nor says why there is none."""
        value = where.read(text)
        if value is None:
            why = why_missing(text[:SHOWN])
            self._note_missing(where, why)
            return why is not None
        self.values[where.part][where.leaf] = value
        self.missing.pop(where.name, None)
        return True

    def _note_missing(self, where: Field, why: Missing | None) -> None:
        if why and where.leaf not in self.values[where.part]:
            self.missing[where.name] = why

    def get(self, name: str) -> Any:
        """A value of the reading itself, None where there is none."""
        return self.values[""].get(name)

    def set(self, **values: Any) -> None:
        """Values of the reading itself that are known otherwise than from its own lines."""
        self.values[""].update(values)

    def finished(self, kind: type[Reading]) -> Reading:
        """The reading."""
        own = dict(self.values[""])
        parts = {name: dict(values) for name, values in self.values.items() if name}
        for name, part in _PARTS.items():
            if name in parts:
                above, _, leaf = name.rpartition(".")
                place = parts.setdefault(above, {}) if above else own
                place[leaf] = part(**parts[name])
        return kind(**own, missing=self.missing, other=self.other)
