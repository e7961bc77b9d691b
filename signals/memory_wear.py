"""What tools and logs say of each GPU's memory over time: rows replaced, errors, at how many separate times.

Rows are counted over the GPU's life; what a first remap and a clean reset leave is ordinary wear. Source: NVIDIA's row
remapping guide; xid.toml (48, 63, 64, 92, 94, 95).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..incident.ids import ComponentId, NodeId, bridge_id
from ..parsers.logs.kernel_log import KernelLine
from ..parsers.logs.xid import Xid
from ..parsers.nvidia_smi.gpu_report import GpuReport
from ..topology.fabric import Fabric
from .readings import Readings, Witness, in_order
from .told_links import reported_gpu

ROW_MARKED = 63
MEMORY_XIDS = frozenset({48, 63, 64, 92, 94, 95})
APART = 60.0
"""Seconds between two log lines from which they are separate events; a burst is one."""


@dataclass(frozen=True, slots=True)
class RowCount:
    """What one report says of replaced rows."""

    rows: int
    """Correctable and uncorrectable together."""
    pending: bool
    failure: bool
    evidence: str
    moment: str


@dataclass(slots=True)
class MemoryWear:
    """One GPU's memory."""

    gpu: ComponentId
    address: str = ""
    counts: list[RowCount] = field(default_factory=list)
    """In the order of their times."""
    marked: list[tuple[float, str]] = field(default_factory=list)
    """Separate times at which a row was marked, with the event."""
    errors: list[tuple[float, str]] = field(default_factory=list)
    """Separate times of any memory error."""
    programs: dict[str, None] = field(default_factory=dict)
    regions: dict[str, None] = field(default_factory=dict)

    @property
    def span(self) -> tuple[int, int] | None:
        """Rows at the first and at the last of several points in time; None where there is one alone."""
        told = [one for one in self.counts if one.moment]
        return (told[0].rows, told[-1].rows) if told and told[0].moment != told[-1].moment else None

    @property
    def growth(self) -> int:
        """Rows gained from the first point in time to the last."""
        return self.span[1] - self.span[0] if self.span else 0

    @property
    def evidence(self) -> tuple[str, ...]:
        """Everything it stands on."""
        return tuple(
            dict.fromkeys([one.evidence for one in self.counts] + [id_ for _, id_ in (*self.marked, *self.errors)])
        )


def memory_wear(readings: Readings, fabric: Fabric) -> Mapping[ComponentId, MemoryWear]:
    """Of every GPU that a report or a log line names."""
    found: dict[ComponentId, MemoryWear] = {}
    for line in in_order(readings.of(KernelLine)):
        if isinstance(line.reading.reading, Xid) and line.reading.reading.code in MEMORY_XIDS:
            _logged(_wear(found, fabric, line.node, line.reading.reading.pci), line)
    anonymous: dict[NodeId, list[Witness[GpuReport]]] = {}
    for told in in_order(readings.of(GpuReport)):
        if told.reading.remapped.uncorrectable is None and told.reading.remapped.correctable is None:
            continue
        gpu = reported_gpu(fabric, told)
        if gpu is None:
            anonymous.setdefault(told.node, []).append(told)
        else:
            wear = found.setdefault(gpu, MemoryWear(gpu, told.reading.bus_address or fabric.bus_address(gpu) or ""))
            wear.counts.append(_count(told))
    for node, reports in anonymous.items():
        _of_the_only_one(node, reports, found)
    for wear in found.values():
        wear.counts.sort(key=lambda one: one.moment)
    return found


def _wear(found: dict[ComponentId, MemoryWear], fabric: Fabric, node: NodeId, address: str) -> MemoryWear:
    gpu = fabric.component_at(node, address) or bridge_id(node, address)
    wear = found.setdefault(gpu, MemoryWear(gpu))
    wear.address = wear.address or address
    return wear


def _logged(wear: MemoryWear, line: Witness[KernelLine]) -> None:
    xid = line.reading.reading
    assert isinstance(xid, Xid)
    at = line.reading.stamp.seconds if line.reading.stamp else float(line.reading.number) * APART * 2
    _separate(wear.errors, at, line.id)
    if xid.code == ROW_MARKED:
        _separate(wear.marked, at, line.id)
    if xid.process:
        wear.programs.setdefault(xid.process)
    if region := _region(xid.text):
        wear.regions.setdefault(region)


def _separate(events: list[tuple[float, str]], at: float, id_: str) -> None:
    if not events or at - events[-1][0] > APART:
        events.append((at, id_))


def _region(text: str) -> str:
    at = text.find("FBPA")
    return text[at : at + 40].strip(" .,)") if at >= 0 else ""


def _count(told: Witness[GpuReport]) -> RowCount:
    rows = told.reading.remapped
    total = (rows.correctable or 0) + (rows.uncorrectable or 0)
    return RowCount(total, bool(rows.pending), bool(rows.failure), told.id, told.output.moment.label)


def _of_the_only_one(
    node: NodeId, reports: Sequence[Witness[GpuReport]], found: Mapping[ComponentId, MemoryWear]
) -> None:
    """Excerpts that name no GPU: where one GPU of the node alone has rows or errors, they can only be its."""
    worn = [
        wear for wear in found.values() if wear.gpu.node == node and (wear.errors or any(c.rows for c in wear.counts))
    ]
    per_moment = {told.output.moment.label: 0 for told in reports}
    for told in reports:
        per_moment[told.output.moment.label] += 1
    if len(worn) == 1 and set(per_moment.values()) == {1}:
        worn[0].counts += [_count(told) for told in reports if _count(told).rows]


def equals_without(found: Mapping[ComponentId, MemoryWear], wear: MemoryWear) -> int:
    """How many other GPUs of the node were read and have no replaced row."""
    others: Iterator[MemoryWear] = (one for one in found.values() if one.gpu.node == wear.gpu.node and one is not wear)
    return sum(bool(one.counts) and not any(count.rows for count in one.counts) for one in others)
