"""What is run: a cell is one kind of fault in one world and cluster, given to one strategy under several seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .draw import FAULTS, PAIRS
from .strategies import MOST_NODES, STRATEGIES
from .worlds import WORLDS


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One line of the table."""

    nodes: int
    world: str
    fault: str
    strategy: str


def cells(
    nodes: Sequence[int], worlds: Sequence[str], faults: Sequence[str], strategies: Sequence[str]
) -> Iterator[Cell]:
    """All combinations that are run, in the order of the table."""
    for count in nodes:
        for world in worlds:
            for fault in faults:
                for strategy in strategies:
                    if count <= MOST_NODES.get(strategy, count):
                        yield Cell(count, world, fault, strategy)


EVERY_FAULT = (*FAULTS, *PAIRS)
EVERY_WORLD = tuple(WORLDS)
EVERY_STRATEGY = tuple(STRATEGIES)
