"""A cut through a case: what its files held at one moment, readable while the session goes on writing."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import TracebackType

import msgspec

from ..incident.errors import Altered
from ..incident.events import Entry, SampleTaken
from . import chunk
from .chunk import ChunkEntry
from .journal import Line, Nonces, read_lines, read_nonces
from .tail import read_tail, readable_length

_BLOCK = 1 << 20


class Extent:
    """The first `size` bytes of a file, whatever is appended to it or becomes of its name."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._file).st_size

    def read(self, offset: int, length: int) -> bytes:
        """Up to that many bytes; fewer where the extent ends."""
        length = max(0, min(length, self.size - offset))
        pieces = []
        while length > 0 and (piece := os.pread(self._file, min(length, _BLOCK), offset)):
            pieces.append(piece)
            offset, length = offset + len(piece), length - len(piece)
        return b"".join(pieces)

    def blocks(self) -> Iterator[bytes]:
        """All of it, piece by piece."""
        for offset in range(0, self.size, _BLOCK):
            yield self.read(offset, _BLOCK)

    def lines(self) -> Iterator[bytes]:
        """Lines with their newline; the last may lack it."""
        rest = b""
        for block in self.blocks():
            *whole, rest = (rest + block).split(b"\n")
            for line in whole:
                yield line + b"\n"
        if rest:
            yield rest

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk and how to get at its bytes."""

    entry: ChunkEntry
    load: Callable[[], bytes] = field(repr=False)
    """Its bytes, hash checked; raises Altered."""


class Cut:
    """The files of a case folder at one moment. A context manager: it holds them open."""

    def __init__(self, folder: Path) -> None:
        recording = folder / "recording"
        self.damage: list[str] = []
        """What could not be read, as sentences; grows while reading."""
        # In this order: what a tail loses to a chunk while we look stands in the index that is opened after it.
        tails = [_extent(path) for path in sorted(recording.glob("tail-*.bin"))]
        self._tails = [tail for tail in tails if tail is not None]
        self._index = _extent(recording / "idx.jsonl")
        self._segments = {path.name: Extent(path) for path in sorted(recording.glob("seg-*.bin"))}
        self._journal, self._nonces = _extent(folder / "journal.jsonl"), _extent(folder / "nonces.jsonl")

    def __enter__(self) -> Cut:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for extent in (*self._tails, self._index, *self._segments.values(), self._journal, self._nonces):
            if extent is not None:
                extent.close()

    @property
    def size(self) -> int:
        """Bytes of journal and recording."""
        held = (*self._segments.values(), *self._tails, self._index, self._journal)
        return sum(extent.size for extent in held if extent is not None)

    def lines(self) -> Iterator[Line]:
        """The journal, line by line."""
        damage: list[str] = []
        if self._journal is not None:
            yield from read_lines(self._journal.lines(), damage)
        self._tell(damage)

    def nonces(self) -> dict[int, Nonces]:
        """What opens the journal's commitments, by seq."""
        return {} if self._nonces is None else read_nonces(self._nonces.lines())

    @cached_property
    def chunks(self) -> tuple[StoredChunk, ...]:
        """All chunks: those of the index, then those made now from what the tail holds beyond them."""
        indexed = tuple(StoredChunk(entry, self._loader(entry)) for entry in self._index_entries())
        return (*indexed, *self._unsealed(indexed))

    def entries(self) -> Iterator[Entry]:
        """Journal and recording in one, in order of seq, each entry as it was appended."""
        streams = [(0, iter(self.journal_entries()))]
        streams += [(stored.entry.first_seq, self._samples(stored)) for stored in self.chunks]
        return _merged(streams)

    def samples(self, stored: StoredChunk) -> list[Entry]:
        """The samples of one chunk; none, and a word in `damage`, where it can't be read."""
        try:
            return list(chunk.samples_of(stored.load()))
        except Altered as error:
            self._tell([str(error)])
            return []

    def _samples(self, stored: StoredChunk) -> Iterator[Entry]:
        yield from self.samples(stored)

    def journal_entries(self) -> Iterator[Entry]:
        """The journal's events, without the samples."""
        for line in self.lines():
            try:
                yield line.entry()
            except msgspec.ValidationError as error:
                self._tell([f"journal line {line.id} holds no event this version knows: {error}"])

    def _index_entries(self) -> Iterator[ChunkEntry]:
        if self._index is None:
            return
        for number, text in enumerate(self._index.lines(), 1):
            try:
                yield msgspec.json.decode(text, type=ChunkEntry)
            except msgspec.DecodeError:
                torn = "torn off" if not text.endswith(b"\n") else "unreadable"
                self._tell([f"line {number} of the recording's index is {torn} and was dropped"])

    def _loader(self, entry: ChunkEntry) -> Callable[[], bytes]:
        def load() -> bytes:
            segment = self._segments.get(entry.segment)
            data = b"" if segment is None else segment.read(entry.offset, entry.length)
            if sha256(data).hexdigest() != entry.sha256:
                raise Altered(
                    f"the recording of {entry.node}/{entry.domain} from {entry.first_id} on is cut or altered"
                )
            return data

        return load

    def _unsealed(self, indexed: tuple[StoredChunk, ...]) -> Iterator[StoredChunk]:
        """Chunks of the samples that only the tail has."""
        waiting = list(self._tail_samples())
        if not waiting:
            return
        sealed = self._sealed_from(indexed, min(entry.seq for entry in waiting))
        last = {stored.entry.node: stored.entry.sha256 for stored in indexed}
        for run in _runs(entry for entry in waiting if entry.seq not in sealed):
            made = chunk.seal(run, last.get(_sample(run[0]).node, chunk.FIRST))
            last[made.entry.node] = made.entry.sha256
            yield StoredChunk(made.entry, _giver(made.data))

    def _sealed_from(self, indexed: tuple[StoredChunk, ...], seq: int) -> set[int]:
        """Numbers of the samples from `seq` on that readable chunks hold."""
        recent = (stored for stored in indexed if stored.entry.last_seq >= seq)
        return {entry.seq for stored in recent for entry in self.samples(stored)}

    def _tail_samples(self) -> Iterator[Entry]:
        for tail in self._tails:
            data = tail.read(0, tail.size)
            if (whole := readable_length(data)) < len(data):
                self._tell([f"{tail.name} is torn after {whole} bytes; {len(data) - whole} were dropped"])
            yield from read_tail(data)

    def _tell(self, sentences: list[str]) -> None:
        self.damage += [sentence for sentence in sentences if sentence not in self.damage]


def _extent(path: Path) -> Extent | None:
    try:
        return Extent(path)
    except FileNotFoundError:
        return None


def _giver(data: bytes) -> Callable[[], bytes]:
    return lambda: data


def _sample(entry: Entry) -> SampleTaken:
    assert isinstance(entry.event, SampleTaken)
    return entry.event


def _runs(samples: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Samples that may share a chunk, each run in order; runs in order of node and domain, as a closing case seals."""
    runs: list[list[Entry]] = []
    open_: dict[tuple[str, str], list[Entry]] = {}
    for entry in samples:
        run = open_.get(_key(entry))
        if run is None or _shape(run[0]) != _shape(entry):
            run = open_[_key(entry)] = []
            runs.append(run)
        run.append(entry)
    yield from sorted(runs, key=lambda run: _key(run[0]))


def _key(entry: Entry) -> tuple[str, str]:
    return str(_sample(entry).node), _sample(entry).domain


def _shape(entry: Entry) -> tuple[str, int]:
    return _sample(entry).schema, len(_sample(entry).values)


def _merged(streams: list[tuple[int, Iterator[Entry]]]) -> Iterator[Entry]:
    """All entries by seq. A stream is opened only when its first seq is due, so that few are held at a time."""
    waiting = sorted(enumerate(streams), key=lambda item: -item[1][0])
    heads: list[tuple[int, int, Entry, Iterator[Entry]]] = []
    while waiting or heads:
        while waiting and (not heads or waiting[-1][1][0] <= heads[0][0]):
            number, (_, stream) = waiting.pop()
            _push(heads, number, stream)
        if heads:
            _, number, entry, stream = heapq.heappop(heads)
            yield entry
            _push(heads, number, stream)


def _push(heads: list[tuple[int, int, Entry, Iterator[Entry]]], number: int, stream: Iterator[Entry]) -> None:
    entry = next(stream, None)
    if entry is not None:
        heapq.heappush(heads, (entry.seq, number, entry, stream))
