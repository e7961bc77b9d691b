"""RDMA by perftest: a NIC with itself, a GPU with a NIC of its node, and NICs or GPU memories of two nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ..incident.errors import InputError
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, path
from .nccl_ways import in_words
from .perftest import (
    LATENCY_BYTES,
    PACKAGE,
    SECONDS,
    End,
    Memory,
    Options,
    bandwidth_words,
    end_at,
    latency_words,
    read_bandwidth,
    read_latency,
    two_sides,
)
from .probe import Aim, Disturbs, Measure, Measured, Need, Targets
from .rdma_ways import BELOW_ONE_SWITCH, by_these_nics, nic_of, nic_rate, to_host_memory

WRITE, READ, LATENCY = Need("ib_write_bw", PACKAGE), Need("ib_read_bw", PACKAGE), Need("ib_write_lat", PACKAGE)
PEERMEM = Need("nvidia_peermem", "the NVIDIA driver")
CUDA_BUILD = Need("ib_write_bw built with CUDA", PACKAGE)
PLAIN = Options()
BY_NIC = Disturbs.PCIE | Disturbs.HOST_MEMORY | Disturbs.NETWORK
HIGHEST = {"gid": 255, "tc": 255, "qp": 64}
"""Options of a variant, and the largest value of each."""


@dataclass(frozen=True, slots=True)
class Loopback:
    """A NIC writes to itself: all of its PCIe link and nothing of its cable."""

    gid_index: int | None = None
    traffic_class: int | None = None
    name: str = "rdma_loopback"
    title: str = "RDMA write of a NIC to itself"
    aim: Aim = Aim.NIC
    measure: Measure = Measure.BANDWIDTH
    searches: bool = False
    seconds: float = float(SECONDS)
    disturbs: Disturbs = Disturbs.PCIE | Disturbs.HOST_MEMORY
    needs: tuple[Need, ...] = (WRITE,)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Each NIC."""
        return tuple((nic,) for nic in fabric.nics(node))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The NIC and the links between it and the memory of its socket."""
        return to_host_memory(fabric, targets[0])

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The NIC."""
        return targets

    def cost(self, targets: Targets) -> str:
        """`loads MLX5_4 of gpu-017 and its PCIe links for 4 s`."""
        return f"loads {in_words(targets)} and its PCIe links for {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """Server and client on the same NIC."""
        options = Options(self.gid_index, self.traffic_class)
        return two_sides(trial, fabric, bandwidth_words(WRITE.name), options, (End(trial.targets[0]),) * 2)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """The average, and the NIC's counters."""
        return read_bandwidth(outputs, trial, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What the NIC's link carries, GB/s: it writes to itself no faster."""
        return nic_rate(fabric, targets[0])

    def with_options(self, options: Mapping[str, int]) -> Loopback:
        """The same with a GID index or a traffic class; raises InputError for any other option."""
        known = _known(self.name, options, ("gid", "tc"))
        return replace(
            self, name=variant_name(self.name, options), gid_index=known.get("gid"), traffic_class=known.get("tc")
        )


@dataclass(frozen=True, slots=True)
class GpuNic:
    """A GPU's memory written to itself by a NIC of its node: how well the two are connected."""

    memory: Memory = Memory.GPU
    name: str = "gpu_nic"
    title: str = "GPU to NIC, GPUDirect RDMA"
    aim: Aim = Aim.PAIR
    measure: Measure = Measure.BANDWIDTH
    searches: bool = False
    seconds: float = float(SECONDS)
    disturbs: Disturbs = Disturbs.GPU | Disturbs.PCIE
    needs: tuple[Need, ...] = (CUDA_BUILD, PEERMEM)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Each GPU whose bus address is known with each NIC, the GPU first."""
        gpus = [gpu for gpu in fabric.gpus(node) if fabric.bus_address(gpu)]
        return tuple(product(gpus, fabric.nics(node)))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """Up from the GPU to the first bridge above both and down to the NIC, else across the sockets."""
        return path(fabric, targets[0], targets[1])

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The NIC."""
        return tuple(part for part in targets if fabric.kind_of(part) == "nic")

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 and MLX5_4 of gpu-017 and the PCIe links between them for 4 s`."""
        return f"loads {in_words(targets)} and the PCIe links between them for {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """Server and client on the NIC, both with the GPU's memory."""
        gpu, nic = trial.targets
        options = Options(memory=self.memory)
        return two_sides(trial, fabric, bandwidth_words(WRITE.name), options, (End(nic, gpu),) * 2)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """The average, and the NIC's counters."""
        return read_bandwidth(outputs, trial, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What the NIC's link carries, GB/s, where both are below one PCIe switch; NaN for pairs farther apart."""
        gpu, nic = targets
        near = fabric.closeness(gpu, nic) in BELOW_ONE_SWITCH
        return nic_rate(fabric, nic) if near else math.nan


@dataclass(frozen=True, slots=True)
class Across:
    """RDMA between two nodes, from the first target's NIC to the second's, or from GPU memory to GPU memory."""

    name: str
    title: str
    tool: Need
    options: Options = PLAIN
    measure: Measure = Measure.BANDWIDTH
    seconds: float = float(SECONDS)
    aim: Aim = Aim.ACROSS
    searches: bool = False

    @property
    def of_gpus(self) -> bool:
        """Whether its ends are GPUs; else they are NICs."""
        return self.options.memory is not Memory.HOST

    @property
    def disturbs(self) -> Disturbs:
        """The NICs and the network, and the GPUs whose memory is used."""
        return Disturbs.GPU | Disturbs.PCIE | Disturbs.NETWORK if self.of_gpus else BY_NIC

    @property
    def needs(self) -> tuple[Need, ...]:
        """The tool; for GPU memory built with CUDA, and a way for the NIC into it."""
        if not self.of_gpus:
            return (self.tool,)
        return (CUDA_BUILD,) if self.options.memory is Memory.GPU_DMABUF else (CUDA_BUILD, PEERMEM)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """The ends in this node, each alone."""
        if not self.of_gpus:
            return tuple((nic,) for nic in fabric.nics(node))
        gpus = [gpu for gpu in fabric.gpus(node) if fabric.bus_address(gpu)]
        return tuple((gpu,) for gpu in gpus if nic_of(fabric, gpu) is not None)

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """From memory over the NIC, cable and leaf, through the network, and in again."""
        return by_these_nics(fabric, *targets)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The NICs."""
        return tuple(nic for end in targets if (nic := nic_of(fabric, end)) is not None)

    def cost(self, targets: Targets) -> str:
        """`loads MLX5_4 of gpu-001 and MLX5_4 of gpu-002 and the network between them for 4 s`."""
        their = ", their NICs" if self.of_gpus else ""
        return f"loads {in_words(targets)}{their} and the network between them for {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A server on the second target's node, a client on the first's."""
        latency = self.measure is Measure.LATENCY
        words = latency_words(self.tool.name) if latency else bandwidth_words(self.tool.name)
        source, destination = trial.targets
        return two_sides(trial, fabric, words, self.options, (end_at(fabric, source), end_at(fabric, destination)))

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """The average or the typical time, and the counters of both NICs."""
        read = read_latency if self.measure is Measure.LATENCY else read_bandwidth
        return read(outputs, trial, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What ib_write_bw shows by the slower NIC, GB/s; of both directions the sum.

        NaN for a latency: it depends on how far apart the nodes are, and the published figures are of one fabric."""
        nics = self.counted(fabric, targets)
        rates = [nic_rate(fabric, nic) for nic in nics]
        if self.measure is Measure.LATENCY or len(rates) < len(targets) or any(map(math.isnan, rates)):
            return math.nan
        return min(rates) * (2 if self.options.both_ways else 1)

    def with_options(self, options: Mapping[str, int]) -> Across:
        """The same with a GID index, a traffic class or a number of queue pairs; raises InputError for any other."""
        known = _known(self.name, options, ("gid", "tc", "qp"))
        chosen = replace(
            self.options, gid_index=known.get("gid"), traffic_class=known.get("tc"), queue_pairs=known.get("qp")
        )
        return replace(self, name=variant_name(self.name, options), options=chosen)


def rdma_write(gid_index: int | None = None, traffic_class: int | None = None) -> Across:
    """Writes from host memory to host memory."""
    plain = Across("rdma_write", "RDMA write between two nodes", WRITE)
    given = {"gid": gid_index, "tc": traffic_class}
    chosen = {name: value for name, value in given.items() if value is not None}
    return plain.with_options(chosen) if chosen else plain


def variant_name(name: str, options: Mapping[str, int]) -> str:
    """`rdma_write@gid=3,tc=106`: what a trial of a variant is recorded under."""
    return f"{name}@{','.join(f'{key}={value}' for key, value in sorted(options.items()))}"


def _known(name: str, options: Mapping[str, int], keys: Sequence[str]) -> Mapping[str, int]:
    """The options, checked."""
    for key, value in options.items():
        if key not in keys or not 0 <= value <= HIGHEST[key]:
            possible = ", ".join(f"{each}=0..{HIGHEST[each]}" for each in keys)
            raise InputError(f"{name} takes no {key}={value}; it takes {possible}")
    return options


RDMA_PROBES = (
    Loopback(),
    GpuNic(),
    GpuNic(memory=Memory.GPU_DMABUF, name="gpu_nic_dmabuf", title="GPU to NIC by DMA-BUF", needs=(CUDA_BUILD,)),
    rdma_write(),
    Across("rdma_write_both", "RDMA write between two nodes, both ways at once", WRITE, Options(both_ways=True)),
    Across("rdma_read", "RDMA read between two nodes", READ),
    Across("rdma_write_gpu", "GPUDirect RDMA between two nodes", WRITE, Options(memory=Memory.GPU)),
    Across(
        "rdma_write_gpu_dmabuf", "GPUDirect RDMA by DMA-BUF between two nodes", WRITE, Options(memory=Memory.GPU_DMABUF)
    ),
    Across(
        "rdma_latency",
        f"Latency of RDMA writes of {LATENCY_BYTES} bytes between two nodes",
        LATENCY,
        measure=Measure.LATENCY,
        seconds=1.0,
    ),
)
