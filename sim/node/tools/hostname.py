"""`hostname`."""

from __future__ import annotations

from ..machine import Machine


def run(machine: Machine, _name: str, _arguments: list[str]) -> int:
    """Print the node's name, whatever form of it is asked for."""
    print(machine.hostname)
    return 0
