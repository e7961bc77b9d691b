"""How close two devices of a node are, in the words of `nvidia-smi topo -m`; claims of it, and what they let us infer.

PIX: below one PCIe switch. PXB: several bridges. PHB: one host bridge. NODE: one NUMA node. SYS: across sockets.
Source: the legend that `nvidia-smi topo -m` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..incident.ids import ComponentId
from .addresses import natural
from .claims import ClosenessClaim, Source

ORDER = ("PIX", "PXB", "PHB", "NODE", "SYS")
HOST_BRIDGE = "PHB"
INFERRED_SWITCH = "switch"
"""How bridges are named that nobody saw: `node/pcie/switch0`."""


def closeness_of(here: Sequence[str], there: Sequence[str], sockets: tuple[int | None, int | None]) -> str | None:
    """From the bridges above two devices, root port first, and their sockets; None where these don't tell."""
    if here and there:
        common = sum(1 for _ in _shared(here, there))
        if common:
            return "PIX" if max(len(here), len(there)) - common <= 1 else "PXB"
        if _root_bus(here[0]) and _root_bus(here[0]) == _root_bus(there[0]):
            return HOST_BRIDGE
    if None in sockets:
        return None
    if sockets[0] != sockets[1]:
        return "SYS"
    return "NODE" if here and there else None


def contradicts(structure: str, claimed: str) -> bool:
    """Whether a claim can't be so. Which host bridge a root port belongs to is not ours to tell: PHB and NODE pass."""
    if structure not in ORDER or claimed not in ORDER:
        return False
    inside = (HOST_BRIDGE, "NODE")
    return structure != claimed and not (structure in inside and claimed in inside)


def is_flattened(claims: Iterable[ClosenessClaim]) -> bool:
    """Whether all claims of a source say the same of PCIe, as virtual machines and Grace do: it then says nothing."""
    words = [claim.closeness for claim in claims if claim.closeness in ORDER]
    return len(words) > 1 and set(words) in ({HOST_BRIDGE}, {"SYS"}, {"NODE"})


def inferred_switches(claims: Iterable[ClosenessClaim], free: set[ComponentId]) -> Mapping[ComponentId, str]:
    """A made-up switch for devices of which nobody names a bridge and that are claimed to share one."""
    leader: dict[ComponentId, ComponentId] = {}
    for claim in claims:
        if claim.closeness == "PIX" and {claim.here, claim.there} <= free:
            first, second = _leader(leader, claim.here), _leader(leader, claim.there)
            leader[max(first, second, key=natural)] = min(first, second, key=natural)
    devices = sorted(leader.keys() | set(leader.values()), key=natural)
    switches: dict[ComponentId, str] = {}
    for device in devices:
        switches.setdefault(_leader(leader, device), f"{INFERRED_SWITCH}{len(switches)}")
    return {device: switches[_leader(leader, device)] for device in devices}


def by_source(claims: Iterable[ClosenessClaim]) -> Mapping[Source, list[ClosenessClaim]]:
    """Claims by who makes them."""
    found: dict[Source, list[ClosenessClaim]] = {}
    for claim in claims:
        found.setdefault(claim.source, []).append(claim)
    return found


def _leader(leader: Mapping[ComponentId, ComponentId], device: ComponentId) -> ComponentId:
    while leader.get(device, device) != device:
        device = leader[device]
    return device


def _shared(here: Sequence[str], there: Sequence[str]) -> Iterable[str]:
    """Bridges both go through, from the root down."""
    for one, other in zip(here, there, strict=False):
        if one != other:
            return
        yield one


def _root_bus(address: str) -> str:
    """`0000:15` of a root port."""
    return address.rpartition(":")[0]
