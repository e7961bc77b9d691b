"""The recording: all samples, as chunks appended to segments, with a tail for those of the last minute.

    recording/seg-000.bin    chunks (chunk.py), one after the other; a new segment every 128 MiB
    recording/idx.jsonl      one line a chunk: node, domain, schema, times, seqs, place, sha256
    recording/tail-000.bin   samples not yet in a chunk (tail.py); a new one every minute, the one before last removed

Each node and domain seals its chunk at its own second of the minute, so that no second of a big fleet pays for all; to
seal takes tens of milliseconds, so that the disk's thread does it.

What a crash costs. Killed process: samples of the last 5 seconds (they are written in batches). Power cut: of the last
10 or so, as the tail goes to the disk at every second batch; a tail file is removed only after the chunks that replace
its samples are on the disk.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from ..incident.events import Entry, SampleTaken
from . import chunk
from .durable import PRIVATE_FOLDER, DiskThread, append_to, bring_to_disk, write_all
from .tail import TailEncoder

CHUNK_SECONDS = 60
CHUNK_ROWS = 600
"""A chunk is sealed at that many rows even within its minute."""
SEGMENT_BYTES = 128 << 20
FLUSH_SECONDS = 4.0
"""With a tick a second, samples are in the tail at most 5 s after they were taken in."""
SYNC_SECONDS = 8.0
TAIL_SECONDS = 60.0


@dataclass(slots=True)
class _OpenChunk:
    """Samples of one node and domain on their way into a chunk."""

    minute: int
    tail: int
    """Number of the tail file that got, or will get, its first sample."""
    samples: list[Entry] = field(default_factory=list)


class Recording:
    """Appends samples to the folder `recording/` of a case."""

    def __init__(self, folder: Path, disk: DiskThread, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds that never go back; says when to flush."""
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        self._folder, self._disk, self._clock = folder, disk, clock
        self._open: dict[tuple[str, str], _OpenChunk] = {}
        self._last_chunk: dict[str, str] = {}
        self._unwritten = bytearray()
        """Frames for the tail, made as samples come in: thousands at once would hold up whoever waits."""
        self._index_path = folder / "idx.jsonl"
        self._index = append_to(self._index_path)
        self._segment_number, self._segment_size = 0, 0
        self._segment = append_to(self._segment_path)
        self._tail_number = 0
        self._tail, self._encoder = append_to(self._tail_path(0)), TailEncoder()
        self._flushed = self._synced = self._tail_begun = clock()

    def append(self, entry: Entry) -> None:
        """Take a sample."""
        sample = _sample(entry)
        key = (str(sample.node), sample.domain)
        minute = _minute(sample)
        open_ = self._open.get(key)
        if open_ is not None and not _fits(open_, sample, minute):
            self._seal(key)
            open_ = None
        if open_ is None:
            open_ = self._open[key] = _OpenChunk(minute, self._tail_number)
        open_.samples.append(entry)
        self._unwritten += self._encoder.frame(entry)

    def keep_up(self) -> None:
        """Write what is due by the clock; to be called often, at least once a second."""
        now = self._clock()
        if now - self._flushed >= FLUSH_SECONDS:
            self.flush()
            self._flushed = now
        if now - self._tail_begun >= TAIL_SECONDS:
            self._begin_tail()
            self._tail_begun = now
        elif now - self._synced >= SYNC_SECONDS and not self._disk.busy:
            self._disk.sync(self._tail_path(self._tail_number))
            self._synced = now

    def flush(self) -> None:
        """Bring all samples into the tail."""
        if self._unwritten:
            write_all(self._tail, bytes(self._unwritten))
            self._unwritten.clear()

    def close(self) -> None:
        """Seal all chunks and give the files back."""
        try:
            self.flush()
            for key in sorted(self._open):
                self._seal(key)
            self._disk.do(partial(self._retire, self._tails_before(self._tail_number + 1)))
            self._disk.wait()
        finally:
            for descriptor in (self._segment, self._index, self._tail):
                os.close(descriptor)

    def _seal(self, key: tuple[str, str]) -> None:
        self._disk.do(partial(self._store, self._open.pop(key).samples))

    def _store(self, samples: list[Entry]) -> None:
        """On the disk's thread, as all that follows the segments: make a chunk, then let the index name it."""
        node = _sample(samples[0]).node
        sealed = chunk.seal(samples, self._last_chunk.get(node, chunk.FIRST))
        if self._segment_size + len(sealed.data) > SEGMENT_BYTES and self._segment_size:
            self._begin_segment()
        placed = msgspec.structs.replace(sealed.entry, segment=self._segment_path.name, offset=self._segment_size)
        write_all(self._segment, sealed.data)
        write_all(self._index, msgspec.json.encode(placed) + b"\n")
        self._segment_size += len(sealed.data)
        self._last_chunk[node] = placed.sha256

    def _begin_segment(self) -> None:
        bring_to_disk((self._segment_path,))
        os.close(self._segment)
        self._segment_number, self._segment_size = self._segment_number + 1, 0
        self._segment = append_to(self._segment_path)

    def _begin_tail(self) -> None:
        """Start a tail file; what the one before last holds is sealed first, so that it can go."""
        self.flush()
        for key in sorted(key for key, open_ in self._open.items() if open_.tail < self._tail_number):
            self._seal(key)
        self._disk.do(partial(self._retire, self._tails_before(self._tail_number)))
        os.close(self._tail)
        self._tail_number += 1
        self._tail, self._encoder = append_to(self._tail_path(self._tail_number)), TailEncoder()

    def _retire(self, tails: tuple[Path, ...]) -> None:
        """Remove tails once the chunks that replace their samples can't be lost."""
        bring_to_disk((self._segment_path, self._index_path))
        for tail in tails:
            tail.unlink(missing_ok=True)

    def _tails_before(self, number: int) -> tuple[Path, ...]:
        return tuple(sorted(path for path in self._folder.glob("tail-*.bin") if path < self._tail_path(number)))

    def _tail_path(self, number: int) -> Path:
        return self._folder / f"tail-{number:06}.bin"

    @property
    def _segment_path(self) -> Path:
        return self._folder / f"seg-{self._segment_number:03}.bin"


def _minute(sample: SampleTaken) -> int:
    """Number of the minute a sample falls in, counted from its node's and domain's own second."""
    second = zlib.crc32(f"{sample.node}/{sample.domain}".encode()) % CHUNK_SECONDS
    return int((sample.time - second) // CHUNK_SECONDS)


def _fits(open_: _OpenChunk, sample: SampleTaken, minute: int) -> bool:
    first = _sample(open_.samples[0])
    return (
        open_.minute == minute
        and first.schema == sample.schema
        and len(first.values) == len(sample.values)
        and len(open_.samples) < CHUNK_ROWS
    )


def _sample(entry: Entry) -> SampleTaken:
    assert isinstance(entry.event, SampleTaken), "other events go to the journal"
    return entry.event
