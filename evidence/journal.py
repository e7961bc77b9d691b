"""The journal: one line of JSON for every event that is no sample, chained so that nothing can be changed unseen.

Each line holds `seq`, `id`, the `event`, and

- `c`, the commitment to the event: sha256(nonce || event), over the bytes of the event as they stand in the line, with
  32 random bytes of nonce drawn for this line;
- `blobs`, where the event names outputs: for each such field the commitment sha256(nonce || output), with a nonce of
  its own;
- `prev`, the link of the line before (64 zeros in the first).

The link of a line is the sha256 of the JSON array `[prev, seq, id, c, [[field, commitment], ...]]`, fields in order of
name, without spaces. It goes over commitments and never over what they hide. That is what makes redaction possible: a
bundle may replace an event or leave out an output, and its lines still make the same chain as the original's. A
commitment can't be guessed open (short events such as "host key refused" could be, were they hashed without a nonce),
and it can't be opened to anything but the original. The nonces stay in the case, in `nonces.jsonl`, one line a line; to
prove a single original later, its holder gives the event (or output) with its one nonce, and the others stay shut.

What the chain shows: lines were neither changed, dropped, added nor reordered since their links were given away (the
last link, `tip`, stands in each bundle, which is what a signature or a ticket then dates). What it does not show: that
what was written down was true, or that the last lines weren't cut off before the tip was given away.

Crash: the nonce is written before its line and the line in one write, so at worst the last line is torn; it is dropped
when read, and told. Lines leave the process at once and reach the disk every few seconds (case.py).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from ..incident.events import Blob, Entry, SampleTaken, decode_event, encode_event
from .durable import append_to, write_all

FIRST = "0" * 64
"""`prev` of the first line."""
NONCE_BYTES = 32


class _Kind(msgspec.Struct):
    event: str = ""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `journal.jsonl`."""

    seq: int
    id: str
    prev: str
    c: str
    event: msgspec.Raw
    """The event's JSON; in a redacted bundle what is left of it."""
    blobs: dict[str, str] = {}

    @property
    def link(self) -> str:
        """What the next line's `prev` must be."""
        chained = [self.prev, self.seq, self.id, self.c, sorted(self.blobs.items())]
        return sha256(msgspec.json.encode(chained)).hexdigest()

    @property
    def kind(self) -> str:
        """Name of the event; empty where it is redacted."""
        try:
            return msgspec.json.decode(self.event, type=_Kind).event
        except msgspec.DecodeError:
            return ""

    def entry(self) -> Entry:
        """The event as it was taken in; raises msgspec.ValidationError for one that is redacted or unknown."""
        return Entry(self.seq, self.id, decode_event(bytes(self.event)))


class Nonces(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of `nonces.jsonl`: what opens the commitments of one line."""

    seq: int
    nonce: str
    blobs: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What following a chain of lines showed."""

    lines: int
    tip: str
    """Link of the last line."""
    problems: tuple[str, ...]
    """Sentences; empty when the chain holds."""


class Journal:
    """Appends to `journal.jsonl` and `nonces.jsonl`."""

    def __init__(self, folder: Path, output: Callable[[Blob], bytes]) -> None:
        """`output` gives the bytes an event's Blob names."""
        self.path, self.nonces_path = folder / "journal.jsonl", folder / "nonces.jsonl"
        self._output = output
        self._lines, self._nonces = append_to(self.path), append_to(self.nonces_path)
        self._prev = FIRST

    def append(self, entry: Entry) -> None:
        """Write the entry; raises Unresolved when it names an output that was not kept before."""
        assert not isinstance(entry.event, SampleTaken), "samples go to the recording"
        event = encode_event(entry.event)
        outputs = {name: self._output(blob) for name, blob in outputs_of(entry.event).items()}
        nonce = secrets.token_bytes(NONCE_BYTES)
        blob_nonces = {name: secrets.token_bytes(NONCE_BYTES) for name in outputs}
        line = Line(
            entry.seq,
            entry.id,
            self._prev,
            commitment(nonce, event),
            msgspec.Raw(event),
            {name: commitment(blob_nonces[name], data) for name, data in outputs.items()},
        )
        opening = Nonces(entry.seq, nonce.hex(), {name: salt.hex() for name, salt in blob_nonces.items()})
        write_all(self._nonces, msgspec.json.encode(opening) + b"\n")
        write_all(self._lines, msgspec.json.encode(line) + b"\n")
        self._prev = line.link

    def close(self) -> None:
        """Give the files back."""
        os.close(self._lines)
        os.close(self._nonces)


def outputs_of(event: msgspec.Struct) -> dict[str, Blob]:
    """The outputs an event names, by field."""
    values = ((name, getattr(event, name)) for name in event.__struct_fields__)
    return {name: value for name, value in values if isinstance(value, Blob)}


def commitment(nonce: bytes, data: bytes) -> str:
    """sha256(nonce || data), in hex."""
    return sha256(nonce + data).hexdigest()


def read_lines(stream: Iterable[bytes], damage: list[str]) -> Iterator[Line]:
    """The lines of a journal; what can't be read is dropped and told in `damage`, never raised."""
    for number, text in enumerate(stream, 1):
        if not text.endswith(b"\n"):
            damage.append(f"journal line {number} is torn off after {len(text)} bytes and was dropped")
            return
        try:
            yield msgspec.json.decode(text, type=Line)
        except (msgspec.DecodeError, RecursionError) as error:
            damage.append(f"journal line {number} can't be read and was dropped: {error}")


def read_nonces(stream: Iterable[bytes]) -> dict[int, Nonces]:
    """What opens the commitments, by seq; torn or unreadable lines open nothing."""
    found = {}
    for text in stream:
        try:
            nonces = msgspec.json.decode(text, type=Nonces)
        except msgspec.DecodeError:
            continue
        found[nonces.seq] = nonces
    return found


def check_chain(lines: Iterable[Line]) -> ChainCheck:
    """Follow the links. Needs neither nonces nor originals."""
    prev, seq, count = FIRST, 0, 0
    problems = []
    for line in lines:
        count += 1
        if line.prev != prev:
            problems.append(f"journal line {line.id} does not follow the line before it")
        if line.seq <= seq:
            problems.append(f"journal line {line.id} is numbered {line.seq} after {seq}")
        prev, seq = line.link, line.seq
    return ChainCheck(count, prev, tuple(problems))


def opens(line: Line, nonces: Nonces) -> bool:
    """Whether a line's event is the one committed to."""
    return commitment(bytes.fromhex(nonces.nonce), bytes(line.event)) == line.c


def opens_output(line: Line, field: str, nonce: bytes, output: bytes) -> bool:
    """Whether an output is the one committed to in that field."""
    return line.blobs.get(field) == commitment(nonce, output)


def check_openings(lines: Iterable[Line], nonces: Mapping[int, Nonces]) -> tuple[str, ...]:
    """Sentences on lines whose event is not what was committed to, or can't be opened."""
    problems = []
    for line in lines:
        known = nonces.get(line.seq)
        if known is None:
            problems.append(f"journal line {line.id} has no nonce in the case")
        elif not opens(line, known):
            problems.append(f"journal line {line.id} holds another event than was committed to")
    return tuple(problems)
