"""Real OpenSSH servers on loopback, each a GPU node: own address and host key, and what a node of its kind answers.

As root each server lives in mount and UTS namespaces of its own: its tree lies over /sys, a file over /dev/kmsg, it has
a hostname, and its sessions share a network namespace, so that a lock on one node is no lock on another. Without that
right the same server runs in the open, and only the driver libraries are simulated.
"""

from __future__ import annotations

import contextlib
import getpass
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .machine import Machine, replace_text

PORT = 20022
MARK = "RIG_NODE"
"""In the environment of all that runs in a node's sessions: its folder."""
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
UP_WITHIN, DOWN_WITHIN = 10.0, 5.0
_ADDRESSES = itertools.count()

ENTER = """set -e
hostname "$1"
mount --bind "$2/sys" /sys
mount --bind "$2/kmsg" /dev/kmsg
mount -t tmpfs rig /run
mkdir /run/sshd
unshare --net="$2/net" true
exec "$3" -D -f "$2/sshd_config" -E "$2/sshd.log"
"""
"""Arguments: hostname, folder, sshd. Everything it mounts goes with its namespace."""


class SshdNode:
    """One node; `start` it and `stop` it as often as you like."""

    def __init__(self, name: str, folder: Path, libraries: Path, operator: Path, apart: bool) -> None:
        self.name = name
        self.folder = folder
        self.apart = apart
        """Whether it has namespaces of its own."""
        self.machine = Machine(name)
        self.address = free_address()
        self.marks = folder / "marks"
        """Grows by a byte whenever a slowed copy was slow."""
        self.gpu_rules = [self.machine.cuda_rules()]
        """For simulated_libcuda.c; they hold for what starts after they are set."""
        self._nvml = folder / "nvml"
        self._rules = self.machine.nvml_rules()
        self._libraries = libraries
        self._operator = operator
        self._server: subprocess.Popen[bytes] | None = None
        self._furnish()

    def start(self) -> None:
        """Bring its sshd up; returns when it answers."""
        self._write_config()
        if not self.apart and not os.geteuid():
            Path("/run/sshd").mkdir(exist_ok=True)  # sshd of root insists on it
        self._server = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL)
        wait_until(self._answers, UP_WITHIN, lambda: f"sshd of {self.name} does not come up: {self.said()}")

    def stop(self) -> None:
        """End its sshd, the sessions, and whatever runs in them."""
        self.kill()
        for pid in self.processes():
            kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.processes(), DOWN_WITHIN, lambda: f"{self.name}: {self.processes()} do not end")

    def kill(self) -> None:
        """End its sshd and the connections, at once; what runs on the node is left to end by itself."""
        if self._server is None:
            return
        sessions = self.sessions()
        self._server.kill()
        self._server.wait()
        for pid in sessions:
            kill(pid, signal.SIGKILL)
        self._server = None

    def sessions(self) -> list[int]:
        """Process ids of the sshd processes that serve connections."""
        if self._server is None:
            return []
        family = [self._server.pid]
        for pid in family:
            family += [child for child in children_of(pid) if comm_of(child).startswith("sshd")]
        return family[1:]

    def processes(self, variable: str = "") -> list[int]:
        """Process ids of all that runs in the node's sessions, with `variable` in their environment."""
        wanted = [f"{MARK}={self.folder}".encode(), f"{variable}=".encode() if variable else b""]
        return [pid for pid, environment in environments() if all(part in environment for part in wanted)]

    def rule(self, *rules: str) -> None:
        """Have the management library answer by these rules from now on, over those that stand."""
        self._rules += rules
        replace_text(self._nvml, "\n".join(self._rules) + "\n")

    def write(self, path: str, text: str) -> None:
        """Write a file of its /sys in place, as the kernel shows a new value in an old one."""
        (self.folder / "sys" / path.removeprefix("/sys/")).write_text(text)

    def log(self, line: str) -> None:
        """Write a line into its kernel log."""
        microseconds = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        with (self.folder / "kmsg").open("a") as file:
            file.write(f"4,1,{microseconds},-;{line}\n")

    def new_host_key(self) -> None:
        """Give it another host key; a server that runs keeps the old one."""
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink(missing_ok=True)
        make_key(self.folder / "host_key")

    def said(self) -> str:
        """What its sshd has written into its log."""
        path = self.folder / "sshd.log"
        return path.read_text() if path.exists() else ""

    def fingerprint(self) -> str:
        """`SHA256:...` of its host key, as ssh-keygen prints it."""
        command = ["ssh-keygen", "-lf", str(self.folder / "host_key.pub")]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1]

    def known_hosts_line(self) -> str:
        """What vouches for it."""
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        return f"[{self.address}]:{PORT} {kind} {key}\n"

    def config_entry(self) -> str:
        """Its part of an ssh_config."""
        return (
            f"Host {self.name}\n  HostName {self.address}\n  Port {PORT}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self._operator}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        )

    def _furnish(self) -> None:
        """Write what does not change."""
        self.folder.mkdir(parents=True)
        self.machine.write_sys(self.folder / "sys")
        for path in (self.folder / "kmsg", self.folder / "net", self.marks):
            path.touch()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "python3").symlink_to(Path(sys.executable).resolve())
        self.rule()
        self.new_host_key()

    def _write_config(self) -> None:
        environment = {
            MARK: self.folder,
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LD_LIBRARY_PATH": self._libraries,
            "SIMULATED_NVML": self._nvml,
            "SIMULATED_GPU": ";".join(self.gpu_rules),
            "SIMULATED_MARKS": self.marks,
        }
        lines = [
            f"ListenAddress {self.address}",
            f"Port {PORT}",
            f"HostKey {self.folder / 'host_key'}",
            f"PidFile {self.folder / 'sshd.pid'}",
            f"AuthorizedKeysFile {self._operator.with_suffix('.pub')}",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            f"UsePAM {'yes' if os.geteuid() else 'no'}",  # without /etc/shadow all accounts look locked to it
            "StrictModes no",
            "LogLevel VERBOSE",
            "SetEnv " + " ".join(f'"{name}={value}"' for name, value in environment.items()),
        ]
        if self.apart:
            lines.append(f'ForceCommand exec nsenter --net={self.folder / "net"} -- /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")

    def _command(self) -> list[str]:
        sshd = tool("sshd")
        if self.apart:
            enter = [tool("unshare"), "--mount", "--uts", "--propagation", "private", "--"]
            return [*enter, "/bin/sh", "-c", ENTER, "sh", self.name, str(self.folder), sshd]
        return [sshd, "-D", "-f", str(self.folder / "sshd_config"), "-E", str(self.folder / "sshd.log")]

    def _answers(self) -> bool:
        if self._server is not None and self._server.poll() is not None:
            raise RuntimeError(f"sshd of {self.name} ended with status {self._server.returncode}: {self.said()}")
        with contextlib.suppress(OSError), socket.create_connection((self.address, PORT), timeout=1.0) as peer:
            return peer.recv(4) == b"SSH-"
        return False


def tool(name: str) -> str:
    """Path of a program; those of administrators too."""
    found = shutil.which(name, path=SBIN)
    if found is None:
        raise FileNotFoundError(name)
    return found


def may_separate() -> bool:
    """Whether this account may make mount, UTS and network namespaces and mount in them."""
    if os.geteuid() or not all(shutil.which(name, path=SBIN) for name in ("unshare", "nsenter", "hostname")):
        return False
    enter = ["unshare", "--mount", "--uts", "--net", "--propagation", "private", "--"]
    mounting = [*enter, "mount", "-t", "tmpfs", "x", "/mnt"]
    return subprocess.run(mounting, capture_output=True, timeout=10).returncode == 0


def make_key(path: Path) -> None:
    """A new ed25519 key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rig", "-f", str(path)], check=True)


def free_address() -> str:
    """A loopback address that no other node has, of this test process or of another: all of 127.0.0.0/8 is ours."""
    process, node = os.getpid(), next(_ADDRESSES)
    return f"127.{64 + process // 250 % 128}.{1 + process % 250}.{1 + node % 250}"


def environments() -> Iterator[tuple[int, bytes]]:
    """Process ids and environments of all processes that we may look into; those that have ended have none."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "environ").read_bytes()


def children_of(pid: int) -> list[int]:
    """Process ids of a process's children."""
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def comm_of(pid: int) -> str:
    """Short name of a process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def kill(pid: int, number: signal.Signals) -> None:
    """Signal a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(holds: Callable[[], bool], seconds: float, why: Callable[[], str]) -> None:
    """Wait for something; raises AssertionError with `why` when it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, why()
        time.sleep(0.02)
