"""What the operator lets a search run, and where: probes by name, nodes by host set."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..incident.errors import InputError
from ..incident.ids import NodeId
from ..probes.catalogue import CATALOGUE
from ..probes.probe import Probe


def allowed_probes(without: Collection[str] = ()) -> dict[str, Probe]:
    """The probes a search may run; raises InputError for a name that is none of them, and when none is left."""
    searching = {name: probe for name, probe in CATALOGUE.items() if probe.searches}
    unknown = sorted(set(without) - searching.keys())
    if unknown:
        raise InputError(f"no search runs a probe {unknown[0]!r}; those that it runs are {', '.join(searching)}")
    allowed = {name: probe for name, probe in searching.items() if name not in without}
    if not allowed:
        raise InputError(f"no probe is left to run; leave at least one of {', '.join(searching)}")
    return allowed


def chosen_nodes(nodes: Sequence[NodeId], excluded: Iterable[NodeId]) -> tuple[NodeId, ...]:
    """Those to be probed; raises InputError for an excluded one that is no host here, and when none is left."""
    out = set(excluded)
    if strangers := sorted(out - set(nodes)):
        raise InputError(f"--exclude names {strangers[0]}, which is none of the hosts")
    left = tuple(node for node in nodes if node not in out)
    if not left:
        raise InputError("--exclude names all hosts; leave at least one to probe")
    return left
