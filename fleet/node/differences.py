"""Where two stretches of host memory differ: memcmp finds the pages, Python looks into bad ones only.

Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import math
import re

BLOCK, PAGE, WORD = 1 << 20, 4096, 8
MOST_PAGES = 8192  # that are looked into; further bad ones are counted
MOST_PLACES = 512  # of which the stride is made
MOST_LISTED = 8
NONZERO = re.compile(b"[^\\0]", re.DOTALL)

_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class Differences(object):
    """How the bytes at `got` differ from those at `want`."""

    def __init__(self, want, got, size):
        self.wrong_bytes, self.flipped, self.pages, self.bits = 0, 0, 0, 0
        self.places, self.first, self.pages_unread = [], [], 0
        for start, length in unequal(want, got, size):
            self.pages += 1
            if self.pages > MOST_PAGES:
                self.pages_unread += 1
            else:
                self.look_into(start, ctypes.string_at(want + start, length), ctypes.string_at(got + start, length))

    def look_into(self, start, expected, got):
        """Count what differs in one page, and keep some places."""
        number = int.from_bytes(expected, "little") ^ int.from_bytes(got, "little")
        flips = number.to_bytes(len(expected), "little")
        self.flipped += bin(number).count("1")
        self.wrong_bytes += len(flips) - flips.count(0)
        self.bits |= folded(number)
        for byte in NONZERO.finditer(flips):
            if len(self.places) == MOST_PLACES:
                break
            self.places.append(start + byte.start())
        for byte in NONZERO.finditer(flips):
            if len(self.first) == MOST_LISTED:
                break
            at = byte.start() // WORD * WORD
            row = {"offset": start + at, "expected": expected[at : at + WORD].hex(), "got": got[at : at + WORD].hex()}
            if row not in self.first:
                self.first.append(row)

    def __bool__(self):
        return self.pages > 0

    def same_places(self, other):
        """Whether another comparison found the same."""
        return self.places == other.places and self.first == other.first and self.wrong_bytes == other.wrong_bytes

    def report(self):
        """As the lines of the protocol have it. `stride`: what all distances between places are multiples of, bytes."""
        stride = 0
        for one, other in zip(self.places, self.places[1:]):  # noqa: B905
            stride = math.gcd(stride, other - one)
        return {
            "wrong_bytes": self.wrong_bytes,
            "flipped": self.flipped,
            "bits": "%016x" % self.bits,
            "pages": self.pages,
            "pages_unread": self.pages_unread,
            "stride": stride,
            "first": self.first,
        }


def unequal(want, got, size):
    """Pages that differ. -> (offset, length) of each"""
    for block in range(0, size, BLOCK):
        length = min(BLOCK, size - block)
        if not _compare(want + block, got + block, length):
            continue
        for page in range(block, block + length, PAGE):
            rest = min(PAGE, size - page)
            if _compare(want + page, got + page, rest):
                yield page, rest


def folded(number):
    """Which bits of an 8-byte word are set in any of the words of a number."""
    half = PAGE * 8 // 2
    while half >= WORD * 8:
        number = (number >> half) | (number & ((1 << half) - 1))
        half //= 2
    return number
