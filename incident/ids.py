"""Component ids: readable paths such as `gpu-017/gpu3/nvlink7`.

gpu-017                       the node              gpu-017/host              what all its parts share
gpu-017/gpu3                  a GPU                 gpu-017/gpu3/nvlink7      one lane (an NVLink) of it
gpu-017/gpu3/hbm              its memory            gpu-017/gpu3/pcie         the PCIe link above it
gpu-017/nvswitch2             an NVSwitch           gpu-017/nvswitch2/port12  one of its ports
gpu-017/pcie/0000:16:00.0     a PCIe bridge and the link above it
gpu-017/numa0                 a socket's memory     gpu-017/mlx5_4            a NIC
gpu-017/mlx5_4/pcie           its PCIe link         gpu-017/service/fabricmanager
leaf-3, leaf-3/port12, spine-4, uplink/leaf-3~spine-4, cable/gpu-017:mlx5_4~leaf-3:port12
"""

from __future__ import annotations

import re
from functools import lru_cache

_NICS = ("mlx", "bnxt", "irdma", "efa", "rdmap", "ibp", "roce")
"""How the names of network devices begin."""


class ComponentId(str):
    """A readable path to one part; `/` appends a segment."""

    __slots__ = ()

    def __truediv__(self, segment: str) -> ComponentId:
        return ComponentId(f"{self}/{segment}")

    @property
    def node(self) -> NodeId:
        """The node the part sits in: its first segment (for a cable, the node at its first end)."""
        head, _, rest = self.partition("/")
        if head == "cable":
            head = rest.partition(":")[0]
        return NodeId(head)

    @property
    def parent(self) -> ComponentId:
        """The part above: all but the last segment; a node is its own parent."""
        head, slash, _ = self.rpartition("/")
        return ComponentId(head if slash else self)

    @property
    def name(self) -> str:
        """The last segment."""
        return self.rpartition("/")[2]

    @property
    def within(self) -> str:
        """The path below the node, as shown where the node is already named; the node itself reads as its name."""
        return self.partition("/")[2] or str(self)

    @property
    def kind(self) -> str:
        """What sort of part: `gpu`, `nvlink`, `hbm`, `pcie`, `bridge`, `nvswitch`, `port`, `numa`, `nic`, `host`,
        `service`, `psu`, `cable`, `uplink`, or `node`."""
        return _kind_of(self)

    @property
    def number(self) -> int:
        """The number at the end of the last segment (`gpu3`: 3; `mlx5_4`: 4), -1 where there is none."""
        found = re.search(r"(\d+)$", self)
        return int(found[1]) if found else -1


@lru_cache(maxsize=1 << 16)
def _kind_of(path: str) -> str:
    """Remembered, as it is asked thousands of times a second of the same parts."""
    if "/" not in path:
        return "node"
    segments = path.split("/")
    if segments[0] in ("cable", "uplink"):
        return segments[0]
    if segments[1] == "service":
        return "service"
    if segments[1] == "pcie":
        return "bridge"
    last = segments[-1]
    return "nic" if last.startswith(_NICS) else last.rstrip("0123456789")


class NodeId(ComponentId):
    """A node, by the name the operator calls it."""

    __slots__ = ()


def gpu_id(node: str, index: int) -> ComponentId:
    """`node/gpu3`."""
    return ComponentId(f"{node}/gpu{index}")


def lane_id(gpu: str, lane: int) -> ComponentId:
    """`node/gpu3/nvlink7`."""
    return ComponentId(f"{gpu}/nvlink{lane}")


def nvswitch_id(node: str, index: int) -> ComponentId:
    """`node/nvswitch2`."""
    return ComponentId(f"{node}/nvswitch{index}")


def bridge_id(node: str, address: str) -> ComponentId:
    """`node/pcie/0000:16:00.0`."""
    return ComponentId(f"{node}/pcie/{address}")


def numa_id(node: str, index: int) -> ComponentId:
    """`node/numa0`."""
    return ComponentId(f"{node}/numa{index}")


def host_id(node: str) -> ComponentId:
    """`node/host`: what all parts of a node share."""
    return ComponentId(f"{node}/host")
