"""The lines that ranks of the node program `nccl` print, made from the world instead of GPUs and NICs.

Point to point only: `sendrecv` and `sendrecv2` between two nodes by the NIC beside each GPU, and within a node by
NVLink, or by the NICs where P2P and shared memory are turned off. What else NCCL can do is refused as NOT_SIMULATED.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..incident.source import Task
from .arguments import MEASURED, bad_task, numbers
from .copy_program import foot_of, gpu_rows
from .hardware import Hardware
from .ledger import CudaError, Transfer
from .network import Network
from .program import Line, Party, Wanted
from .readings import Readings
from .request import NET

VERSION = "2.23.4"
LIBRARY = {
    "path": "/usr/lib/x86_64-linux-gnu/libnccl.so.2",
    "real": f"/usr/lib/x86_64-linux-gnu/libnccl.so.{VERSION}",
    "how": "ldconfig",
    "version": VERSION,
    "cuda": "12.8",
}
FIND, ONE_WAY, BOTH_WAYS = "find", "sendrecv", "sendrecv2"
JOIN_SECONDS = 0.35
"""Until two ranks have a communicator and are connected."""
LIMITS = (*MEASURED, ("ranks", 2, 2, 1024), ("rank0", 0, 0, 1023), ("bytes", 64 << 20, 8192, 4 << 30))
NIC_COUNTERS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_discards",
    "port_xmit_constraint_errors",
    "port_rcv_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "out_of_sequence",
    "packet_seq_err",
    "duplicate_request",
    "implied_nak_seq_err",
    "out_of_buffer",
    "req_cqe_error",
    "resp_cqe_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_remote_access_errors",
    "resp_local_length_error",
    "roce_adp_retrans",
)
"""Those that the program reads at the edges, as far as a simulated NIC has them."""


@dataclass(frozen=True)
class RankTask:
    """The arguments of one rank, checked, with its GPU by name."""

    operation: str
    gpu: str
    rank: int
    windows: int
    window_ms: float
    warm_ms: float
    bytes: int
    by_nics: bool
    """Whether P2P and shared memory are turned off."""
    through_host: bool
    """Whether only P2P is."""
    may_use: tuple[str, ...]
    """NICs that NCCL is restricted to; empty: any."""
    reads: tuple[str, ...]
    """NICs whose counters it reads."""


class NcclProgram:
    """Two ranks are one transfer."""

    start_seconds = JOIN_SECONDS

    def __init__(self, network: Network) -> None:
        self._network = network

    def read(self, task: Task, hardware: Hardware) -> RankTask | str | CudaError:
        """One rank, or `find`."""
        arguments = task.arguments
        operation, buses = arguments.get("op"), arguments.get("gpus")
        if operation == FIND:
            return FIND
        if not isinstance(buses, list | tuple) or len(buses) != 1 or not isinstance(buses[0], str):
            return bad_task("gpus is one PCI bus address: each rank is a task of its own")
        if operation not in (ONE_WAY, BOTH_WAYS):
            return CudaError("arguments", "NOT_SIMULATED", 0, f"the simulated world has no {str(operation)[:40]}")
        gpu = hardware.gpu_at(buses[0])
        if gpu is None:
            return CudaError("cuDeviceGetByPCIBusId", "CUDA_ERROR_INVALID_DEVICE", 101, "invalid device ordinal")
        found = numbers(arguments, LIMITS)
        transports = arguments.get("transports", {})
        if not found or found["ranks"] != 2 or found["rank0"] > 1 or not isinstance(transports, Mapping):
            return bad_task("a number is out of its range, or transports are none")
        no_p2p, no_shm = transports.get("P2P") is False, transports.get("SHM") is False
        return RankTask(
            operation=operation,
            gpu=gpu.name,
            rank=int(found["rank0"]),
            windows=int(found["windows"]),
            window_ms=found["window_ms"],
            warm_ms=found["warm_ms"],
            bytes=int(found["bytes"]),
            by_nics=no_p2p and no_shm,
            through_host=no_p2p and not no_shm,
            may_use=_names(arguments.get("hca")),
            reads=_names(arguments.get("nics")),
        )

    def wanted(self, parties: Sequence[Party]) -> Wanted | CudaError | None:
        """The transfer of rank 0 to rank 1."""
        plans = [party.plan for party in parties]
        if FIND in plans:
            return None
        ranks = sorted(parties, key=lambda party: int(party.plan.rank))
        if [party.plan.rank for party in ranks] != [0, 1]:
            return CudaError("wait for the other tasks", "NOT_TOLD", 0, "no word came from them in time")
        first: RankTask = ranks[0].plan
        if any(plan.operation != first.operation or plan.windows != first.windows for plan in plans):
            return bad_task("the ranks are asked for different things")
        ends = tuple(f"{party.node}/{party.plan.gpu}" for party in ranks)
        if ends[0] == ends[1]:
            return CudaError("ncclCommInitRankConfig", "ncclInvalidUsage", 5, "Duplicate GPU detected")
        if not _goes_by_nics(ranks):
            if first.through_host:
                return CudaError("arguments", "NOT_SIMULATED", 0, "the simulated world has no NCCL through host memory")
            return Wanted("p2p", ends, first.windows, first.window_ms, first.warm_ms)
        for party in ranks:
            beside = self._nic_of(party)
            if party.plan.may_use and beside not in party.plan.may_use:
                text = f"the simulated world's {party.plan.gpu} leaves by {beside} alone"
                return CudaError("arguments", "NOT_SIMULATED", 0, text)
        both = first.operation == BOTH_WAYS
        return Wanted(NET, ends, first.windows, first.window_ms, first.warm_ms, both)

    def lines(self, party: Party, transfer: Transfer, before: Readings, seconds: float) -> Iterator[Line]:
        """Warm-up, head, windows, counters, foot, end; of `find` the one library."""
        if party.plan == FIND:
            yield {"found": {**LIBRARY, "refusal": "", "loads": VERSION}}
            yield {"end": "done", "seconds": round(seconds, 6)}
            return
        plan: RankTask = party.plan
        one_ms = plan.bytes / transfer.gbps[0] * 1e-6
        count = max(1, round(plan.window_ms / one_ms))
        yield {"warm": {"operations_per_window": count, "operation_ms": round(one_ms, 4)}}
        yield {"head": self._head(party, transfer, before)}
        for window, gbps in enumerate(transfer.gbps):
            ms = count * plan.bytes / gbps * 1e-6
            yield {"w": window, "ms": round(ms, 4), "t": round(window * plan.window_ms, 3), "gbps": round(gbps, 3)}
        yield {"counters": list(gpu_rows(plan.gpu, transfer, before, party.hardware, lanes=True, link=True))}
        if plan.reads:
            yield {"counters": list(_nic_rows(plan.reads, transfer, before))}
        yield {"foot": foot_of(transfer.gbps)}
        yield {"closed": "finalized"}
        yield {"end": "spent", "seconds": round(seconds, 6)}

    def _head(self, party: Party, transfer: Transfer, before: Readings) -> Mapping[str, Any]:
        plan: RankTask = party.plan
        gpu = party.hardware.gpu(plan.gpu)
        by_nics = not any(name in ("tx_kib", "rx_kib") for _, name in transfer.steps)
        return {
            "op": plan.operation,
            "rank": plan.rank,
            "ranks": 2,
            "bytes": plan.bytes,
            "windows": plan.windows,
            "driver": 12080,
            "devices": [{"bus": gpu.address, "name": "NVIDIA H100 80GB HBM3", "uuid": party.hardware.uuid(gpu)}],
            "place": {"pinned": True, "cores": 56},
            "nccl": LIBRARY,
            "init_s": round(JOIN_SECONDS * 0.8, 3),
            "start_s": JOIN_SECONDS,
            "via": {"NET/IB/0/GDRDMA": 2} if by_nics else {"P2P/CUMEM": 24},
            "network": "IB",
            "nics": [self._nic_of(party)] if by_nics else [],
            "nvls": None,
            "settings": {},
            "warnings": [],
        }

    def _nic_of(self, party: Party) -> str:
        """The NIC beside a rank's GPU."""
        return self._network.nic_beside(party.hardware, party.hardware.gpu(party.plan.gpu)).name


def _goes_by_nics(ranks: Sequence[Party]) -> bool:
    return ranks[0].node != ranks[1].node or all(party.plan.by_nics for party in ranks)


def _names(value: object) -> tuple[str, ...]:
    """NICs by name, the port of one left out."""
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(str(name).partition(":")[0] for name in listed)


def _nic_rows(nics: Sequence[str], transfer: Transfer, before: Readings) -> Iterator[Mapping[str, str | int]]:
    for nic in nics:
        for name in NIC_COUNTERS:
            if (nic, name) in before:
                at = int(before[nic, name])
                yield {"nic": nic, "name": name, "before": at, "after": at + transfer.steps.get((nic, name), 0)}
