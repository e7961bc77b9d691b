"""What NCCL says of a job as it starts and ends: communicators, networks, GPUDirect, NVLink fabric, settings, choices.

Source: captures nccl/nccl-info-init-complete-h100, -trees-channels-8rank-2node, -by-subsystem-docs; NVIDIA/nccl
src/init.cc, src/transport/net_ib and nvls.cc for the lines on HCAs, MNNVL and NVLS support (no capture has them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .bus_id import address_of_bus_id
from .log_line import FromProcess, LogLine


@dataclass(frozen=True, slots=True)
class NcclVersion:
    """`NCCL version 2.30.3+cuda13.0`; the line names no process mostly."""

    version: str
    cuda: str | None
    """Version it was built for."""
    host: str = ""


@dataclass(frozen=True, slots=True)
class Communicator(FromProcess):
    """A rank of a communicator reached a stage: this is the map from ranks to GPUs."""

    comm: str
    """Its address in the process, which other lines of the process name; empty where left out."""
    rank: int
    nranks: int
    cuda_dev: int
    nvml_dev: int | None
    bus_address: str | None
    comm_id: str | None
    """Equal on all ranks."""
    stage: str
    """`Init START`, `Init COMPLETE`, `Destroy COMPLETE`, ...: a rank that starts and does not complete hangs."""


@dataclass(frozen=True, slots=True)
class CommunicatorShape(FromProcess):
    """How a communicator's ranks lie on nodes."""

    comm: str
    rank: int
    nranks: int
    nodes: int
    local_ranks: int
    local_rank: int
    mnnvl: bool | None
    """Whether NVLink joins several nodes in it."""


@dataclass(frozen=True, slots=True)
class ChannelCounts(FromProcess):
    """Channels by use; None for a use that this version does not print."""

    coll: int | None
    collnet: int | None
    nvls: int | None
    p2p: int | None
    p2p_per_peer: int | None


@dataclass(frozen=True, slots=True)
class Connected(FromProcess):
    """All connections of a kind stand: `all rings`, `all trees`, `NVLS tree`."""

    what: str


@dataclass(frozen=True, slots=True)
class NetworkInUse(FromProcess):
    """`Using network IB`: what ranks on other nodes are reached over; `Socket` where no RDMA was found."""

    network: str


@dataclass(frozen=True, slots=True)
class NetworkDevice(FromProcess):
    """A device that a network has found: the index is the one that channels name."""

    network: str
    index: int
    name: str
    port: int | None
    link: str
    """`IB`, `RoCE`, or an address where it is a socket."""


@dataclass(frozen=True, slots=True)
class GdrSupport(FromProcess):
    """Whether NICs may read GPU memory."""

    by: str
    """`DMA-BUF`, or `peermem` for the line on an HCA."""
    hca: str | None
    available: bool


@dataclass(frozen=True, slots=True)
class FabricInfo(FromProcess):
    """What the driver says of a GPU's NVLink fabric."""

    bus_address: str | None
    cluster_uuid: str
    """`0.0` where the fabric manager has not set one, or the fabric ends at the node."""
    clique_id: int
    state: int
    """nvmlGpuFabricState: 3 is completed."""
    health_mask: int | None


@dataclass(frozen=True, slots=True)
class FabricClique(FromProcess):
    """The ranks that NVLink joins across nodes."""

    mnnvl: bool
    clique_id: int
    size: int
    rank: int


@dataclass(frozen=True, slots=True)
class NvlsSupport(FromProcess):
    """Whether NVLink SHARP can be used on a device."""

    on_device: int
    available: bool


@dataclass(frozen=True, slots=True)
class MulticastGroup(FromProcess):
    """An NVLS multicast group is being made, or has been."""

    nranks: int
    size: int
    """Bytes."""
    rank: int
    created: bool


@dataclass(frozen=True, slots=True)
class Setting(FromProcess):
    """A variable that NCCL took from its environment or configuration."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class InitTime(FromProcess):
    """How long initialization took, in seconds."""

    rank: int
    nranks: int
    total_s: float
    parts: Mapping[str, float] = field(default_factory=dict)


_COMMUNICATOR = re.compile(
    r"(?:\[Rank \d{1,7}\] )?(?:\w{1,60} )?comm (\S{1,40}) rank (\d{1,7}) nranks (\d{1,7}) cudaDev (\d{1,4})"
    r"(?: nvmlDev (\d{1,4}))? busId (\S{1,20})((?: \w{1,20} \S{1,40}){0,8}) - (\w{1,20} \w{1,20})"
)
_COMM_ID = re.compile(r" commId (\S{1,40})")
_SHAPE = re.compile(
    r"comm (\S{1,40}) rank (\d{1,7}) nRanks (\d{1,7}) nNodes (\d{1,6}) localRanks (\d{1,5}) localRank (\d{1,5})"
    r"(?: MNNVL (\d))?"
)
_COUNTS = re.compile(r"(\d{1,5}) (?:(coll|collnet|nvls|p2p) channels(?! per)|(p2p) channels per peer)")
_NETWORK = re.compile(r"Using network (\S.{0,80})")
_DEVICES = re.compile(r"NET/([\w -]{1,40}?) ?: Using ")
_DEVICE = re.compile(r"\[(\d{1,4})\]([\w.\-]{1,40}):(?:(\d{1,3})/(\w{1,12})|([0-9a-fA-F.:%\w]{2,60})<\d{1,5}>)")
_MOST_DEVICES = 256
_DMA_BUF = re.compile(r"DMA-BUF is (not )?available on GPU device")
_HCA = re.compile(
    r"(?:NET/\w{1,20} ?: )?GPU Direct RDMA (Enabled|Disabled) for (?:GPU \w{1,16} / )?HCA (\d{1,4})"
    r"(?: : (\S{1,40})| '([^']{1,40})')?"
)
_FABRIC = re.compile(
    r"MNNVL busId (\S{1,20}) fabric UUID ([0-9a-f]{1,16}\.[0-9a-f]{1,16}) cliqueId (0x[0-9a-f]{1,8}) state (\d{1,4})"
    r"(?: healthMask (0x[0-9a-f]{1,8}))?"
)
_CLIQUE = re.compile(r"MNNVL (\d) cliqueId ([0-9a-f]{1,8}) cliqueSize (\d{1,6}) cliqueRank (\d{1,6})")
_NVLS = re.compile(r"NVLS multicast support is (not )?available on dev (\d{1,4})")
_MULTICAST = re.compile(
    r"NVLS (Creating|Created) Multicast group (?:\S{1,40} )?nranks (\d{1,6}) size (\d{1,15}) on rank (\d{1,7})"
)
_SETTING = re.compile(r"(NCCL_\w{1,60}) set (?:by environment )?to (.{0,400}?)\.?\s*")
_TIME = re.compile(
    r"Init timings - \w{1,60}: rank (\d{1,7}) nranks (\d{1,7}) total (\d{1,8}\.?\d{0,6})(?: \(([^)]{0,400})\))?"
)
_PART = re.compile(r"(\w{1,30}) (\d{1,8}\.?\d{0,6})")
_CONNECTED = re.compile(r"Connected (all rings|all trees|NVLS tree)")
_VERSION = re.compile(r"NCCL version (\d[\w.\-]{0,40})(?:\+cuda(\d[\d.]{0,12}))?")


def read_version(text: str, host: str = "") -> NcclVersion | None:
    """`NCCL version 2.30.3+cuda13.0`, wherever it stands on a line."""
    found = _VERSION.search(text)
    return NcclVersion(found[1], found[2], host) if found else None


def read_communicator(line: LogLine) -> Iterator[Communicator | CommunicatorShape]:
    """Nothing where the line breaks off."""
    if found := _SHAPE.match(line.text):
        comm, rank, nranks, nodes, local_ranks, local_rank, mnnvl = found.groups()
        yield CommunicatorShape(
            *line.origin,
            comm=_known(comm) or "",
            rank=int(rank),
            nranks=int(nranks),
            nodes=int(nodes),
            local_ranks=int(local_ranks),
            local_rank=int(local_rank),
            mnnvl=None if mnnvl is None else mnnvl != "0",
        )
    elif found := _COMMUNICATOR.match(line.text):
        comm, rank, nranks, cuda, nvml, bus_id, more, stage = found.groups()
        comm_id = _COMM_ID.search(more)
        yield Communicator(
            *line.origin,
            comm=_known(comm) or "",
            rank=int(rank),
            nranks=int(nranks),
            cuda_dev=int(cuda),
            nvml_dev=int(nvml) if nvml else None,
            bus_address=address_of_bus_id(bus_id),
            comm_id=_known(comm_id[1]) if comm_id else None,
            stage=stage,
        )


def _known(text: str | None) -> str | None:
    """None for what documentation leaves out: `0x...`."""
    return None if text is None or text.endswith("...") else text


def read_channel_counts(line: LogLine) -> Iterator[ChannelCounts]:
    """`16 coll channels, 0 collnet channels, 16 nvls channels, 16 p2p channels, 1 p2p channels per peer`."""
    counts = {kind or "per peer": int(number) for number, kind, _ in _COUNTS.findall(line.text[:400])}
    if counts:
        yield ChannelCounts(*line.origin, *map(counts.get, ("coll", "collnet", "nvls", "p2p", "per peer")))


def read_network(line: LogLine) -> Iterator[NetworkInUse | NetworkDevice]:
    """The network in use, or the devices that one has found."""
    if found := _NETWORK.match(line.text):
        yield NetworkInUse(*line.origin, found[1].strip())
    elif found := _DEVICES.match(line.text):
        for device in list(_DEVICE.finditer(line.text, found.end()))[:_MOST_DEVICES]:
            index, name, port, link, address = device.groups()
            yield NetworkDevice(*line.origin, found[1], int(index), name, int(port) if port else None, link or address)


def read_gdr(line: LogLine) -> Iterator[GdrSupport]:
    """`DMA-BUF is available on GPU device 0`, `GPU Direct RDMA Enabled for HCA 0 'mlx5_0'`."""
    if found := _DMA_BUF.match(line.text):
        yield GdrSupport(*line.origin, "DMA-BUF", None, not found[1])
    elif found := _HCA.search(line.text):
        yield GdrSupport(*line.origin, "peermem", found[3] or found[4] or found[2], found[1] == "Enabled")


def read_fabric(line: LogLine) -> Iterator[FabricInfo | FabricClique]:
    """Both MNNVL lines; nothing where one breaks off."""
    if found := _FABRIC.match(line.text):
        bus_id, uuid, clique, state, health = found.groups()
        mask = int(health, 16) if health else None
        yield FabricInfo(*line.origin, address_of_bus_id(bus_id), uuid, int(clique, 16), int(state), mask)
    elif found := _CLIQUE.match(line.text):
        yield FabricClique(*line.origin, found[1] != "0", int(found[2], 16), int(found[3]), int(found[4]))


def read_nvls(line: LogLine) -> Iterator[NvlsSupport | MulticastGroup]:
    """Nothing for the other NVLS lines, which tell of memory."""
    if found := _NVLS.match(line.text):
        yield NvlsSupport(*line.origin, int(found[2]), not found[1])
    elif found := _MULTICAST.match(line.text):
        state, nranks, size, rank = found.groups()
        yield MulticastGroup(*line.origin, int(nranks), int(size), int(rank), state == "Created")


def read_connected(line: LogLine) -> Iterator[Connected]:
    """`Connected all rings`; nothing for connections to a proxy."""
    if found := _CONNECTED.match(line.text):
        yield Connected(*line.origin, found[1])


def read_setting(line: LogLine) -> Iterator[Setting]:
    """`NCCL_SHM_DISABLE set by environment to 1.`"""
    if found := _SETTING.fullmatch(line.text):
        yield Setting(*line.origin, found[1], found[2])


def read_init_time(line: LogLine) -> Iterator[InitTime]:
    """Nothing where the line breaks off."""
    if found := _TIME.match(line.text):
        rank, nranks, total, parts = found.groups()
        named = {name: float(seconds) for name, seconds in _PART.findall(parts or "")}
        yield InitTime(*line.origin, int(rank), int(nranks), float(total), named)
