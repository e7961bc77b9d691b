"""What reading a large kernel log costs, line by line from a file: `python -m lanescope.benchmarks.logs`.

The log is made: boot messages of an ordinary server over and over, and among them some hundred lines of ours. Each
measurement runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..parsers.intake import read
from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.logs"
SIZE = 50_000_000
ENDLESS = 100_000_000
OURS_EVERY = 1500
"""Lines after which one of ours comes."""

UNRELATED = (
    "pci 0000:{bus:02x}:00.0: BAR 14 [mem 0xd0000000-0xd00fffff]: assigned",
    "pci_bus 0000:{bus:02x}: resource 1 [mem 0xd0000000-0xd00fffff]",
    "ACPI: SSDT 0x00000000A5F2{bus:02x}00 0008C0 (v02 AMD    CPUSSDT  00000001 AMI  00000001)",
    "usb 1-2: New USB device strings: Mfr=1, Product=2, SerialNumber={bus}",
    'audit: type=1400 audit(1753325017.308:{bus}): apparmor="STATUS" operation="profile_load" name="lsb_release"',
    "systemd[1]: Starting modprobe@efi_pstore.service - Load Kernel Module efi_pstore...",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Opts: (null). Quota mode: none.",
    "i40e 0000:{bus:02x}:00.0 enp1s0f0: NIC Link is Up, 10 Gbps Full Duplex, Flow Control: None",
)
OURS = (
    "NVRM: Xid (PCI:0000:{bus:02x}:00): 31, pid={bus}, name=python3, Ch 00000008, intr 00000000.",
    "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 20009, Non-fatal, Link {bus:02d} RX Short Error Rate",
    "mlx5_core 0000:{bus:02x}:00.0 enp83s0f0np0: Link down",
    "nvme 0000:{bus:02x}:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
    "blk_update_request: I/O error, dev nvme2n1, sector {bus} op 0x1:(WRITE) flags 0x1000 phys_seg 8 prio class 0",
)


def figures() -> list[Figure]:
    """Time and growth of memory for a log of 50 MB, and growth for one line of 100 MB."""
    with tempfile.TemporaryDirectory() as folder:
        log, endless = Path(folder) / "kern.log", Path(folder) / "endless.log"
        ours = _write_log(log)
        _write_endless(endless)
        seconds, growth, readings = _measured(log)
        _, endless_growth, _ = _measured(endless)
    if readings != ours:
        raise RuntimeError(f"{ours} lines were written, {readings} read")
    name = f"kernel log of {SIZE // 1_000_000} MB with {ours} lines of ours"
    return [
        Figure(f"{name}: time to read", seconds, "s", 5.0, COMMAND),
        Figure(f"{name}: growth of memory", growth, "MB", 60.0, COMMAND),
        Figure(f"one line of {ENDLESS // 1_000_000} MB: growth of memory", endless_growth, "MB", 60.0, COMMAND),
    ]


def _write_log(path: Path) -> int:
    """Write SIZE bytes; gives the number of lines that are ours."""
    written = ours = 0
    with path.open("w") as file:
        for number, line in enumerate(_lines()):
            if written >= SIZE:
                return ours
            if number % OURS_EVERY == 0:
                written += file.write(f"[{number / 10:12.6f}] {OURS[ours % len(OURS)].format(bus=ours % 64)}\n")
                ours += 1
            written += file.write(f"[{number / 10:12.6f}] {line}\n")
    return ours


def _lines() -> Iterator[str]:
    lines = [line.format(bus=bus) for bus in range(64) for line in UNRELATED]
    return itertools.cycle(lines)


def _write_endless(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"NVRM: Xid (PCI:0000:52:00): 48, ")
        for _ in range(ENDLESS // 1_000_000):
            file.write(b"x" * 1_000_000)


def _measured(path: Path) -> tuple[float, float, int]:
    """Seconds, MB of growth and readings of reading a file in a fresh process."""
    output = subprocess.run(
        [sys.executable, "-m", "lanescope.benchmarks.logs", str(path)], check=True, capture_output=True, text=True
    ).stdout
    seconds, growth, readings = json.loads(output)
    return float(seconds), float(growth), int(readings)


def _measure(path: Path) -> tuple[float, float, int]:
    before, begun = _peak_mb(), time.perf_counter()
    with path.open("rb") as file:
        readings = sum(len(section.parsed.readings) for section in read(path.name, file) if section.parsed)
    return time.perf_counter() - begun, _peak_mb() - before, readings


def _peak_mb() -> float:
    """Largest resident size so far; unlike ru_maxrss it owes nothing to the process that started this one."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_measure(Path(sys.argv[1]))))
    else:
        print_table(figures())
