"""Ranks of the program `nccl` as real processes on simulated libraries, and what they tell each other relayed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanescope.fleet.probe_program import MODULES

from .pipe_node import simulated_libcuda  # noqa: TID251 (this folder, not the room)

HERE = Path(__file__).parent
NODE_PROGRAMS = HERE.parents[1] / "fleet" / "node"
LIBNCCL = HERE.parent / "rig" / "simulated_libnccl.c"
CLOCK = time.CLOCK_MONOTONIC
CHILD = MODULES[: MODULES.index("bench") + 1]
"""What a child of the probe worker is made of."""
PROCESS = """\
import json, sys, types
for name, text in json.load(open(sys.argv[1])):
    sys.modules[name] = module = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), module.__dict__)
sys.modules["bench"].serve()
"""


def simulated_libraries(folder: Path) -> Path:
    """Compile the simulated driver and NCCL into a folder; skips the test where there is no compiler."""
    library = simulated_libcuda(folder) / "libnccl.so.2"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or ""
    soname = "-Wl,-soname,libnccl.so.2"
    command = [compiler, "-shared", "-fPIC", "-O1", soname, "-o", str(library), str(LIBNCCL), "-lpthread"]
    subprocess.run(command, check=True, timeout=60)
    library.chmod(0o755)
    return folder


class Ranks:
    """The ranks of one trial, all on this machine."""

    def __init__(self, libraries: Path, python: str = sys.executable) -> None:
        self.libraries, self.python = libraries, python
        self.program = libraries / "child.json"
        self.program.write_text(json.dumps([(name, (NODE_PROGRAMS / f"{name}.py").read_text()) for name in CHILD]))
        self.processes: list[asyncio.subprocess.Process] = []

    async def run(
        self,
        orders: Sequence[Mapping[str, Any]],
        nccl: str = "",
        gpu: str = "",
        seconds: float = 20.0,
        absent: Sequence[int] = (),
        environments: Mapping[int, Mapping[str, str]] | None = None,
        told_before: Sequence[object] = (),
    ) -> list[list[dict[str, Any]]]:
        """Run a process for each order but those of `absent` ranks. -> the lines of each, in order of ranks

        `told_before` is what each of them is told before anything else."""
        own = environments or {}
        env = {**os.environ, "LD_LIBRARY_PATH": str(self.libraries), "SIMULATED_NCCL": nccl, "SIMULATED_GPU": gpu}
        self.processes = [
            await self._started(order, {**env, **own.get(rank, {})}, seconds)
            for rank, order in enumerate(orders)
            if rank not in absent
        ]
        for process in self.processes:
            for message in told_before:
                send(process, {"told": message})
        async with asyncio.timeout(seconds + 10):
            return await asyncio.gather(*(self._heard(process) for process in self.processes))

    async def _started(
        self, arguments: Mapping[str, Any], env: Mapping[str, str], seconds: float
    ) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(self.python, "-I", "-S", "-c", PROCESS, str(self.program)),
            stdin=pipe,
            stdout=pipe,
            env=env,
            limit=1 << 20,
        )
        send(process, {"program": "nccl", "arguments": arguments, "end": time.clock_gettime(CLOCK) + seconds})
        return process

    async def _heard(self, process: asyncio.subprocess.Process) -> list[dict[str, Any]]:
        """All lines of a rank; what it tells goes to the others."""
        lines = []
        assert process.stdout is not None
        async for text in process.stdout:
            line = json.loads(text)
            if "at" in line:
                send(process, {"go": 1})
            elif "tell" in line:
                self._tell_others(process, line["tell"])
            else:
                lines.append(line)
            if "error" in line:
                self._tell_others(process, {"partner_failed": f"another rank: {line['error']['text']}"})
            if "end" in line and process.stdin is not None:
                process.stdin.close()
        await process.wait()
        return lines

    def _tell_others(self, process: asyncio.subprocess.Process, message: object) -> None:
        for other in self.processes:
            if other is not process:
                send(other, {"told": message})


def send(process: asyncio.subprocess.Process, line: object) -> None:
    """Send a rank a line; one that has ended hears nothing any more."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(line).encode() + b"\n")


def found(lines: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """What the lines of that kind hold."""
    return [line[key] for line in lines if key in line]


def rates(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """GB/s of the windows."""
    return [line["gbps"] for line in lines if "w" in line]
