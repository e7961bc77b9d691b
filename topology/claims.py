"""What sources say about a fabric, one claim a statement: merged into one graph, and held against each other.

A claim names its source and says nothing that the source did not say. Values that a source does not give are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from ..incident.ids import ComponentId, NodeId

Value: TypeAlias = str | int | float | bool


class Source(StrEnum):
    """Who said it, the most trusted first: what a device says of itself, what the system read of it, what tools derive
    from that, what people wrote down, what the data sheet of the platform has."""

    NVML = "NVML"
    NVIDIA_SMI = "nvidia-smi"
    NVLINK_REMOTES = "nvidia-smi nvlink -R"
    SYSFS = "sysfs"
    LSPCI = "lspci"
    IBSTAT = "ibstat"
    IBLINKINFO = "iblinkinfo"
    IBNETDISCOVER = "ibnetdiscover"
    LLDP = "LLDP"
    NCCL = "NCCL topology"
    TOPO_MATRIX = "nvidia-smi topo -m"
    INVENTORY = "inventory"
    PLATFORM = "platform"

    @property
    def trust(self) -> int:
        """0 is trusted most."""
        return _TRUST[self]


_TRUST = {source: place for place, source in enumerate(Source)}


@dataclass(frozen=True, slots=True)
class PartClaim:
    """A part is there, and this is so about it.

    Facts by kind. gpu: bus_address, model, uuid, serial, minor, cluster_uuid, clique_id, numa, rank, memory_bytes,
    c2c_numa (the socket it hangs on by C2C). nvswitch: bus_address, tray. nic: bus_address, numa, node_guid, port_guid,
    link_layer, rate_gbps, netdev, rail, state, spine (by which traffic to it goes). bridge: bus_address. netswitch (a
    leaf, a spine, any network switch): guid, title, lid, tier (`leaf`, `spine`), routing (`adaptive`). host: rack,
    rack_unit, hostname, domain (NVLink domain). numa: cpus, memory_bytes, socket.
    """

    part: ComponentId
    kind: str
    source: Source
    facts: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainClaim:
    """The bridges between a GPU or NIC and its root port, and the socket it hangs on."""

    device: ComponentId
    source: Source
    bridges: tuple[str, ...] = ()
    """Bus addresses from the root port down; empty where only the socket is told."""
    numa: int | None = None


@dataclass(frozen=True, slots=True)
class PcieClaim:
    """State of one PCIe link: a device's (`node/gpu3/pcie`) or a bridge's (`node/pcie/0000:16:00.0`)."""

    link: ComponentId
    source: Source
    facts: Mapping[str, Value]
    """speed_gts, width, max_speed_gts, max_width; `generation` and `max_generation` are taken for the speeds."""


@dataclass(frozen=True, slots=True)
class LaneClaim:
    """One NVLink of a GPU: where it ends and how it is."""

    gpu: ComponentId
    lane: int
    source: Source
    far: ComponentId | None = None
    """An NVSwitch or a GPU, None where the source doesn't say."""
    port: int | None = None
    """Port of the NVSwitch, or lane of the other GPU."""
    up: bool | None = None
    gbs: float | None = None
    """GB/s in one direction."""


@dataclass(frozen=True, slots=True)
class LaneCountClaim:
    """So many NVLinks lead from a GPU to a part, without saying which (`topo -m`, NCCL)."""

    gpu: ComponentId
    far: ComponentId | None
    """None: to NVSwitches that the source does not tell apart."""
    count: int
    source: Source


@dataclass(frozen=True, slots=True)
class ClosenessClaim:
    """What traffic between two devices of a node crosses, in the words of `topo -m`: PIX, PXB, PHB, NODE, SYS, NV."""

    here: ComponentId
    there: ComponentId
    closeness: str
    source: Source
    lanes: int = 0


@dataclass(frozen=True, slots=True)
class CableClaim:
    """Two ports of a network are wired to each other: NIC to switch, or switch to switch."""

    here: ComponentId
    """`node/mlx5_4` or a network switch."""
    here_port: int | str
    there: ComponentId
    there_port: int | str
    source: Source
    facts: Mapping[str, Value] = field(default_factory=dict)
    """width (lanes), lane_gbps, rate_gbps, max_rate_gbps, state (`active`, `down`, ...)."""


Claim: TypeAlias = PartClaim | ChainClaim | PcieClaim | LaneClaim | LaneCountClaim | ClosenessClaim | CableClaim


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two sources say different things about one part."""

    component: ComponentId
    attribute: str
    """`numa`, `width`, `far`, `closeness`, ..."""
    said: tuple[tuple[Source, Value], ...]
    """Who says what, the most trusted first: that one stands in the graph."""

    @property
    def sentence(self) -> str:
        """`width: NVML says 16, lspci says 8`."""
        return f"{self.attribute}: " + ", ".join(f"{source} says {value}" for source, value in self.said)


@dataclass(frozen=True, slots=True)
class NodeClaims:
    """All that is said about one node, or about the network between nodes (`node` None)."""

    node: NodeId | None
    claims: tuple[Claim, ...]
