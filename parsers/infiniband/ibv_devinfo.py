"""`ibv_devinfo`, also with `-v`: adapters, their ports with the MTU in use, and their GIDs.

Source: rdma-core libibverbs/examples/devinfo.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .ibstat import Hca, HcaPort
from .port_words import guid
from .show_gids import Gid


@dataclass(frozen=True, slots=True)
class PortMtu:
    """Bytes of payload that an RDMA packet of a port may hold, and might."""

    device: str
    port: int
    active: int | None
    largest: int | None


DevinfoReading = Hca | HcaPort | PortMtu | Gid

_DEVICE = re.compile(r"hca_id:\s{1,12}([\w.-]{1,64})\s*")
_VALUE = re.compile(r"\s{1,40}([a-z][a-z_]{1,40}):\s{1,40}(\S.{0,200}?)\s*")
_PORT = re.compile(r"\s{1,40}port:\s{1,20}(\d{1,3})\s*")
_GID = re.compile(r"\s{1,40}GID\[\s{0,4}(\d{1,4})\]:\s{1,20}([0-9a-f:.]{2,45})(?:, (IB/RoCE v1|RoCE v[12]))?\s*")
_STATES = {
    "PORT_DOWN": "Down",
    "PORT_INIT": "Initializing",
    "PORT_INITIALIZING": "Initializing",
    "PORT_ARMED": "Armed",
    "PORT_ACTIVE": "Active",
}
_NUMBER = re.compile(r"(\d{1,9})\b.*")
_VERSIONS = {"IB/RoCE v1": "v1", "RoCE v1": "v1", "RoCE v2": "v2"}
GROUPS = 8


@dataclass(slots=True)
class _Block:
    """What was read so far of one adapter."""

    device: str
    values: dict[str, str] = field(default_factory=dict)
    ports: dict[int, dict[str, str]] = field(default_factory=dict)
    gids: list[Gid] = field(default_factory=list)
    port: int = 1


def parse_ibv_devinfo(text: str) -> Parsed[DevinfoReading]:
    """Read all adapters; of an excerpt what is shown, its port taken to be the first where none is named."""
    parsed = Parsed[DevinfoReading]()
    block: _Block | None = None
    for number, line in numbered(without_escapes(text)):
        if found := _DEVICE.fullmatch(line):
            _finish(parsed, block)
            block = _Block(found[1])
        elif block and (found := _PORT.fullmatch(line)):
            block.port = int(found[1])
            block.ports[block.port] = {}
        elif block and (found := _GID.fullmatch(line)):
            block.gids.append(_gid(block, found))
        elif block and (found := _VALUE.fullmatch(line)):
            values = block.ports.setdefault(block.port, {}) if _is_of_port(block, found[1]) else block.values
            values[found[1]] = found[2]
        elif line.strip() and not block and not prompt_of(line):
            parsed.cannot_read(number, line)
    _finish(parsed, block)
    return parsed


def _is_of_port(block: _Block, name: str) -> bool:
    return bool(block.ports) or name in ("state", "max_mtu", "active_mtu", "link_layer", "sm_lid", "port_lid")


def _gid(block: _Block, found: re.Match[str]) -> Gid:
    text = _eight_groups(found[2])
    mapped = text.startswith("0000:0000:0000:0000:0000:ffff:")
    ipv4 = ".".join(str(byte) for byte in bytes.fromhex(text[-9:].replace(":", ""))) if mapped else None
    return Gid(block.device, block.port, int(found[1]), text, ipv4, _VERSIONS.get(found[3] or "", "v1"), None)


def _eight_groups(text: str) -> str:
    """`::ffff:10.0.0.1` and `fe80::1` written out; as printed where that can't be done."""
    head, _, tail = text.partition("::")
    groups = [_pieces(part) for part in (head, tail)]
    missing = GROUPS - sum(map(len, groups)) if "::" in text else 0
    written = [group.zfill(4) for group in (*groups[0], *["0"] * missing, *groups[1])]
    return ":".join(written) if len(written) == GROUPS else text


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in filter(None, text.split(":")):
        numbers = piece.split(".")
        if len(numbers) == 4 and all(number.isdigit() and int(number) < 256 for number in numbers):
            a, b, c, d = map(int, numbers)
            pieces += [f"{a:02x}{b:02x}", f"{c:02x}{d:02x}"]
        else:
            pieces.append(piece)
    return pieces


def _finish(parsed: Parsed[DevinfoReading], block: _Block | None) -> None:
    if block is None:
        return
    values = block.values
    parsed.add(
        Hca(
            device=block.device,
            ports=_number(values.get("phys_port_cnt")),
            firmware=values.get("fw_ver"),
            node_guid=guid(values.get("node_guid", "")),
            system_image_guid=guid(values.get("sys_image_guid", "")),
            board=values.get("board_id"),
        )
    )
    for number, port in block.ports.items():
        if "state" in port or "link_layer" in port:
            parsed.add(_port(block, number, port))
        active, largest = _number(port.get("active_mtu")), _number(port.get("max_mtu"))
        if active is not None or largest is not None:
            parsed.add(PortMtu(block.device, number, active, largest))
    for one in block.gids:
        layer = block.ports.get(one.port, {}).get("link_layer", "")
        parsed.add(one if layer != "InfiniBand" else replace(one, version="v1"))


def _port(block: _Block, number: int, port: dict[str, str]) -> HcaPort:
    return HcaPort(
        device=block.device,
        port=number,
        state=_STATES.get(port.get("state", "").partition(" ")[0]),
        phys_state=None,
        rate_gbps=None,
        printed_gbps=None,
        link_layer=port.get("link_layer"),
        lid=_number(port.get("port_lid")) or None,
        node_guid=guid(block.values.get("node_guid", "")),
        firmware=block.values.get("fw_ver"),
        sm_lid=_number(port.get("sm_lid")) or None,
    )


def _number(text: str | None) -> int | None:
    found = _NUMBER.fullmatch(text or "")
    return int(found[1]) if found else None


def _recognizes(head: str) -> bool:
    return any(_DEVICE.fullmatch(line) for _, line in numbered(without_escapes(head)))


TOOL = Tool(
    "ibv_devinfo",
    _recognizes,
    parse_ibv_devinfo,
    file_names=("*ibv_devinfo*", "*devinfo*"),
    unconfirmed="the source of rdma-core",
)
