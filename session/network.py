"""Reading what the network between nodes is wired like, so that a search may probe across it."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..incident.events import NetworkRead
from ..incident.ids import NodeId
from ..incident.source import CommandOutput
from ..parsers.intake import read
from ..topology.gather import gather
from ..topology.sources.facts import claims_of
from ..topology.sources.network_read import network_of

if TYPE_CHECKING:
    from .session import Session

TOOL = "ibnetdiscover"
"""Asks every switch of an InfiniBand fabric; it reads, and changes nothing."""
PER_NODE = 20.0
"""Seconds it may take on a node."""
MOST_ASKED = 3
"""Nodes that are asked, one after the other, until one can tell."""


async def read_network(session: Session, nodes: Sequence[NodeId]) -> None:
    """Ask some of the nodes what the network is wired like, once a session, and record what one tells.

    Where none can, nothing is recorded: probes across nodes then stay out of a search."""
    if len(nodes) < 2 or session.snapshot().network is not None:
        return
    for node in nodes[:MOST_ASKED]:
        output = await session.source.run_command(node, (TOOL,), PER_NODE)
        event_id = session.record_output(output)
        if output.exit_status == 0 and (told := await asyncio.to_thread(_told, session, output, event_id)):
            session.record(told)
            return


def _told(session: Session, output: CommandOutput, event_id: str) -> NetworkRead | None:
    """What the output says; None where it names no cable of a NIC."""
    known = [claims_of(view) for view in session.snapshot().nodes.values() if view.facts]
    sections = list(read(f"{output.node}/{TOOL}", io.BytesIO(output.stdout)))
    claims = [claim for said in gather(sections, "node", known).claims if said.node is None for claim in said.claims]
    switches, wires = network_of(claims)
    if not wires:
        return None
    return NetworkRead(time=time.time(), source=TOOL, switches=switches, wires=wires, evidence=event_id)
