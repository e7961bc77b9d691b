"""Fixed schedules of disjoint trials, as test suites run them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np

from ...incident.ids import ComponentId, NodeId
from ...probes.probe import Aim
from .cluster import Cluster, Shot

Round = list[Shot]


def circle(count: int) -> Iterator[list[tuple[int, int]]]:
    """Rounds in which each of `count` meets every other once; with an odd count one sits out each."""
    seats = [*range(count), *([-1] if count % 2 else [])]
    for _ in range(len(seats) - 1):
        pairs = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        yield [pair for pair in pairs if -1 not in pair]
        seats = [seats[0], *seats[2:], seats[1]]


def catalogue(cluster: Cluster, nodes: Sequence[NodeId]) -> list[Round]:
    """Every trial within these nodes once, all nodes at the same time."""
    of_nodes = [list(_catalogue_of(cluster, node)) for node in nodes]
    return [[shot for shots in rounds for shot in shots] for rounds in zip_longest(*of_nodes, fillvalue=())]


def node_pairs(cluster: Cluster) -> Iterator[Round]:
    """Every pair of nodes once, rail by rail; empty where nothing between nodes can be tested.

    Nodes of one leaf meet by the circle method, and meet again from rail to rail, as their traffic crosses no spine
    else: from even rails to odd ones, then back, so that every leaf only sends or only receives. Leaves meet by the
    circle method too, the nodes of one with those of the other, shifted. So no round shares an uplink.
    """
    if cluster.across is None:
        return
    size = cluster.wiring.nodes_per_leaf
    groups = [cluster.nodes[at : at + size] for at in range(0, len(cluster.nodes), size)]
    for number, rounds in enumerate(zip_longest(*(circle(len(group)) for group in groups), fillvalue=())):
        met = zip(groups, rounds, strict=True)
        pairs = [(group[one], group[other]) for group, pairs in met for one, other in pairs]
        yield _all_between(cluster, pairs)
        for first in (0, 1):
            yield _all_between(cluster, pairs, first, 2, 2 * number + 1)
    for meeting in circle(len(groups)) if len(groups) > 1 else ():
        for shift in range(size):
            met = [(groups[one], groups[other]) for one, other in meeting]
            yield _all_between(cluster, [pair for here, there in met for pair in _shifted(here, there, shift, size)])


def between(cluster: Cluster, one: NodeId, other: NodeId) -> Round:
    """Trials between two nodes, from every GPU to its like."""
    return _all_between(cluster, [(one, other)])


def random_pairs(cluster: Cluster, rng: np.random.Generator) -> Iterator[Round]:
    """Rounds of pairs of nodes by chance, without end; none where nothing between nodes can be tested."""
    rounds = list(node_pairs(cluster))
    while rounds:
        yield rounds[int(rng.integers(len(rounds)))]


def _all_between(
    cluster: Cluster, pairs: Sequence[tuple[NodeId, NodeId]], first: int = 0, step: int = 1, turn: int = 0
) -> Round:
    """From the first GPU of a node and every so many after it to one of the other node, `turn` places on."""
    if cluster.across is None:
        return []
    found: Round = []
    for one, other in pairs:
        gpus, others = cluster.gpus(one), cluster.gpus(other)
        for at in range(first, len(gpus), step):
            found.append((cluster.across.name, (gpus[at], others[(at + turn) % len(others)])))
    return found


def _shifted(here: Sequence[NodeId], there: Sequence[NodeId], by: int, size: int) -> Iterator[tuple[NodeId, NodeId]]:
    for at, node in enumerate(here):
        if (other := (at + by) % size) < len(there):
            yield node, there[other]


def _catalogue_of(cluster: Cluster, node: NodeId) -> Iterator[Round]:
    gpus = cluster.gpus(node)
    for probe in cluster.probes.values():
        if probe.aim is Aim.PAIR:
            for pairs in circle(len(gpus)):
                yield [(probe.name, (gpus[one], gpus[other])) for one, other in pairs]
                yield [(probe.name, (gpus[other], gpus[one])) for one, other in pairs]
        elif probe.aim is Aim.GPU:
            for turn in _turns(cluster, gpus):
                yield [(probe.name, (gpu,)) for gpu in turn]


def _turns(cluster: Cluster, gpus: Sequence[ComponentId]) -> Iterator[list[ComponentId]]:
    """GPUs one at a time below each root port: two copies through one link would halve."""
    below: dict[ComponentId, list[ComponentId]] = defaultdict(list)
    for gpu in gpus:
        chain = cluster.fabric.chain(gpu)
        below[chain[-1] if chain else gpu].append(gpu)
    for turn in zip_longest(*below.values()):
        yield [gpu for gpu in turn if gpu is not None]
