"""The links between two devices of a node, or a device and its socket, where no NVLink joins them."""

from __future__ import annotations

from ..incident.ids import ComponentId
from .fabric import Fabric


def links_above(fabric: Fabric, device: ComponentId) -> tuple[ComponentId, ...]:
    """The links between a device and its socket: C2C where it has it, else the PCIe links up to the root port."""
    c2c = fabric.c2c_of(device)
    return fabric.chain(device) if c2c is None else (c2c,)


def over_pcie(fabric: Fabric, src: ComponentId, dst: ComponentId) -> tuple[ComponentId, ...]:
    """Up to the first bridge above both devices and down again, else across the sockets."""
    up, down = links_above(fabric, src), links_above(fabric, dst)
    common = set(up) & set(down)
    links = [link for link in (*up, *down) if link not in common]
    turn = next((link for link in up if link in common), None)
    if turn is not None:
        return (*links, turn)
    sockets = (fabric.numa_of(src), fabric.numa_of(dst))
    return (*links, *dict.fromkeys(socket for socket in sockets if socket is not None))
