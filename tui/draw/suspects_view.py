"""What the suspects screen shows: belief on the drawings of parts, ranked suspects, and the round that comes next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...incident.events import BeliefUpdated, RoundPlanned, VerdictReached
from ...incident.findings import Suspect
from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import Snapshot
from ...topology.fabric import Fabric
from ..probe_titles import probe_titles
from ..session_like import InvestigationLike
from .belief_map import FleetHeat, NodeHeat, fleet_heat, node_heat
from .collection import Collection, collection_of
from .matrix_view import Matrix, network_matrix, node_matrix
from .measurements import Measurements
from .progress_view import Progress, progress_of
from .trials import TrialLine, trial_lines, why_unmeasured
from .words import label, place, plural, spoken

_WORDS = {
    "gpu": "GPU", "hbm": "GPU memory", "nvlink": "NVLink lane", "nvswitch": "NVSwitch", "port": "NVSwitch port",
    "pcie": "PCIe link", "bridge": "PCIe bridge", "numa": "socket", "host": "host", "nic": "NIC", "cable": "cable",
    "uplink": "uplink", "node": "network switch",
}  # fmt: skip


HISTORY = 15
"""Rounds whose beliefs are drawn."""


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
    """Its posterior after each of the last rounds; 0 where it was too small to be kept."""
    members: int


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
    meaning: tuple[str, ...] = ()
    """What each outcome would mean, a sentence each."""
    disturbs: str = ""
    """What it takes from others meanwhile, in words."""
    touched: tuple[NodeId, ...] = ()
    """Nodes it runs on, those at the far ends included."""

    @property
    def trials(self) -> int:
        """How many run at once."""
        return sum(group.count for group in self.groups)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """Nodes it touches."""
        return self.touched or tuple(dict.fromkeys(group.node for group in self.groups))


@dataclass(frozen=True)
class SuspectsView:
    """The whole screen."""

    state: str
    """Of the investigation; empty before the first."""
    error: str
    nodes: tuple[NodeId, ...]
    """Those that were probed, or could be."""
    fleet: FleetHeat
    chosen: NodeId | None
    """The node that is drawn part by part."""
    heat: NodeHeat | None
    """Of the chosen node."""
    matrix: Matrix
    """What the trials measured: within the chosen node, or between nodes."""
    progress: Progress
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
    collection: Collection
    """What a vendor wants to be shown, and what of it this case holds."""
    laid_out: int = 0
    """Which of the verdicts is laid out."""


@dataclass(frozen=True)
class Choice:
    """What the operator chose to look at."""

    node: NodeId | None = None
    """None: the node most believed in."""
    network: bool | None = None
    """The matrix between nodes; None: the one that tells of the top suspect."""
    verdict: int = 0
    """Which of several verdicts is laid out."""


def suspects_view(
    snapshot: Snapshot,
    fabric: Fabric,
    investigation: InvestigationLike | None,
    measurements: Measurements | None = None,
    choice: Choice = Choice(),
) -> SuspectsView:
    """The localization as of a snapshot; `measurements` may be one that is kept, so that not all is read again."""
    belief, verdict = snapshot.belief, snapshot.verdict
    suspects = belief.suspects if belief else ()
    told = (measurements or Measurements()).learn(snapshot.trials)
    nodes = _nodes(snapshot, fabric, suspects, told)
    convicted = frozenset(one.component for one in verdict.verdicts) if verdict else frozenset()
    alternatives = frozenset(part for one in verdict.verdicts for part in one.alternatives) if verdict else frozenset()
    fleet = fleet_heat(fabric, nodes, suspects, convicted)
    chosen = choice.node if choice.node in nodes else _hottest(fleet, suspects)
    across = _is_network(fabric, snapshot) if choice.network is None else choice.network
    is_network = across and bool(told.across) if chosen else across
    proposal = investigation.proposal if investigation else None
    planned = proposal or (snapshot.rounds[-1] if snapshot.rounds else None)
    return SuspectsView(
        investigation.state if investigation else "",
        spoken(investigation.error) if investigation else "",
        nodes,
        fleet,
        chosen,
        node_heat(fabric, chosen, suspects, convicted, alternatives) if chosen else None,
        _matrix(told, fabric, nodes, None if is_network else chosen),
        progress_of(snapshot, investigation),
        tuple(_row(suspect, snapshot.beliefs) for suspect in suspects),
        belief,
        tuple(update.no_fault for _, update in snapshot.beliefs),
        _next(planned) if planned else None,
        verdict,
        told.kept("lines", lambda: trial_lines(snapshot)),
        told.kept("why", lambda: why_unmeasured(snapshot)),
        collection_of(snapshot),
        choice.verdict % max(1, len(verdict.verdicts)) if verdict else 0,
    )


def _hottest(fleet: FleetHeat, suspects: Iterable[Suspect]) -> NodeId | None:
    """The node of a convicted part, or of the top suspect, else the one most believed in, else the first."""
    if not fleet.nodes:
        return None
    top = next((suspect.component.node for suspect in suspects), None)
    if any(node == top for node, _ in fleet.nodes) and not any(place.is_convicted for _, place in fleet.nodes):
        return top
    return max(fleet.nodes, key=lambda each: (each[1].is_convicted, each[1].share))[0]


def _is_network(fabric: Fabric, snapshot: Snapshot) -> bool:
    """Whether the part most in question is one that only traffic between nodes crosses."""
    classes = [(one.component, *one.alternatives) for one in snapshot.verdict.verdicts] if snapshot.verdict else []
    classes += [(one.component, *one.members) for one in snapshot.belief.suspects] if snapshot.belief else []
    if not classes:
        return False
    kinds = {part.kind for part in classes[0]} | {fabric.kind_of(part) for part in classes[0]}
    return not kinds.isdisjoint(("nic", "cable", "uplink", "netswitch"))


def _matrix(told: Measurements, fabric: Fabric, nodes: tuple[NodeId, ...], node: NodeId | None) -> Matrix:
    """Of one node, or between nodes; made once a round."""
    if node is not None:
        return told.kept((fabric, node), lambda: node_matrix(told, fabric, node))
    return told.kept((fabric, nodes), lambda: network_matrix(told, fabric, nodes))


def _nodes(snapshot: Snapshot, fabric: Fabric, suspects: Iterable[Suspect], told: Measurements) -> tuple[NodeId, ...]:
    """Those that were or will be probed, or are suspected; all where nothing is planned."""
    planned = snapshot.rounds[-1].trials if snapshot.rounds else ()
    probed = told.nodes.union(*(trial.nodes for trial in planned), (one.component.node for one in suspects))
    return tuple(node for node in fabric.nodes if node in probed) or fabric.nodes


def _row(suspect: Suspect, beliefs: tuple[tuple[str, BeliefUpdated], ...]) -> SuspectRow:
    kinds = dict.fromkeys(_WORDS.get(part.kind, part.kind) for part in (suspect.component, *suspect.members))
    history = tuple(
        next((other.posterior for other in update.suspects if other.component == suspect.component), 0.0)
        for _, update in beliefs[-HISTORY:]
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
    titles = probe_titles()
    loads = dict.fromkeys(
        piece
        for trial in plan.trials
        if (words := titles.get(trial.probe.partition("@")[0]))
        for piece in words.rpartition("; loads ")[2].split(", ")
    )
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
        tuple(spoken(sentence) for sentence in plan.meaning),
        ", ".join(loads),
        tuple(dict.fromkeys(node for trial in plan.trials for node in trial.nodes)),
    )


def _targets(parts: tuple[ComponentId, ...]) -> str:
    first, *others = parts
    away = [place(part) if part.node != first.node else label(part) for part in others]
    return "→".join([label(first), *away])


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
