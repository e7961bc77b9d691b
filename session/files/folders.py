"""What lies below a folder: plain files and cases, in order; links, devices and what can't be opened are named."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..recorded import is_case
from .names import shown

MOST_FILES = 20_000
"""Files of one folder that are read; an sos report has about ten thousand."""
MOST_COUNTED = 200_000
"""Files past these that are counted, to say how many were not read."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file, a case folder, or something that is neither."""

    name: str
    """Below the folder, fit to be shown."""
    path: Path
    why: str = ""
    """Why it is not read; empty of what is."""
    is_case: bool = False


def files_below(folder: Path) -> Iterator[Found]:
    """Everything that may be read, and why the rest is not."""
    root = folder.resolve()
    unread: list[tuple[str, OSError]] = []
    number = 0
    for place, folders, names in os.walk(folder, onerror=lambda error: unread.append((str(error.filename), error))):
        here = [Path(place, name) for name in sorted(folders)]
        cases = [path for path in here if not path.is_symlink() and is_case(path)]
        yield from (Found(_name(path, folder), path, is_case=True) for path in cases)
        yield from (_link(path, folder) for path in here if path.is_symlink() and not _is_inside(path, root))
        folders[:] = [path.name for path in here if path not in cases and not path.is_symlink()]
        for name in sorted(names):
            number += 1
            if number > MOST_FILES + MOST_COUNTED:
                break
            if number <= MOST_FILES:
                yield from _file(Path(place, name), folder, root)
        if number > MOST_FILES + MOST_COUNTED:
            break
    for where, error in unread:
        yield Found(_name(Path(where), folder), Path(where), f"can't be read: {error.strerror}")
    if number > MOST_FILES:
        more = "more than " if number > MOST_FILES + MOST_COUNTED else ""
        left_out = min(number - MOST_FILES, MOST_COUNTED)
        yield Found(
            shown(folder.name), folder, f"only the first {MOST_FILES} files were read, {more}{left_out} others were not"
        )


def open_plain(path: Path) -> BinaryIO:
    """Open a file that is a plain one at this moment; raises OSError. Never waits, as opening a FIFO would."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no plain file")
    return os.fdopen(descriptor, "rb")


def _file(path: Path, folder: Path, root: Path) -> Iterator[Found]:
    """Links that stay inside are passed over, as what they lead to is found by itself."""
    name = _name(path, folder)
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        yield Found(name, path, f"can't be read: {error.strerror}")
        return
    if stat.S_ISREG(mode):
        yield Found(name, path)
    elif not stat.S_ISLNK(mode):
        yield Found(name, path, f"is {_kind(mode)}: not read")
    elif not _is_inside(path, root):
        yield _link(path, folder)


def _link(path: Path, folder: Path) -> Found:
    return Found(
        _name(path, folder), path, f"is a link out of the folder, to {shown(str(path.readlink()))}: not followed"
    )


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _name(path: Path, folder: Path) -> str:
    return shown(str(path.relative_to(folder)))
