"""Reading what the ranks of the node program `nccl` answer: windows of the slowest rank, counters of all.

The answers come from nodes: any value may be missing or of the wrong kind. Such a line is not used, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.findings import CounterMove
from ..incident.ids import ComponentId, lane_id
from ..incident.source import TaskOutput
from ..topology.fabric import Fabric, canonical_address
from .answers import driver_in_words, first_of, mappings, number, word
from .copies import COUNTERS, FEWEST_WINDOWS, MOST_WINDOWS
from .nccl_tasks import PROGRAM
from .probe import Measured

LONGEST_WORD = 48
MOST_COUNTERS = 64
"""Of one part."""


class Carrier(StrEnum):
    """What has to carry a trial's data for it to be a measurement, as NCCL's log calls it."""

    ANY = ""
    P2P = "P2P"
    NET = "NET"
    NOT_P2P = "SHM or NET"


@dataclass(slots=True)
class _Rank:
    """What one rank said."""

    gpu: ComponentId
    head: Mapping[str, Any] = field(default_factory=dict)
    rates: dict[int, float] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    bad: int = 0
    rows: list[Mapping[str, Any]] = field(default_factory=list)


def read_ranks(
    outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric, counted: Sequence[ComponentId], carrier: Carrier
) -> Measured:
    """Windows and counter moves of a trial; raises Unparsable when too few windows can be used, or when something else
    than `carrier` carried the data."""
    ranks = [_read(output, gpu) for output, gpu in zip(outputs, trial.targets, strict=False)]
    ways = _ways(ranks)
    _check_carrier(trial, carrier, ways)
    if carrier is Carrier.NET:
        _check_nics(trial, ranks, counted)
    common = set.intersection(*(set(rank.rates) for rank in ranks)) if ranks else set()
    windows = tuple(min(rank.rates[window] for rank in ranks) for window in sorted(common))
    seen = len(set().union(*(rank.rates.keys() | rank.late for rank in ranks)))
    if len(windows) < FEWEST_WINDOWS or len(ranks) < len(trial.targets):
        raise Unparsable(
            f"{trial.id} on {', '.join(trial.nodes)} gave {len(windows)} windows of {seen} that all "
            f"{len(trial.targets)} ranks can use, and {FEWEST_WINDOWS} are needed; run it again on quieter nodes"
        )
    moves = tuple(move for rank in ranks for move in _moves(rank, fabric, frozenset(counted)))
    return Measured(windows, _once(moves), _measured_by(ranks, len(windows), seen), detail=_detail(ranks, ways))


def uses_nvls(outputs: Sequence[TaskOutput]) -> bool:
    """Whether NVSwitches reduced the data."""
    return any(first_of(mappings(output.lines), "head").get("nvls") == "used" for output in outputs)


def _read(output: TaskOutput, gpu: ComponentId) -> _Rank:
    rank = _Rank(gpu, first_of(mappings(output.lines), "head"))
    for line in mappings(output.lines):
        if "w" in line:
            _take_window(rank, line)
        rows = line.get("counters")
        if isinstance(rows, list | tuple):
            rank.rows += [row for row in rows if isinstance(row, Mapping)]
    return rank


def _take_window(rank: _Rank, line: Mapping[str, Any]) -> None:
    window, rate = line["w"], number(line.get("gbps"))
    if type(window) is not int or not 0 <= window < MOST_WINDOWS or window in rank.rates or not rate > 0:
        rank.bad += 1
    elif line.get("late"):
        rank.late.add(window)
    else:
        rank.rates[window] = rate


def _ways(ranks: Sequence[_Rank]) -> tuple[str, ...]:
    """The transports in NCCL's words, `NET/IB/0/GDRDMA`; empty where its log did not say."""
    said = [rank.head.get("via") for rank in ranks]
    words = [_word(way) for ways in said if isinstance(ways, Mapping) for way in ways]
    return tuple(dict.fromkeys(word for word in words if word))


def _check_carrier(trial: Trial, carrier: Carrier, ways: Sequence[str]) -> None:
    """Raise Unparsable when another transport carried data than the trial is about."""
    wrong = [way for way in ways if not _fits(way, carrier)]
    if not wrong:
        return
    where = f"{trial.id} between {_names(trial)} went by {', '.join(wrong[:4])}"
    if carrier is Carrier.P2P:
        raise Unparsable(f"{where} and not by P2P; look at `nvidia-smi topo -p2p r`, IOMMU and ACS")
    if carrier is Carrier.NET:
        raise Unparsable(
            f"{where} and not by the RDMA NICs; look at `ibstat`, NCCL_IB_HCA and the GID index of the nodes"
        )
    raise Unparsable(f"{where}, which was turned off; look for a NCCL configuration file on the node")


def _fits(way: str, carrier: Carrier) -> bool:
    kind, _, rest = way.partition("/")
    if carrier is Carrier.P2P:
        return kind == "P2P"
    if carrier is Carrier.NET:
        return kind == "NET" and not rest.startswith("Socket")
    return carrier is Carrier.ANY or kind != "P2P"


def _check_nics(trial: Trial, ranks: Sequence[_Rank], counted: Sequence[ComponentId]) -> None:
    """Raise Unparsable when NCCL used another NIC than its GPU's own: the trial's path would be a wrong one."""
    for rank in ranks:
        own = {part.name for part in counted if part.node == rank.gpu.node}
        used = rank.head.get("nics")
        names = [_word(name) for name in used] if isinstance(used, list | tuple) else []
        if strange := [name for name in names if name and name not in own]:
            raise Unparsable(
                f"{trial.id} left {rank.gpu.node} by {', '.join(strange[:4])} and not by "
                f"{', '.join(sorted(own)) or 'a NIC we know'}, so its way is not the one it was to test"
            )


def _moves(rank: _Rank, fabric: Fabric, counted: frozenset[ComponentId]) -> Iterator[CounterMove]:
    """Counters of the parts the trial loaded; anything else the node names is not ours."""
    bus = fabric.bus_address(rank.gpu)
    for row in rank.rows:
        component = _counted_part(row, rank.gpu, bus)
        name = _word(row.get("name"))
        before, after = number(row.get("before")), number(row.get("after"))
        if component not in counted or component is None or not name or not (before >= 0 and after >= 0):
            continue
        if "nic" in row or name in COUNTERS:
            yield CounterMove(component=component, counter=name, before=before, after=after)


def _counted_part(row: Mapping[str, Any], gpu: ComponentId, bus: str | None) -> ComponentId | None:
    """The part a row of the `counters` line is about; None where it is about nothing of this rank's."""
    if nic := _word(row.get("nic")):
        return ComponentId(f"{gpu.node}/{nic}")
    address, lane = row.get("gpu"), row.get("lane")
    if not isinstance(address, str) or canonical_address(address) != bus:
        return None
    if lane is None:
        return gpu / "pcie"
    return lane_id(gpu, lane) if type(lane) is int and 0 <= lane < 64 else None


def _once(moves: Sequence[CounterMove]) -> tuple[CounterMove, ...]:
    """Each counter once, and no more than there can be: two ranks of a node may read the same NIC."""
    kept: dict[ComponentId, dict[str, CounterMove]] = {}
    for move in moves:
        mine = kept.setdefault(move.component, {})
        if len(mine) < MOST_COUNTERS:
            mine.setdefault(move.counter, move)
    return tuple(move for mine in kept.values() for move in mine.values())


def _measured_by(ranks: Sequence[_Rank], used: int, seen: int) -> str:
    """`nccl 2.27.7, CUDA driver 13.0`, and how many windows were left out."""
    head = ranks[0].head
    library = head.get("nccl")
    version = _word(library.get("version")) if isinstance(library, Mapping) else ""
    said = f"{PROGRAM} {version}".strip() + driver_in_words(head)
    late, bad = len(set().union(*(rank.late for rank in ranks))), sum(rank.bad for rank in ranks)
    if used < seen or bad:
        said += f"; {used} of {seen} windows used: {late} began late on some rank, {bad} unreadable"
    return said


def _detail(ranks: Sequence[_Rank], ways: Sequence[str]) -> str:
    """`By NET/IB/0/GDRDMA, NICs mlx5_3 and mlx5_4`; that GPUDirect RDMA was not used is worth a word."""
    if not ways:
        return "NCCL's log did not say by which transport."
    said = f"By {', '.join(ways[:4])}"
    lists = [rank.head.get("nics") for rank in ranks]
    nics = [_word(name) for names in lists if isinstance(names, list | tuple) for name in names]
    if nics:
        said += f", NICs {', '.join(dict.fromkeys(name for name in nics[:16] if name))}"
    if any(rank.head.get("nvls") == "used" for rank in ranks):
        said += ", NVLS in use"
    if any(way.startswith("NET/IB") and "GDRDMA" not in way for way in ways):
        said += "; without GPUDirect RDMA, so the data crossed host memory: look at nvidia_peermem and DMA-BUF"
    return said + "."


def _names(trial: Trial) -> str:
    return " and ".join(trial.targets) if len(trial.targets) < 4 else f"{len(trial.targets)} GPUs"


def _word(value: object) -> str:
    return word(value, LONGEST_WORD)
