"""One simulated cluster under a stopwatch: strategies hand in rounds of trials and see what these measured.

Time is simulated probing seconds: every round takes its longest trial and, for every strategy alike, half a second to
launch. Trials run in the world itself, with no node program and no link in between, so that a run takes little time
and repeats to the bit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ...incident.events import Trial, TrialEnded
from ...incident.findings import CounterMove
from ...incident.ids import ComponentId, NodeId
from ...probes.copies import WARM_MS, WINDOW_MS, WINDOWS
from ...sim.ledger import Key, Ledger, NetTransfer, Transfer
from ...sim.request import Request
from ...sim.world import World
from .cluster import OPERATIONS, Cluster, Shot
from .draw import Drawn

OVERHEAD = 0.5
"""Seconds it takes to launch a round."""
TOGETHER_S, TOGETHER_ACROSS_S = 3.0, 10.0
"""Seconds of a collective operation within a node, and across nodes."""


Item = TypeVar("Item")
Measured = Transfer | NetTransfer


@dataclass(slots=True)
class _Node:
    """What probing did to a node so far."""

    load_clock: float = 0.0
    trials: int = 0
    steps: Counter[Key] = field(default_factory=Counter)


class Arena:
    """A cluster with a drawn fault, and the bill of one strategy."""

    def __init__(self, cluster: Cluster, drawn: Drawn) -> None:
        self.cluster = cluster
        self.seconds = 0.0
        """Probing seconds spent."""
        self.rounds = 0
        self.probes = 0
        self._world = World(drawn.scenario, began=0.0)
        self._nodes: dict[NodeId, _Node] = defaultdict(_Node)
        self._still: dict[tuple[ComponentId, str], CounterMove] = {}
        """Counters as they were first read: nearly all stay so, and there are very many."""

    @property
    def is_drained(self) -> bool:
        """Whether nobody else uses the nodes, as an operator would know."""
        return self._world.scenario.world.tenants == 0

    @property
    def launching(self) -> float:
        """Seconds of the bill that launching took."""
        return OVERHEAD * self.rounds

    def run(self, shots: Sequence[Shot]) -> list[TrialEnded]:
        """Run trials at once; what each measured, window by window, and the counters it read."""
        before = self._counters(shots)
        found = self._transfers(shots)
        return [
            self._ended(number, shot, transfer, before)
            for number, (shot, transfer) in enumerate(zip(shots, found, strict=True))
        ]

    def averages(self, shots: Sequence[Shot]) -> list[float]:
        """Run trials at once; of each only its average, as a share of what a healthy one measures."""
        return [self._average(shot, transfer) for shot, transfer in zip(shots, self._transfers(shots), strict=True)]

    def together(self, groups: Sequence[Sequence[ComponentId]]) -> list[float]:
        """Run one collective operation of every group of GPUs, all at once; the bandwidth of each, as a share.

        A ring goes at the pace of its slowest hop. Groups must share no GPU.
        """
        rings = [self._ring(group) for group in groups]
        across = any(len({gpu.node for gpu in group}) > 1 for group in groups)
        window = (TOGETHER_ACROSS_S if across else TOGETHER_S) / WINDOWS
        hops = [hop for ring in rings for hop in ring]
        requests = [self._request(hop, window, 0.0) for hop in hops]
        # One by one: what goes into a GPU and what comes out of it at the same time don't take turns.
        found = iter([self._world.transfers([request])[0] for request in requests])
        slowest = [min((self._average(hop, next(found)) for hop in ring), default=1.0) for ring in rings]
        self._charge(hops, window * WINDOWS, len(groups))
        return slowest

    def _transfers(self, shots: Sequence[Shot]) -> list[Measured]:
        """What trials at once show; their time is charged."""
        found = self._world.transfers([self._request(shot, WINDOW_MS / 1000, WARM_MS / 1000) for shot in shots])
        self._charge(shots, max((transfer.seconds for transfer in found), default=0.0), len(shots))
        for (_, targets), transfer in zip(shots, found, strict=True):
            for node, steps in _steps(targets, transfer):
                self._nodes[node].steps.update(steps)
        return found

    def _request(self, shot: Shot, window_s: float, warm_s: float) -> Request:
        probe, targets = shot
        source = self._nodes[targets[0].node]
        source.trials += 1
        return Request(
            OPERATIONS[probe],
            tuple(map(str, targets)),
            tuple(self._nodes[target.node].load_clock for target in targets),
            window_s,
            WINDOWS,
            source.trials,
            self.seconds + OVERHEAD,
            warm_s,
        )

    def _charge(self, shots: Iterable[Shot], seconds: float, probes: int) -> None:
        """Let the time of a round pass."""
        for name in {target.node for _, targets in shots for target in targets}:
            self._nodes[name].load_clock += OVERHEAD + seconds
        self.seconds += OVERHEAD + seconds
        self.rounds += 1
        self.probes += probes

    def _average(self, shot: Shot, transfer: Measured) -> float:
        return float(np.mean(transfer.gbps)) / self.cluster.expected(shot[0]) if transfer.gbps else 0.0

    def _ring(self, group: Sequence[ComponentId]) -> list[Shot]:
        """The hops of a collective: around the GPUs of each node, and rail by rail from node to node."""
        by_node: dict[NodeId, list[ComponentId]] = defaultdict(list)
        for gpu in group:
            by_node[gpu.node].append(gpu)
        rings = list(by_node.values())
        hops = [("p2p", pair) for gpus in rings for pair in _around(gpus)]
        if self.cluster.across is not None:
            for here, there in _around(rings):
                hops += [(self.cluster.across.name, pair) for pair in zip(here, there, strict=False)]
        return hops

    def _counters(self, shots: Sequence[Shot]) -> Mapping[NodeId, Mapping[Key, float]]:
        """Where the counters stand that trials read."""
        wanted: dict[NodeId, dict[Key, None]] = defaultdict(dict)
        for shot in shots:
            for part, _, key in self.cluster.counters(shot):
                wanted[part.node][key] = None
        found = {}
        for node, keys in wanted.items():
            about = self._nodes[node]
            ledger = Ledger(load_clock=about.load_clock, steps=about.steps, trials=about.trials)
            found[node] = self._world.error_counters(node, keys, self.seconds + OVERHEAD, ledger)
        return found

    def _ended(
        self, number: int, shot: Shot, transfer: Measured, before: Mapping[NodeId, Mapping[Key, float]]
    ) -> TrialEnded:
        """The trial as the engine learns of it; called when its round's time has passed."""
        probe, targets = shot
        trial = Trial(
            id=f"R{self.rounds}T{number}",
            probe=probe,
            node=targets[0].node,
            targets=targets,
            seconds=self.cluster.probes[probe].seconds,
        )
        error = transfer.error
        return TrialEnded(
            time=self.seconds,
            trial=trial,
            round=self.rounds,
            windows=transfer.gbps,
            moves=() if error else tuple(self._moves(shot, transfer, before)),
            started=self.seconds - transfer.seconds,
            ended=self.seconds,
            seconds=OVERHEAD + transfer.seconds,
            error=f"{error.call} failed with {error.name}" if error else "",
            code="probe" if error else "",
        )

    def _moves(
        self, shot: Shot, transfer: Measured, before: Mapping[NodeId, Mapping[Key, float]]
    ) -> Iterator[CounterMove]:
        steps = dict(_steps(shot[1], transfer))
        for part, name, key in self.cluster.counters(shot):
            stood = before[part.node].get(key)
            if stood is None:
                continue
            step = steps[part.node].get(key, 0)
            still = self._still.get((part, name))
            if step or still is None or still.before != stood:
                yield CounterMove(component=part, counter=name, before=stood, after=stood + step)
            else:
                yield still
            if still is None:
                self._still[part, name] = CounterMove(component=part, counter=name, before=stood, after=stood)


def _steps(targets: Sequence[ComponentId], transfer: Measured) -> Iterator[tuple[NodeId, Mapping[Key, int]]]:
    """By how much a transfer moved counters, node by node."""
    if isinstance(transfer, NetTransfer):
        yield from ((target.node, end.steps) for target, end in zip(targets, transfer.ends, strict=True))
    else:
        yield targets[0].node, transfer.steps


def _around(items: Sequence[Item]) -> Iterable[tuple[Item, Item]]:
    """Each with the next, the last with the first; none of a single one."""
    if len(items) > 1:
        yield from zip(items, (*items[1:], items[0]), strict=True)
