"""Writing so that a crash costs little, without making the caller wait for a disk.

What is written with `append_to` has left the process and survives its death. To survive a power cut it must reach the
disk too: that takes from a millisecond to seconds, so it is done in the order asked for by one thread of its own.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def append_to(path: Path) -> int:
    """A descriptor that appends to a file nobody else may read; made where it is missing."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; raises OSError, with the disk full for one."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_file(path: Path, data: bytes) -> None:
    """Put a whole file in place at once: a reader sees all of it or none."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
    part.replace(path)


class DiskThread:
    """One thread that does what takes long, in the order asked for. After a failure it does nothing more."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="disk")
        self._last: Future[None] | None = None
        self._failure: Exception | None = None

    def do(self, work: Callable[[], None]) -> None:
        """Ask for it; returns at once. Raises what earlier work failed with."""
        self._raise_failure()
        self._last = self._thread.submit(self._run, work)

    def sync(self, *paths: Path) -> None:
        """Ask for files to be brought to the disk."""
        self.do(partial(bring_to_disk, paths))

    @property
    def busy(self) -> bool:
        """Whether it is still at what was asked for."""
        return self._last is not None and not self._last.done()

    def wait(self) -> None:
        """Until all that was asked for is done; raises what it failed with."""
        if self._last is not None:
            self._last.result()
        self._raise_failure()

    def close(self) -> None:
        """End the thread once it is done."""
        self._thread.shutdown(wait=True)

    def _run(self, work: Callable[[], None]) -> None:
        if self._failure is None:
            try:
                work()
            except Exception as failure:
                self._failure = failure

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def bring_to_disk(paths: tuple[Path, ...]) -> None:
    """Wait until what was written to the files would survive a power cut; those that are gone are passed over."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
