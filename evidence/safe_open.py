"""Opening a bundle that somebody else sent: members are read in place, nothing is ever unpacked to disk.

A zip is hostile until shown otherwise. Refused before a member is read: leading, trailing or hidden bytes, overlapping
members, names that leave their folder or mean something to a system, the same name twice, links and devices,
encryption, methods other than stored and deflate, more members than can be meant. While reading, limits hold for the
bytes that come out, whatever the archive declares. No archive inside an archive is opened.

A zip whose end is missing is Incomplete (a transfer broke off); damage inside a member is Altered; all else Unsafe.
"""

from __future__ import annotations

import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from ..incident.errors import Altered, EvidenceError, Unsafe
from . import limits

_LOCAL, _END = b"PK\x03\x04", b"PK\x05\x06"
_LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
_END_RECORD = struct.Struct("<4sHHHHIIH")
_LONGEST_COMMENT = 65_535
_ENCRYPTED, _SIZES_FOLLOW = 0x1, 0x8
_DESCRIPTOR_BYTES = (12, 16)
_BLOCK = 1 << 16
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_NOT_IN_NAMES = frozenset('\\:*?"<>|')


class Incomplete(EvidenceError):
    """Part of the bundle is missing."""

    code = "incomplete"


class SafeArchive:
    """A zip from a stranger, checked; its members by path below the one top folder. A context manager."""

    def __init__(self, path: Path) -> None:
        """Raises Unsafe or Incomplete, and OSError where the file can't be read."""
        self._stream = path.open("rb")
        try:
            count, directory = _end_of(self._stream, path.stat().st_size)
            try:
                self._zip = zipfile.ZipFile(self._stream)
            except (zipfile.BadZipFile, zlib.error, ValueError, OverflowError, NotImplementedError) as error:
                raise Unsafe(f"the archive's list of files can't be read: {error}") from error
            infos = self._zip.infolist()
            if len(infos) != count:
                raise Unsafe(f"the archive lists {len(infos)} files and says it has {count}")
            _check_layout(self._stream, infos, directory)
            self.top, self._members = _by_path(infos)
        except BaseException:
            self._stream.close()
            raise
        self._produced = 0

    def __enter__(self) -> SafeArchive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stream.close()

    @property
    def names(self) -> set[str]:
        """Paths of all members."""
        return set(self._members)

    def size(self, name: str) -> int:
        """Declared size of a member."""
        return self._info(name).file_size

    def read(self, name: str, limit: int = limits.DOCUMENT_BYTES) -> bytes:
        """A whole member of at most `limit` bytes; raises Incomplete, Altered or Unsafe."""
        if self.size(name) > limit:
            raise Unsafe(f"{name} has {self.size(name)} bytes where at most {limit} make sense")
        return b"".join(self.blocks(name))

    def blocks(self, name: str) -> Iterator[bytes]:
        """A member piece by piece, counting what comes out."""
        info = self._info(name)
        size = 0
        try:
            with self._zip.open(info) as member:
                while block := member.read(_BLOCK):
                    size += len(block)
                    self._produced += len(block)
                    if size > min(info.file_size, limits.MEMBER_BYTES) or self._produced > limits.UNPACKED_BYTES:
                        raise Unsafe(f"{name} unpacks to more than it declares, or the archive to more than it may")
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise Altered(f"{name} is damaged: {error}") from error
        if size != info.file_size:
            raise Altered(f"{name} unpacks to {size} bytes where {info.file_size} are declared")

    def _info(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise Incomplete(f"{name} is missing")
        return self._members[name]


def check_name(name: str) -> None:
    """Raise Unsafe for a member name that could reach outside its folder or mislead a system or a reader."""
    shown = ascii(name[:80])
    if not name or len(name.encode(errors="replace")) > limits.NAME_BYTES:
        raise Unsafe(f"a file name of {len(name)} characters: {shown}")
    if any(c in _NOT_IN_NAMES or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name):
        raise Unsafe(f"a file name with characters that have no place in one: {shown}")
    if name != unicodedata.normalize("NFC", name):
        raise Unsafe(f"a file name in two spellings: {shown}")
    segments = name.split("/")
    if len(segments) > limits.NAME_DEPTH or any(segment in ("", ".", "..") for segment in segments):
        raise Unsafe(f"a file name that leaves its folder or is too deep: {shown}")
    if any(_RESERVED.fullmatch(segment) or segment.endswith((" ", ".")) for segment in segments):
        raise Unsafe(f"a file name that some systems take for something else: {shown}")


def _end_of(stream: BinaryIO, size: int) -> tuple[int, int]:
    """Number of members and offset of the central directory, from the end record; nothing may stand around them."""
    if size > limits.ARCHIVE_BYTES:
        raise Unsafe(f"the archive has {size} bytes; at most {limits.ARCHIVE_BYTES} are opened")
    if stream.read(4) != _LOCAL:
        raise Unsafe("this is no zip archive, or something stands before it")
    stream.seek(max(0, size - _LONGEST_COMMENT - _END_RECORD.size))
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_RECORD.size:
        raise Incomplete("the end of the archive is missing; was the transfer cut off?")
    _, disk, first, here, count, length, offset, comment = _END_RECORD.unpack_from(tail, at)
    if at + _END_RECORD.size != len(tail) or comment:
        raise Unsafe("something stands behind the end of the archive")
    if (disk, first) != (0, 0) or here != count:
        raise Unsafe("the archive is one of several parts")
    if count > limits.MEMBERS:
        raise Unsafe(f"the archive says it has {count} files; at most {limits.MEMBERS} are opened")
    if offset + length + _END_RECORD.size != size:
        raise Unsafe("the archive's list of files is not where its end says")
    return count, offset


def _check_layout(stream: BinaryIO, infos: list[zipfile.ZipInfo], directory: int) -> None:
    """Every byte before the list of files belongs to exactly one member, and both its headers say the same."""
    expected = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        _check_member(info)
        if info.header_offset != expected:
            raise Unsafe("members of the archive overlap, or bytes are hidden between them")
        expected = _end_of_member(stream, info)
    gap = directory - expected
    if gap:
        raise Unsafe("members of the archive overlap its list of files, or bytes are hidden before it")
    if sum(info.file_size for info in infos) > limits.UNPACKED_BYTES:
        raise Unsafe(f"the archive unpacks to more than {limits.UNPACKED_BYTES} bytes")


def _check_member(info: zipfile.ZipInfo) -> None:
    check_name(info.orig_filename)
    if info.filename != info.orig_filename:
        raise Unsafe(f"{info.orig_filename!a} has two names")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Unsafe(f"{info.filename!a} is no plain file")
    if info.flag_bits & _ENCRYPTED:
        raise Unsafe(f"{info.filename!a} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unsafe(f"{info.filename!a} is packed by method {info.compress_type}")
    if info.file_size > min(limits.MEMBER_BYTES, limits.RATIO * max(info.compress_size, 64)):
        raise Unsafe(f"{info.filename!a} unpacks from {info.compress_size} to {info.file_size} bytes")


def _end_of_member(stream: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Where the member's bytes end; raises Unsafe where its local header contradicts the list of files."""
    stream.seek(info.header_offset)
    header = stream.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size:
        raise Unsafe(f"{info.filename!a} is outside the archive")
    magic, _, flags, method, _, _, crc, packed, size, name_length, extra = _LOCAL_HEADER.unpack(header)
    name = stream.read(name_length)
    follows = flags & _SIZES_FOLLOW
    sizes_agree = follows or (crc, packed, size) == (info.CRC, info.compress_size, info.file_size)
    if magic != _LOCAL or (flags, method) != (info.flag_bits, info.compress_type) or not sizes_agree:
        raise Unsafe(f"{info.filename!a} is described in two ways")
    if name.decode("utf-8" if flags & 0x800 else "cp437", "replace") != info.orig_filename:
        raise Unsafe(f"{info.filename!a} has two names")
    end: int = info.header_offset + _LOCAL_HEADER.size + name_length + extra + info.compress_size
    return end + _descriptor_size(stream, end) if follows else end


def _descriptor_size(stream: BinaryIO, at: int) -> int:
    """Some writers put a member's sizes behind it."""
    stream.seek(at)
    return _DESCRIPTOR_BYTES[1] if stream.read(4) == b"PK\x07\x08" else _DESCRIPTOR_BYTES[0]


def _by_path(infos: list[zipfile.ZipInfo]) -> tuple[str, dict[str, zipfile.ZipInfo]]:
    tops = {info.filename.partition("/")[0] for info in infos}
    if len(tops) != 1 or any("/" not in info.filename for info in infos):
        raise Unsafe("the archive does not keep to one top folder")
    members = {info.filename.partition("/")[2]: info for info in infos}
    if len({name.casefold() for name in members}) != len(infos):
        raise Unsafe("two files of the archive have the same name")
    return tops.pop(), members
