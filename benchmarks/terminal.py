"""The `lanescope` command in a pseudo-terminal, as a person has it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSCTTY, TIOCSWINSZ

WIDTH, HEIGHT = 120, 36
_TICKS = os.sysconf("SC_CLK_TCK")
_CONTROL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(\x07|\x1b\\)|.)")


class Terminal:
    """A program in a terminal: what it paints is read and counted, what a person types is written."""

    def __init__(self, controller: int, child: subprocess.Popen[bytes]) -> None:
        self._controller = controller
        self._child = child
        self.started = time.perf_counter()

    def read(self, seconds: float, until_quiet: float | None = None) -> int:
        """Bytes painted within some seconds, or until nothing came for a while."""
        return sum(len(piece) for piece in self._pieces(seconds, until_quiet))

    def wait_for(self, text: str, seconds: float) -> float:
        """Seconds from the start of the program until it had painted a text; raises TimeoutError."""
        seen = ""
        for piece in self._pieces(seconds, None):
            seen = (seen + piece.decode("utf-8", "replace"))[-200_000:]
            if text in _CONTROL.sub("", seen):
                return time.perf_counter() - self.started
        raise TimeoutError(f"{text!r} was not painted within {seconds:g} s")

    def key_to_paint(self, key: bytes) -> float:
        """Milliseconds from a key to the first byte after it, with what is being painted out of the way."""
        self.read(0.35, until_quiet=0.15)
        began = time.perf_counter()
        self.press(key)
        select.select([self._controller], [], [], 5.0)
        return 1000 * (time.perf_counter() - began)

    def press(self, key: bytes) -> None:
        """Type a key."""
        os.write(self._controller, key)

    def cpu(self) -> float:
        """Seconds of processor time the program has used."""
        numbers = Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(numbers[11]) + int(numbers[12])) / _TICKS

    def _pieces(self, seconds: float, until_quiet: float | None) -> Iterator[bytes]:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            wait = left if until_quiet is None else min(left, until_quiet)
            if select.select([self._controller], [], [], wait)[0]:
                try:
                    yield os.read(self._controller, 65536)
                except OSError:
                    raise RuntimeError(f"the program ended with {self._child.wait(5.0)}") from None
            elif until_quiet is not None:
                return


@contextlib.contextmanager
def terminal(arguments: Sequence[str]) -> Iterator[Terminal]:
    """`lanescope` with these arguments. It is the terminal's own session, so that it never outlives us."""
    controller, screen = pty.openpty()
    ioctl(screen, TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
    child = subprocess.Popen(
        [sys.executable, "-m", "lanescope", *arguments],
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env={name: value for name, value in environment.items() if not name.startswith("SSH_")},
        start_new_session=True,
        preexec_fn=lambda: ioctl(0, TIOCSCTTY, 0),
    )
    os.close(screen)
    try:
        yield Terminal(controller, child)
    finally:
        _end(controller, child)


def _end(controller: int, child: subprocess.Popen[bytes]) -> None:
    """Ask it to go, and read what it paints meanwhile: a full terminal would hold it up."""
    child.terminate()
    end = time.monotonic() + 10.0
    while child.poll() is None and time.monotonic() < end:
        if select.select([controller], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):
                os.read(controller, 65536)
    if child.poll() is None:
        child.kill()
    child.wait()
    os.close(controller)
