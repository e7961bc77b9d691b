"""What the suspects screen shows: belief on the map of parts, ranked suspects, and the round that comes next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...incident.events import BeliefUpdated, RoundPlanned, VerdictReached
from ...incident.findings import Suspect
from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import Snapshot
from ...topology.fabric import Fabric
from ..session_like import InvestigationLike
from .trials import TrialLine, trial_lines, why_unmeasured
from .words import label, place, plural, spoken

SHOWN_FROM = 0.005
"""Belief below this is a dot on the map."""

FAMILIES = {
    "gpu": "GPU", "hbm": "GPU", "nvlink": "NVLink", "nvswitch": "NVSW", "port": "NVSW", "pcie": "PCIe",
    "bridge": "PCIe", "numa": "host", "host": "host", "nic": "NIC", "cable": "NIC",
}  # fmt: skip
_WORDS = {
    "gpu": "GPU", "hbm": "GPU memory", "nvlink": "NVLink lane", "nvswitch": "NVSwitch", "port": "NVSwitch port",
    "pcie": "PCIe link", "bridge": "PCIe bridge", "numa": "socket", "host": "host", "nic": "NIC", "cable": "cable",
}  # fmt: skip


@dataclass(frozen=True)
class SuspectRow:
    """One class of parts that no probe tells apart."""

    component: ComponentId
    name: str
    kinds: str
    """What it could be: `NVLink lane | NVSwitch port`."""
    posterior: float
    bad: int
    clean: int
    nats: float
    strikes: int
    history: tuple[float, ...]
    """Its posterior after each round; 0 where it was too small to be kept."""
    members: int


@dataclass(frozen=True)
class Block:
    """Columns of the map: one family of parts, one column an index."""

    family: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class ProbeGroup:
    """Trials of one kind in a round, on one node."""

    count: int
    probe: str
    node: NodeId
    targets: str
    seconds: float


@dataclass(frozen=True)
class NextRound:
    """The round proposed, running, or planned last."""

    number: int
    seconds: float
    gain: float
    reason: str
    groups: tuple[ProbeGroup, ...]

    @property
    def trials(self) -> int:
        """How many run at once."""
        return sum(group.count for group in self.groups)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """Nodes it touches."""
        return tuple(dict.fromkeys(group.node for group in self.groups))


@dataclass(frozen=True)
class SuspectsView:
    """The whole screen."""

    state: str
    """Of the investigation; empty before the first."""
    error: str
    nodes: tuple[NodeId, ...]
    """Rows of the map, the most believed first where not all fit."""
    blocks: tuple[Block, ...]
    belief_at: dict[tuple[NodeId, str, int], float]
    """Belief by node, family and index."""
    convicted: frozenset[tuple[NodeId, str, int]]
    suspects: tuple[SuspectRow, ...]
    belief: BeliefUpdated | None
    nothing: tuple[float, ...]
    """Belief that nothing is wrong, by round."""
    next: NextRound | None
    verdict: VerdictReached | None
    trials: tuple[TrialLine, ...]
    """Ended ones, those in which something happened first, then the newest."""
    unmeasured: str
    """Why the last round measured nothing; empty where some of its trials did."""


def suspects_view(snapshot: Snapshot, fabric: Fabric, investigation: InvestigationLike | None) -> SuspectsView:
    """The localization as of a snapshot."""
    belief = snapshot.belief
    suspects = belief.suspects if belief else ()
    touched = _nodes(snapshot, fabric, suspects)
    at = _belief_at(fabric, suspects)
    verdict = snapshot.verdict
    convicted = [verdict.component for verdict in verdict.verdicts] if verdict else []
    proposal = investigation.proposal if investigation else None
    planned = proposal or (snapshot.rounds[-1] if snapshot.rounds else None)
    return SuspectsView(
        investigation.state if investigation else "",
        spoken(investigation.error) if investigation else "",
        touched,
        _blocks(fabric, touched, at),
        at,
        frozenset(cell for part in convicted if (cell := cell_of(fabric, part))),
        tuple(_row(suspect, snapshot.beliefs) for suspect in suspects),
        belief,
        tuple(update.no_fault for _, update in snapshot.beliefs),
        _next(planned) if planned else None,
        verdict,
        trial_lines(snapshot),
        why_unmeasured(snapshot),
    )


def cell_of(fabric: Fabric, part: ComponentId) -> tuple[NodeId, str, int] | None:
    """Where a part stands on the map: node, family, column. A PCIe part stands at the first device below it."""
    family = FAMILIES.get(part.kind)
    if family is None:
        return None
    if family in ("GPU", "NVLink"):
        owner = part if part.kind == "gpu" else part.parent
        return part.node, family, owner.number
    if family == "NVSW":
        return part.node, family, (part if part.kind == "nvswitch" else part.parent).number
    if family == "PCIe":
        device = _device_below(fabric, part)
        return (part.node, family, device.number) if device is not None and device.kind == "gpu" else _nic_cell(device)
    return part.node, family, max(0, part.number) if family == "NIC" or part.kind == "numa" else 0


def _nic_cell(device: ComponentId | None) -> tuple[NodeId, str, int] | None:
    return None if device is None else (device.node, "NIC", device.number)


def _device_below(fabric: Fabric, part: ComponentId) -> ComponentId | None:
    if part.kind == "pcie":
        return part.parent
    devices = (*fabric.gpus(part.node), *fabric.nics(part.node))
    return next((device for device in devices if part in fabric.chain(device)), None)


def _belief_at(fabric: Fabric, suspects: Iterable[Suspect]) -> dict[tuple[NodeId, str, int], float]:
    """Each class counts once, where the part that stands for it is: the map adds up to the belief."""
    found: dict[tuple[NodeId, str, int], float] = {}
    for suspect in suspects:
        cell = cell_of(fabric, suspect.component)
        if cell is not None:
            found[cell] = found.get(cell, 0.0) + suspect.posterior
    return found


def _nodes(snapshot: Snapshot, fabric: Fabric, suspects: Iterable[Suspect]) -> tuple[NodeId, ...]:
    probed = {trial.node for plan in snapshot.rounds for trial in plan.trials}
    probed |= {suspect.component.node for suspect in suspects}
    return tuple(node for node in fabric.nodes if node in probed) or fabric.nodes


def _blocks(fabric: Fabric, nodes: Iterable[NodeId], at: dict[tuple[NodeId, str, int], float]) -> tuple[Block, ...]:
    """Families that can be at fault here; NICs only where one is among the hypotheses."""
    shown = list(nodes)
    gpus = sorted({gpu.number for node in shown for gpu in fabric.gpus(node)})
    switches = sorted({switch.number for node in shown for switch in fabric.nvswitches(node)})
    nics = sorted({index for _, family, index in at if family == "NIC"})
    sockets = sorted({index for _, family, index in at if family == "host"})
    lanes = gpus if any(fabric.lanes(gpu) for node in shown for gpu in fabric.gpus(node)) else []
    candidates = (
        ("GPU", gpus),
        ("NVLink", lanes),
        ("NVSW", switches),
        ("PCIe", gpus),
        ("NIC", nics),
        ("host", sockets),
    )
    return tuple(Block(family, tuple(columns)) for family, columns in candidates if columns)


def _row(suspect: Suspect, beliefs: tuple[tuple[str, BeliefUpdated], ...]) -> SuspectRow:
    kinds = dict.fromkeys(_WORDS.get(part.kind, part.kind) for part in (suspect.component, *suspect.members))
    history = tuple(
        next((other.posterior for other in update.suspects if other.component == suspect.component), 0.0)
        for _, update in beliefs
    )
    return SuspectRow(
        suspect.component, place(suspect.component), " | ".join(kinds), suspect.posterior, suspect.bad, suspect.clean,
        suspect.nats, suspect.strikes, history, len({suspect.component, *suspect.members}),
    )  # fmt: skip


def next_round(plan: RoundPlanned) -> NextRound:
    """A planned round, its trials grouped by node and probe."""
    return _next(plan)


def _next(plan: RoundPlanned) -> NextRound:
    groups: dict[tuple[NodeId, str], list[tuple[ComponentId, ...]]] = {}
    for trial in plan.trials:
        groups.setdefault((trial.node, trial.probe), []).append(trial.targets)
    cost = {(trial.node, trial.probe): trial.seconds for trial in plan.trials}
    return NextRound(
        plan.round,
        plan.seconds,
        plan.gain,
        spoken(plan.reason),
        tuple(
            ProbeGroup(len(targets), probe, node, "  ".join(_targets(each) for each in targets), cost[node, probe])
            for (node, probe), targets in groups.items()
        ),
    )


def _targets(parts: tuple[ComponentId, ...]) -> str:
    return "→".join(label(part) for part in parts)


def alternatives_words(parts: Iterable[ComponentId]) -> str:
    """The parts no probe separates: alike ones are counted rather than listed."""
    by_kind: dict[str, list[ComponentId]] = {}
    for part in parts:
        by_kind.setdefault(part.kind, []).append(part)
    pieces = [
        place(some[0]) if len(some) == 1 else f"{plural(len(some), _WORDS.get(kind, kind))} ({label(some[0])} …)"
        for kind, some in by_kind.items()
    ]
    return ", ".join(pieces)


def kind_words(part: ComponentId) -> str:
    """What sort of part, in words."""
    return _WORDS.get(part.kind, part.kind)
