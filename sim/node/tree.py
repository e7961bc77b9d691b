"""A small read-only file tree in memory: what stands below /sys and /proc on a simulated node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

MAX_LINKS = 40


@dataclass(frozen=True, slots=True)
class File:
    """A file whose bytes are made anew at every read, as in sysfs. Making them may raise OSError."""

    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    to: str


@dataclass(slots=True)
class Directory:
    """A folder and what is in it."""

    entries: dict[str, Entry] = field(default_factory=dict)


Entry: TypeAlias = File | Link | Directory


class Tree:
    """The tree, by absolute path."""

    def __init__(self) -> None:
        self._root = Directory()
        self._folders: dict[str, Directory] = {"": self._root}

    def folder(self, path: str) -> Directory:
        """The folder at an absolute path, made with all its parents where it is missing."""
        known = self._folders.get(path)
        if known is None:
            parent, _, name = path.rstrip("/").rpartition("/")
            entry = self.folder(parent).entries.setdefault(name, Directory())
            if not isinstance(entry, Directory):
                raise NotADirectoryError(path)
            known = self._folders[path] = entry
        return known

    def add(self, path: str, entry: Entry) -> None:
        """Put `entry` at `path`."""
        parent, _, name = path.rstrip("/").rpartition("/")
        self.folder(parent).entries[name] = entry

    def text(self, path: str, value: object) -> None:
        """Put a file that always reads `value` and a line end."""
        content = f"{value}\n".encode()
        self.add(path, File(lambda: content))

    def live(self, path: str, read: Callable[[], str]) -> None:
        """Put a file that reads what `read` says at that moment, and a line end."""
        self.add(path, File(lambda: f"{read()}\n".encode()))

    def link(self, path: str, to: str) -> None:
        """Put a link at `path` to the absolute path `to`, written relative as the kernel does."""
        here, there = _segments(path)[:-1], _segments(to)
        shared = 0
        while shared < min(len(here), len(there)) and here[shared] == there[shared]:
            shared += 1
        self.add(path, Link("/".join([".."] * (len(here) - shared) + there[shared:])))

    def find(self, path: str, follow: bool = True) -> Entry:
        """What stands at `path`; raises FileNotFoundError or NotADirectoryError. `follow` says whether a link at its
        very end is followed."""
        waiting = _segments(path)[::-1]
        trail: list[Directory] = []
        here: Entry = self._root
        links = 0
        while waiting:
            name = waiting.pop()
            if not isinstance(here, Directory):
                raise NotADirectoryError(20, "Not a directory", path)
            if name == "..":
                here = trail.pop() if trail else self._root
                continue
            found = here.entries.get(name)
            if found is None:
                raise FileNotFoundError(2, "No such file or directory", path)
            if isinstance(found, Link) and (waiting or follow):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(40, "Too many levels of symbolic links", path)
                waiting += _segments(found.to)[::-1]
                if found.to.startswith("/"):
                    trail, here = [], self._root
                continue
            trail.append(here)
            here = found
        return here

    def walk(self, path: str = "/") -> Iterator[tuple[str, Entry]]:
        """All paths below `path` with what stands there; links are not followed."""
        here = self.find(path)
        if isinstance(here, Directory):
            for name, entry in here.entries.items():
                yield f"{path.rstrip('/')}/{name}", entry
                yield from self.walk(f"{path.rstrip('/')}/{name}") if isinstance(entry, Directory) else ()


def _segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
