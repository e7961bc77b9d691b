"""Following the kernel log, for dmesg and journalctl."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ..machine import Machine

POLL = 0.2


def kernel_lines(machine: Machine, follow: bool) -> Iterator[tuple[float, str]]:
    """Lines of the kernel log, seconds since boot and text; for ever, as they are written, where `follow` says so."""
    since = machine.booted - 1.0
    while True:
        machine.wait_for_ever_if_log_stuck()
        until = machine.true_time()
        yield from machine.log(since, until)
        if not follow:
            return
        since = until
        time.sleep(POLL)
