"""What happens to outputs on their way to us: cut, pasted, wrapped, escaped, mixed up with others, damaged."""

from __future__ import annotations

import random
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes, bytes], bytes]
"""Of a source of chance, an output, and another output to mix it with."""


def truncated(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """Cut off anywhere, as by a full disk or a closed terminal."""
    return data[: chance.randint(0, len(data))]


def beheaded(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """The scrollback kept the end only."""
    return data[chance.randint(0, len(data)) :]


def crlf(_: random.Random, data: bytes, __: bytes) -> bytes:
    """Through a Windows desk."""
    return data.replace(b"\n", b"\r\n")


def wrapped(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """Copied out of a narrow terminal."""
    width = chance.choice((20, 48, 80, 120))
    return b"\n".join(line[at : at + width] for line in data.split(b"\n") for at in range(0, max(len(line), 1), width))


def escaped(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """With a terminal's colours in it."""
    words = data.split(b" ")
    for _ in range(min(200, len(words))):
        at = chance.randrange(len(words))
        words[at] = b"\x1b[1;31m" + words[at] + b"\x1b[0m"
    return b" ".join(words)


def interleaved(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """Two programs wrote to one file."""
    ours, theirs = data.split(b"\n"), other.split(b"\n")
    mixed: list[bytes] = []
    while ours and theirs:
        lines = ours if chance.random() < 0.5 else theirs
        mixed.append(lines.pop(0))
    return b"\n".join(mixed + ours + theirs)


def pasted_together(_: random.Random, data: bytes, other: bytes) -> bytes:
    """Two outputs in one paste."""
    return data + b"\n" + other + b"\n" + data


def not_utf8(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """Bytes that are no text."""
    damaged = bytearray(data)
    for _ in range(1 + len(damaged) // 200):
        if damaged:
            damaged[chance.randrange(len(damaged))] = chance.choice((0x00, 0x80, 0xC3, 0xFF, 0x0B, 0x1B))
    return bytes(damaged)


def swollen_numbers(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """Counters that no counter can hold."""
    digits = [at for at, byte in enumerate(data) if 0x30 <= byte <= 0x39]
    for at in sorted(chance.sample(digits, min(20, len(digits))), reverse=True):
        data = data[:at] + b"9" * chance.choice((12, 40, 5000)) + data[at:]
    return data


def shuffled_lines(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """Lines out of order, some missing, some twice."""
    lines = data.split(b"\n")
    return b"\n".join(chance.choice(lines) for _ in lines)


def blanks(chance: random.Random, data: bytes, _: bytes) -> bytes:
    """White space changed by a mail client or an editor."""
    return chance.choice((data.replace(b"\t", b" "), data.replace(b"  ", b" "), data.replace(b" ", b"\t")))


def one_line(_: random.Random, data: bytes, __: bytes) -> bytes:
    """All line ends lost."""
    return data.replace(b"\n", b" ")


MUTATIONS: tuple[Mutation, ...] = (
    truncated,
    beheaded,
    crlf,
    wrapped,
    escaped,
    interleaved,
    pasted_together,
    not_utf8,
    swollen_numbers,
    shuffled_lines,
    blanks,
    one_line,
)
