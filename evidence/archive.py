"""Writing a bundle's zip: one top folder, members hashed as they go to disk, the same bytes for the same content."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import BinaryIO

from .limits import RATIO

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX, _PLAIN_FILE = 3, 0o100644 << 16


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the bundle as written."""

    sha256: str
    size: int


class BagArchive:
    """A zip under way. A context manager; the zip is whole when it is left."""

    def __init__(self, stream: BinaryIO, top: str) -> None:
        """`top`: name of the one folder everything stands in."""
        self._zip = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED)
        self._top = top
        self.members: dict[str, Member] = {}
        """By path below the top folder."""

    def __enter__(self) -> BagArchive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.filelist.sort(key=lambda info: info.filename)
        self._zip.close()

    def add(self, path: str, blocks: Iterable[bytes], stored: bool = False) -> Member:
        """Write a member; `stored`: without compression, for what is compressed already."""
        info = zipfile.ZipInfo(f"{self._top}/{path}", _EPOCH)
        info.create_system, info.external_attr = _UNIX, _PLAIN_FILE
        info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        digest, size = sha256(), 0
        with self._zip.open(info, "w") as member:
            for block in blocks:
                member.write(block)
                digest.update(block)
                size += len(block)
        made = self.members[path] = Member(digest.hexdigest(), size)
        return made

    def add_output(self, path: str, data: bytes) -> Member:
        """Write bytes that a node chose: stored where they would shrink so far that a careful reader balks."""
        return self.add(path, _pieces(data), stored=len(data) > 0.8 * RATIO * _deflated_size(data))

    def hashes(self, payload: bool) -> dict[str, str]:
        """Path -> sha256 of the payload, or of the tag files."""
        return {path: made.sha256 for path, made in self.members.items() if path.startswith("data/") == payload}


def _deflated_size(data: bytes) -> int:
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15)
    return max(64, sum(len(packer.compress(piece)) for piece in _pieces(data)) + len(packer.flush()))


def _pieces(data: bytes) -> Iterator[bytes]:
    view = memoryview(data)
    for at in range(0, len(data), 1 << 20):
        yield bytes(view[at : at + (1 << 20)])
