"""Make this process look like one of the simulated node's: files, names, clock, driver libraries."""

from __future__ import annotations

import os
import socket
import time

from . import abstract_sockets, library
from .files import Files
from .machine import Machine
from .procfs import uname


def become(machine: Machine) -> None:
    """Take over what the code to be run will ask; its forks inherit all of it."""
    Files(lambda: machine.tree, machine.open_kernel_log, machine.skip_kernel_log).install()
    abstract_sockets.install(machine.folder)
    _install_names(machine)
    _install_clock(machine)
    library.install({"libnvidia-ml.so.1": machine.nvml_library, "libcuda.so.1": machine.cuda_library})


def _install_names(machine: Machine) -> None:
    named = os.uname_result(uname(machine))
    os.uname = lambda: named  # type: ignore[assignment]
    socket.gethostname = lambda: machine.hostname  # type: ignore[assignment]


def _install_clock(machine: Machine) -> None:
    time.time = machine.now  # type: ignore[assignment]
    time.time_ns = lambda: int(machine.now() * 1e9)  # type: ignore[assignment]
