"""The tail: samples not yet sealed into a chunk, appended every few seconds so that a crash costs only those since.

A file of frames, each `length, crc32` (two little-endian uint32) and a payload: one line of JSON (the head) and then
float64s, either all values or, where fewer changed, uint32 positions and their new values, against the same node's and
domain's frame before it in the file. A frame that is cut or damaged ends what can be read of its file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from ..incident.events import Entry, SampleTaken
from ..incident.ids import NodeId

Vector = npt.NDArray[np.float64]
_FRAME = struct.Struct("<II")


class _FrameHead(msgspec.Struct, frozen=True):
    seq: int
    id: str
    node: str
    domain: str
    schema: str
    time: float
    fields: int
    changed: int
    """How many positions follow; -1: all values do."""


class TailEncoder:
    """Frames of one file; holds the last row of each node and domain that the file has."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Vector] = {}

    def frame(self, entry: Entry) -> bytes:
        """The bytes to append for a sample."""
        sample = entry.event
        assert isinstance(sample, SampleTaken), "the tail holds samples alone"
        key, values = (str(sample.node), sample.domain), sample.values
        changed, body = -1, values.astype("<f8").tobytes()
        before = self._last.get(key)
        if before is not None and len(before) == len(values):
            where = np.flatnonzero(before.view(np.uint64) != values.view(np.uint64))
            if 12 * len(where) < len(body):
                changed, body = len(where), where.astype("<u4").tobytes() + values[where].astype("<f8").tobytes()
        self._last[key] = values
        head = _FrameHead(entry.seq, entry.id, *key, sample.schema, sample.time, len(values), changed)
        payload = msgspec.json.encode(head) + b"\n" + body
        return _FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def read_tail(data: bytes) -> Iterator[Entry]:
    """The samples of a tail file, up to its first cut or damaged frame."""
    last: dict[tuple[str, str], Vector] = {}
    for payload in _payloads(data):
        line, _, body = payload.partition(b"\n")
        try:
            head = msgspec.json.decode(line, type=_FrameHead)
            values = _values(head, body, last.get((head.node, head.domain)))
        except (msgspec.DecodeError, ValueError, IndexError):
            return
        last[head.node, head.domain] = values
        yield Entry(head.seq, head.id, SampleTaken(head.time, NodeId(head.node), head.domain, head.schema, values))


def readable_length(data: bytes) -> int:
    """How many of the bytes are whole frames."""
    return sum(_FRAME.size + len(payload) for payload in _payloads(data))


def _payloads(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + _FRAME.size <= len(data):
        length, crc = _FRAME.unpack_from(data, at)
        payload = data[at + _FRAME.size : at + _FRAME.size + length]
        if len(payload) < length or zlib.crc32(payload) != crc:
            return
        yield payload
        at += _FRAME.size + length


def _values(head: _FrameHead, body: bytes, before: Vector | None) -> Vector:
    if head.changed < 0:
        values = np.frombuffer(body, dtype="<f8", count=head.fields).astype(np.float64)
    elif before is None or len(before) != head.fields:
        raise ValueError("a difference to a row that is not there")
    else:
        values = before.copy()
        where = np.frombuffer(body, dtype="<u4", count=head.changed)
        values[where] = np.frombuffer(body, dtype="<f8", count=head.changed, offset=4 * head.changed)
    values.flags.writeable = False
    return values
