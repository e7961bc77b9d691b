import gzip
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers import packed
from lanescope.parsers.lines import TextLines, binary_kind
from lanescope.parsers.packed import unpacked
from lanescope.parsers.parsed import LONGEST_LINE


class Dribble(io.RawIOBase):
    """A stream that gives three bytes at a time."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, size=-1):
        return self.data.read(min(3, size))


def lines_of(data):
    text = TextLines(unpacked(io.BytesIO(data)))
    return list(text.lines()), text


def test_lines_are_numbered_from_one_and_lose_their_line_ends():
    assert lines_of(b"a\r\n\nb")[0] == [(1, "a"), (2, ""), (3, "b")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_encoding_that_announces_itself_is_followed(encoding):
    assert lines_of("Grün\nè".encode(encoding))[0] == [(1, "Grün"), (2, "è")]


def test_bytes_that_are_no_utf8_are_replaced_and_told():
    lines, text = lines_of(b"caf\xe9\nok")
    assert (lines, text.undecodable) == ([(1, "caf\ufffd"), (2, "ok")], True)


def test_a_character_cut_by_a_read_is_not_broken():
    text = TextLines(unpacked(Dribble("überall µ\n".encode() * 20)))
    assert {line for _, line in text.lines()} == {"überall µ"}
    assert not text.undecodable


def test_an_endless_line_is_cut_and_counted():
    lines, text = lines_of(b"short\n" + b"x" * 5_000_000 + b"\nend\n")
    assert [(number, len(line)) for number, line in lines] == [(1, 5), (2, LONGEST_LINE), (3, 3)]
    assert (text.long_lines, text.first_long_line) == (1, 2)


def test_holes_of_nul_bytes_don_t_make_a_log_binary():
    lines, text = lines_of(b"one line of text\n" + b"\x00" * 4096 + b"and another one\n")
    assert [line for _, line in lines] == ["one line of text", "and another one"]
    assert (text.binary, text.nuls) == ("", 4096)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF\x02\x01\x01\x00", "a program"),
        (b"LPKSHHRH\x00\x00", "a binary journal of systemd (journalctl prints it)"),
        (b"\x00" * 5000, "NUL bytes only"),
        (b"\x00\x01\x02\x03", "binary data"),
        (random.Random(1).randbytes(20_000), "binary data"),
    ],
    ids=["elf", "journal", "zeros", "short", "noise"],
)
def test_what_is_no_text_is_named(data, kind):
    assert binary_kind(data) == kind


def test_a_gzip_in_several_members_is_one_text():
    data = gzip.compress(b"one\n") + gzip.compress(b"two\n")
    assert lines_of(data)[0] == [(1, "one"), (2, "two")]


def test_a_gzip_that_breaks_off_gives_what_came_before_and_says_so():
    data = gzip.compress(random.Random(2).randbytes(4000).hex().encode() + b"\nlast\n")
    text = TextLines(unpacked(io.BytesIO(data[: len(data) // 2])))
    assert len(text.whole(10_000)) > 1000
    source = unpacked(io.BytesIO(data[: len(data) // 2]))
    while source.read(1000):
        pass
    assert "break off" in source.trouble


def test_damage_inside_a_gzip_is_told():
    data = bytearray(gzip.compress(random.Random(2).randbytes(4000).hex().encode()))
    data[len(data) // 2] ^= 0xFF
    source = unpacked(io.BytesIO(bytes(data)))
    while source.read(1000):
        pass
    assert source.trouble


def test_a_decompression_bomb_is_stopped(monkeypatch):
    monkeypatch.setattr(packed, "FREE", 100_000)
    source = unpacked(io.BytesIO(gzip.compress(b"\x00" * 50_000_000)))
    taken = 0
    while piece := source.read(65_536):
        taken += len(piece)
    assert taken < 1_000_000
    assert "stopped there" in source.trouble


def test_a_text_past_the_limit_is_cut_and_says_so():
    text = TextLines(unpacked(io.BytesIO(b"0123456789" * 100)))
    assert (len(text.whole(55)), text.cut) == (55, True)
    text = TextLines(unpacked(io.BytesIO(b"0123456789")))
    assert (len(text.whole(10)), text.cut) == (10, False)


@given(st.binary(max_size=300))
def test_no_bytes_make_reading_raise(data):
    for stream in (io.BytesIO(data), io.BytesIO(gzip.compress(data)), io.BytesIO(b"\x1f\x8b" + data)):
        text = TextLines(unpacked(stream))
        assert all(len(line) <= LONGEST_LINE for _, line in text.lines())
