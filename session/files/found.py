"""Every file below the paths that were handed in, also in archives; nothing is unpacked to disk, no link followed.

What can't be read is named with its reason; what is read of a file, and what an archive may unpack to, is bounded.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from ...incident.errors import InputError
from ...parsers.packed import is_packed
from ..recorded import is_bundle, is_case
from .archives import DAMAGED, PEEKED, Member, archive_kind, tar_members, zip_members
from .bounded import MOST_HELD, MOST_READ, Allowance, Bounded, Joined
from .folders import files_below, open_plain
from .names import shown
from .tail import tail_of

NESTED = 1
"""Archives are read in an archive, and no deeper."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that can be read; its stream is gone once the next is asked for."""

    name: str
    """Below what was handed in, with `/`, fit to be shown."""
    stream: BinaryIO
    first_line: int = 1
    """The line its stream begins with: more than 1 of the end of a long file, whose middle is left out."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A case folder or a bundle of ours."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that is not read, or not to its end, and why."""

    name: str
    why: str


Found: TypeAlias = FoundFile | Recording | Passed


def found_below(paths: Sequence[Path]) -> Iterator[Found]:
    """All there is, in the order of the paths and names; raises InputError for a path that is not there."""
    for path in paths:
        if not path.is_dir() and not path.is_file():
            name = shown(str(path))
            raise InputError(
                f"{name} is neither a file nor a folder; name outputs of tools, or archives or folders of them"
            )
    for path in paths:
        if is_case(path) or is_bundle(path):
            yield Recording(shown(path.name), path)
        elif path.is_dir():
            yield from _folder(path, f"{shown(path.name)}/" if len(paths) > 1 else "")
        else:
            yield from _file(path.resolve(), shown(path.name))


def _folder(folder: Path, above: str) -> Iterator[Found]:
    for found in files_below(folder):
        name = above + found.name
        if found.why:
            yield Passed(name, found.why)
        elif found.is_case or is_bundle(found.path):
            yield Recording(name, found.path)
        else:
            yield from _file(found.path, name)


def _file(path: Path, name: str) -> Iterator[Found]:
    try:
        stream = open_plain(path)
    except OSError as error:
        yield Passed(name, f"can't be read: {error.strerror}")
        return
    with stream:
        size = os.fstat(stream.fileno()).st_size
        yield from _document(name, stream, size, Allowance.of_size(size), 0)


def _document(name: str, stream: BinaryIO, size: int, allowance: Allowance, depth: int) -> Iterator[Found]:
    """A file, or the files in it; `size` is known of one that lies on disk."""
    beginning = stream.read(512)
    if is_packed(beginning):
        beginning += stream.read(PEEKED)
    kind = archive_kind(beginning)
    whole = cast(BinaryIO, Joined(beginning, stream))
    if kind and depth > NESTED:
        yield Passed(name, "is an archive in an archive in an archive: not read")
    elif kind == "zip" and depth:
        yield from _held_zip(name, whole, allowance, depth)
    elif kind:
        members = zip_members(stream, size, allowance) if kind == "zip" else tar_members(whole, allowance)
        yield from _members(name, members, allowance, depth)
    elif depth == 0 and size > MOST_READ and not is_packed(beginning):
        yield from _both_ends(name, stream, size)
    else:
        yield from _bounded(name, whole, MOST_READ)


def _bounded(name: str, stream: BinaryIO, most: int) -> Iterator[Found]:
    bounded = Bounded(stream, most)
    yield FoundFile(name, cast(BinaryIO, bounded))
    if bounded.trouble:
        yield Passed(name, bounded.trouble)


def _both_ends(name: str, stream: BinaryIO, size: int) -> Iterator[Found]:
    """Half of what may be read from the beginning of a long file, half from its end, where the latest lines are."""
    half = MOST_READ // 2
    stream.seek(0)
    yield FoundFile(name, cast(BinaryIO, Bounded(stream, half)))
    yield FoundFile(name, stream, first_line=tail_of(stream, size, half))
    yield Passed(
        name, f"of {size >> 20} MiB, only the first and the last {half >> 20} were read, not what lies between"
    )


def _held_zip(name: str, stream: BinaryIO, allowance: Allowance, depth: int) -> Iterator[Found]:
    data = _up_to(stream, MOST_HELD + 1)
    if len(data) > MOST_HELD:
        yield Passed(name, f"is a zip archive of more than {MOST_HELD >> 20} MiB in an archive: not read")
    else:
        yield from _members(name, zip_members(io.BytesIO(data), len(data), allowance), allowance, depth)


def _up_to(stream: BinaryIO, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _members(name: str, members: Iterator[Member], allowance: Allowance, depth: int) -> Iterator[Found]:
    for member in members:
        below = f"{name}/{member.name}" if member.name else name
        if member.stream is None:
            yield Passed(below, member.why)
        else:
            yield from _member(below, member.stream, allowance, depth + 1)


def _member(name: str, stream: BinaryIO, allowance: Allowance, depth: int) -> Iterator[Found]:
    try:
        yield from _document(name, stream, 0, allowance, depth)
    except DAMAGED as error:
        yield Passed(name, f"can't be unpacked: {shown(str(error) or type(error).__name__)}")
