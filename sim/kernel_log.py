"""The kernel log of a simulated node: its boot, what faults write into it from whichever node, what probing caused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from .draws import uniform
from .hardware import Hardware
from .ledger import Ledger, LogLine
from .loglines import written
from .running import RunningFault
from .scenario import Scenario

BOOT = (
    (0.0, "Linux version 5.15.0-1053-nvidia (buildd@lcy02-amd64-047) (gcc 11.4.0) #54-Ubuntu SMP"),
    (
        9.7,
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",
    ),
    (11.2, "nvidia-nvswitch: Probing device {first_switch}, Vendor Id = 0x10de, Device Id = 0x22a3, Class = 0x68000"),
)
CONTROLLER_BUSY = (
    "nvidia-nvswitch{number}: SXid (PCI:{address}): 22013, Non-fatal, Link {port:02d} Minion Link DLREQ interrupt"
)
"""Usually benign; printed at boot on some machines."""
BANDWIDTH = "mlx5_core {address}: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)"


class KernelLog:
    """The kernel log of one node. Times are true times, seconds since the epoch."""

    def __init__(
        self, scenario: Scenario, hardware: Hardware, faults: Sequence[RunningFault], began: float, uptime: float
    ) -> None:
        self._seed = scenario.seed
        self._hardware = hardware
        self._began = began
        self._booted = began - uptime
        self._writers = [
            running for running in faults if any(line.on.node == hardware.node for line in running.fault.log)
        ]

    def lines(self, since: float, until: float, ledger: Ledger) -> list[LogLine]:
        """Lines written in [since, until), oldest first."""
        every = (*self._boot, *self._of_faults(since, until), *ledger.lines)
        return sorted(line for line in every if since <= line.at < until)

    @cached_property
    def _boot(self) -> tuple[LogLine, ...]:
        switches = self._hardware.platform.nvswitches
        lines = [LogLine(self._booted + at, text.replace("{first_switch}", switches[0])) for at, text in BOOT]
        lines += [
            LogLine(self._booted + 13.0, BANDWIDTH.replace("{address}", nic.address)) for nic in self._hardware.nics
        ]
        if uniform("boot", self._seed, self._hardware.node) < 0.25:
            text = CONTROLLER_BUSY.format(number=3, address=switches[3], port=self._hardware.index % 40)
            lines.append(LogLine(self._booted + 117.98, text))
        return tuple(lines)

    def _of_faults(self, since: float, until: float) -> Iterator[LogLine]:
        for running in self._writers:
            longest = max(line.after for line in running.fault.log)
            for burst in running.bursts_of_wall(since - self._began - longest, until - self._began):
                yield from self._burst(running, burst)

    def _burst(self, running: RunningFault, burst: float) -> Iterator[LogLine]:
        for number, line in enumerate(running.fault.log):
            here = line.on.node == self._hardware.node
            if here and uniform("line", self._seed, running.number, number, burst) < line.share:
                text = written(line.text, self._hardware, line.on.within)
                yield LogLine(self._began + burst + line.after, text)
