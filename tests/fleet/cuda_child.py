"""A child of the probe worker as a real process on simulated libraries, given one task."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lanescope.fleet.probe_program import MODULES

HERE = Path(__file__).parent
NODE_PROGRAMS = HERE.parents[1] / "fleet" / "node"
RIG = HERE.parent / "rig"
GPUS = [f"0000:{0x10 + number:02x}:00.0" for number in range(8)]
NVML = "".join((RIG / name).read_text() for name in ("simulated_nvml.py", "simulated_vitals.py"))
PROCESS = """\
import json, sys, types
sources, nvml, links = json.loads(open(sys.argv[1]).read())
if nvml is not None:
    exec(nvml[0])
    install_vitals(nvml[1])
for name, text in sources:
    sys.modules[name] = module = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), module.__dict__)
if links:
    sys.modules["placement"].DEVICES = links
sys.modules["bench"].serve()
"""

Lines = list[dict[str, Any]]


def build(folder: Path) -> Path:
    """Compile the simulated driver into a folder; skips the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("the simulated libcuda needs a C compiler, and there is none")
    soname, target = "-Wl,-soname,libcuda.so.1", folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", "-O1", soname, "-o", str(target), str(RIG / "simulated_libcuda.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder


class Child:
    """Runs tasks, each in a process of its own."""

    def __init__(self, libraries: Path, folder: Path) -> None:
        self.libraries, self.folder = libraries, folder
        self.links = folder / "devices"

    def run(
        self,
        program: str,
        arguments: Mapping[str, Any],
        gpu: str = "",
        nvml: Mapping[str, Any] | None = None,
        seconds: float = 30.0,
    ) -> Lines:
        """All lines that a program says of one task."""
        sources = [(name, (NODE_PROGRAMS / f"{name}.py").read_text()) for name in MODULES if name != "worker"]
        links = str(self.links) if self.links.exists() else ""
        whole = [sources, None if nvml is None else [NVML, nvml], links]
        text = self.folder / "program.json"
        text.write_text(json.dumps(whole))
        order = {"program": program, "arguments": arguments, "end": time.clock_gettime(time.CLOCK_MONOTONIC) + seconds}
        ended = subprocess.run(
            [sys.executable, "-I", "-S", "-c", PROCESS, str(text)],
            input=b"".join(json.dumps(line).encode() + b"\n" for line in (order, {"go": 1})),
            env={
                **os.environ,
                "LD_LIBRARY_PATH": str(self.libraries),
                "SIMULATED_GPU": gpu,
                "SIMULATED_LINKS": links,
            },
            capture_output=True,
            timeout=seconds + 20,
            check=False,
        )
        assert not ended.stderr, ended.stderr.decode()[-2000:]
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def add_link(self, gpu: int, bridges: Sequence[str] = ()) -> None:
        """Give a GPU a PCIe link at full speed that can be read."""
        place = self.folder / "pci"
        for bus in (*bridges, GPUS[gpu]):
            place /= bus
            place.mkdir(parents=True, exist_ok=True)
            (place / "current_link_speed").write_text("32.0 GT/s PCIe\n")
            (place / "current_link_width").write_text("16\n")
            self.links.mkdir(exist_ok=True)
            (self.links / bus).symlink_to(place)


def found(lines: Lines, key: str) -> list[Any]:
    """What stands under a key, line by line."""
    return [line[key] for line in lines if key in line]


def error(lines: Lines) -> Any:
    """The one error."""
    (report,) = found(lines, "error")
    return report
