"""Rebase a process's file access: paths below /sys and some of /proc read from the node's own tree.

Only Python code of this process is reached: `open`, `os.open`/`read`/`pread`/`lseek`, `stat`, `listdir`, `scandir`,
`readlink`, `access`, and all that stands on them (os.path, os.walk, glob, pathlib). A rebased file is opened as a real
descriptor of an anonymous file, so that it can be selected, passed on and closed; reading it from its start renders it
anew, as sysfs does.
"""

from __future__ import annotations

import builtins
import io
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .tree import Directory, Entry, File, Link, Tree

PREFIXES = ("/sys/", "/proc/driver/", "/dev/nvidia", "/dev/infiniband")
EXACT = frozenset(
    (
        "/sys",
        "/proc/driver",
        "/proc/cmdline",
        "/proc/version",
        "/proc/uptime",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/osrelease",
        "/proc/sys/kernel/random/boot_id",
        "/etc/hostname",
        "/dev/kmsg",
    )
)
KERNEL_LOG = "/dev/kmsg"


@dataclass(slots=True)
class Opened:
    """A rebased file behind a real descriptor."""

    inode: int
    entry: File


class Files:
    """The node's tree, laid over the real files of this process."""

    def __init__(
        self, tree: Callable[[], Tree], open_kernel_log: Callable[[int], int], skip_log: Callable[[int], None]
    ) -> None:
        self._tree = tree
        self._open_kernel_log = open_kernel_log
        self._skip_log = skip_log
        self._opened: dict[int, Opened] = {}
        self._real_open, self._real_os_open, self._real_pread = io.open, os.open, os.pread
        self._real_read, self._real_lseek = os.read, os.lseek

    def install(self) -> None:
        """Take over the functions of this process and of its forks."""
        builtins.open = io.open = self.open  # type: ignore[assignment]
        os.open, os.pread, os.read, os.lseek = self.os_open, self.pread, self.read, self.lseek  # type: ignore[assignment]
        os.stat = self._over(os.stat, self.stat)
        os.lstat = self._over(os.lstat, self.lstat)
        os.readlink = self._over(os.readlink, self.readlink)
        os.listdir = self._over(os.listdir, self.listdir)  # type: ignore[assignment]
        os.scandir = self._over(os.scandir, self.scandir)  # type: ignore[assignment]
        os.access = self._over(os.access, self.access)

    def _over(self, real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
        def either(path: Any = ".", *arguments: Any, **options: Any) -> Any:
            rebased = rebased_path(path)
            if rebased is None:
                return real(path, *arguments, **options)
            return ours(rebased, *arguments, **options)

        return either

    def open(self, file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **options: Any) -> Any:
        """`open()`; a rebased path gives a file object over a fresh rendering."""
        rebased = rebased_path(file)
        if rebased is None:
            return self._real_open(file, mode, buffering, *arguments, **options)
        if set(mode) & set("wax+"):
            raise PermissionError(13, "Permission denied", rebased)
        if rebased == KERNEL_LOG:
            descriptor = self._open_kernel_log(os.O_RDONLY)
        else:
            descriptor = _anonymous(rebased, self._content(rebased))
        return self._real_open(descriptor, mode, buffering, *arguments, **options)

    def os_open(self, path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        """`os.open()`; the descriptor of a rebased file is remembered, so that later reads are fresh."""
        rebased = rebased_path(path)
        if rebased is None:
            return self._real_os_open(path, flags, *arguments, **options)
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(13, "Permission denied", rebased)
        if rebased == KERNEL_LOG:
            return self._open_kernel_log(flags)
        entry = self._tree().find(rebased)
        if not isinstance(entry, File):
            raise IsADirectoryError(21, "Is a directory", rebased)
        descriptor = _anonymous(rebased, entry.read())
        self._opened[descriptor] = Opened(os.fstat(descriptor).st_ino, entry)
        return descriptor

    def pread(self, descriptor: int, size: int, offset: int) -> bytes:
        """`os.pread()`, rendered anew."""
        opened = self._rebased(descriptor)
        if opened is None:
            return self._real_pread(descriptor, size, offset)
        return opened.entry.read()[offset : offset + size]

    def read(self, descriptor: int, size: int) -> bytes:
        """`os.read()`, rendered anew when it reads from the start."""
        opened = self._rebased(descriptor)
        if opened is not None and self._real_lseek(descriptor, 0, os.SEEK_CUR) == 0:
            _fill(descriptor, opened.entry.read())
        return self._real_read(descriptor, size)

    def lseek(self, descriptor: int, position: int, whence: int) -> int:
        """`os.lseek()`; the kernel log, a socket here, can be sought to its end."""
        try:
            return self._real_lseek(descriptor, position, whence)
        except OSError:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                raise
            if whence == os.SEEK_END:
                self._skip_log(descriptor)
            return 0

    def stat(self, path: str, follow_symlinks: bool = True, **_options: Any) -> os.stat_result:
        """`os.stat()`."""
        return _status(path, self._tree().find(path, follow_symlinks))

    def lstat(self, path: str, **_options: Any) -> os.stat_result:
        """`os.lstat()`."""
        return _status(path, self._tree().find(path, follow=False))

    def readlink(self, path: str, **_options: Any) -> str:
        """`os.readlink()`."""
        entry = self._tree().find(path, follow=False)
        if not isinstance(entry, Link):
            raise OSError(22, "Invalid argument", path)
        return entry.to

    def listdir(self, path: str) -> list[str]:
        """`os.listdir()`."""
        return list(self._folder(path).entries)

    def scandir(self, path: str) -> Scan:
        """`os.scandir()`."""
        return Scan(self, path, list(self._folder(path).entries))

    def access(self, path: str, mode: int, **_options: Any) -> bool:
        """`os.access()`: everything that is there may be read, nothing written."""
        try:
            self._tree().find(path)
        except OSError:
            return False
        return not mode & os.W_OK

    def _content(self, path: str) -> bytes:
        entry = self._tree().find(path)
        if not isinstance(entry, File):
            raise IsADirectoryError(21, "Is a directory", path)
        return entry.read()

    def _folder(self, path: str) -> Directory:
        entry = self._tree().find(path)
        if not isinstance(entry, Directory):
            raise NotADirectoryError(20, "Not a directory", path)
        return entry

    def _rebased(self, descriptor: int) -> Opened | None:
        opened = self._opened.get(descriptor)
        if opened is None:
            return None
        if os.fstat(descriptor).st_ino != opened.inode:  # closed, and the number taken by another file
            del self._opened[descriptor]
            return None
        return opened


class Scan:
    """What `os.scandir()` of a rebased folder gives: an iterator of entries that can be closed."""

    def __init__(self, files: Files, path: str, names: list[str]) -> None:
        self._entries = iter([ScanEntry(files, f"{path.rstrip('/')}/{name}", name) for name in names])

    def __iter__(self) -> Iterator[ScanEntry]:
        return self._entries

    def __next__(self) -> ScanEntry:
        return next(self._entries)

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(frozen=True, slots=True)
class ScanEntry:
    """One entry of a rebased folder, as `os.DirEntry`."""

    _files: Files
    path: str
    name: str

    def __fspath__(self) -> str:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Status of the file."""
        return self._files.stat(self.path, follow_symlinks)

    def inode(self) -> int:
        """Inode number."""
        return self.stat(follow_symlinks=False).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._is(stat.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a plain file."""
        return self._is(stat.S_ISREG, follow_symlinks)

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return self._is(stat.S_ISLNK, False)

    def _is(self, kind: Callable[[int], bool], follow: bool) -> bool:
        try:
            return kind(self.stat(follow_symlinks=follow).st_mode)
        except OSError:
            return False


def rebased_path(path: Any) -> str | None:
    """`path` as text where the node's tree stands for it, else None."""
    if isinstance(path, int) or path is None:
        return None
    named = os.fspath(path)
    if isinstance(named, bytes):
        named = os.fsdecode(named)
    if named in EXACT or named.startswith(PREFIXES):
        return str(named)
    return None


def _anonymous(name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name[-200:])
    _fill(descriptor, content)
    return descriptor


def _fill(descriptor: int, content: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, content, 0)


def _status(path: str, entry: Entry) -> os.stat_result:
    mode = {File: stat.S_IFREG | 0o444, Link: stat.S_IFLNK | 0o777, Directory: stat.S_IFDIR | 0o755}[type(entry)]
    return os.stat_result((mode, hash(path) & 0x7FFFFFFF, 0, 1, 0, 0, 4096, 0, 0, 0))
