"""Which copies other processes of the node run at this moment: they share links with ours."""

from __future__ import annotations

import contextlib
import json
import os

_open, _read, _listdir, _stat = open, os.read, os.listdir, os.stat


class Beside:
    """A folder with one small file for every process that copies; a process that is gone does not count."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        os.makedirs(folder, exist_ok=True)

    def join(self, operation: str, ends: tuple[str, ...]) -> None:
        """Say that this process copies, in addition to what it said before."""
        own = self._said(str(os.getpid())) | {(operation, ends)}
        path = f"{self._folder}/{os.getpid()}"
        with _open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(sorted(own), file)
        os.replace(f"{path}.new", path)

    def leave(self) -> None:
        """Say that this process copies no more."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{self._folder}/{os.getpid()}")

    def others(self) -> set[tuple[str, tuple[str, ...]]]:
        """Operation and ends of what other processes copy."""
        found: set[tuple[str, tuple[str, ...]]] = set()
        for name in _listdir(self._folder):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            if _alive(int(name)):
                found |= self._said(name)
            else:  # it was killed in the middle; its number may come again
                with contextlib.suppress(FileNotFoundError):
                    os.remove(f"{self._folder}/{name}")
        return found

    def _said(self, name: str) -> set[tuple[str, tuple[str, ...]]]:
        with contextlib.suppress(OSError, ValueError), _open(f"{self._folder}/{name}", encoding="utf-8") as file:
            return {(operation, tuple(ends)) for operation, ends in json.load(file)}
        return set()


def _alive(pid: int) -> bool:
    try:
        _stat(f"/proc/{pid}")
    except FileNotFoundError:
        return False
    return True
