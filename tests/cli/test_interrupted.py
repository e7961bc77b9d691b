"""Ctrl-C or SIGTERM at any moment: exit code 130, one sentence, nothing lost that was gathered, no process left."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import signal
import subprocess
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lanescope.evidence.case import entries

from .conftest import Fleet
from .program import PROGRAM, Ended, Started, all_gone

DRAWN = b"\x1b[1;1H"
"""The cursor goes home: the first picture is drawn."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short of name: sockets are made under it."""
    path = Path(tempfile.mkdtemp(prefix="cli-"))
    yield path
    shutil.rmtree(path)


def was_interrupted(ended: Ended, cases: Path) -> bool:
    """Whether it ended as interrupted, said where the case is, and the case reads."""
    assert ended.code == 130, ended.err
    assert ended.out == ""
    assert ended.says_one_sentence("interrupted")
    (case,) = [path for path in cases.iterdir() if (path / "case.json").exists()]
    assert f"what was gathered so far is in {case}" in ended.err
    return len(list(entries(case))) > 0


@pytest.mark.parametrize(
    ("said", "number"),
    [("nodes live", signal.SIGTERM), ("round 1:", signal.SIGINT)],
    ids=["watching", "probing"],
)
def test_localizing_ends_in_good_order(fleet: Fleet, folder: Path, said: str, number: int) -> None:
    command = ("localize", "-F", fleet.ssh_config, "sim[1,7]", "--yes", "--cases", folder)
    running = Started(folder, *command)
    running.until(lambda err: said in err)
    assert was_interrupted(running.end(number), folder)
    assert all_gone(fleet.served_from)


def test_localizing_while_connecting_leaves_nothing(fleet: Fleet, folder: Path) -> None:
    running = Started(folder, "localize", "-F", fleet.ssh_config, "sim[1,7]", "--yes", "--cases", folder / "c")
    while not list(folder.glob("c/*/journal.jsonl")):
        time.sleep(0.01)
    assert was_interrupted(running.end(signal.SIGINT), folder / "c")
    assert all_gone(fleet.served_from)


def test_collecting_ends_in_good_order(fleet: Fleet, folder: Path) -> None:
    command = ("collect", "-F", fleet.ssh_config, "sim[1,7]", "--yes", "--cases", folder, "--out", folder / "x.zip")
    running = Started(folder, *command)
    running.until(lambda err: "nodes live" in err)
    time.sleep(4.5)  # commands run by now
    assert was_interrupted(running.end(signal.SIGINT), folder)
    assert not (folder / "x.zip").exists()
    assert all_gone(fleet.served_from)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        pytest.param("nodes live", signal.SIGINT, id="watching"),
        pytest.param("round 1:", signal.SIGTERM, id="probing", marks=pytest.mark.slow),
    ],
)
def test_the_demo_takes_its_whole_fleet_along(folder: Path, said: str, number: int) -> None:
    running = Started(folder, "demo", "--headless", "--cases", folder / "c", TMPDIR=str(folder))
    running.until(lambda err: said in err)
    assert was_interrupted(running.end(number), folder / "c")
    assert all_gone(str(folder))
    assert not list(folder.glob("lanescope-sim-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_served_fleet_ends_cleanly_and_takes_its_ssh_config_along(folder: Path, number: int) -> None:
    serving = Started(folder, "sim", "up", "--nodes", "1", "--ssh-config", folder / "F", TMPDIR=str(folder))
    serving.until(lambda err: "Ctrl-C ends them" in err)
    ended = serving.end(number)
    assert ended.code == 0
    assert "Traceback" not in ended.err
    assert not (folder / "F").exists()
    assert all_gone(str(folder))
    assert not list(folder.glob("lanescope-sim-*"))


class Terminal:
    """The screens on a pseudo terminal of their own."""

    def __init__(self, folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, "connect", "no-such-host.invalid", "--cases", str(folder)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=os.environ | {"TERM": "xterm-256color"},
        )
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x24\x00\x78\x00\x00\x00\x00\x00")
        os.close(theirs)
        self.shown = b""

    def until(self, wanted: bytes, seconds: float = 20.0) -> None:
        """Read until `wanted` was shown."""
        os.set_blocking(self._ours, False)
        deadline = time.monotonic() + seconds
        while wanted not in self.shown:
            assert time.monotonic() < deadline, self.shown[-500:]
            try:
                self.shown += os.read(self._ours, 65536)
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:  # the other side is closed: all was read
                assert wanted in self.shown, self.shown[-500:]

    def close(self) -> None:
        """As when its window is closed."""
        os.close(self._ours)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_screens_give_the_terminal_back_when_told_to_end(folder: Path, number: int) -> None:
    terminal = Terminal(folder)
    terminal.until(DRAWN)
    terminal.process.send_signal(number)
    terminal.until(b"\x1b[?1049l")
    terminal.until(b"everything gathered is in")
    assert terminal.process.wait(10) == 130


def test_screens_end_when_their_terminal_is_closed(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.until(DRAWN)
    terminal.close()
    try:
        assert terminal.process.wait(10) == 130
    finally:
        terminal.process.kill()
