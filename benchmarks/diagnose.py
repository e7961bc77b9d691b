"""What reading a large bug report costs: `python -m lanescope.benchmarks.diagnose`.

The report is made as nvidia-bug-report.sh writes one: a kernel log and a journal of an ordinary server, over and over,
with some lines of ours; queries of eight GPUs; lspci; files under /proc; and a dump that only the vendor can read.
It is measured in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import base64
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ..session.files.diagnosis import diagnose
from ..session.files.handed_in import handed_in
from .figure import Figure, print_table
from .logs import OURS, UNRELATED

COMMAND = "python -m lanescope.benchmarks.diagnose"
SIZE = 100_000_000
SHARES = {"kernel": 0.35, "journal": 0.4, "lspci": 0.1, "dump": 0.15}
"""How much of the report each large section takes; the rest are small ones."""
OURS_EVERY = 1500
"""Lines after which one of ours comes."""
RULE = "____________________________________________\n\n"
HOST = "gpu-017"
JOURNAL = (
    "systemd[1]: Started Session {n} of user root.",
    "sshd[{n}]: Accepted publickey for root from 10.0.0.7 port {n} ssh2",
    "kubelet[2211]: I0515 reconciler.go:{n} operationExecutor.VerifyControllerAttachedVolume started for volume",
    'containerd[1822]: level=info msg="shim disconnected" id={n} namespace=k8s.io',
    "CRON[{n}]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)",
)
LSPCI = (
    "{bus:02x}:00.0 Non-Volatile memory controller [0108]: Vendor NVMe SSD Controller (prog-if 02 [NVM Express])",
    "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+",
    "\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-",
    "\tCapabilities: [70] Express (v2) Endpoint, MSI 00",
    "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported",
    "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x4 (ok)",
    *(f"\t{line:02x}0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00" for line in range(16)),
    "",
)

QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Wed May 15 09:20:26 2024
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 8
"""
QUERY_GPU = """GPU 00000000:{bus:02X}:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : 16541230{bus:05}
    PCI
        Bus Id                            : 00000000:{bus:02X}:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
"""


def figures() -> list[Figure]:
    """Time and growth of memory, for reading the report and for judging it as well."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "nvidia-bug-report.log"
        with report.open("w") as file:
            write_report(file, SIZE)
        seconds, growth = _measured("read", report)
        judged, judged_growth = _measured("diagnose", report)
    name = f"bug report of {SIZE // 1_000_000} MB"
    return [
        Figure(f"{name}: time to read", seconds, "s", 15.0, COMMAND),
        Figure(f"{name}: growth of memory", growth, "MB", 60.0, COMMAND),
        Figure(f"{name}: time to diagnose", judged, "s", 15.0, COMMAND),
        Figure(f"{name}: growth of memory of that", judged_growth, "MB", 60.0, COMMAND),
    ]


def write_report(file: TextIO, size: int) -> None:
    """Write a report of about `size` characters."""
    file.write(f"{RULE}Start of NVIDIA bug report log file.  Please include this file.\n\n")
    file.write("nvidia-bug-report.sh Version: 34275561\n\nDate: Wed May 15 09:20:25 UTC 2024\n")
    file.write(
        f"uname: Linux {HOST} 5.15.0-105-generic #115-Ubuntu SMP Mon Apr 15 09:52:04 UTC 2024 x86_64 GNU/Linux\n\n"
    )
    file.write(f"{RULE}*** /proc/driver/nvidia/version\n*** ls: -r--r--r-- 1 root root 0 /proc/driver/nvidia/version\n")
    file.write("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n\n")
    file.write(f"{RULE}/usr/bin/nvidia-smi --query\n\n{_query()}\n")
    file.write(f"{RULE}/usr/bin/nvidia-smi nvlink --status\n\n{_links()}\n")
    for command, share, lines in (
        ('/usr/bin/lspci -d "*:*" -v -xxx', "lspci", _lspci()),
        ("/usr/bin/journalctl -b -0", "journal", _journal()),
        ("dmesg", "kernel", _kernel()),
        ("nvidia-debugdump -D", "dump", _dump()),
    ):
        file.write(f"{RULE}{command}\n\n")
        left = int(size * SHARES[share])
        while left > 0:
            left -= file.write(next(lines) + "\n")
    file.write(f"{RULE}End of NVIDIA bug report log file.\n")


def _query() -> str:
    return QUERY + "".join(QUERY_GPU.format(bus=bus) for bus in range(0x19, 0x99, 16))


def _links() -> str:
    return "".join(
        f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-{index:08x}-0000-0000-0000-000000000000)\n"
        + "".join(f"\t Link {link}: 26.562 GB/s\n" for link in range(18))
        for index in range(8)
    )


def _kernel() -> Iterator[str]:
    for number in itertools.count():
        ours = number % OURS_EVERY == 0
        form = OURS[number // OURS_EVERY % len(OURS)] if ours else UNRELATED[number % len(UNRELATED)]
        yield f"[{number / 10:12.6f}] {form.format(bus=number % 64)}"


def _journal() -> Iterator[str]:
    for number in itertools.count():
        minute, second = divmod(number % 3600, 60)
        yield f"May 15 09:{minute:02}:{second:02} {HOST} {JOURNAL[number % len(JOURNAL)].format(n=number % 50_000)}"


def _lspci() -> Iterator[str]:
    return (line.format(bus=number // len(LSPCI) % 256) for number, line in enumerate(itertools.cycle(LSPCI)))


def _dump() -> Iterator[str]:
    draw = random.Random(1)
    while True:
        yield base64.b64encode(draw.randbytes(57)).decode()


def _measured(what: str, path: Path) -> tuple[float, float]:
    """Seconds and MB of growth in a fresh process."""
    output = subprocess.run(
        [sys.executable, "-m", "lanescope.benchmarks.diagnose", what, str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    seconds, growth = json.loads(output)
    return float(seconds), float(growth)


def _measure(what: str, path: Path) -> tuple[float, float]:
    before, begun = _peak_mb(), time.perf_counter()
    if what == "read":
        if not any(one.section.tool for one in handed_in([path])):
            raise RuntimeError("nothing was read")
    elif not diagnose([path]).readings.outputs:
        raise RuntimeError("nothing was judged")
    return time.perf_counter() - begun, _peak_mb() - before


def _peak_mb() -> float:
    """Largest resident size so far; unlike ru_maxrss it owes nothing to the process that started this one."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(_measure(sys.argv[1], Path(sys.argv[2]))))
    else:
        print_table(figures())
