"""What RDMA between two ends measures in the world, and what it leaves in the ledger of the node that asks.

Between different NICs it is the world's transfer by the NICs beside two GPUs; a NIC with host memory counts as that
with the memory of the GPU beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...draws import uniform
from ...hardware import Nic
from ...ledger import NetTransfer, Transfer
from ...network import way_to_nic
from ..copies import BUSY_AFTER
from ..machine import Machine
from .perftest_talk import Plan, Side
from .timed import healthy, timed

PAYLOAD = 0.9825
"""Share of an InfiniBand link's rate that large messages reach."""
PCIE_PAYLOAD = 0.92
"""Share of a PCIe link's rate that reaches the adapter."""
ACROSS_SOCKETS = 0.4
"""Share of a NIC's rate that reaches a GPU of another socket."""
NEAR_US, FAR_US = 1.9, 3.25
"""One write of 8 bytes below one leaf, and over a spine."""
UNREACHED = "Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0"


@dataclass(frozen=True)
class Measured:
    """What both sides print."""

    gbps: float = 0.0
    """Gb/s in one direction."""
    latency_us: float = 0.0
    tail: float = 1.2
    """The longest write as a multiple of the typical one."""
    trouble: str = ""


def measured(machine: Machine, ends: tuple[Side, Side], plan: Plan, seconds: float, client: bool) -> Measured:
    """What is measured from the client to the server; `client`: whether this side is that."""
    source, target = ends
    wobble = 1 - 0.004 * uniform("perftest", source.node, source.nic, plan.nonce)
    if (source.node, source.nic) == (target.node, target.nic):
        gbps = _looped(machine, source, seconds if client else 0.0) * wobble
        return Measured(gbps, NEAR_US / 2 * (2 - wobble))
    transfer = _across(machine, source, target, plan, seconds)
    if transfer is None:
        return Measured(min(_port(machine, end) for end in ends) * wobble, NEAR_US)
    _note(machine, transfer.ends[0 if client else 1], seconds)
    if transfer.error is not None:
        return Measured(trouble=UNREACHED)
    gbps = 8 * transfer.gbps[0]
    slow = gbps < 0.9 * min(_port(machine, end) for end in ends)
    base = NEAR_US if _one_leaf(machine, source, target) else FAR_US
    return Measured(gbps, base * (2 - wobble), 12.0 if slow else 1.2)


def _looped(machine: Machine, end: Side, seconds: float) -> float:
    """Gb/s of a NIC to itself: of the port's rate and the PCIe link's the lower; with a GPU as its way allows."""
    speed, width = (machine.reading(f"{end.nic}/pcie", name) for name in ("speed_gts", "current_width"))
    best = machine.facts[f"{end.nic}/pcie"]["max_speed_gts"]  # a card that moves data is not idle
    host = (best if not math.isnan(speed) else 0.0) * width * 128 / 130 * PCIE_PAYLOAD
    rate = min(_port(machine, end), host)
    if not end.gpu:
        return rate
    gpu, nic = machine.hardware.gpu(end.gpu), _nic(machine, end)
    rate *= ACROSS_SOCKETS if any(part.startswith("numa") for part in way_to_nic(gpu, nic)) else 1.0
    if not seconds:
        return rate
    (copy,) = timed(machine, [("d2h", (end.gpu,))], seconds)
    return rate * min(1.0, copy.gbps[0] / healthy(machine, "d2h")) if copy.gbps else 0.0


def _port(machine: Machine, end: Side) -> float:
    """Gb/s that a NIC's port carries."""
    return _nic(machine, end).gbps * PAYLOAD


def _nic(machine: Machine, end: Side) -> Nic:
    nics = machine.world.hardware(end.node).nics
    return next((nic for nic in nics if nic.name == end.nic), nics[0])


def _across(machine: Machine, source: Side, target: Side, plan: Plan, seconds: float) -> NetTransfer | None:
    """The world's transfer; None for NICs that the compute network has not."""
    gpus = [_gpu_of(machine, end) for end in (source, target)]
    if gpus[0] is None or gpus[1] is None:
        return None
    return machine.world.net_transfer(
        source.node,
        gpus[0],
        target.node,
        gpus[1],
        (source.clock, target.clock),
        seconds / 2,
        1,
        plan.nonce,
        at=plan.at,
        warm_s=seconds / 2,
    )


def _gpu_of(machine: Machine, end: Side) -> str | None:
    """The GPU whose memory is used, or the first that the NIC is beside."""
    if end.gpu:
        return end.gpu
    board = machine.world.hardware(end.node).board
    return next((gpu.name for gpu in board.gpus if board.nic_beside(gpu).name == end.nic), None)


def _one_leaf(machine: Machine, source: Side, target: Side) -> bool:
    network = machine.world.network
    return len({network.leaf(network.node(end.node), _nic(machine, end)) for end in (source, target)}) == 1


def _note(machine: Machine, transfer: Transfer, seconds: float) -> None:
    """Write this node's end into its ledger."""
    with machine.ledger_file.changing() as change:
        change.ledger = change.ledger.after([transfer], seconds, machine.true_time() + BUSY_AFTER)
