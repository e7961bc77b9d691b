"""The journal's chain: what it notices, and that it holds for a redacted copy."""

from __future__ import annotations

import json
from hashlib import sha256

import msgspec
import pytest
from lanescope.evidence.journal import (
    FIRST,
    Line,
    check_chain,
    check_openings,
    opens,
    opens_output,
    read_lines,
    read_nonces,
)


@pytest.fixture
def case(small_incident, tmp_path):
    made = small_incident(tmp_path)
    made.case.close()
    return made.case


@pytest.fixture
def lines(case):
    return list(read_lines((case.path / "journal.jsonl").open("rb"), []))


@pytest.fixture
def nonces(case):
    return read_nonces((case.path / "nonces.jsonl").open("rb"))


def test_the_chain_of_a_journal_holds_and_begins_with_nothing(lines):
    assert lines[0].prev == FIRST
    assert check_chain(lines).problems == ()
    assert check_chain(lines).tip == lines[-1].link


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:5] + lines[6:],
        lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
        lambda lines: [*lines[:5], lines[5], *lines[5:]],
        lambda lines: lines[1:],
        lambda lines: [*lines[:5], msgspec.structs.replace(lines[5], c="0" * 64), *lines[6:]],
        lambda lines: [*lines[:5], msgspec.structs.replace(lines[5], id="J999"), *lines[6:]],
        lambda lines: [*lines[:5], msgspec.structs.replace(lines[5], blobs={"stdout": "0" * 64}), *lines[6:]],
    ],
    ids=["dropped", "swapped", "doubled", "beheaded", "recommitted", "renamed", "given an output"],
)
def test_lines_that_were_touched_break_the_chain(lines, change):
    assert check_chain(change(lines)).problems


def test_lines_cut_off_at_the_end_change_the_tip(lines):
    cut = check_chain(lines[:-1])
    assert cut.problems == ()
    assert cut.tip != check_chain(lines).tip


def test_a_journal_whose_events_are_redacted_keeps_the_same_chain(lines):
    redacted = [msgspec.structs.replace(line, event=msgspec.Raw(b'{"event":"Redacted"}')) for line in lines]
    assert check_chain(redacted) == check_chain(lines)


def test_any_single_original_can_be_opened_with_its_own_nonce_alone(lines, nonces):
    line = lines[7]
    assert opens(line, nonces[line.seq])
    assert not opens(line, nonces[lines[8].seq])


def test_an_original_that_was_changed_no_longer_opens(lines, nonces):
    changed = msgspec.structs.replace(lines[7], event=msgspec.Raw(bytes(lines[7].event).replace(b"1", b"2", 1)))
    assert check_chain([*lines[:7], changed, *lines[8:]]).problems == (), "the chain goes over commitments"
    assert check_openings([*lines[:7], changed, *lines[8:]], nonces) == (
        f"journal line {lines[7].id} holds another event than was committed to",
    )


def test_every_line_opens_in_an_untouched_case(lines, nonces):
    assert check_openings(lines, nonces) == ()


def test_an_output_is_committed_to_in_the_line_that_names_it(case, lines, nonces):
    line = next(line for line in lines if line.kind == "CommandEnded")
    nonce = bytes.fromhex(nonces[line.seq].blobs["stdout"])
    assert opens_output(line, "stdout", nonce, case.bytes_of(line.entry().event.stdout))
    assert not opens_output(line, "stdout", nonce, b"GPU0 X NV17\n")


def test_equal_events_have_different_commitments(lines):
    assert len({line.c for line in lines}) == len(lines)


def test_the_link_of_a_line_can_be_made_by_anybody_from_the_line(lines):
    line = lines[-1]
    chained = json.dumps([line.prev, line.seq, line.id, line.c, sorted(line.blobs.items())], separators=(",", ":"))
    assert line.link == sha256(chained.encode()).hexdigest()


def test_an_unreadable_line_is_dropped_and_told(lines):
    text = [msgspec.json.encode(line) + b"\n" for line in lines[:3]]
    damage: list[str] = []
    assert [line.id for line in read_lines([text[0], b"\0\0\0\n", text[2]], damage)] == [lines[0].id, lines[2].id]
    assert damage == [f"journal line 2 can't be read and was dropped: {damage[0].split(': ', 1)[1]}"]


def test_a_line_is_what_it_was_after_it_is_read_and_written_again(case, lines):
    text = (case.path / "journal.jsonl").read_bytes()
    assert b"".join(msgspec.json.encode(line) + b"\n" for line in lines) == text
    assert isinstance(lines[0], Line)
