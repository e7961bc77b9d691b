"""A chunk of the recording: up to a minute of one hang domain of one node, readable with gzip and JSON alone.

A gzip member whose first line is the head and whose following lines are the columns (columns.py), one for each field of
the schema in its order. The head carries the sha256 of the node's chunk before, so that the chunks of a node form a
chain that can be checked without those of any other node.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec
import numpy as np

from ..incident.errors import Altered
from ..incident.events import Entry, SampleTaken
from ..incident.ids import NodeId
from .columns import decode_columns, encode_columns

FIRST = "0" * 64
"""Stands for the chunk before a node's first."""
INFLATED_LIMIT = 64 << 20
"""Bytes a chunk may unpack to; 60 rows of 3000 fields are under 1 MB."""
HEAD_LIMIT = 1 << 20


class ChunkHead(msgspec.Struct, frozen=True, kw_only=True):
    """First line of a chunk."""

    format: str = "chunk/1"
    node: str
    domain: str
    schema: str
    fields: int
    rows: int
    prev: str
    """sha256 of the node's chunk before, whichever domain it was of."""
    seq: tuple[int, ...]
    """The first, then differences."""
    ids: tuple[int | str, ...]
    """Numbers n of the ids `<node>#<n>`: the first, then differences; or the ids themselves where they are of another
    form."""
    time: msgspec.Raw
    """A column (columns.py)."""


class ChunkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `idx.jsonl`: where a chunk is and what it holds."""

    node: str
    domain: str
    schema: str
    rows: int
    first_time: float
    last_time: float
    first_seq: int
    last_seq: int
    first_id: str
    last_id: str
    segment: str
    """File name beside the index."""
    offset: int
    length: int
    sha256: str
    prev: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A chunk's bytes and what the index says of it, offset and segment still open."""

    data: bytes
    entry: ChunkEntry


def seal(samples: Sequence[Entry], prev: str) -> Sealed:
    """The chunk of one or more samples of the same node, domain, schema and length."""
    first = _sample(samples[0])
    times = np.array([[_sample(entry).time for entry in samples]])
    head = ChunkHead(
        node=str(first.node),
        domain=first.domain,
        schema=first.schema,
        fields=len(first.values),
        rows=len(samples),
        prev=prev,
        seq=tuple(_differences([entry.seq for entry in samples])),
        ids=_pack_ids(first.node, [entry.id for entry in samples]),
        time=msgspec.Raw(encode_columns(times)[0]),
    )
    columns = encode_columns(np.stack([_sample(entry).values for entry in samples], axis=1))
    data = gzip.compress(b"\n".join([msgspec.json.encode(head), *columns]) + b"\n", 6, mtime=0)
    entry = ChunkEntry(
        node=str(first.node),
        domain=first.domain,
        schema=first.schema,
        rows=len(samples),
        first_time=float(times[0, 0]),
        last_time=float(times[0, -1]),
        first_seq=samples[0].seq,
        last_seq=samples[-1].seq,
        first_id=samples[0].id,
        last_id=samples[-1].id,
        segment="",
        offset=0,
        length=len(data),
        sha256=sha256(data).hexdigest(),
        prev=prev,
    )
    return Sealed(data, entry)


def samples_of(data: bytes) -> Iterator[Entry]:
    """The entries of a chunk, exactly as they were appended; raises Altered for bytes that are no chunk."""
    lines = inflate(data, INFLATED_LIMIT).split(b"\n")
    head = _head(lines[0])
    if len(lines) != head.fields + 2 or lines[-1]:
        raise Altered(f"a chunk of {head.node} holds {len(lines) - 2} columns where its head says {head.fields}")
    matrix = decode_columns(lines[1:-1], head.rows).T.copy()
    times = decode_columns([bytes(head.time)], head.rows)[0].tolist()
    seqs, ids = _sums(head.seq), _unpack_ids(head)
    if not len(seqs) == len(ids) == head.rows:
        raise Altered(f"a chunk of {head.node} numbers {len(seqs)} of its {head.rows} rows")
    matrix.flags.writeable = False
    node = NodeId(head.node)
    for row, (seq, id_, time) in enumerate(zip(seqs, ids, times, strict=True)):
        yield Entry(seq, id_, SampleTaken(time, node, head.domain, head.schema, matrix[row]))


def head_of(data: bytes) -> ChunkHead:
    """The head alone, unpacking no more than it needs; raises Altered."""
    return _head(_unzip(data, HEAD_LIMIT)[0].partition(b"\n")[0])


def inflate(data: bytes, limit: int) -> bytes:
    """Unpack one gzip member of at most `limit` bytes; raises Altered where it is cut, damaged or larger."""
    unpacked, ended = _unzip(data, limit)
    if not ended:
        raise Altered(f"a gzip member is cut off or unpacks to more than {limit} bytes")
    return unpacked


def _unzip(data: bytes, limit: int) -> tuple[bytes, bool]:
    stream = zlib.decompressobj(31)
    try:
        unpacked = stream.decompress(data, limit)
    except zlib.error as error:
        raise Altered(f"a gzip member is damaged: {error}") from error
    return unpacked, stream.eof and not stream.unused_data


def _head(line: bytes) -> ChunkHead:
    try:
        return msgspec.json.decode(line, type=ChunkHead)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Altered(f"a chunk of the recording has no readable head: {error}") from error


def _sample(entry: Entry) -> SampleTaken:
    assert isinstance(entry.event, SampleTaken), "the recording holds samples alone"
    return entry.event


def _pack_ids(node: str, ids: Sequence[str]) -> tuple[int | str, ...]:
    numbers = [_number_of(node, id_) for id_ in ids]
    known = [number for number in numbers if number is not None]
    return tuple(_differences(known)) if len(known) == len(ids) else tuple(ids)


def _unpack_ids(head: ChunkHead) -> list[str]:
    numbers = [id_ for id_ in head.ids if isinstance(id_, int)]
    if numbers:
        return [f"{head.node}#{number}" for number in _sums(numbers)]
    return [str(id_) for id_ in head.ids]


def _number_of(node: str, id_: str) -> int | None:
    prefix, _, number = id_.rpartition("#")
    canonical = prefix == node and number.isascii() and number.isdigit() and str(int(number)) == number
    return int(number) if canonical else None


def _differences(numbers: Sequence[int]) -> Iterator[int]:
    before = 0
    for number in numbers:
        yield number - before
        before = number


def _sums(differences: Sequence[int]) -> list[int]:
    sums, total = [], 0
    for difference in differences:
        total += difference
        sums.append(total)
    return sums
