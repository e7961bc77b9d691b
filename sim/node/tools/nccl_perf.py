"""`all_reduce_perf`, `sendrecv_perf` and `alltoall_perf` of nccl-tests, on the GPUs of one node."""

from __future__ import annotations

import os

from ..machine import Machine
from .boards import Board, boards
from .timed import healthy, timed

LATENCY_US = 28.0
SECONDS_PER_SIZE = 0.05
UNITS = {"K": 10, "M": 20, "G": 30}
TITLES = {
    "all_reduce_perf": ("sum", "nccl_all_reduce_busbw"),
    "sendrecv_perf": ("none", "nvbandwidth_d2d_write_ce"),
    "alltoall_perf": ("none", "nvbandwidth_d2d_write_ce"),
}
"""Tool: its reduction, and the metric of platforms.toml that a healthy node measures."""


def run(machine: Machine, name: str, arguments: list[str]) -> int:
    """Run the test over the sizes asked for."""
    values = dict(zip(arguments[::2], arguments[1::2], strict=False))
    count = int(values.get("-g", "1"))
    ranks = _visible(boards(machine))
    if count > len(ranks) or any(board.lost for board in ranks[:count]):
        print(f"{machine.hostname}: Test CUDA failure common.cu:1180 'invalid device ordinal'")
        return 2
    ranks = ranks[:count]
    least, most = _size(values.get("-b", "32M")), _size(values.get("-e", "32M"))
    factor = max(2, int(values.get("-f", "2")))
    _head(machine, ranks, least, most, factor, values)
    averages = []
    size = least
    while size <= most:
        outside, inside = (_rates(machine, name, ranks, size) for _ in range(2))
        averages += [outside[2], inside[2]]
        _row(name, size, outside, inside)
        size *= factor
    print(f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {sum(averages) / len(averages):g} \n#\n")
    return 0


def _visible(every: list[Board]) -> list[Board]:
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return every if chosen is None else [every[int(index)] for index in chosen.split(",") if index.isdigit()]


def _size(text: str) -> int:
    return int(float(text[:-1]) * 2 ** UNITS[text[-1].upper()]) if text[-1].upper() in UNITS else int(text)


def _rates(machine: Machine, name: str, ranks: list[Board], size: int) -> tuple[float, float, float]:
    """Time in us, algorithm and bus bandwidth in GB/s. A ring is as fast as its slowest hop."""
    count = len(ranks)
    hops = [("p2p", (one.gpu.name, other.gpu.name)) for one, other in zip(ranks, ranks[1:] + ranks[:1], strict=True)]
    hops = [hop for hop in hops if hop[1][0] != hop[1][1]]
    slowest = min((transfer.gbps[0] for hop in hops for transfer in timed(machine, [hop], _share(hops))), default=0.0)
    metric = machine.hardware.platform.expect[TITLES[name][1]].value
    bus = metric * slowest / healthy(machine, "p2p") if hops else 1300.0
    per_byte = _bus_bytes(name, count)
    micros = LATENCY_US + size * per_byte / (bus * 1e3)
    algorithm = size / (micros * 1e3)
    return micros, algorithm, algorithm * per_byte if count > 1 else 0.0


def _bus_bytes(name: str, count: int) -> float:
    """Bytes on the bus for each byte of a rank's buffer."""
    if count < 2 or name == "sendrecv_perf":
        return 1.0
    return (2 if name == "all_reduce_perf" else 1) * (count - 1) / count


def _share(hops: list[tuple[str, tuple[str, str]]]) -> float:
    return SECONDS_PER_SIZE / len(hops)


def _head(machine: Machine, ranks: list[Board], least: int, most: int, factor: int, values: dict[str, str]) -> None:
    warm, iterations = values.get("-w", "5"), values.get("-n", "20")
    print(
        f"# nThread 1 nGpus {len(ranks)} minBytes {least} maxBytes {most} step: {factor}(factor) warmup iters: {warm} "
        f"iters: {iterations} agg iters: 1 validation: 1 graph: 0\n#\n# Using devices"
    )
    for rank, board in enumerate(ranks):
        print(
            f"#  Rank {rank:2d} Group  0 Pid {os.getpid():6d} on {machine.hostname:>10} device {board.gpu.index:2d} "
            f"[0x{board.gpu.address[5:7]}] {board.fact('name')}"
        )
    print("#\n#" + " " * 62 + "out-of-place" + " " * 23 + "in-place          ")
    side = "    time   algbw   busbw #wrong "
    print(f"#       size         count      type   redop    root {side}{side} ")
    unit = "    (us)  (GB/s)  (GB/s)        "
    print(f"#        (B)    (elements)                           {unit}{unit} ")


def _row(name: str, size: int, outside: tuple[float, ...], inside: tuple[float, ...]) -> None:
    sides = "".join(
        f"  {_micros(micros):>7} {algorithm:7.2f} {bus:7.2f}      0" for micros, algorithm, bus in (outside, inside)
    )
    print(f"{size:12d}  {size // 4:12d}     float  {TITLES[name][0]:>6}      -1{sides}", flush=True)


def _micros(micros: float) -> str:
    return f"{micros:.2f}" if micros < 100 else f"{micros:.1f}" if micros < 10000 else f"{micros:.0f}"
