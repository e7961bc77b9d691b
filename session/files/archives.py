"""Archives from strangers: tar, packed in any way, and zip, read member by member; nothing is unpacked to disk.

Members that are no plain files are named and passed over; so are names that leave their folder, which mean nothing here
but tell of a hostile archive. What comes out is bounded by an `Allowance`, whatever an archive declares.
"""

from __future__ import annotations

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from ...evidence import limits
from ...parsers.packed import FREE, Source, is_packed, unpacked
from .bounded import Allowance
from .names import shown

PEEKED = 1 << 20
"""Bytes of a compressed file that show what is in it; bzip2 gives nothing before 900 kB."""
TOO_MUCH = "the archive holds more than is read of one: the rest was not read"
_TAR_AT = 257
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_END = struct.Struct("<4sHHHHIIH")
_LONGEST_COMMENT = 65_535
_MOST_LISTING = 64 << 20
_MOST_HEADER = 1 << 20
_ENCRYPTED = 0x1
DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, OverflowError, RuntimeError,
    NotImplementedError, struct.error, OSError,
)  # fmt: skip
"""What reading damaged archives or files raises."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive; its stream is gone once the next is asked for."""

    name: str
    stream: BinaryIO | None
    """None where it is not read."""
    why: str = ""
    """Why not."""


def archive_kind(beginning: bytes) -> str:
    """`tar`, `zip`, or empty of what is no archive."""
    if beginning.startswith(_ZIP):
        return "zip"
    if is_packed(beginning):
        source = unpacked(io.BytesIO(beginning))
        beginning = b""
        while len(beginning) < 512 and (more := source.read(512)):
            beginning += more
    return "tar" if beginning[_TAR_AT : _TAR_AT + 5] == b"ustar" else ""


def tar_members(stream: BinaryIO, allowance: Allowance) -> Iterator[Member]:
    """The files of a tar archive in its order, as it streams by."""
    source = unpacked(stream)
    try:
        with tarfile.open(
            fileobj=cast(BinaryIO, _Whole(source, allowance)), mode="r|", tarinfo=_Header, errorlevel=0
        ) as archive:
            for info in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # tarfile keeps all it has passed
                allowance.members_left -= 1
                if allowance.is_used_up:
                    break
                if not info.isdir():
                    yield _tar_member(archive, info)
    except DAMAGED as error:
        if not allowance.is_used_up and not source.trouble:
            yield Member("", None, f"the archive is damaged: {shown(str(error))}")
    if why := source.trouble or (TOO_MUCH if allowance.is_used_up else ""):
        yield Member("", None, why)


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    why = why_unsafe(info.name)
    if info.issym() or info.islnk():
        why = f"is a link to {shown(info.linkname)}: not followed"
    elif not info.isreg():
        why = "is no plain file: not read"
    return Member(shown(info.name), None if why else cast(BinaryIO, archive.extractfile(info)), why)


def zip_members(stream: BinaryIO, size: int, allowance: Allowance) -> Iterator[Member]:
    """The files of a zip archive, which has to be seekable, in its order."""
    try:
        if why := _too_long(stream, size):
            yield Member("", None, why)
            return
        with zipfile.ZipFile(stream) as archive:
            for info in archive.infolist():
                if allowance.is_used_up:
                    yield Member("", None, TOO_MUCH)
                    return
                allowance.members_left -= 1
                if not info.is_dir():
                    yield from _zip_member(archive, info, allowance)
    except DAMAGED as error:
        yield Member("", None, f"the archive is damaged: {shown(str(error))}")


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, allowance: Allowance) -> Iterator[Member]:
    name, why = shown(info.filename), why_unsafe(info.filename)
    if info.flag_bits & _ENCRYPTED:
        why = "is encrypted: not read"
    elif (info.external_attr >> 28) not in (0, 8):
        why = "is a link or a device: not followed"
    elif info.file_size > max(FREE, limits.RATIO * info.compress_size):
        why = f"unpacks from {info.compress_size} to {info.file_size} bytes: not read"
    if why:
        yield Member(name, None, why)
        return
    try:
        with archive.open(info) as member:
            yield Member(name, cast(BinaryIO, _Whole(cast(Source, member), allowance)))
    except DAMAGED as error:
        yield Member(name, None, f"can't be unpacked: {shown(str(error))}")


def why_unsafe(name: str) -> str:
    """What is wrong with a member's name; empty of one that stays in its folder."""
    if name.startswith(("/", "\\")) or name[1:3] in (":\\", ":/"):
        return "its name is an absolute path: not read"
    return "its name leaves the archive's folder: not read" if ".." in name.replace("\\", "/").split("/") else ""


def _too_long(stream: BinaryIO, size: int) -> str:
    """Why a list of files is too long to be read; zipfile reads it whole."""
    stream.seek(max(0, size - _LONGEST_COMMENT - _END.size))
    tail = stream.read(_LONGEST_COMMENT + _END.size)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        return "the end of the archive is missing: was the transfer cut off?"
    count, length = _END.unpack_from(tail, at)[4:6]
    if count > limits.MEMBERS or length > _MOST_LISTING:
        return f"the archive says it has {count} files; at most {limits.MEMBERS} are read"
    return ""


class _Whole:
    """A source that gives as much as is asked for, as tarfile wants it, until the allowance is used up."""

    def __init__(self, source: Source, allowance: Allowance) -> None:
        self._source, self._allowance = source, allowance

    def read(self, size: int) -> bytes:
        pieces = []
        while size > 0 and (piece := self._source.read(size)) and self._allowance.take(len(piece)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


class _Header(tarfile.TarInfo):
    """Refuses long names and attributes that would fill the memory; tarfile reads them whole."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if not self.isreg() and not self.issparse() and self.size > _MOST_HEADER:
            raise tarfile.ReadError("a header that is too long")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]
