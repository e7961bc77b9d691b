"""A node that is this machine behind pipes: the real probe worker as a real process, on a simulated driver library."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lanescope.incident.ids import NodeId
from lanescope.incident.source import Task

HERE = Path(__file__).parent
LIBCUDA = HERE.parent / "rig" / "simulated_libcuda.c"
NVML = HERE.parent / "rig" / "simulated_nvml.py"
GPUS = [f"0000:{0x10 + number:02x}:00.0" for number in range(8)]
_numbers = itertools.count(1)


def simulated_libcuda(folder: Path) -> Path:
    """Compile the simulated driver into a folder; skips the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("the simulated libcuda needs a C compiler, and there is none")
    soname = "-Wl,-soname,libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", "-O1", soname, "-o", str(folder / "libcuda.so.1"), str(LIBCUDA)]
    subprocess.run(command, check=True, timeout=60)
    return folder


class PipeChannel:
    """A program on this machine, behind pipes."""

    def __init__(self, process):
        self.process = process

    async def send(self, order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        await self.process.stdin.drain()

    async def receive(self, deadline):
        async with asyncio.timeout(deadline):
            line = await self.process.stdout.readline()
        return json.loads(line) if line else None

    async def close(self):
        self.process.stdin.close()
        await self.process.wait()
        self.process._transport.close()

    @property
    def ended(self):
        return self.process.returncode is not None

    @property
    def exit_status(self):
        return self.process.returncode

    def how_it_ended(self):
        return f"exit status {self.process.returncode}"


class PipeLink:
    """A node that is this machine: its lock, its GPUs and its NVML are the test's own."""

    def __init__(self, libcuda, gpu="", nvml=None, lease=None, lock=None, name="gpu-017", path=None, swaps=None):
        self.node = NodeId(name)
        self.lock = lock or f"lanescope-test-{os.getpid()}-{next(_numbers)}"
        self.run = f"{self.lock}-{next(_numbers)}"
        self.lease = lease
        self.nvml = nvml
        self.swaps = swaps or {}
        """Words of the program -> what stands there instead."""
        self.env = {**os.environ, "LD_LIBRARY_PATH": str(libcuda), "SIMULATED_GPU": gpu, "LANESCOPE_RUN": self.run}
        if path is not None:
            self.env["PATH"] = f"{path}:{self.env['PATH']}"
        self.channels = []

    async def open_program(self, source, lease):
        text = source.decode().replace("lanescope-probe", self.lock)
        for word, other in self.swaps.items():
            assert word in text
            text = text.replace(word, other)
        if self.lease is not None:
            text = text.replace("LEASE = 6.0", f"LEASE = {self.lease}")
        if self.nvml is not None:
            text = f"{NVML.read_text()}\ninstall({self.nvml!r})\n{text}"
        reader, writer = os.pipe()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", "-u", "-c", f"exec(open({reader}).read())"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
            pass_fds=[reader],
        )
        os.close(reader)
        await asyncio.to_thread(_write_all, writer, text.encode())
        self.channels.append(PipeChannel(process))
        return self.channels[-1]

    def processes(self):
        """Pids of everything on the machine that this node runs."""
        return sorted(pid for pid in map(_pid, Path("/proc").iterdir()) if pid and self._is_ours(pid))

    def _is_ours(self, pid):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            return f"LANESCOPE_RUN={self.run}\0".encode() in environment and _state(pid) != "Z"
        except OSError:
            return False


def _write_all(file, data):
    with os.fdopen(file, "wb") as pipe:
        pipe.write(data)


def _pid(path):
    return int(path.name) if path.name.isdigit() else 0


def _state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def h2d(gpu, name="T1", **more):
    return Task(name, "cuda_copy", {"op": "h2d", "gpus": [GPUS[gpu]], **more})


def p2p(source, target, name="T2", **more):
    return Task(name, "cuda_copy", {"op": "p2p", "gpus": [GPUS[source], GPUS[target]], **more})


def rates(output):
    return [line["gbps"] for line in output.lines if "w" in line]


def found(output, key):
    return [line[key] for line in output.lines if key in line]


async def gone(link, seconds):
    """Whether everything of a node has ended within some seconds."""
    end = time.monotonic() + seconds
    while link.processes() and time.monotonic() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return not link.processes()


async def started(link, processes, run=None):
    """Wait until a node runs so many processes; fails after a while, or with what became of the run that needs them."""
    end = time.monotonic() + 20
    while len(link.processes()) < processes:
        assert time.monotonic() < end, f"{len(link.processes())} processes"
        assert run is None or not run.done(), run.exception() or run.result()
        await asyncio.sleep(0.02)
