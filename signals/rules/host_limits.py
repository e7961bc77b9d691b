"""Limits of the host or container that stop a job: shared memory too small, locked memory limited, slow CPU clocks.

Docker gives a container 64 MiB of /dev/shm unless told; NCCL and data loaders need gigabytes. RDMA pins memory, for
which the limit must be lifted. That a job met the limit is told by its own complaint.
Source: Docker run reference (--shm-size, --ulimit); NCCL user guide, troubleshooting: shared memory, docker; rdma-core
libibverbs README (locked memory); Linux admin-guide/pm/intel_pstate for `powersave`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId, host_id
from ...parsers.host.containers import Container
from ...parsers.host.governors import Governor
from ...parsers.host.limits import LOCKED_MEMORY, ResourceLimit
from ...parsers.host.mounts import DiskSpace, Mount
from ...parsers.infiniband.ibstat import Hca
from ...parsers.nccl.log_channels import Channel
from ..nccl_complaints import LOCKED, SHARED_MEMORY, complaints
from ..nccl_hosts import by_host
from ..readings import UNKNOWN_NODE, in_order
from ..scene import Scene

RULE = "host_limits"
SHM = "/dev/shm"
DOCKERS_SHM = 64 * 1024.0**2
"""Bytes that a container gets by default."""
SELF_GOVERNED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp", "amd-pstate")
"""CPU drivers under which `powersave` still raises clocks with load."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit as some output shows it."""

    node: NodeId
    size: float
    where: str
    evidence: str


def host_limits(scene: Scene) -> Iterator[Finding]:
    """One finding for each node and kind of limit."""
    yield from _shared_memory(scene)
    yield from _locked_memory(scene)
    yield from _governors(scene)


def _shared_memory(scene: Scene) -> Iterator[Finding]:
    met = complaints(scene.readings, SHARED_MEMORY)
    small = {limit.node: limit for limit in _shm_sizes(scene) if limit.size <= DOCKERS_SHM}
    for node in dict.fromkeys((*met, *small)):
        limit, told = small.get(node), met.get(node, ())
        size = (
            f"{limit.where} of {node} holds {limit.size / 1024**2:.0f} MiB"
            if limit
            else f"{SHM} of {node} is too small"
        )
        yield Finding(
            component=host_id(node),
            fru="configuration",
            fault_class="host-config/shm",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY if told else Confidence.POSSIBLE,
            title=f"{size}: NCCL could not make its shared memory"
            if told
            else f"{size}, what a container gets by default",
            evidence=(*((limit.evidence,) if limit else ()), *(one.id for one in told[:4])),
            argues_against=() if told else ("no job is shown to have failed for it",),
            next="Start the container with --shm-size=8g or --ipc=host (Kubernetes: an emptyDir of medium Memory at "
            f"{SHM}), and read df -h {SHM} inside it.",
            rule=RULE,
        )


def _shm_sizes(scene: Scene) -> Iterator[_Limit]:
    for space in in_order(scene.readings.of(DiskSpace)):
        if space.reading.mounted_on == SHM and space.reading.size_bytes:
            yield _Limit(space.node, space.reading.size_bytes, SHM, space.id)
    for mount in in_order(scene.readings.of(Mount)):
        if mount.reading.mounted_on == SHM and (size := mount.reading.size_bytes):
            yield _Limit(mount.node, size, SHM, mount.id)
    for told in in_order(scene.readings.of(Container)):
        if told.reading.shm_bytes and told.reading.ipc_mode not in ("host",):
            name = f" of container {told.reading.name}" if told.reading.name else " of a container"
            yield _Limit(told.node, float(told.reading.shm_bytes), SHM + name, told.id)


def _locked_memory(scene: Scene) -> Iterator[Finding]:
    met = complaints(scene.readings, LOCKED)
    low = {limit.node: limit for limit in _lock_limits(scene) if limit.size != inf}
    rdma = _rdma_nodes(scene) if low else frozenset()
    for node in dict.fromkeys((*met, *(node for node in low if node in rdma))):
        limit, told = low.get(node), met.get(node, ())
        size = f"locked memory of {limit.where} {node} is limited to {limit.size / 1024:.0f} KiB" if limit else ""
        failed = f"registering memory for RDMA failed on {node}"
        yield Finding(
            component=host_id(node),
            fru="configuration",
            fault_class="host-config/memlock",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY if told and limit else Confidence.POSSIBLE,
            title=f"{size}, and {failed}" if told and limit else size or f"{failed}: locked memory may be limited",
            evidence=(*((limit.evidence,) if limit else ()), *(one.id for one in told[:4])),
            argues_against=(
                *(
                    ()
                    if told
                    else ("no job is shown to have failed for it, and a login shell's limit need not be a job's",)
                ),
                *(() if limit else ("the limit itself is not shown",)),
            ),
            next="Read ulimit -l in the job itself; set it to unlimited (limits.conf, LimitMEMLOCK of the scheduler's "
            "daemon, --ulimit memlock=-1 of the container).",
            rule=RULE,
        )


def _lock_limits(scene: Scene) -> Iterator[_Limit]:
    for told in in_order(scene.readings.of(ResourceLimit)):
        if told.reading.name in (LOCKED_MEMORY, "max " + LOCKED_MEMORY):
            yield _Limit(told.node, told.reading.soft, "a process on", told.id)
    for container in in_order(scene.readings.of(Container)):
        if container.reading.locked_memory is not None:
            yield _Limit(container.node, container.reading.locked_memory, "a container on", container.id)


def _rdma_nodes(scene: Scene) -> frozenset[NodeId]:
    """Nodes that have adapters, or ranks that talk over them: elsewhere nobody pins memory."""
    channels = by_host(scene.readings, Channel)
    over = {node for node, told in channels.items() if any(one.reading.network not in (None, "Socket") for one in told)}
    return frozenset(over | {told.node for told in scene.readings.of(Hca)} | _seen(scene))


def _seen(scene: Scene) -> set[NodeId]:
    return {view.id for view in scene.snapshot.nodes.values() if view.components("nic")}


def _governors(scene: Scene) -> Iterator[Finding]:
    told = {one.node: one for one in in_order(scene.readings.of(Governor)) if one.node != UNKNOWN_NODE}
    fast = [node for node, one in told.items() if one.reading.name == "performance"]
    for node, one in told.items():
        if one.reading.name == "performance":
            continue
        governs_itself = one.reading.driver in SELF_GOVERNED
        yield Finding(
            component=host_id(node),
            fru="configuration",
            fault_class="host-config/cpu-governor",
            severity=Severity.WARNING,
            confidence=Confidence.UNKNOWN if governs_itself and not fast else Confidence.POSSIBLE,
            title=f"the CPUs of {node} run under the governor {one.reading.name}"
            + (f", those of {fast[0]} under performance" if fast else ""),
            evidence=(one.id, *(told[peer].id for peer in fast[:4])),
            argues_against=(
                *((f"{one.reading.driver} raises clocks with load under this governor too",) if governs_itself else ()),
                "no measurement shows that the CPU is what a job waits for",
            ),
            next="cpupower frequency-set -g performance on that node, and measure small messages again.",
            rule=RULE,
        )
