"""Writes that leave one PCIe switch for two root ports at once collapse, while one flow, one target or reads hold.

One uplink carries at least what a single flow over it does: two flows share that, they don't lose it. Where reads of
the same flows hold, the links are healthy, and what is left is how posted writes are arbitrated between uplink and
targets.
Source: PCI Express Base Specification 6.0, 2.4 (posted writes and read completions are ordered and credited apart).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, gpu_id
from ...parsers.peer_copies import PeerCopies, peer_copies
from ...parsers.table import Table
from ...topology.fabric import Fabric
from ..readings import Witness, by_node
from ..scene import Scene

RULE = "switch_arbitration"
COLLAPSED = 0.5
"""Share of one flow's own rate below which several at once have not merely shared the uplink."""
TOPO_MATRIX = "nvidia-smi topo -m"
BELOW_ONE_SWITCH = ("PIX", "PXB")
Told = tuple[PeerCopies, str]
"""A measurement and the event it stands on."""


def switch_arbitration(scene: Scene) -> Iterator[Finding]:
    """One finding for each switch whose writes to two root ports collapse; the worst measurement of it is told."""
    for node, tables in by_node(scene.readings.of(Table)).items():
        told = [one for table in tables for one in _measurements(table)]
        matrices = tuple(output.id for output in scene.readings.printed_by(TOPO_MATRIX, node))
        for bad in sorted(told, key=lambda one: one[0].total_gbs):
            yield from _judge(scene.fabric, node, bad, told, matrices)


def _measurements(table: Witness[Table]) -> Iterator[Told]:
    for copies in peer_copies(table.reading):
        yield copies, table.id


def _judge(
    fabric: Fabric, node: NodeId, bad: Told, told: Sequence[Told], matrices: tuple[str, ...]
) -> Iterator[Finding]:
    copies = bad[0]
    if copies.operation != "write" or not _fans_out(fabric, node, copies):
        return
    alone = [
        one.total_gbs
        for one, _ in told
        if one.operation == "write" and len(one.flows) == 1 and one.flows[0] in copies.flows
    ]
    if not alone or copies.total_gbs >= COLLAPSED * max(alone):
        return

    def holding(wanted: Callable[[PeerCopies], bool]) -> Told | None:
        held = (one for one in told if wanted(one[0]) and one[0].total_gbs >= COLLAPSED * max(alone))
        return max(held, key=lambda one: one[0].total_gbs, default=None)

    reads = holding(lambda one: one.operation == "read" and set(one.flows) == set(copies.flows))
    one_target = holding(lambda one: _is_other(one, copies) and _one_target(fabric, node, one))
    apart = holding(lambda one: _is_other(one, copies) and not _share_switch(fabric, node, _sources(one)))
    if reads or one_target:
        yield _finding(fabric, node, bad, max(alone), (reads, one_target, apart), matrices)


def _is_other(one: PeerCopies, copies: PeerCopies) -> bool:
    return one.operation == "write" and len(one.flows) == len(copies.flows) and one.flows != copies.flows


def _sources(copies: PeerCopies) -> list[int]:
    return [here for here, _ in copies.flows]


def _targets(copies: PeerCopies) -> list[int]:
    return [there for _, there in copies.flows]


def _fans_out(fabric: Fabric, node: NodeId, copies: PeerCopies) -> bool:
    """Whether all flows leave one switch, for targets below more than one other."""
    leaves = not any(_together(fabric, node, here, there) for here, there in copies.flows)
    sources = _sources(copies)
    return leaves and len(set(sources)) > 1 and _share_switch(fabric, node, sources) and _spread(fabric, node, copies)


def _spread(fabric: Fabric, node: NodeId, copies: PeerCopies) -> bool:
    return any(_together(fabric, node, one, other) is False for one, other in combinations(_targets(copies), 2))


def _one_target(fabric: Fabric, node: NodeId, copies: PeerCopies) -> bool:
    """Whether all flows leave one switch for targets below one other."""
    return _share_switch(fabric, node, _sources(copies)) and _share_switch(fabric, node, _targets(copies))


def _share_switch(fabric: Fabric, node: NodeId, gpus: Sequence[int]) -> bool:
    return all(_together(fabric, node, one, other) for one, other in combinations(gpus, 2))


def _together(fabric: Fabric, node: NodeId, one: int, other: int) -> bool | None:
    """Whether two GPUs hang below one switch; None where nobody says, and of those that NVLinks join."""
    if one == other:
        return True
    closeness = fabric.closeness(gpu_id(node, one), gpu_id(node, other))
    return None if closeness is None or closeness.startswith("NV") else closeness in BELOW_ONE_SWITCH


def _finding(
    fabric: Fabric,
    node: NodeId,
    bad: Told,
    alone: float,
    held: tuple[Told | None, Told | None, Told | None],
    matrices: tuple[str, ...],
) -> Finding:
    copies, id_ = bad
    sources = [gpu_id(node, gpu) for gpu in dict.fromkeys(_sources(copies))]
    reads, one_target, apart = held
    contrasts = (
        f"one flow alone makes {alone:g}",
        f"reads of the same flows {reads[0].total_gbs:g}" if reads else "",
        f"the same uplink to one root port {one_target[0].total_gbs:g}" if one_target else "",
        f"two uplinks {apart[0].total_gbs:g}" if apart else "",
    )
    return Finding(
        component=fabric.switch_above(sources[0]) or sources[0] / "pcie",
        fru="firmware",
        fault_class="pcie-p2p-path/switch-arbitration",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=(
            f"writes from {_named(sources)} over the one uplink of their PCIe switch to two root ports collapse to "
            f"{copies.total_gbs:g} GB/s; {', '.join(filter(None, contrasts))}"
        ),
        evidence=tuple(dict.fromkeys((id_, *(one[1] for one in held if one), *matrices))),
        argues_against=("the firmware of the switch and the I/O die of the processor are not told apart by this",),
        next=(
            "Keep this smallest write test and send it with the topology to the vendor of server and switch; until "
            "then place pairs so that one uplink writes to one root port, or copy by reads."
        ),
        victims=tuple(sources),
        rule=RULE,
    )


def _named(gpus: Sequence[ComponentId]) -> str:
    return " and ".join(gpu.within for gpu in gpus)
