"""`ibnetdiscover`: every switch and adapter of the fabric, and what each of their ports is wired to."""

from __future__ import annotations

import sys

from ..machine import Machine


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print the fabric; options are not played."""
    if arguments:
        sys.stderr.write(f"ibnetdiscover: unrecognized option '{arguments[0]}'\n")
        return 255
    print(machine.world.fabric_text(machine.true_time()), end="")
    return 0
