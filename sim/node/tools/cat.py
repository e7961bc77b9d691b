"""`cat`: files of the node's /sys and the like; the wrapper on PATH sends everything else to the real one."""

from __future__ import annotations

import os
import sys

from ..become import become
from ..machine import Machine


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print the files one after another."""
    become(machine)
    status = 0
    for path in [argument for argument in arguments if not argument.startswith("-")]:
        try:
            _copy(path)
        except OSError as error:
            sys.stdout.flush()
            sys.stderr.write(f"cat: {path}: {error.strerror}\n")
            status = 1
    return status


def _copy(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    while data := os.read(descriptor, 65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    os.close(descriptor)
