"""The streams of a command: one document or report on stdout, progress and errors on stderr, a person on stdin."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from typing import TextIO

GONE = (errno.EPIPE, errno.EIO)
"""What writing says when the reader has left, as `head` does, or when the terminal is closed."""


def say(text: str) -> None:
    """Progress and errors, on stderr."""
    _write(text, sys.stderr)


def tell(text: str) -> None:
    """The one document or report of a command, on stdout."""
    _write(text, sys.stdout)


def has_terminal() -> bool:
    """Whether screens make sense: they read stdin and draw on stderr; who sends stdout elsewhere wants text."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def asked(question: str) -> bool:
    """Ask a person; without a terminal there is nobody to ask."""
    if not sys.stdin.isatty():
        return False
    _put(question)
    return _said_yes()


async def asked_meanwhile(question: str) -> bool:
    """The same while the event loop goes on; whoever is cancelled waits for no answer."""
    if not sys.stdin.isatty():
        return False
    _put(question)
    answered, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), answered.set)
    try:
        await answered.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return _said_yes()


def _put(question: str) -> None:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()


def _said_yes() -> bool:
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(text: str, stream: TextIO) -> None:
    """A reader that left ends no incident and changes no exit code: the rest goes nowhere."""
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except OSError as error:
        if error.errno not in GONE:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
