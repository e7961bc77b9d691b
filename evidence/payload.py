"""The large parts of a bundle, journal and recording, within the time and room there is."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from ..incident.errors import Altered
from . import limits
from .archive import BagArchive
from .chunk import ChunkEntry
from .cut import Cut, StoredChunk
from .recording import SEGMENT_BYTES


class Allowance:
    """What may still go into a bundle; keeps the list of what did not."""

    def __init__(self, until: float) -> None:
        """`until`: monotonic time after which nothing large is begun."""
        self._until = until
        self._bytes = limits.ARCHIVE_BYTES - (64 << 20)
        self._members = limits.MEMBERS - 100
        self.left_out: list[str] = []
        """One sentence for each thing."""

    def takes(self, what: str, size: int, members: int = 0) -> bool:
        """Whether something of that size may go in; when not, it is listed with the reason."""
        why = self._why_not(size, members)
        if why:
            self.left_out.append(f"{what}: {why}")
            return False
        self._bytes -= size
        self._members -= members
        return True

    def _why_not(self, size: int, members: int) -> str:
        if time.monotonic() > self._until:
            return "the deadline had passed"
        if size > limits.MEMBER_BYTES:
            return f"{size} bytes are more than a bundle's file may have"
        return "the bundle was full" if size > self._bytes or members > self._members else ""


def write_journal(bag: BagArchive, cut: Cut, allowance: Allowance) -> None:
    """`journal.jsonl`: the lines as they stand in the case. It comes first and no deadline cuts it."""
    bag.add("data/journal.jsonl", _journal_lines(cut, allowance))


def write_recording(bag: BagArchive, cut: Cut, allowance: Allowance) -> int:
    """`recording/`: segments of chunks, then their index; returns how many chunks it holds.

    Chunks are copied as they are, one after the other: bytes that a crash left between them stay behind.
    """
    segments = _Segments(cut, allowance)
    while segments.more:
        bag.add(f"data/recording/{segments.name}", segments.next(), stored=True)
    index = [msgspec.json.encode(entry) + b"\n" for entry in segments.index]
    bag.add("data/recording/idx.jsonl", index)
    return len(index)


def _journal_lines(cut: Cut, allowance: Allowance) -> Iterator[bytes]:
    size = 0
    for line in cut.lines():
        text = msgspec.json.encode(line) + b"\n"
        size += len(text)
        if size > limits.MEMBER_BYTES:
            allowance.left_out.append(f"the journal from {line.id} on: the file was full")
            return
        yield text


class _Segments:
    """Chunks of a cut, laid out anew."""

    def __init__(self, cut: Cut, allowance: Allowance) -> None:
        self._cut, self._allowance = cut, allowance
        self._waiting = list(reversed(cut.chunks))
        self._number = -1
        self.index: list[ChunkEntry] = []

    @property
    def more(self) -> bool:
        return bool(self._waiting)

    @property
    def name(self) -> str:
        """Of the next segment."""
        return f"seg-{self._number + 1:03}.bin"

    def next(self) -> Iterator[bytes]:
        """The bytes of the next segment; chunks that do not fit wait for the one after."""
        name, offset = self.name, 0
        self._number += 1
        while self._waiting and (not offset or offset + self._waiting[-1].entry.length <= SEGMENT_BYTES):
            data = self._load(self._waiting.pop())
            if data is not None:
                stored, chunk = data
                self.index.append(msgspec.structs.replace(stored.entry, segment=name, offset=offset))
                offset += len(chunk)
                yield chunk

    def _load(self, stored: StoredChunk) -> tuple[StoredChunk, bytes] | None:
        entry = stored.entry
        what = f"samples of {entry.node}/{entry.domain} from {entry.first_id} to {entry.last_id}"
        if not self._allowance.takes(what, entry.length):
            return None
        try:
            return stored, stored.load()
        except Altered as error:
            self._allowance.left_out.append(f"{what}: {error}")
            return None
