"""A simulated node as its SSH server sees it: its folder, the commands on its PATH, its environment, what ails it."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .scenario import Scenario, Sickness

LAUNCHER = Path(__file__).parent / "node" / "launcher.py"
TOOLS = Path(__file__).parent / "node" / "tools"

COMMANDS = {
    "python3": "",
    "python": "",
    "nvidia-smi": "nvidia_smi",
    "sendrecv_perf": "nccl_perf",
    "all_reduce_perf": "nccl_perf",
    "alltoall_perf": "nccl_perf",
    "nvbandwidth": "nvbandwidth",
    "ib_write_bw": "perftest",
    "ib_read_bw": "perftest",
    "ib_write_lat": "perftest",
    "dcgmi": "dcgmi",
    "systemctl": "systemctl",
    "nv-fabricmanager": "systemctl",
    "dmesg": "dmesg",
    "journalctl": "journalctl",
    "lspci": "lspci",
    "ibstat": "ibstat",
    "ibnetdiscover": "ibnetdiscover",
    "hostname": "hostname",
    "uname": "uname",
    "cat": "cat",
}
"""Commands on a node's PATH, by the tool (file of `node/tools/`) that plays them; the interpreter plays itself."""

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True, slots=True)
class Host:
    """One node."""

    name: str
    folder: Path
    sicknesses: tuple[Sickness, ...]

    @property
    def home(self) -> Path:
        """Where its sessions start."""
        return self.folder / "home"

    def sick(self, how: str) -> Sickness | None:
        """That sickness, where the node has it or will have it."""
        return next((row for row in self.sicknesses if row.how == how), None)

    def is_sick(self, how: str, seconds: float) -> bool:
        """Whether the node has that sickness so many seconds after the world began."""
        row = self.sick(how)
        return row is not None and seconds >= row.since

    def environment(self) -> dict[str, str]:
        """What a session finds in its environment; nothing of ours leaks in but the locale."""
        path = [str(self.folder / "bin")]
        if self.sick("no-python") is None:
            path += SYSTEM_PATH
        return {
            "PATH": ":".join(path),
            "HOME": str(self.home),
            "USER": os.environ.get("USER", "user"),
            "LOGNAME": os.environ.get("USER", "user"),
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "SIM_NODE": self.name,
            "SIM_DIRECTORY": str(self.folder),
        }


def prepare(directory: Path, scenario: Scenario, name: str, began: float) -> Host:
    """Make the node's folder: home, commands, and what its processes need to know. `began`: when the world began."""
    folder = directory / "nodes" / name
    host = Host(name, folder, tuple(row for row in scenario.sick if row.node == name))
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    host.home.mkdir(exist_ok=True)
    described = {
        "node": name,
        "scenario": str(directory / "scenario.pickle"),
        "began": began,
        "packages": [entry for entry in sys.path if entry.rstrip("/").endswith(("site-packages", "dist-packages"))],
    }
    (folder / "node.json").write_bytes(msgspec.json.encode(described))
    for command, tool in COMMANDS.items():
        if not (tool == "" and host.sick("no-python")):
            _write_command(folder, command, tool)
    if host.sick("no-python"):
        _link_system_commands(folder / "bin")
    return host


def _write_command(folder: Path, command: str, tool: str) -> None:
    """A shell script that starts the launcher as this command."""
    start = shlex.join([sys.executable, "-I", "-S", "-u", str(LAUNCHER), str(folder)])
    role = f"--tool {tool} {command}" if tool else "--python"
    shortcut = _PLAIN_CAT if tool == "cat" else ""
    path = folder / "bin" / command
    path.write_text(f'#!/bin/sh\n{shortcut}exec {start} {role} "$@"\n', "utf-8")
    path.chmod(0o755)


_PLAIN_CAT = """case "$*" in
    */sys/*|*/proc/driver/*|*/proc/cmdline*|*/dev/kmsg*|*/etc/hostname*) ;;
    *) exec /bin/cat "$@" ;;
esac
"""
"""Only what the simulator plays is worth starting an interpreter for."""


def _link_system_commands(folder: Path) -> None:
    """For a node without Python: everything on the system's PATH but that."""
    for place in SYSTEM_PATH:
        for command in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / command.name
            if "python" not in command.name and not link.exists() and not link.is_symlink():
                link.symlink_to(command)
