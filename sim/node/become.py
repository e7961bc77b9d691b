"""Make this process look like one of the simulated node's: files, names, clock, driver libraries."""

from __future__ import annotations

import os
import socket
import time
from functools import cache

from . import abstract_sockets, library, nccl_file
from .files import Files
from .library import Library
from .machine import Machine
from .procfs import uname


def become(machine: Machine) -> None:
    """Take over what the code to be run will ask; its forks inherit all of it."""
    Files(lambda: machine.tree, machine.open_kernel_log, machine.skip_kernel_log).install()
    abstract_sockets.install(machine.folder)
    _install_names(machine)
    _install_clock(machine)
    if machine.world.scenario.world.nccl:
        nccl_file.install(machine)
    cuda = cache(machine.cuda_library)
    library.install(
        {
            "libnvidia-ml.so.1": machine.nvml_library,
            "libcuda.so.1": cuda,
            nccl_file.NAME: lambda: _nccl_library(machine, cuda()),
        }
    )


def _nccl_library(machine: Machine, cuda: Library) -> Library:
    """The node's libnccl.so.2: it works with the streams of the CUDA library of this process."""
    from .cuda import Cuda
    from .nccl import Nccl

    assert isinstance(cuda.driver, Cuda)
    return Library(nccl_file.NAME, Nccl(machine, cuda.driver), "nccl")


def _install_names(machine: Machine) -> None:
    named = os.uname_result(uname(machine))
    os.uname = lambda: named  # type: ignore[assignment]
    socket.gethostname = lambda: machine.hostname  # type: ignore[assignment]


def _install_clock(machine: Machine) -> None:
    time.time = machine.now  # type: ignore[assignment]
    time.time_ns = lambda: int(machine.now() * 1e9)  # type: ignore[assignment]
