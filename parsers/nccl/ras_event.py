"""What NCCL's RAS monitor (`ncclras -m`) reports as it happens, in text and in JSON alike.

Source: capture nccl/ras-monitor-peer-dead; NVIDIA/nccl docs troubleshooting/ras.rst for the line of text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RasEvent:
    """A process of the job came, went, or is taken for dead."""

    timestamp: str
    """`2025-12-19 13:07:07`, local time of the process that was asked."""
    group: str
    """`LIFECYCLE`; empty in text."""
    event: str
    """`PEER_DEAD`, ..."""
    host: str
    pid: int | None
    cuda_devs: tuple[int, ...]
    nvml_devs: tuple[int, ...]
    """As NVML counts them; equal to the CUDA devices unless CUDA_VISIBLE_DEVICES is set."""
    details: str


_EVENT = re.compile(
    r"\s{0,8}\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] ([A-Z][A-Z_]{2,40}): (?:Process (\d{1,10}) on node (\S{1,255})"
    r"(?: managing GPUs? ([\d,]{1,400})(?: \(NVML ([\d,]{1,400})\))?)?)?(.{0,400})"
)


def read_event(line: str) -> RasEvent | None:
    """`[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 172.16.64.245 managing GPU 1`."""
    found = _EVENT.fullmatch(line.rstrip())
    if not found:
        return None
    timestamp, event, pid, host, cuda, nvml, rest = found.groups()
    devices = device_list(cuda or "")
    return RasEvent(
        timestamp,
        "",
        event,
        host or "",
        int(pid) if pid else None,
        devices,
        device_list(nvml or "") or devices,
        rest.strip(),
    )


def device_list(text: str) -> tuple[int, ...]:
    """`0,1,5` -> (0, 1, 5)."""
    return tuple(int(number) for number in text.split(",") if number.isdecimal() and len(number) <= 4)
