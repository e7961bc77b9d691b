"""Run one of the tools on a simulated node's PATH."""

from __future__ import annotations

import importlib
import os
import sys

from .machine import Machine


def run_tool(machine: Machine, tool: str, name: str, arguments: list[str]) -> int:
    """Run `tools/<tool>.py` as the command `name`; its exit status."""
    module = importlib.import_module(f".tools.{tool}", __package__)
    try:
        status: int = module.run(machine, name, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    return status
