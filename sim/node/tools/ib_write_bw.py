"""`ib_write_bw` of perftest, looped back through one adapter."""

from __future__ import annotations

import math
import time

from ...draws import uniform
from ..machine import Machine

PAYLOAD = 0.9825
"""Share of an InfiniBand link's rate that large messages reach."""
PCIE_PAYLOAD = 0.92
"""Share of a PCIe link's rate that reaches the adapter."""
SECONDS = 0.5
RULE = "-" * 87


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Measure one size."""
    values = {name: value for name, value in zip(arguments, [*arguments[1:], ""], strict=True) if name.startswith("-")}
    device = values.get("-d") or values.get("--ib-dev") or machine.hardware.nics[0].name
    if device not in [nic.name for nic in machine.hardware.nics]:
        print(f"IB device {device} not found\n Unable to find the Infiniband/RoCE device")
        return 1
    if machine.reading(device, "port_state") != 4:
        print(" Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device")
        return 1
    size, iterations = int(values.get("-s", "65536")), int(values.get("-n", "5000"))
    _head(machine, device)
    time.sleep(SECONDS / machine.speed)
    gbps = _rate(machine, device)
    in_gbits = "--report_gbits" in arguments
    average = gbps if in_gbits else gbps * 1e9 / 8 / 2**20
    unit = "Gb/sec" if in_gbits else "MB/sec"
    print(f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]")
    rate = gbps * 1e3 / 8 / size
    print(f" {size:<10} {iterations:<15} {average * 1.0002:<18.2f} {average:.2f}\t\t   {rate:.6f}\n{RULE}")
    return 0


def _rate(machine: Machine, device: str) -> float:
    """Gb/s: of the network's rate and the PCIe link's, whichever is lower."""
    port = machine.reading(device, "rate_gbps") * PAYLOAD
    speed, width = (machine.reading(f"{device}/pcie", name) for name in ("speed_gts", "current_width"))
    best = machine.facts[f"{device}/pcie"]["max_speed_gts"]  # a card that moves data is not idle
    host = (best if not math.isnan(speed) else 0.0) * width * 128 / 130 * PCIE_PAYLOAD
    wobble = 1 - 0.004 * uniform("ib_write_bw", machine.name, device, machine.ledger_file.load().trials)
    return min(port, host) * wobble


def _head(machine: Machine, device: str) -> None:
    infiniband = machine.facts[device]["link_layer"] == "InfiniBand"
    print(f"{RULE}\n                    RDMA_Write BW Test")
    print(f" Dual-port       : OFF\t\tDevice         : {device}\n Number of qps   : 1\t\tTransport type : IB")
    print(" Connection type : RC\t\tUsing SRQ      : OFF\n PCIe relax order: ON\n TX depth        : 128")
    print(f" CQ Moderation   : 1\n Mtu             : 4096[B]\n Link type       : {'IB' if infiniband else 'Ethernet'}")
    print(f" Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n{RULE}")
