"""`lldpcli -f json show neighbors`, and json0: which port of which switch each interface is cabled to.

With json, lists of one shrink to the thing itself (an interface, an address); with json0 everything is a list and each
value an object. Both are read by the same steps.
Source: captures platform/lldpcli-json-*; json0 from a template for Cumulus (`lldp/[0]/interface/*/chassis/[0]`) and a
dump in sheverdinKonst/tf_statistics, no capture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..json_document import as_dict, as_text, read_document
from ..parsed import Parsed
from ..plain import without_escapes
from ..tool import Tool

MOST_NEIGHBOURS = 10_000


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The far end of one interface's cable; None for what it does not announce."""

    interface: str
    chassis_name: str | None
    chassis_id: str | None
    """Most often a MAC address."""
    chassis_description: str | None
    port_id: str | None
    """`Twenty-FiveGigE1/0/16`."""
    port_description: str | None
    management_ips: tuple[str, ...]
    vlan: str | None = None


_JSON = re.compile(r'\s{0,200}\{\s{0,40}"lldp"\s{0,4}:\s{0,40}\{')
_JSON0 = re.compile(r'\s{0,200}\{\s{0,40}"lldp"\s{0,4}:\s{0,40}\[')


def parse_lldp_neighbours(text: str) -> Parsed[Neighbour]:
    """Read the document; no neighbours at all is said as such."""
    parsed = Parsed[Neighbour]()
    for document in read_document(without_escapes(text), parsed, "{"):
        found = list(_interfaces(document))[:MOST_NEIGHBOURS]
        for name, about in found:
            parsed.add(_neighbour(name, about))
        if not found:
            parsed.not_applicable("lldp neighbours", "none is listed")
    return parsed


def _interfaces(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each interface with what was heard on it; of several neighbours on one, each."""
    for lldp in _each(as_dict(document).get("lldp")):
        for entry in _each(as_dict(lldp).get("interface")):
            interface = as_dict(entry)
            if isinstance(interface.get("name"), str):
                yield interface["name"], interface
                continue
            for name, about in interface.items():
                for one in _each(about):
                    yield name, as_dict(one)


def _neighbour(name: str, about: dict[str, Any]) -> Neighbour:
    chassis_name, chassis = _chassis(_first(about.get("chassis")))
    port = as_dict(_first(about.get("port")))
    addresses = (_value(one) for one in _each(chassis.get("mgmt-ip")))
    return Neighbour(
        interface=name,
        chassis_name=chassis_name,
        chassis_id=_value(chassis.get("id")),
        chassis_description=_value(chassis.get("descr")),
        port_id=_value(port.get("id")),
        port_description=_value(port.get("descr")),
        management_ips=tuple(address for address in addresses if address),
        vlan=_text(as_dict(_first(about.get("vlan"))).get("vlan-id")),
    )


def _chassis(chassis: Any) -> tuple[str | None, dict[str, Any]]:
    """A chassis that announces its name stands below it; one that does not, stands bare."""
    about = as_dict(chassis)
    if "id" in about:
        return _value(about.get("name")), about
    name, below = next(iter(about.items()), (None, {}))
    return name, as_dict(below)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _first(value: Any) -> Any:
    return next(iter(_each(value)), None)


def _value(value: Any) -> str | None:
    """Of a bare value, of `{"type": .., "value": ..}`, and of a list that holds one."""
    first = _first(value)
    return _text(as_dict(first).get("value") if isinstance(first, dict) else first)


def _text(value: Any) -> str | None:
    return as_text(value) or None


TOOL = Tool(
    "lldpcli -f json",
    lambda head: bool(_JSON.match(without_escapes(head))),
    parse_lldp_neighbours,
    file_names=("*lldp*.json", "*lldp*"),
)
JSON0 = Tool(
    "lldpcli -f json0",
    lambda head: bool(_JSON0.match(without_escapes(head))),
    parse_lldp_neighbours,
    file_names=("*lldp*.json", "*lldp*"),
    unconfirmed="a Cumulus template; a dump in sheverdinKonst/tf_statistics",
)
