"""What a search could find out: the outlook that `localize --plan` gives before any trial."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..incident.events import RoundPlanned
from ..incident.ids import NodeId
from ..probes.catalogue import CATALOGUE
from ..probes.localize.compile import compile_parts
from ..probes.localize.separability import Gain, Make, Separability, gains, separability, splitters
from ..probes.localize.settings import Settings
from ..topology.fabric import Fabric
from .allowed import allowed_probes
from .headless import propose
from .session import Session

MOST_WEIGHED = 32
"""Nodes on which it is looked at what each probe adds: as many compilations as there are probes."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the allowed probes can tell of some nodes, and the round that would come first."""

    nodes: tuple[NodeId, ...]
    left_out: tuple[NodeId, ...]
    """Nodes that are watched and not probed, as the operator said."""
    probes: tuple[str, ...]
    """Names of those that the search may run."""
    separability: Separability
    gains: tuple[Gain, ...]
    """Among `weighed`: of many nodes, some."""
    weighed: tuple[NodeId, ...]
    splitters: Mapping[Make, tuple[str, ...]]
    """For groups of such a make: probes that may not run now and would split them."""
    noise: float
    """Standard deviation of a window's bandwidth that is expected, share of it."""
    proposal: RoundPlanned | None
    """The first round; None where nothing can be measured."""
    why_not: str = ""
    """Why there is no round."""


async def look_ahead(
    session: Session,
    nodes: Sequence[NodeId],
    left_out: Sequence[NodeId],
    budget: float | None,
    without: Collection[str] = (),
    drained: bool = False,
) -> Outlook:
    """The outlook of a search on these nodes and its first round, proposed and not run; raises NodeError when no node
    can be probed."""
    search = await propose(session, nodes, budget, without, drained)
    reached = session.snapshot().verdict
    why_not = search.error or (reached.reason if reached else "")
    fabric, proposal = session.fabric(), search.proposal
    return await asyncio.to_thread(outlook, fabric, search.nodes, left_out, without, proposal, why_not, drained)


def outlook(
    fabric: Fabric,
    nodes: Sequence[NodeId],
    left_out: Sequence[NodeId],
    without: Collection[str],
    proposal: RoundPlanned | None,
    why_not: str = "",
    drained: bool = False,
) -> Outlook:
    """What can be found out; takes a second for hundreds of nodes, so call it off the event loop."""
    allowed, settings = allowed_probes(without), Settings(drained=drained)
    parts = compile_parts(fabric, nodes, allowed.values())
    seen = separability(fabric, parts, nodes, settings)
    weighed = _some_of(nodes, seen)
    examples = {group.make: group.example for alike in seen.alike for group in alike.groups}
    return Outlook(
        nodes=tuple(nodes),
        left_out=tuple(left_out),
        probes=tuple(allowed),
        separability=seen,
        gains=gains(fabric, weighed, allowed, CATALOGUE),
        weighed=weighed,
        splitters={make: splitters(fabric, nodes, example, allowed, CATALOGUE) for make, example in examples.items()},
        noise=settings.noise,
        proposal=proposal,
        why_not=why_not,
    )


def _some_of(nodes: Sequence[NodeId], seen: Separability) -> tuple[NodeId, ...]:
    """All nodes, or of many the first, with one of every sort."""
    if len(nodes) <= MOST_WEIGHED:
        return tuple(nodes)
    of_each_sort = (alike.nodes[0] for alike in seen.alike if alike.nodes)
    return tuple(dict.fromkeys((*of_each_sort, *nodes)))[: max(MOST_WEIGHED, len(seen.alike))]
