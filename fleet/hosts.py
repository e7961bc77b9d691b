"""Host sets as the field writes them: `gpu[001-064]`, `@rack3`, `gpu[1-8]!gpu3`, as ClusterShell reads them."""

from __future__ import annotations

from collections.abc import Iterable

from ClusterShell.NodeSet import NodeSet, NodeSetException

from ..incident.errors import InputError
from ..incident.ids import NodeId

MOST_NODES = 20_000


def expand(hosts: Iterable[str]) -> tuple[NodeId, ...]:
    """The nodes that host sets name, in the order written, each once.

    Raises InputError for a set that can't be read, that names nothing, or that names more than 20 000 nodes.
    """
    found: dict[NodeId, None] = {}
    for text in hosts:
        for node in _nodes_of(text):
            found[NodeId(node)] = None
    if not found:
        raise InputError("no hosts given; expected names or sets such as gpu-001 or gpu[001-064]")
    return tuple(found)


def _nodes_of(text: str) -> Iterable[str]:
    try:
        nodes = NodeSet(text)
    except (NodeSetException, ValueError) as error:
        raise InputError(f"host set {text!r}: {error}; expected a set such as gpu[001-064] or gpu1,gpu2") from None
    except Exception as error:  # ClusterShell's group sources run what the site configured
        raise InputError(
            f"host set {text!r}: its group can't be resolved ({error}); see clustershell's groups.conf"
        ) from None
    if len(nodes) > MOST_NODES:
        raise InputError(f"host set {text!r} names {len(nodes)} nodes; expected at most {MOST_NODES}")
    for node in nodes:
        name = str(node)
        if name.startswith("-") or not name.isprintable() or "/" in name or " " in name:
            raise InputError(f"host set {text!r}: {name!r} is no host name")
        yield name
