"""From outputs of tools, in whatever files they came, to claims: which node each is about, and what was not used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from ..incident.ids import NodeId
from ..parsers.infiniband.ibnetdiscover import IbLink, IbNode
from ..parsers.infiniband.ibstat import Hca, HcaPort
from ..parsers.infiniband.interface import Interface
from ..parsers.infiniband.link_line import IbPort
from ..parsers.intake import Section
from ..parsers.nccl.topo_xml import NcclC2c, NcclCpu, NcclGpu, NcclLink, NcclNet, NcclPci
from ..parsers.nvidia_smi.gpu_report import GpuReport
from ..parsers.nvidia_smi.nvlink import AllInactive, LinkEnd, LinkState
from ..parsers.nvidia_smi.topo import Affinity, Connection
from ..parsers.pcie.device_places import DevicePlace
from ..parsers.pcie.lspci import PciDevice
from ..parsers.platform.lldp import Neighbour
from .claims import CableClaim, Claim, NodeClaims, PartClaim
from .sources import device_places, infiniband, lldp, lspci, nccl, nvidia_smi, topo_matrix
from .sources.names import names_of, usable

OF_NODES = (
    nvidia_smi.claims, topo_matrix.claims, lspci.claims, device_places.claims, nccl.claims, lldp.claims,
    infiniband.node_claims,
)  # fmt: skip
"""Everything that reads claims about one node."""
OF_THE_NETWORK = (IbNode, IbLink, IbPort)
ABOUT_NODES = (
    GpuReport, LinkState, LinkEnd, AllInactive, Connection, Affinity, PciDevice, DevicePlace, NcclCpu, NcclPci, NcclGpu,
    NcclLink, NcclC2c, NcclNet, Neighbour, Hca, HcaPort, Interface,
)  # fmt: skip
"""What these read."""
MOST_UNUSED = 200


@dataclass(frozen=True, slots=True)
class Gathered:
    """What many outputs say together."""

    claims: tuple[NodeClaims, ...]
    used: tuple[str, ...]
    """Outputs that say something about the fabric: `gpu-017/topo.txt: nvidia-smi topo -m`."""
    unused: tuple[str, ...]
    """The others, each with why."""
    remarks: tuple[str, ...] = ()
    """What ought to be known about those that were used."""


def gather(sections: Iterable[Section], root: str, known: Iterable[NodeClaims] = ()) -> Gathered:
    """Claims of all sections; `root` names the node of outputs that neither say their host nor lie in its folder.

    `known`: what nodes told themselves, by whose names their parts are called.
    """
    told = {said.node: said.claims for said in known}
    remarks: dict[str, None] = {}
    readings: dict[NodeId, list[object]] = {}
    network: list[object] = []
    used: list[str] = []
    unused: list[str] = []
    for section in sections:
        for note in section.notes:
            if section.tool is None:
                unused.append(f"{section.name}: {note}")
            else:
                remarks.setdefault(note if "is known from" in note else f"{section.name}: {note}")
        if section.tool is None or section.parsed is None:
            continue
        fabric = [reading for reading in section.parsed.readings if isinstance(reading, OF_THE_NETWORK)]
        network += fabric
        if about := [reading for reading in section.parsed.readings if isinstance(reading, ABOUT_NODES)]:
            readings.setdefault(node_of(section, root), []).extend(about)
        if fabric or about:
            unused += _unread(section)
            used.append(f"{section.name}: {section.tool.name}")
        else:
            unused.append(f"{section.name}: {section.tool.name}: says nothing about the fabric")
    claims = [NodeClaims(node, tuple(_node_claims(node, one, told.get(node, ())))) for node, one in readings.items()]
    wired: list[Claim] = [claim for said in claims for claim in said.claims if _is_network(claim)]
    claims = [NodeClaims(said.node, tuple(one for one in said.claims if not _is_network(one))) for said in claims]
    claims = [said for said in claims if said.claims]
    everything = [*told.values(), *(said.claims for said in claims)]
    adapters = infiniband.adapters(claim for said in everything for claim in said)
    if wired := [*wired, *infiniband.network_claims(network, adapters)]:
        claims.append(NodeClaims(None, tuple(wired)))
    return Gathered(tuple(claims), tuple(used), tuple(unused[:MOST_UNUSED]), tuple(remarks)[:MOST_UNUSED])


def _is_network(claim: Claim) -> bool:
    """Whether a node says it of the network that it is plugged into."""
    return isinstance(claim, CableClaim) or (isinstance(claim, PartClaim) and claim.kind == "netswitch")


def node_of(section: Section, root: str) -> NodeId:
    """The host that the text names, else the folder the file lies in, else what everything is named after."""
    folders = PurePath(section.name).parts[:-1]
    for name in (section.host, *reversed(folders), root):
        if name and usable(name):
            return NodeId(name)
    return NodeId("node")


def _node_claims(node: NodeId, readings: list[object], known: Iterable[Claim]) -> Iterable[Claim]:
    names = names_of(node, readings, known)
    for claims in OF_NODES:
        yield from claims(readings, names)


def _unread(section: Section) -> list[str]:
    parsed = section.parsed
    if parsed is None or not parsed.unread:
        return []
    first, count = parsed.unread[0], len(parsed.unread) + parsed.unread_left_out
    others = f" and {count - 1} more lines" if count > 1 else ""
    return [f"{section.name}: line {first.number}{others} can't be read: {first.why}: {first.text[:80]}"]
