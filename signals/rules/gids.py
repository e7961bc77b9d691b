"""RoCE addressed by the wrong entry of a GID table: of another version than the peers', none, or one that has moved.

`NCCL_IB_GID_INDEX` names a row by its number, and rows move when addresses come and go; a connection that was made with
an entry that is gone ends in retries. Since 2.21 NCCL finds the row itself unless told.
Source: NCCL user guide, NCCL_IB_GID_INDEX; Linux Documentation/infiniband/sysfs (gids, gid_attrs/types).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId
from ...parsers.infiniband.roce_settings import RoceMode
from ...parsers.infiniband.show_gids import Gid
from ...parsers.nccl.log_messages import Setting
from ...parsers.nccl.log_warnings import IbCompletionError
from ..gid_tables import Port, Table, gid_tables
from ..nccl_hosts import by_host
from ..odd_ones import difference
from ..readings import UNKNOWN_NODE, Witness, in_order
from ..scene import Scene

RULE = "gids"
INDEX = "NCCL_IB_GID_INDEX"


def gids(scene: Scene) -> Iterator[Finding]:
    """Entries that moved, entries that were asked for and are not what peers have there, and versions that differ."""
    tables = gid_tables(scene.readings)
    yield from _moved(scene)
    yield from _asked_for(scene, tables)
    yield from _modes(scene)


def _moved(scene: Scene) -> Iterator[Finding]:
    seen: dict[tuple[Port, int], Witness[Gid]] = {}
    errors = scene.readings.of(IbCompletionError)
    told_of: set[Port] = set()
    for told in in_order(scene.readings.of(Gid)):
        port = Port(told.node, told.reading.device, told.reading.port)
        before = seen.get((port, told.reading.index))
        seen[port, told.reading.index] = told
        if before is None or before.reading.gid == told.reading.gid or told.node == UNKNOWN_NODE or port in told_of:
            continue
        if before.output.moment.is_before(told.output.moment):
            told_of.add(port)
            yield _move(port, before, told, [one for one in errors if _names(one, before.reading)])


def _names(error: Witness[IbCompletionError], gid: Gid) -> bool:
    """Whether a failed request was sent from or to an entry."""
    groups = gid.gid.replace(":", "")
    return any(
        groups == said.replace(":", "") or (gid.ipv4 is not None and said.endswith(gid.ipv4))
        for said in (error.reading.local_gid.lower(), error.reading.remote_gid.lower())
        if said
    )


def _move(port: Port, before: Witness[Gid], now: Witness[Gid], errors: list[Witness[IbCompletionError]]) -> Finding:
    return Finding(
        component=port.nic,
        fru="configuration",
        fault_class="net-fabric/gid-changed",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if errors else Confidence.POSSIBLE,
        title=f"GID {now.reading.index} of {port.device} on {port.node} changed from {_shown(before.reading)} to "
        f"{_shown(now.reading)}" + (", and requests that name the old one failed" if errors else ""),
        evidence=(before.id, now.id, *(one.id for one in errors[:4])),
        argues_against=() if errors else ("no failed request names the entry that is gone",),
        next="Find what took the address away and gave another (network manager, DHCP, a VLAN or bond that came late); "
        "start jobs after it stands, and let NCCL choose the entry or name it anew.",
        rule=RULE,
    )


def _shown(gid: Gid) -> str:
    return f"{gid.ipv4 or gid.gid} (RoCE {gid.version})"


def _asked_for(scene: Scene, tables: Mapping[Port, Table]) -> Iterator[Finding]:
    asked = _indices(scene)
    if not asked:
        yield from _unequal(tables)
        return
    everywhere = {int(told.reading.value) for told in asked.values()}
    for port, table in tables.items():
        told = asked.get(port.node)
        index = int(told.reading.value) if told else next(iter(everywhere)) if len(everywhere) == 1 else None
        if index is None:
            continue
        wrong = _wrong(table, index)
        if wrong:
            by = told or next(iter(asked.values()))
            yield _mistaken(port, table, index, wrong, by, told is not None)
    found = difference({node: told.reading.value for node, told in asked.items()})
    if found is not None and not tables:
        yield _indices_differ(asked, found.odd or tuple(asked)[-1:])


def _indices(scene: Scene) -> Mapping[NodeId, Witness[Setting]]:
    return {
        node: one
        for node, told in by_host(scene.readings, Setting).items()
        for one in told
        if one.reading.name == INDEX and one.reading.value.isdigit()
    }


def _wrong(table: Table, index: int) -> str:
    """What is wrong with an entry that is asked for; empty where nothing is, or nothing better is there."""
    good = [one for one, told in table.items() if told.reading.version == "v2" and told.reading.ipv4]
    if not good:
        return ""
    better = f"RoCE v2 with an address is at {', '.join(map(str, sorted(good)[:4]))}"
    if index not in table:
        return f"is empty there; {better}"
    entry = table[index].reading
    if entry.version == "v1":
        return f"is {entry.gid} (RoCE v1) there; {better}"
    return f"is {entry.gid}, which reaches no further than the link; {better}" if entry.is_link_local else ""


def _mistaken(port: Port, table: Table, index: int, wrong: str, by: Witness[Setting], is_own: bool) -> Finding:
    return Finding(
        component=port.nic,
        fru="configuration",
        fault_class="net-fabric/gid",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if is_own else Confidence.POSSIBLE,
        title=f"{INDEX}={index} names an entry of {port.device} on {port.node} that {wrong}",
        evidence=tuple(dict.fromkeys((by.id, *(told.id for told in table.values())))),
        argues_against=() if is_own else (f"that {port.node} is given this index too is not shown",),
        next=f"Take {INDEX} out of the environment (NCCL since 2.21 finds the entry), or name for each node the entry "
        "that show_gids gives as v2 with the address of this network.",
        rule=RULE,
    )


def _indices_differ(asked: Mapping[NodeId, Witness[Setting]], odd: tuple[NodeId, ...]) -> Finding:
    node = odd[0]
    others = ", ".join(f"{told.reading.value} on {one}" for one, told in asked.items() if one != node)
    return Finding(
        component=node / "host",
        fru="configuration",
        fault_class="net-fabric/gid",
        severity=Severity.WARNING,
        confidence=Confidence.UNKNOWN,
        title=f"{INDEX} is {asked[node].reading.value} on {node} and {others[:120]}",
        evidence=tuple(told.id for told in asked.values()),
        argues_against=("rows may rightly differ from node to node: no table is shown",),
        next="Run show_gids on each node: the rows named must be RoCE v2 entries of one network.",
        rule=RULE,
    )


def _unequal(tables: Mapping[Port, Table]) -> Iterator[Finding]:
    """Ports of one name whose row of the address is another one than on the other nodes."""
    first: dict[str, dict[Port, int]] = {}
    for port, table in tables.items():
        rows = [at for at, told in table.items() if told.reading.version == "v2" and told.reading.ipv4]
        if rows and port.node != UNKNOWN_NODE:
            first.setdefault(f"{port.device}:{port.port}", {})[port] = min(rows)
    for ports in first.values():
        found = difference(ports)
        for port in found.odd if found else ():
            yield Finding(
                component=port.nic,
                fru="configuration",
                fault_class="net-fabric/gid",
                severity=Severity.WARNING,
                confidence=Confidence.UNKNOWN,
                title=f"the RoCE v2 address of {port.device} on {port.node} is GID {ports[port]}, on most nodes GID "
                f"{found.usual if found else ''}",
                evidence=tuple(dict.fromkeys(tables[one][ports[one]].id for one in list(ports)[:8])),
                argues_against=("NCCL since 2.21 finds the entry itself unless told",),
                next=f"Check whether {INDEX} is set for jobs; a number that fits most nodes is wrong here.",
                rule=RULE,
            )


def _modes(scene: Scene) -> Iterator[Finding]:
    told = {one.node: one for one in in_order(scene.readings.of(RoceMode)) if one.node != UNKNOWN_NODE}
    found = difference({node: one.reading.version for node, one in told.items()})
    if found is None:
        return
    for node in found.odd or [node for node, version in found.said.items() if version == "v1"]:
        other = "v1" if found.said[node] == "v2" else "v2"
        yield Finding(
            component=node / "host",
            fru="configuration",
            fault_class="net-fabric/gid",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            title=f"connections of {node} default to RoCE {found.said[node]}, those of its peers to RoCE {other}",
            evidence=tuple(one.id for one in told.values()),
            argues_against=("only what connects through rdma_cm follows this mode",),
            next=f"Set it alike on all nodes (cma_roce_mode -d DEVICE -p 1 -m {2 if other == 'v2' else 1}).",
            rule=RULE,
        )
