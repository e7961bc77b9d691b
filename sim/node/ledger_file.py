"""The ledger of a node on disk: written by whoever probes it, read by all its processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from ..ledger import Ledger

_open, _read, _stat = os.open, os.read, os.stat
"""The real ones: the process may since have been made to look like the node."""


class LedgerFile:
    """A JSON file that is replaced as a whole; writers exclude each other by a lock beside it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def version(self) -> object:
        """Changes whenever the ledger does."""
        try:
            status = _stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def load(self) -> Ledger:
        """The ledger as it stands."""
        try:
            descriptor = _open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return Ledger()
        try:
            data = b"".join(iter(lambda: _read(descriptor, 1 << 20), b""))
        finally:
            os.close(descriptor)
        return Ledger.from_json(data)

    @contextlib.contextmanager
    def changing(self) -> Iterator[Change]:
        """Within it, nobody else writes; `change.ledger` is what is written at its end."""
        lock = _open(self._path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            change = Change(self.load())
            yield change
            self._replace(change.ledger)
        finally:
            os.close(lock)

    def _replace(self, ledger: Ledger) -> None:
        new = f"{self._path}.{os.getpid()}"
        descriptor = _open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, ledger.to_json())
        finally:
            os.close(descriptor)
        os.replace(new, self._path)


class Change:
    """A ledger being changed."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
