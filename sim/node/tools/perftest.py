"""perftest: `ib_write_bw`, `ib_read_bw` and `ib_write_lat`, a server and a client that find each other over TCP.

Without an address it is the server and waits, as the real one does. All nodes are on one machine, so whatever address
the client is given, the server is found by its port on loopback.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ...hardware import Gpu
from ..machine import Machine
from .perftest_measured import Measured, measured
from .perftest_talk import Side, answered, asked

RULE = "-" * 87
BANNER = f"\n{'*' * 36}\n* Waiting for client to connect... *\n{'*' * 36}"
TITLES = {
    "ib_write_bw": "RDMA_Write BW Test",
    "ib_read_bw": "RDMA_Read BW Test",
    "ib_write_lat": "RDMA_Write Latency Test",
}
PORT = 18515
MARGIN = 0.25
"""Share of a duration that is left out at either end."""
PER_ITERATION_US = 4.0
"""Of a latency test, the gap included."""
WITH_VALUE = frozenset(("-d", "-s", "-n", "-D", "-p", "-x", "-q", "-i", "-m", "-S"))


@dataclass(frozen=True)
class Asked:
    """A command line, read."""

    test: str
    device: str
    address: str
    port: int
    size: int
    iterations: int
    seconds: float
    gid_index: str
    queue_pairs: int
    both_ways: bool
    gbits: bool
    gpu_bus: str

    @property
    def latency(self) -> bool:
        """Whether it times single writes."""
        return self.test.endswith("_lat")

    @property
    def lasts(self) -> float:
        """Simulated seconds."""
        if self.latency:
            return max(0.1, self.iterations * PER_ITERATION_US * 1e-6)
        return self.seconds or 0.5


def run(machine: Machine, name: str, arguments: list[str]) -> int:
    """Be one side of a test."""
    asked_for = _read(machine, name, arguments)
    gpu = next((gpu for gpu in machine.hardware.gpus if gpu.address == asked_for.gpu_bus), None)
    if trouble := _trouble(machine, asked_for, gpu):
        print(trouble)
        return 1
    me = Side(machine.name, asked_for.device, gpu.name if gpu else "", machine.ledger_file.load().load_clock)
    try:
        if not asked_for.address:
            print(BANNER, flush=True)
            other, plan = answered(asked_for.port, me)
        else:
            other, plan = asked(asked_for.port, me, machine.ledger_file.load().trials, machine.true_time())
    except OSError:
        print(f"Couldn't connect to {asked_for.address or 'client'}:{asked_for.port}\n Unable to open file descriptor")
        return 1
    ends = (me, other) if asked_for.address else (other, me)
    found = measured(machine, ends, plan, asked_for.lasts, client=bool(asked_for.address))
    _head(machine, asked_for, server=not asked_for.address)
    time.sleep(asked_for.lasts / machine.speed)
    if found.trouble:
        print(f" {found.trouble}")
        return 1
    print((_latency_rows if asked_for.latency else _bandwidth_rows)(asked_for, found) + f"\n{RULE}")
    return 0


def _read(machine: Machine, name: str, arguments: list[str]) -> Asked:
    values: dict[str, str] = {}
    words: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        option, equals, value = word.partition("=")
        if option in WITH_VALUE and not equals:
            value = waiting.pop(0) if waiting else ""
        if word.startswith("-"):
            values[option] = value
        else:
            words.append(word)
    latency = name.endswith("_lat")
    return Asked(
        test=name,
        device=values.get("-d") or machine.hardware.nics[0].name,
        address=words[-1] if words else "",
        port=int(values.get("-p", PORT)),
        size=int(values.get("-s", "2" if latency else "65536")),
        iterations=int(values.get("-n", "1000" if latency else "5000")),
        seconds=float(values.get("-D", "0")),
        gid_index=values.get("-x", ""),
        queue_pairs=int(values.get("-q", "1")),
        both_ways="-b" in values,
        gbits="--report_gbits" in values,
        gpu_bus=_gpu_bus(machine, values),
    )


def _gpu_bus(machine: Machine, values: dict[str, str]) -> str:
    if "--use_cuda" in values:
        return machine.hardware.gpus[int(values["--use_cuda"] or "0")].address
    return values.get("--use_cuda_bus_id", "").lower()


def _trouble(machine: Machine, asked_for: Asked, gpu: Gpu | None) -> str:
    """Why it can't begin; empty where it can."""
    device = asked_for.device
    if device not in [nic.name for nic in machine.hardware.nics]:
        return f"IB device {device} not found\n Unable to find the Infiniband/RoCE device"
    if machine.reading(device, "port_state") != 4:
        return " Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device"
    if asked_for.gpu_bus and asked_for.latency:
        return f"{RULE}\nPerftest supports CUDA latency tests with read/send verbs only"
    if asked_for.gpu_bus and (gpu is None or machine.reading(gpu.name, "nvml_error") > 0):
        return "cuDeviceGetByPCIBusId error=101\nCouldn't init CUDA"
    return ""


def _head(machine: Machine, asked_for: Asked, server: bool) -> None:
    infiniband = machine.facts[asked_for.device]["link_layer"] == "InfiniBand"
    gid = asked_for.gid_index or ("" if infiniband else "3")
    depth = "" if server and not asked_for.both_ways else "\n TX depth        : 128"
    print(f"{RULE}\n                    {TITLES[asked_for.test]}")
    print(f" Dual-port       : OFF\t\tDevice         : {asked_for.device}")
    print(f" Number of qps   : {asked_for.queue_pairs}\t\tTransport type : IB")
    print(f" Connection type : RC\t\tUsing SRQ      : OFF\n PCIe relax order: ON{'' if asked_for.latency else depth}")
    print(f" Mtu             : 4096[B]\n Link type       : {'IB' if infiniband else 'Ethernet'}")
    print(" GID index       : " + gid if gid else " Max inline data : 0[B]")
    print(f" rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n{RULE}", flush=True)


def _bandwidth_rows(asked_for: Asked, found: Measured) -> str:
    gbps = found.gbps * (2 if asked_for.both_ways else 1)
    unit = "Gb/sec" if asked_for.gbits else "MB/sec"
    average = gbps if asked_for.gbits else gbps * 1e9 / 8 / 2**20
    peak = 0.0 if asked_for.seconds else average * 1.0002
    rate = gbps * 1e3 / 8 / asked_for.size
    sampled = asked_for.lasts * (1 - 2 * MARGIN) * rate * 1e6
    iterations = int(sampled) if asked_for.seconds else asked_for.iterations
    heading = f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"
    return f"{heading}\n {asked_for.size:<10} {iterations:<15} {peak:<18.2f} {average:.2f}\t\t   {rate:.6f}"


def _latency_rows(asked_for: Asked, found: Measured) -> str:
    typical = found.latency_us
    lowest, highest, tail = typical * 0.95, typical * found.tail, typical * max(1.08, found.tail / 2)
    heading = (
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
        "99% percentile[usec]   99.9% percentile[usec] "
    )
    return (
        f"{heading}\n {asked_for.size:<7} {asked_for.iterations:<13} {lowest:<13.2f} {highest:<12.2f} {typical:<12.2f} "
        f"\t       {typical * 1.01:<10.2f}\t{typical * 0.08:<7.2f}\t\t{tail:<7.2f} \t\t{highest:<7.2f}"
    )
