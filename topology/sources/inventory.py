"""What people wrote down: racks, rack units, rails. A TOML file, read strictly:

[nodes."gpu-[001-008]"]        # a host set, as ClusterShell writes them
rack = "r12"
rack_unit = 7                  # optional

[rails]                        # of every node
mlx5_0 = 0
mlx5_3 = 1
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from ClusterShell.NodeSet import NodeSet, NodeSetException

from ...incident.errors import InputError
from ...incident.ids import ComponentId, NodeId, host_id
from ..claims import NodeClaims, PartClaim, Source, Value


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where nodes stand."""

    rack: str = ""
    rack_unit: int | None = None


class Inventory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    nodes: dict[str, Place] = {}
    rails: dict[str, int] = {}


def read_inventory(path: Path) -> Inventory:
    """Read a file; raises InputError that names file and key."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Inventory)
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}; known are nodes (rack, rack_unit) and rails") from error


def claims_of(inventory: Inventory, path: Path, nodes: Iterable[NodeId]) -> list[NodeClaims]:
    """What it says of the nodes that are there; raises InputError for a host set that is none."""
    places = _places(inventory, path)
    found = []
    for node in nodes:
        place = places.get(node, Place())
        told: dict[str, Value] = {"rack": place.rack} if place.rack else {}
        if place.rack_unit is not None:
            told["rack_unit"] = place.rack_unit
        claims = [PartClaim(host_id(node), "host", Source.INVENTORY, told)] if told else []
        claims += [
            PartClaim(ComponentId(node) / nic, "nic", Source.INVENTORY, {"rail": rail})
            for nic, rail in inventory.rails.items()
        ]
        found.append(NodeClaims(node, tuple(claims)))
    return found


def _places(inventory: Inventory, path: Path) -> Mapping[str, Place]:
    found: dict[str, Place] = {}
    for hosts, place in inventory.nodes.items():
        try:
            found |= dict.fromkeys(NodeSet(hosts, autostep=None), place)
        except NodeSetException as error:
            raise InputError(f'{path}: [nodes."{hosts}"] is no host set: {error}') from error
    return found
