"""Access control (ACS) on the way between PCIe peers: which bridges send requests up to the root instead of across."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from ..incident.ids import ComponentId
from ..parsers.pcie.lspci import PciDevice
from ..parsers.pcie.setpci import AcsControl
from .pci_tree import PciTree
from .readings import Readings, Witness, in_order

REDIRECT = "ReqRedir"


@dataclass(frozen=True, slots=True)
class Redirects:
    """The bridges of one node that redirect, and lie on the way between peers."""

    bridges: tuple[str, ...]
    """Bus addresses, sorted."""
    pairs: tuple[tuple[ComponentId, ComponentId], ...]
    """Peers whose way crosses one of them."""
    inside: bool
    """Whether some pair shares a bridge above: its traffic could stay below that and is sent up."""
    evidence: tuple[str, ...]

    @property
    def peers(self) -> tuple[ComponentId, ...]:
        """Every device of a pair, once."""
        return tuple(dict.fromkeys(part for pair in self.pairs for part in pair))


def redirects(readings: Readings, tree: PciTree) -> Redirects | None:
    """What a node's outputs show; None where no bridge on such a way redirects, or nobody tells where bridges stand."""
    told = access_control(readings, tree)
    switched_on = {address: one for address, (flags, one) in told.items() if REDIRECT in flags}
    if not switched_on:
        return None
    found: dict[str, None] = {}
    pairs: list[tuple[ComponentId, ComponentId]] = []
    inside = False
    for one, other, way, common in _ways(tree):
        on_the_way = [bridge for bridge in way if bridge in switched_on]
        if on_the_way:
            found |= dict.fromkeys(on_the_way)
            pairs.append((one, other))
            inside = inside or bool(common)
    evidence = dict.fromkeys(switched_on[bridge].id for bridge in found)
    return Redirects(tuple(sorted(found)), tuple(pairs), inside, tuple(evidence)) if found else None


def access_control(
    readings: Readings, tree: PciTree
) -> Mapping[str, tuple[tuple[str, ...], Witness[PciDevice] | Witness[AcsControl]]]:
    """What is switched on in each bridge that has such control, as printed last, with who says so."""
    printed: list[Witness[PciDevice] | Witness[AcsControl]] = [
        *(one for one in tree.devices.values() if one.reading.acs is not None),
        *in_order(readings.of(AcsControl, tree.node)),
    ]
    return {one.reading.address: (one.reading.acs or (), one) for one in printed}


def _ways(tree: PciTree) -> Iterator[tuple[ComponentId, ComponentId, tuple[str, ...], tuple[str, ...]]]:
    """Pairs that talk over PCIe, with the bridges between them and those above both.

    GPUs that NVLinks join don't; a NIC is used by GPUs below the same bridge, others reach it over host memory.
    """
    peers = tree.peers
    above = {address: tree.above(address) for address in peers}
    for (here, one), (there, other) in combinations(peers.items(), 2):
        kinds = {one.kind, other.kind}
        if "gpu" not in kinds:
            continue
        common = tuple(bridge for bridge in above[here] if bridge in above[there])
        way = tuple(bridge for bridge in (*above[here], *above[there]) if bridge not in common)
        closeness = tree.fabric.closeness(one, other) or ""
        if (kinds == {"gpu"} and not closeness.startswith("NV")) or (len(kinds) == 2 and common):
            yield one, other, way, common
