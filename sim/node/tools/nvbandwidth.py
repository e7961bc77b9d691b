"""`nvbandwidth`: copy-engine tests host to device, device to host and device to device, as matrices."""

from __future__ import annotations

import statistics

from ..machine import Machine
from .boards import boards
from .timed import Copy, timed

SECONDS_PER_CELL = 0.02
SAMPLES = 3
TESTS = {
    "host_to_device_memcpy_ce": ("h2d", "CPU(row) -> GPU(column)"),
    "device_to_host_memcpy_ce": ("d2h", "CPU(row) <- GPU(column)"),
    "device_to_device_memcpy_read_ce": ("p2p", "GPU(row) -> GPU(column)"),
    "device_to_device_memcpy_write_ce": ("p2p", "GPU(row) <- GPU(column)"),
}


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Run the tests named by -t, or all."""
    if "-l" in arguments or "--list" in arguments:
        print("Index, Name:\n\tDescription\n" + "=" * 23)
        for index, test in enumerate(TESTS):
            print(f"{index}, {test}:\n")
        return 0
    chosen = _chosen(arguments)
    cuda = machine.cuda_version
    print("nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n")
    print(f"CUDA Runtime Version: {cuda}\nCUDA Driver Version: {cuda}\nDriver Version: {machine.driver_version}\n")
    unknown = [test for test in chosen if test not in TESTS]
    if unknown:
        print(f"ERROR: Testcase {unknown[0]} not found!")
        return 1
    present = [board for board in boards(machine) if not board.lost]
    for at, board in enumerate(present):
        where = f"0000{board.gpu.short_address}"
        print(f"Device {at}: {board.fact('name')} ({where})")
    print()
    for test in chosen:
        _run_test(machine, test, [board.gpu.name for board in present])
    return 0


def _chosen(arguments: list[str]) -> list[str]:
    names = list(TESTS)
    if not {"-t", "--testcase"} & set(arguments):
        return names
    at = next(at for at, word in enumerate(arguments) if word in ("-t", "--testcase"))
    return [names[int(word)] if word.isdigit() and int(word) < len(names) else word for word in arguments[at + 1 :]]


def _run_test(machine: Machine, test: str, gpus: list[str]) -> None:
    operation, title = TESTS[test]
    print(f"Running {test}.\nmemcpy CE {title} bandwidth (GB/s)")
    print(" " + "".join(f"{column:10d}" for column in range(len(gpus))))
    total = 0.0
    for row, near in enumerate(gpus if operation == "p2p" else ["host"]):
        cells = []
        for far in gpus:
            if far == near:
                cells.append("       N/A")
                continue
            rate = _median(machine, _copy(test, operation, near, far))
            total += rate
            cells.append(f"{rate:10.2f}")
        print(f"{row:2d}{''.join(cells)[1:]}", flush=True)
    print(f"\nSUM {test} {total:.2f}\n")


def _median(machine: Machine, copy: Copy) -> float:
    """GB/s: the median of several samples, as the tool takes it."""
    return statistics.median(timed(machine, [copy], SECONDS_PER_CELL / SAMPLES)[0].gbps[0] for _ in range(SAMPLES))


def _copy(test: str, operation: str, near: str, far: str) -> Copy:
    if operation != "p2p":
        return operation, (far,)
    return operation, (near, far) if "read" in test else (far, near)
