"""Copies that a benchmark tool times: they take simulated time, load GPUs, move counters and run under the faults."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...copying import EXPECTED
from ...ledger import Transfer
from ..copies import BUSY_AFTER
from ..machine import Machine

Copy = tuple[str, tuple[str, ...]]
"""Operation and names of the GPUs, source first."""


def timed(machine: Machine, copies: Sequence[Copy], seconds: float) -> list[Transfer]:
    """Run copies at once for `seconds` of simulated time; what each measured, in one window."""
    with machine.ledger_file.changing() as change:
        start, now = change.ledger.load_clock, machine.true_time()
        transfers = [
            machine.world.transfer(
                machine.name,
                operation,
                ends,
                start,
                seconds * 0.9,
                1,
                change.ledger.trials + number,
                at=now,
                warm_s=seconds * 0.1,
                beside=[other for other in copies if other != (operation, ends)],
            )
            for number, (operation, ends) in enumerate(copies, 1)
        ]
        change.ledger = change.ledger.after(transfers, seconds, now + BUSY_AFTER)
    time.sleep(seconds / machine.speed)
    return transfers


def healthy(machine: Machine, operation: str) -> float:
    """GB/s of such a copy where nothing is wrong."""
    return machine.hardware.platform.expect[EXPECTED[operation]].value
