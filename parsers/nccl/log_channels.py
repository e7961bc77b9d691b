"""How ranks are joined: channels and their transports, rings and trees, as NCCL's log has them.

`Channel 00/0 : 3[3] -> 4[0] [receive] via NET/IBext_v8/0/GDRDMA`; the bracket holds the device index, in old versions
the bus id. `Trees [0] 5/-1/-1->4->0` reads children, self, parent; the older `Tree 0 : -1 -> 0 -> 1/-1/-1` parent,
self, children.
Source: captures nccl/nccl-info-channels-*, -trees-*, -by-subsystem-docs; NVIDIA/nccl src/graph/connect.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from .bus_id import index_or_address
from .log_line import FromProcess, LogLine


@dataclass(frozen=True, slots=True)
class Channel(FromProcess):
    """One edge of one channel, from `rank` to `to_rank`, and the transport that was chosen for it."""

    number: int
    connection: int | None
    """The number behind the slash, since 2.11."""
    rank: int
    device_of_rank: int | None
    """None in old versions, which print the bus id."""
    bus_of_rank: str | None
    to_rank: int
    device_of_to_rank: int | None
    bus_of_to_rank: str | None
    direction: str | None
    """`send` or `receive`, of network edges: each end writes its own."""
    transport: str
    """`P2P`, `SHM`, `NET` or `COLLNET`."""
    detail: str
    """What follows it, as printed: `CUMEM`, `direct pointer`, `IB/3/GDRDMA`."""
    network: str | None
    """`IB`, `Socket`, a plugin's name; None where no network is used, and so below."""
    nic: int | None
    """NCCL's index of the network device."""
    proxy_rank: int | None
    """The rank whose GPU and NIC relay it (PXN)."""
    gdrdma: bool | None
    """Whether the NIC reads GPU memory; false means that data cross host memory."""


@dataclass(frozen=True, slots=True)
class Tree(FromProcess):
    """A rank's place in the tree of one channel."""

    channel: int
    rank: int
    parent: int | None
    """None at the root."""
    children: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ring(FromProcess):
    """A rank's place in the ring of one channel."""

    channel: int
    before_it: int
    rank: int
    after_it: int


@dataclass(frozen=True, slots=True)
class ChannelOrder(FromProcess):
    """`Channel 00/16 : 0 3 2 1`: the ranks in the order of the ring, as rank 0 prints it."""

    channel: int
    channels: int
    ranks: tuple[int, ...]


JoinReading: TypeAlias = Channel | Tree | Ring | ChannelOrder

_CHANNEL = re.compile(
    r"Channel (\d{1,4})(?:/(\d{1,4}))? ?: (\d{1,7})\[([0-9a-fA-Fx]{1,14})\] ?-> ?(\d{1,7})\[([0-9a-fA-Fx]{1,14})\] "
    r"(?:\[(send|receive)\] )?via (.{1,200})"
)
_ORDER = re.compile(r"Channel (\d{1,4})/(\d{1,4}) :((?: {1,8}\d{1,7}){1,4096})\s*")
_SHARED_MEMORY = "direct shared memory"
_NETWORK = re.compile(r"([^/]{1,80})/(\d{1,4})(?:\((\d{1,7})\))?((?:/[\w()]{1,24}){0,4})")
_RING = re.compile(r"Ring (\d{1,4}) : (\d{1,7}) -> (\d{1,7}) -> (\d{1,7})\s*")
_OLD_TREE = re.compile(r"Tree (\d{1,4}) : (-?\d{1,7}) -> (\d{1,7}) -> (-?\d{1,7}(?:/-?\d{1,7}){0,7})\s*")
_TREES = re.compile(r"\[(\d{1,4})\] (-?\d{1,7}(?:/-?\d{1,7}){0,7})->(\d{1,7})->(-?\d{1,7})(?=\s|$)")
_MOST_TREES = 128
"""NCCL has at most 64 channels, and two trees for each."""


def read_channel(line: LogLine) -> Iterator[Channel | ChannelOrder]:
    """Nothing where the line breaks off."""
    if found := _CHANNEL.match(line.text):
        number, connection, rank, at, to_rank, to, direction, via = found.groups()
        device, bus = index_or_address(at)
        to_device, to_bus = index_or_address(to)
        transport, detail = _transport(via.strip())
        network, nic, proxy, gdrdma = _network(detail) if transport == "NET" else (None, None, None, None)
        yield Channel(
            *line.origin,
            number=int(number),
            connection=int(connection) if connection else None,
            rank=int(rank),
            device_of_rank=device,
            bus_of_rank=bus,
            to_rank=int(to_rank),
            device_of_to_rank=to_device,
            bus_of_to_rank=to_bus,
            direction=direction,
            transport=transport,
            detail=detail,
            network=network,
            nic=nic,
            proxy_rank=proxy,
            gdrdma=gdrdma,
        )
    elif found := _ORDER.fullmatch(line.text):
        yield ChannelOrder(*line.origin, int(found[1]), int(found[2]), tuple(map(int, found[3].split())))


def _transport(via: str) -> tuple[str, str]:
    """`P2P/CUMEM` -> P2P, CUMEM; old versions spell shared memory out."""
    transport, _, detail = ("SHM", "", via) if via == _SHARED_MEMORY else via.partition("/")
    return transport, detail


def _network(detail: str) -> tuple[str | None, int | None, int | None, bool | None]:
    """`IB/3(1)/GDRDMA` -> network, NIC, proxy's rank, GDRDMA."""
    found = _NETWORK.match(detail)
    if not found:
        return None, None, None, None
    network, nic, proxy, ways = found.groups()
    return network, int(nic), int(proxy) if proxy else None, "GDRDMA" in ways


def read_ring(line: LogLine) -> Iterator[Ring]:
    """Nothing where the line breaks off."""
    if found := _RING.fullmatch(line.text):
        channel, before, rank, after = map(int, found.groups())
        yield Ring(*line.origin, channel, before, rank, after)


def read_tree(line: LogLine) -> Iterator[Tree]:
    """Both notations; nothing where the line breaks off."""
    if found := _OLD_TREE.fullmatch(line.text):
        channel, up, rank, down = found.groups()
        yield Tree(*line.origin, int(channel), int(rank), _rank(up), _ranks(down))
        return
    for found in list(_TREES.finditer(line.text))[:_MOST_TREES]:
        channel, down, rank, up = found.groups()
        yield Tree(*line.origin, int(channel), int(rank), _rank(up), _ranks(down))


def _rank(text: str) -> int | None:
    """-1 stands for nobody."""
    return None if text.startswith("-") else int(text)


def _ranks(text: str) -> tuple[int, ...]:
    return tuple(int(rank) for rank in text.split("/") if not rank.startswith("-"))
