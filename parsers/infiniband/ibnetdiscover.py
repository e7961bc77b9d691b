"""`ibnetdiscover`: who is cabled to whom, as the subnet shows it.

Each node heads a block of its connected ports. GUIDs are printed without leading zeros in places. The number behind a
quoted name is the port's GUID, the one inside the quotes the node's. Aggregation nodes (SHARP) stand among the hosts.
Source: capture infiniband/ibnetdiscover-hdr-*; rdma-core ibnetdiscover.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .complaints import complaint
from .port_words import guid

AGGREGATION = "aggregation node"


@dataclass(frozen=True, slots=True)
class IbNode:
    """A switch, an adapter (a `ca`) or a router."""

    guid: str
    kind: str
    """`switch`, `ca`, `router`."""
    name: str | None
    ports: int
    lid: int | None
    """Of a switch; the LIDs of an adapter are its ports', see IbLink."""
    vendor_id: int | None = None
    device_id: int | None = None
    system_image_guid: str | None = None
    port_guid: str | None = None
    """Of a switch."""

    @property
    def aggregates(self) -> bool:
        """True of the SHARP engine inside a switch, which is no host."""
        return is_aggregation_node(self.name)


@dataclass(frozen=True, slots=True)
class IbLink:
    """One port as its own side tells it, and the port on the other side."""

    guid: str
    """The node's; in the ports report the port's, which a switch shares with its node."""
    port: int
    peer_guid: str | None
    """None where nothing is connected, as for all of the peer."""
    peer_port: int | None
    width: int | None
    """Lanes; None where nothing is connected."""
    speed: str | None
    """`EDR`, `HDR`, `NDR`; None where nothing is connected or the tool is too old to know it."""
    guid_name: str | None
    peer_name: str | None
    kind: str | None = None
    peer_kind: str | None = None
    lid: int | None = None
    peer_lid: int | None = None
    port_guid: str | None = None
    peer_port_guid: str | None = None
    printed_rate: str = ""
    """`4x SDR`; of a port that nothing is connected to it means nothing."""


@dataclass(frozen=True, slots=True)
class DiscoveryHeader:
    """When and from where the fabric was looked at."""

    title: str
    """`Topology file: generated on Tue ...`"""
    initiated_from: str | None = None
    """GUID of the node that asked."""
    max_hops: int | None = None

    @property
    def faked(self) -> bool:
        """True of a made-up fabric."""
        return self.title.lower().startswith("faked")


KINDS = {
    "S": "switch",
    "H": "ca",
    "R": "router",
    "SW": "switch",
    "CA": "ca",
    "RT": "router",
    "Switch": "switch",
    "Ca": "ca",
    "Rt": "router",
    "Router": "router",
}
_NODE = re.compile(
    r"(?P<kind>Switch|Ca|Rt)\s{1,8}(?P<ports>\d{1,4})\s{1,4}\"[SHR?]-(?P<guid>[0-9a-f]{1,16})\"\s{0,40}#\s{0,4}"
    r"\"(?P<name>[^\"]{0,200})\"(?: (?:enhanced|base) port 0 lid (?P<lid>\d{1,6}) lmc \d{1,3})?(?: \(scp\))?\s{0,8}"
)
_PORT = re.compile(
    r"\[(?P<port>\d{1,3})\](?:\[ext \d{1,4}\])?\s{0,8}(?:\((?P<own>[0-9a-f]{1,16})\))?\s{0,40}"
    r"\"(?P<kind>[SHR?])-(?P<guid>[0-9a-f]{1,16})\"\[(?P<there>\d{1,3})\](?:\[ext \d{1,4}\])?\s{0,8}"
    r"(?:\((?P<its>[0-9a-f]{1,16})\))?\s{0,40}#\s{0,4}(?:lid (?P<lid>\d{1,6}) lmc \d{1,3} )?"
    r"\"(?P<name>[^\"]{0,200})\"(?: lid (?P<peer>\d{1,6}))?"
    r"(?: (?P<width>\d{1,2}x|\?\?)(?P<speed>[A-Z0-9]{3,6}|\?\?\?))?"
    r"(?: [sweqv]=\d{1,6}){0,8}(?: slot \d{1,4}| \(scp\))?\s{0,8}"
)
_IDENTITY = re.compile(
    r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x([0-9a-f]{1,16})(?:\(([0-9a-f]{1,16})\))?(?:\s{1,8}#.{0,200})?\s{0,8}"
)
_TITLE = re.compile(r"# ((?:Faked )?[Tt]opology file.{0,200})")
_INITIATED = re.compile(r"# Initiated from node ([0-9a-f]{1,16}) port [0-9a-f]{1,16}\s{0,8}")
_HOPS = re.compile(r"# Reported max hops discovered: (\d{1,6})\s{0,8}")
_NOTHING = re.compile(
    r"\s{0,40}|#.{0,300}|Chassis \d{1,6}(?: \(guid 0x[0-9a-f]{1,16}\))?\s{0,8}|Non-Chassis Nodes\s{0,8}|"
    r"Hostname: .{0,200}"
)
_MARKS = re.compile(
    r"^(?:Switch|Ca|Rt)\s{1,8}\d{1,4}\s{1,4}\"[SHR?]-[0-9a-f]{1,16}\"|^\[\d{1,3}\][^\n\"]{0,60}\"[SHR?]-[0-9a-f]{1,16}\"\[\d{1,3}\]",
    re.MULTILINE,
)


def parse_ibnetdiscover(text: str) -> Parsed[IbNode | IbLink | DiscoveryHeader]:
    """Read all nodes and, from both sides, their links."""
    parsed = Parsed[IbNode | IbLink | DiscoveryHeader]()
    node: IbNode | None = None
    identity: dict[str, str] = {}
    header = DiscoveryHeader("")
    for number, line in numbered(without_escapes(text)):
        if found := _PORT.fullmatch(line):
            if node:
                parsed.add(_link(node, found))
            else:
                parsed.cannot_read(number, line, "the node that the port belongs to is not above it")
        elif found := _IDENTITY.fullmatch(line):
            identity[found[1]] = found[2]
            if found[3]:
                identity["portguid"] = found[3]
        elif found := _NODE.fullmatch(line):
            node = _node(found, identity)
            identity = {}
            parsed.add(node)
        elif words := complaint(line):
            parsed.not_applicable("ibnetdiscover", words)
        else:
            header = _headed(header, line)
            if not _NOTHING.fullmatch(line) and not prompt_of(line):
                parsed.cannot_read(number, line)
    if header.title:
        parsed.add(header)
    return parsed


def is_aggregation_node(name: str | None) -> bool:
    """Told from the name that Mellanox gives it."""
    return AGGREGATION in (name or "").lower()


def lanes(text: str | None) -> int | None:
    """`4x` -> 4; None for `??`."""
    return int(text[:-1]) if text and text[:-1].isdigit() else None


def known_speed(text: str | None) -> str | None:
    """None for `???`."""
    return text if text and "?" not in text else None


def _headed(header: DiscoveryHeader, line: str) -> DiscoveryHeader:
    if not line.startswith("# "):
        return header
    if found := _TITLE.fullmatch(line):
        return replace(header, title=found[1].strip())
    if found := _INITIATED.fullmatch(line):
        return replace(header, initiated_from=guid(found[1]))
    if found := _HOPS.fullmatch(line):
        return replace(header, max_hops=int(found[1]))
    return header


def _node(found: re.Match[str], identity: dict[str, str]) -> IbNode:
    return IbNode(
        guid=found["guid"].rjust(16, "0"),
        kind=KINDS[found["kind"]],
        name=found["name"].strip() or None,
        ports=int(found["ports"]),
        lid=int(found["lid"]) if found["lid"] else None,
        vendor_id=_number(identity.get("vendid")),
        device_id=_number(identity.get("devid")),
        system_image_guid=guid(identity.get("sysimgguid", "")),
        port_guid=guid(identity.get("portguid", "")),
    )


def _link(node: IbNode, found: re.Match[str]) -> IbLink:
    lid = found["lid"]
    return IbLink(
        guid=node.guid,
        port=int(found["port"]),
        peer_guid=found["guid"].rjust(16, "0"),
        peer_port=int(found["there"]),
        width=lanes(found["width"]),
        speed=known_speed(found["speed"]),
        guid_name=node.name,
        peer_name=found["name"].strip() or None,
        kind=node.kind,
        peer_kind=KINDS.get(found["kind"]),
        lid=int(lid) if lid else node.lid,
        peer_lid=int(found["peer"]) if found["peer"] else None,
        port_guid=guid(found["own"] or ""),
        peer_port_guid=guid(found["its"] or ""),
        printed_rate=f"{found['width'] or ''} {found['speed'] or ''}".strip(),
    )


def _number(text: str | None) -> int | None:
    return int(text, 16) if text else None


TOOL = Tool(
    "ibnetdiscover",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibnetdiscover,
    file_names=("*ibnetdiscover*", "*.topo"),
)
