"""The `lanescope` command as a process: what it prints, how it ends, what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROGRAM = (sys.executable, "-m", "lanescope")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def says_one_sentence(self, *words: str) -> bool:
        """Whether the last line on stderr is ours, holds all words, and no traceback stands anywhere."""
        last = self.err.strip().splitlines()[-1]
        assert "Traceback" not in self.err + self.out, self.err
        assert all(word in last for word in words), last
        return last.startswith("lanescope: ")


def run(*arguments: str | Path, seconds: float = 60.0, **environment: str) -> Ended:
    """Run a command to its end, with nobody at a terminal."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=os.environ | environment,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class Started:
    """A command that runs on; its stderr is in a file that can be read while it does."""

    def __init__(self, folder: Path, *arguments: str | Path, **environment: str) -> None:
        self._log = folder / "stderr"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*PROGRAM, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | environment,
            )

    @property
    def err(self) -> str:
        """What it said so far."""
        return self._log.read_text("utf-8", "replace")

    def until(self, holds: Callable[[str], bool], seconds: float = 40.0) -> None:
        """Wait until what it said satisfies `holds`."""
        deadline = time.monotonic() + seconds
        while not holds(self.err):
            assert self._process.poll() is None, f"it ended: {self.err}"
            assert time.monotonic() < deadline, f"it only said: {self.err}"
            time.sleep(0.05)

    def end(self, number: int, seconds: float = 20.0) -> Ended:
        """Send a signal and wait for the end."""
        self._process.send_signal(number)
        try:
            out, _ = self._process.communicate(timeout=seconds)
        finally:
            self._process.kill()
        return Ended(self._process.returncode, out.decode(), self.err)


def processes_of(mark: str) -> list[str]:
    """Command lines of processes alive whose environment holds `mark`; this one is not counted."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def all_gone(mark: str, seconds: float = 5.0) -> bool:
    """Whether no process whose environment holds `mark` is left within so many seconds."""
    deadline = time.monotonic() + seconds
    while processes_of(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
