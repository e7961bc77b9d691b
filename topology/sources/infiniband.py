"""From ibnetdiscover, iblinkinfo and the nodes' own adapters to claims about the network between nodes.

An adapter is a node's NIC by its node GUID where the node itself told it (ibstat, /sys), else by its description:
`gpu-017 mlx5_4`, `node01 HCA-1`. Aggregation nodes (SHARP) sit in switches and are no hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ...incident.ids import ComponentId, NodeId
from ...parsers.infiniband.ibnetdiscover import IbLink, IbNode, is_aggregation_node
from ...parsers.infiniband.ibstat import Hca, HcaPort
from ...parsers.infiniband.link_line import IbPort
from ..claims import CableClaim, Claim, PartClaim, Source, Value
from .names import Names, usable
from .switch_names import netswitch_id

LANE_GBPS: Mapping[str, float] = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.0, "FDR": 14.0,
    "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip
"""Nominal Gb/s of a lane. Source: InfiniBand trade association's roadmap."""


def node_claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What a node says of its own adapters."""
    for reading in readings:
        match reading:
            case Hca(device=device) if usable(device):
                told: dict[str, Value | None] = {"node_guid": reading.node_guid, "bus_address": reading.bus_address}
                yield PartClaim(names.node / device, "nic", Source.IBSTAT, _known(told))
            case HcaPort(device=device, port=1) if usable(device):
                told = {
                    "node_guid": reading.node_guid, "port_guid": reading.port_guid, "lid": reading.lid,
                    "link_layer": reading.link_layer, "rate_gbps": reading.rate_gbps, "state": reading.state,
                }  # fmt: skip
                yield PartClaim(names.node / device, "nic", Source.IBSTAT, _known(told))


def adapters(claims: Iterable[Claim]) -> Mapping[str, ComponentId]:
    """NICs by node and port GUID, of what their nodes said."""
    found: dict[str, ComponentId] = {}
    for claim in claims:
        if isinstance(claim, PartClaim) and claim.kind == "nic":
            for key in ("node_guid", "port_guid"):
                if guid := claim.facts.get(key):
                    found[str(guid).replace(":", "").removeprefix("0x").lower()] = claim.part
    return found


def network_claims(readings: Iterable[object], known: Mapping[str, ComponentId]) -> Iterator[Claim]:
    """The switches and cables that a look at the whole fabric shows; `known`: NICs by GUID."""
    seen = list(readings)
    fabric = _Seen(known)
    for reading in seen:
        if isinstance(reading, IbPort | IbNode) and reading.guid and reading.name:
            fabric.meet(reading.guid, reading.name, reading.kind, _source(reading))
    for reading in seen:
        match reading:
            case IbNode():
                fabric.meet(reading.guid, reading.name, reading.kind, Source.IBNETDISCOVER)
                fabric.lids[reading.guid] = reading.lid
            case IbLink():
                fabric.link(reading)
            case IbPort():
                fabric.port(reading)
    yield from fabric.claims()


def _source(reading: IbPort | IbNode) -> Source:
    return Source.IBLINKINFO if isinstance(reading, IbPort) else Source.IBNETDISCOVER


@dataclass(frozen=True, slots=True)
class _Cable:
    here: str
    here_port: int
    there: str
    there_port: int
    source: Source
    facts: Mapping[str, Value]


@dataclass(slots=True)
class _Seen:
    """Ends of links by GUID, or by name where none is printed."""

    known: Mapping[str, ComponentId]
    parts: dict[str, ComponentId] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    lids: dict[str, int | None] = field(default_factory=dict)
    guids: dict[str, str] = field(default_factory=dict)
    cables: list[_Cable] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    """Who named an end first."""

    def meet(self, guid: str | None, name: str | None, kind: str | None, source: Source) -> str:
        """Note an end; returns its key."""
        key = guid or self.guids.get(name or "") or name or ""
        if guid and name:
            self.guids.setdefault(name, guid)
        if key and key not in self.parts and not is_aggregation_node(name):
            self.titles[key] = name or ""
            self.sources[key] = source
            self.parts[key] = self.known.get(key) or _part(guid, name, kind)
        return key

    def link(self, link: IbLink) -> None:
        here = self.meet(link.guid, link.guid_name, link.kind, Source.IBNETDISCOVER)
        if link.peer_guid is None or link.peer_port is None:
            return
        there = self.meet(link.peer_guid, link.peer_name, link.peer_kind, Source.IBNETDISCOVER)
        told: dict[str, Value | None] = {"width": link.width, "state": "active"}
        if link.speed and link.speed in LANE_GBPS and link.width:
            told |= {"lane_gbps": LANE_GBPS[link.speed], "rate_gbps": LANE_GBPS[link.speed] * link.width}
        self.cables.append(_Cable(here, link.port, there, link.peer_port, Source.IBNETDISCOVER, _known(told)))

    def port(self, port: IbPort) -> None:
        here = self.meet(port.guid, port.name, port.kind, Source.IBLINKINFO)
        self.lids.setdefault(here, port.lid)
        if port.peer_port is None or not (port.peer_guid or port.peer_name):
            return
        there = self.meet(port.peer_guid, port.peer_name, None, Source.IBLINKINFO)
        told: dict[str, Value | None] = {"width": port.width, "lane_gbps": port.lane_gbps, "state": port.state}
        if port.width and port.lane_gbps:
            could = (port.could_be_width or port.width) * (port.could_be_gbps or port.lane_gbps)
            told |= {"rate_gbps": port.width * port.lane_gbps, "max_rate_gbps": could}
        self.cables.append(_Cable(here, port.port, there, port.peer_port, Source.IBLINKINFO, _known(told)))

    def claims(self) -> Iterator[Claim]:
        """Each switch with its tier, each cable once a source."""
        wired = {end for cable in self.cables for end in (cable.here, cable.there)}
        leaves = {end for cable in self.cables for end in (cable.here, cable.there) if self._beside_nic(cable)}
        for key, part in self.parts.items():
            if "/" in part:
                yield PartClaim(part, "nic", self.sources[key], {"node_guid": key} if key in self.lids else {})
                continue
            told: dict[str, Value | None] = {
                "title": self.titles[key] or None, "guid": key if _is_guid(key) else None, "lid": self.lids.get(key),
                "tier": "leaf" if key in leaves else "spine" if key in wired else None,
            }  # fmt: skip
            yield PartClaim(part, "netswitch", self.sources[key], _known(told))
        for cable in self.cables:
            if cable.here in self.parts and cable.there in self.parts:
                here, there = self.parts[cable.here], self.parts[cable.there]
                yield CableClaim(here, cable.here_port, there, cable.there_port, cable.source, cable.facts)

    def _beside_nic(self, cable: _Cable) -> bool:
        return any("/" in self.parts.get(end, ComponentId("")) for end in (cable.here, cable.there))


def _part(guid: str | None, name: str | None, kind: str | None) -> ComponentId:
    """A NIC where the end is an adapter or is called as one, else a switch."""
    host, _, device = (name or "").strip().partition(" ")
    if kind == "ca" or (kind is None and device and "mellanox" not in (name or "").lower() and usable(host)):
        number = device.removeprefix("HCA-")
        if device != number and number.isdecimal():
            device = f"nic{number}"
        if not usable(device):
            device = f"nic-{guid or 'unknown'}"
        return NodeId(host if usable(host) else f"ca-{guid or 'unknown'}") / device
    return netswitch_id(name, guid)


def _is_guid(key: str) -> bool:
    return len(key) == 16 and all(c in "0123456789abcdef" for c in key)


def _known(told: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key: value for key, value in told.items() if value is not None}
