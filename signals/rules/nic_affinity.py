"""A GPU sends over a NIC that is farther from it than another one of its node.

NCCL takes the nearest NIC by itself: another one is the work of a setting, of a port that is down, or of a topology
that a virtual machine hides. Where all NICs are as far (Grace boards), none is misplaced.
Source: NVIDIA/nccl src/graph/search.cc for the choice; the legend of `nvidia-smi topo -m` for what is near.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, gpu_id, host_id
from ...parsers.nccl.log_channels import Channel
from ...parsers.nccl.log_messages import Communicator, NetworkDevice
from ...topology.closeness import ORDER
from ...topology.fabric import Fabric
from ..readings import Readings, Witness, by_node
from ..scene import Scene

RULE = "nic_affinity"
NEAR = ("PIX", "PXB")
OTHER_SOCKET = "SYS"
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Misuse:
    """A GPU that never uses a NIC as near as it has."""

    gpu: ComponentId
    used: ComponentId
    way: str
    nearer: ComponentId
    nearer_way: str
    evidence: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"{self.gpu.within} uses {self.used.within} ({self.way}), {self.nearer.within} is {self.nearer_way}"


def nic_affinity(scene: Scene) -> Iterator[Finding]:
    """One finding for each node and class."""
    for node, channels in by_node(scene.readings.of(Channel)).items():
        mapped = _gpus_of_ranks(scene.readings, scene.fabric, node)
        used = _used(scene.readings, node, channels, mapped)
        misused = [one for gpu, nics in used.items() if (one := _misuse(scene.fabric, gpu, nics))]
        for is_far in (True, False):
            if told := [one for one in misused if (one.way == OTHER_SOCKET) is is_far]:
                yield _finding(node, told, sure=bool(mapped))


def _gpus_of_ranks(readings: Readings, fabric: Fabric, node: NodeId) -> Mapping[int, ComponentId]:
    """The GPU of each rank, as communicators tell it."""
    found: dict[int, ComponentId] = {}
    for one in readings.of(Communicator, node):
        said = one.reading
        at = fabric.component_at(node, said.bus_address) if said.bus_address else None
        gpu = at or (gpu_id(node, said.nvml_dev) if said.nvml_dev is not None else None)
        if gpu is not None:
            found[said.rank] = gpu
    return found


def _used(
    readings: Readings, node: NodeId, channels: tuple[Witness[Channel], ...], mapped: Mapping[int, ComponentId]
) -> Mapping[ComponentId, Mapping[ComponentId, str]]:
    """NICs by the GPUs that use them, with the event that says so; what another rank relays is that rank's."""
    names = {one.reading.index: one for one in readings.of(NetworkDevice, node)}
    found: dict[ComponentId, dict[ComponentId, str]] = {}
    for one in channels:
        channel = one.reading
        rank, device = channel.rank, channel.device_of_rank
        if channel.direction == "receive":
            rank, device = channel.to_rank, channel.device_of_to_rank
        gpu = mapped.get(rank) or (gpu_id(node, device) if device is not None and not mapped else None)
        if channel.nic in names and channel.direction and gpu and channel.proxy_rank in (None, rank):
            found.setdefault(gpu, {}).setdefault(node / names[channel.nic].reading.name, one.id)
    return found


def _misuse(fabric: Fabric, gpu: ComponentId, nics: Mapping[ComponentId, str]) -> _Misuse | None:
    ways = {nic: way for nic in fabric.nics(gpu.node) if (way := fabric.closeness(gpu, nic)) in ORDER}
    used = {nic: ways[nic] for nic in nics if nic in ways}
    if not used or not ways:
        return None
    nearest, best = min(ways, key=lambda nic: ORDER.index(ways[nic])), min(used, key=lambda nic: ORDER.index(used[nic]))
    if ways[nearest] not in NEAR or used[best] in NEAR:
        return None
    return _Misuse(gpu, best, used[best], nearest, ways[nearest], tuple(dict.fromkeys(nics.values())))


def _finding(node: NodeId, told: list[_Misuse], *, sure: bool) -> Finding:
    far = told[0].way == OTHER_SOCKET
    more = f"; {len(told) - MOST_NAMED} more alike" if len(told) > MOST_NAMED else ""
    return Finding(
        component=told[0].gpu if len(told) == 1 else host_id(node),
        fru="configuration",
        fault_class="nic-affinity/numa" if far else "nic-affinity/topology",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
        title=f"{'; '.join(one.sentence for one in told[:MOST_NAMED])}{more}",
        evidence=tuple(dict.fromkeys(id_ for one in told for id_ in one.evidence)),
        argues_against=(
            "the nearer NIC may have been left out on purpose, or be down",
            *(() if sure else ("which GPU a rank has is taken from its device number, which a job may have changed",)),
        ),
        next="Look at NCCL_IB_HCA and NCCL_TOPO_FILE of the job, and at the state of the nearer NIC.",
        victims=tuple(one.gpu for one in told),
        rule=RULE,
    )
