"""Every file below the paths that were handed in, also in archives; nothing is unpacked to disk, no link followed.

What can't be opened is named with its reason, and what an archive may unpack into is bounded.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Protocol, cast

from ...incident.errors import InputError
from ..recorded import is_bundle, is_case

MOST_FILES = 20_000
MEMBER_BYTES = 8 << 30
"""A member of an archive that says it is larger is not read; a log is read line by line whatever its size."""
RATIO = 250
"""Unpacked to packed of one member, past FREE bytes: logs pack 10 to 40 times."""
FREE = 64 << 20
NESTED_BYTES = 256 << 20
"""An archive in an archive is held in memory up to this size."""
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")


class Opens(Protocol):
    """Opens the bytes of a file."""

    def __call__(self) -> AbstractContextManager[BinaryIO]:
        """A stream of them; closed at the end of the block."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that can be read."""

    name: str
    """Below what was handed in, with `/`."""
    open: Opens


@dataclass(frozen=True, slots=True)
class Recording:
    """A case folder or a bundle of ours."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that is not read, and why."""

    name: str
    why: str


Found = FoundFile | Recording | Passed


def found_below(paths: Sequence[Path]) -> Iterator[Found]:
    """All there is, in the order of the paths and names; raises InputError for a path that is not there."""
    count = 0
    for path in paths:
        for one in _of_path(path):
            count += isinstance(one, FoundFile)
            if count > MOST_FILES:
                yield Passed(str(path), f"only the first {MOST_FILES} files were read")
                return
            yield one


def _of_path(path: Path) -> Iterator[Found]:
    if is_case(path) or is_bundle(path):
        yield Recording(path.name, path)
    elif path.is_dir():
        yield from _folder(path)
    elif path.exists():
        yield from _file(path, path.name)
    else:
        raise InputError(f"{path} is neither a file nor a folder; name outputs of tools, archives or folders of them")


def _folder(folder: Path) -> Iterator[Found]:
    unreadable: list[Passed] = []

    def failed(error: OSError) -> None:
        unreadable.append(Passed(str(error.filename), f"can't be read: {error.strerror}"))

    for place, folders, names in os.walk(folder, onerror=failed, followlinks=False):
        here = Path(place)
        kept = []
        for name in sorted(folders):
            below = here / name
            if below.is_symlink():
                yield Passed(_below(below, folder), "is a link to another folder: not followed")
            elif is_case(below):
                yield Recording(_below(below, folder), below)
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            yield from _file(here / name, _below(here / name, folder))
    yield from unreadable


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix().encode("utf-8", "replace").decode()


def _file(path: Path, name: str) -> Iterator[Found]:
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        yield Passed(name, f"can't be read: {error.strerror}")
        return
    if stat.S_ISLNK(mode) and not path.is_file():
        yield Passed(name, "is a link that leads nowhere, or to no file: not followed")
    elif stat.S_ISLNK(mode):
        yield Passed(name, "is a link: not followed, as it may lead out of the folder")
    elif not stat.S_ISREG(mode):
        yield Passed(name, "is no regular file (a pipe, socket or device): not opened")
    elif is_bundle(path):
        yield Recording(name, path)
    elif name.lower().endswith(ARCHIVES):
        yield from _archive(name, path)
    else:
        yield FoundFile(name, lambda: path.open("rb"))


def _archive(name: str, source: Path | BinaryIO, nested: bool = False) -> Iterator[Found]:
    """The members of an archive, or the whole as one that can't be read."""
    members = _zip(name, source, nested) if name.lower().endswith(".zip") else _tar(name, source, nested)
    try:
        yield from members
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        yield Passed(name, f"can't be unpacked: {_reason(error)}")


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]


def _zip(name: str, source: Path | BinaryIO, nested: bool) -> Iterator[Found]:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            member = f"{name}/{info.filename}"
            if info.is_dir():
                continue
            if why := _unsafe(info.filename) or _too_much(info.file_size, info.compress_size):
                yield Passed(member, why)
            elif info.flag_bits & 1:
                yield Passed(member, "is encrypted: hand it in unpacked")
            elif stat.S_ISLNK(info.external_attr >> 16):
                yield Passed(member, "is a link: not followed")
            else:
                yield from _member(member, lambda info=info: cast(BinaryIO, archive.open(info)), nested)


def _tar(name: str, source: Path | BinaryIO, nested: bool) -> Iterator[Found]:
    packed = source.stat().st_size if isinstance(source, Path) else source.seek(0, io.SEEK_END)
    given = 0
    with contextlib.ExitStack() as closing:
        stream = closing.enter_context(source.open("rb")) if isinstance(source, Path) else source
        stream.seek(0)
        archive = closing.enter_context(tarfile.open(fileobj=stream, mode="r:*"))
        for info in archive:
            member = f"{name}/{info.name}"
            if info.isdir():
                continue
            given += info.size
            if why := _unsafe(info.name) or _too_much(info.size, 0):
                yield Passed(member, why)
            elif not info.isfile():
                yield Passed(member, "is a link, a device or a pipe: not opened")
            elif given > FREE and given > RATIO * packed:
                yield Passed(name, f"unpacks to more than {RATIO} times its size: the rest is not read")
                return
            else:
                yield from _member(member, lambda info=info: _of_tar(archive, info), nested)


def _of_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> BinaryIO:
    stream = archive.extractfile(info)
    return cast(BinaryIO, stream) if stream is not None else io.BytesIO()


def _member(name: str, opens: Opens, nested: bool) -> Iterator[Found]:
    if not name.lower().endswith(ARCHIVES):
        yield FoundFile(name, opens)
    elif nested:
        yield Passed(name, "is an archive in an archive in an archive: not unpacked")
    else:
        with contextlib.closing(cast(IO[bytes], opens())) as stream:
            data = stream.read(NESTED_BYTES + 1)
        if len(data) > NESTED_BYTES:
            yield Passed(name, f"is an archive of more than {NESTED_BYTES >> 20} MiB in an archive: not unpacked")
        else:
            yield from _archive(name, io.BytesIO(data), nested=True)


def _unsafe(name: str) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0][:3]):
        return "has a name that leads out of the archive: not read"
    return ""


def _too_much(size: int, packed: int) -> str:
    if size > MEMBER_BYTES:
        return f"says it unpacks to {size} bytes: not read"
    if packed and size > FREE and size > RATIO * packed:
        return f"unpacks to more than {RATIO} times its size: not read"
    return ""
