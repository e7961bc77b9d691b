"""GID tables of RoCE ports as show_gids and ibv_devinfo print them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..incident.ids import ComponentId, NodeId
from ..parsers.infiniband.show_gids import Gid
from .readings import Readings, Witness, in_order


@dataclass(frozen=True, slots=True)
class Port:
    """A port that has a GID table."""

    node: NodeId
    device: str
    port: int

    @property
    def nic(self) -> ComponentId:
        """The adapter."""
        return self.node / self.device


Table = Mapping[int, Witness[Gid]]


def gid_tables(readings: Readings) -> Mapping[Port, Table]:
    """The newest table of each RoCE port."""
    found: dict[Port, dict[int, Witness[Gid]]] = {}
    for told in in_order(readings.of(Gid)):
        one = told.reading
        if one.netdev is not None or one.version == "v2":
            found.setdefault(Port(told.node, one.device, one.port), {})[one.index] = told
    return found
