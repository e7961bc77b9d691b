"""What verifying notices: every change of content, whatever is added or missing, and archives that mean harm."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from lanescope.evidence.bundle import write_bundle
from lanescope.evidence.safe_open import SafeArchive
from lanescope.evidence.verify import Integrity, verify
from lanescope.incident.errors import Altered, InputError, Unsafe

FLIPS = 300


@pytest.fixture(scope="module")
def bundle(small_incident, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    made = small_incident(folder)
    written = write_bundle(made.case, made.snapshot, made.graph, folder / "good.evb.zip")
    made.case.close()
    return written.path


@pytest.fixture
def copy(bundle, tmp_path) -> Path:
    return Path(shutil.copy(bundle, tmp_path / "copy.evb.zip"))


def contents(path: Path) -> dict[str, bytes]:
    with SafeArchive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


def rebuilt(path: Path, change: Callable[[dict[str, bytes]], None], seal: bool = False) -> Path:
    """The bundle with other files; `seal`: with manifests made anew, as somebody who knows the layout would."""
    files = contents(path)
    with SafeArchive(path) as archive:
        top = archive.top
    change(files)
    if seal:
        _seal(files)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{top}/{name}", data)
    return path


def _seal(files: dict[str, bytes]) -> None:
    for name, wanted in (("manifest-sha256.txt", True), ("tagmanifest-sha256.txt", False)):
        listed = sorted(path for path in files if path.startswith("data/") == wanted and "tagmanifest" not in path)
        files[name] = "".join(f"{sha256(files[path]).hexdigest()}  {path}\n" for path in listed).encode()


def test_no_flipped_bit_that_changes_content_goes_unnoticed(bundle, tmp_path):
    good, original = contents(bundle), bundle.read_bytes()
    path = tmp_path / "flipped.evb.zip"
    chance = random.Random(4)
    for _ in range(FLIPS):
        data = bytearray(original)
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        verification = verify(path)
        if verification.intact:
            assert contents(path) == good, f"the bit at {at} changed content unseen"


def test_a_bit_flipped_in_each_member_is_noticed(bundle, tmp_path):
    original = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        infos = archive.infolist()
    path = tmp_path / "flipped.evb.zip"
    for info in infos:
        if not info.file_size:
            continue
        data = bytearray(original)
        begin = info.header_offset + 30 + len(info.filename)
        data[begin + info.compress_size // 2] ^= 1
        path.write_bytes(data)
        assert verify(path).integrity is Integrity.ALTERED, info.filename
        assert verify(path).exit_code == 1


def test_an_added_file_is_noticed(copy):
    verification = verify(rebuilt(copy, lambda files: files.update({"data/extra.txt": b"x"})))
    assert verification.integrity is Integrity.ALTERED
    assert verification.problems == ("data/extra.txt was added: no manifest lists it",)


def test_a_removed_file_makes_a_bundle_incomplete(copy):
    verification = verify(rebuilt(copy, lambda files: files.pop("data/inventory.json")))
    assert verification.integrity is Integrity.INCOMPLETE
    assert verification.exit_code == 3
    assert verification.problems == ("data/inventory.json is missing",)


@pytest.mark.parametrize("name", ["tagmanifest-sha256.txt", "manifest-sha256.txt", "bundle.json"])
def test_a_removed_tag_file_makes_a_bundle_incomplete(copy, name):
    assert verify(rebuilt(copy, lambda files: files.pop(name))).integrity is Integrity.INCOMPLETE


def test_a_renamed_file_is_noticed(copy):
    def rename(files: dict[str, bytes]) -> None:
        files["data/stock.json"] = files.pop("data/inventory.json")

    verification = verify(rebuilt(copy, rename))
    assert verification.integrity is Integrity.ALTERED
    assert len(verification.problems) == 2


def test_a_file_changed_together_with_its_manifests_has_another_id(bundle, copy):
    changed = verify(rebuilt(copy, lambda files: files.update({"data/inventory.json": b"{}"}), seal=True))
    assert changed.integrity is Integrity.OK, "only the id, or a signature, tells"
    assert changed.root != verify(bundle).root


def test_a_journal_line_taken_out_together_with_the_manifests_breaks_the_chain(copy):
    def take_out(files: dict[str, bytes]) -> None:
        lines = files["data/journal.jsonl"].splitlines(keepends=True)
        files["data/journal.jsonl"] = b"".join(lines[:4] + lines[5:])

    verification = verify(rebuilt(copy, take_out, seal=True))
    assert verification.integrity is Integrity.ALTERED
    assert "does not follow" in verification.problems[0]


def test_a_journal_cut_short_together_with_the_manifests_does_not_end_where_it_should(copy):
    def cut(files: dict[str, bytes]) -> None:
        files["data/journal.jsonl"] = b"".join(files["data/journal.jsonl"].splitlines(keepends=True)[:-1])

    assert "does not end" in verify(rebuilt(copy, cut, seal=True)).problems[0]


def test_a_chunk_taken_out_of_the_recording_is_missed(copy):
    def take_out(files: dict[str, bytes]) -> None:
        entries = [json.loads(line) for line in files["data/recording/idx.jsonl"].splitlines()]
        segment, kept, packed = files["data/recording/seg-000.bin"], [], b""
        gone = next(entry for entry in entries if entry["node"] == "n1")
        for entry in entries:
            if entry is not gone:
                chunk = segment[entry["offset"] :][: entry["length"]]
                kept.append({**entry, "offset": len(packed)})
                packed += chunk
        files["data/recording/seg-000.bin"] = packed
        files["data/recording/idx.jsonl"] = b"".join(json.dumps(entry).encode() + b"\n" for entry in kept)

    verification = verify(rebuilt(copy, take_out, seal=True))
    assert verification.integrity is Integrity.INCOMPLETE
    assert any("is missing" in problem for problem in verification.problems)


def test_a_byte_changed_in_a_chunk_together_with_the_manifests_is_noticed(copy):
    def change(files: dict[str, bytes]) -> None:
        data = bytearray(files["data/recording/seg-000.bin"])
        data[40] ^= 1
        files["data/recording/seg-000.bin"] = bytes(data)

    assert verify(rebuilt(copy, change, seal=True)).integrity is Integrity.ALTERED


def test_a_signature_beside_the_manifests_leaves_the_bundle_intact_and_its_id_the_same(bundle, copy):
    signed = verify(rebuilt(copy, lambda files: files.update({"signatures/1-recorder.sshsig": b"later"})))
    assert (signed.integrity, signed.signed, signed.exit_code) == (Integrity.OK, False, 2)
    assert signed.root == verify(bundle).root


def test_a_transfer_that_broke_off_is_incomplete(copy):
    os.truncate(copy, copy.stat().st_size * 2 // 3)
    assert verify(copy).integrity is Integrity.INCOMPLETE


def test_a_file_that_is_not_there_is_the_operators_to_fix(tmp_path):
    with pytest.raises(InputError, match="can't read"):
        verify(tmp_path / "none.evb.zip")
    with pytest.raises(InputError, match="can't read"):
        verify(tmp_path)


def test_a_bundle_of_a_later_version_is_checked_as_far_as_it_is_known(copy):
    def later(files: dict[str, bytes]) -> None:
        described = json.loads(files["bundle.json"])
        files["bundle.json"] = json.dumps({**described, "format": "evidence-bundle/9", "new": {"a": 1}}).encode()

    assert verify(rebuilt(copy, later, seal=True)).integrity is Integrity.OK


def _zip_of(*members: tuple[str, bytes], mode: int = 0o100644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo("placeholder")
            info.filename, info.external_attr, info.compress_type = name, mode << 16, method
            archive.writestr(info, data)
    return stream.getvalue()


def _overlapping() -> bytes:
    data = _zip_of(("a/a", bytes(100_000)))
    begin, end = data.find(b"PK\x01\x02"), data.find(b"PK\x05\x06")
    entry = data[begin:end]
    twin = entry[:46] + b"a/b" + entry[49:]
    record = bytearray(data[end:])
    struct.pack_into("<HHI", record, 8, 2, 2, 2 * len(entry))
    return data[:begin] + entry + twin + bytes(record)


def _patched(data: bytes, offset: int, form: str, value: int, every: bool = False) -> bytes:
    """A field of the (first) central header overwritten; `every`: of the local header too."""
    changed = bytearray(data)
    struct.pack_into(form, changed, data.find(b"PK\x01\x02") + offset, value)
    if every:
        struct.pack_into(form, changed, offset - 2, value)
    return bytes(changed)


ENCRYPTED = _patched(_zip_of(("a/a", b"x")), 8, "<H", 1, every=True)
DECLARES_LESS = _patched(_zip_of(("a/a", os.urandom(1000) * 50)), 24, "<I", 10)
GOOD = _zip_of(("a/a", b"x"))

HOSTILE = {
    "a path that climbs": _zip_of(("a/../../x", b"x")),
    "an absolute path": _zip_of(("/etc/passwd", b"x")),
    "a backslash": _zip_of(("a/..\\x", b"x")),
    "a drive": _zip_of(("C:/x", b"x")),
    "a device name": _zip_of(("a/NUL.txt", b"x")),
    "a name that reads backwards": _zip_of(("a/gnp\u202e.exe", b"x")),
    "an escape sequence": _zip_of(("a/\x1b[2J", b"x")),
    "a very long name": _zip_of(("a/" + "x" * 300, b"x")),
    "a very deep name": _zip_of(("/".join("d" * 40), b"x")),
    "a decomposed name": _zip_of(("a/e\u0301", b"x")),
    "a trailing dot": _zip_of(("a/x.", b"x")),
    "a folder entry": _zip_of(("a/", b"")),
    "two top folders": _zip_of(("a/x", b"x"), ("b/x", b"x")),
    "no folder": _zip_of(("x", b"x")),
    "names equal but for case": _zip_of(("a/x", b"good"), ("a/X", b"evil")),
    "a symbolic link": _zip_of(("a/x", b"/etc/shadow"), mode=stat.S_IFLNK | 0o777),
    "a fifo": _zip_of(("a/x", b""), mode=stat.S_IFIFO | 0o644),
    "an encrypted member": ENCRYPTED,
    "another method": _zip_of(("a/x", b"x" * 100), method=zipfile.ZIP_LZMA),
    "a bomb": _zip_of(("a/x", bytes(200 << 20))),
    "overlapping members": _overlapping(),
    "a size declared too small": DECLARES_LESS,
    "something before": b"#!/bin/sh\nid\n" + GOOD,
    "something behind": GOOD + b"junk" * 10,
    "something between": GOOD[: GOOD.find(b"PK\x01\x02")] + b"hidden" + GOOD[GOOD.find(b"PK\x01\x02") :],
    "no zip": b"\x1f\x8b" + bytes(100),
    "nothing": b"",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_as_unsafe(tmp_path, what):
    path = tmp_path / "x.evb.zip"
    path.write_bytes(HOSTILE[what])
    verification = verify(path)
    assert verification.integrity is Integrity.UNSAFE, verification.problems
    assert verification.exit_code == 4


def test_an_archive_of_too_many_members_is_refused_before_they_are_listed(tmp_path, monkeypatch):
    path = tmp_path / "x.evb.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20_001):
            archive.writestr(f"a/{number}", b"")
    monkeypatch.setattr(zipfile, "ZipFile", None)
    assert verify(path).integrity is Integrity.UNSAFE


def test_a_fetch_file_is_refused(copy):
    asks = rebuilt(copy, lambda files: files.update({"fetch.txt": b"https://example.org/x - data/x\n"}))
    assert verify(asks).integrity is Integrity.UNSAFE


def test_limits_hold_for_what_comes_out_whatever_is_declared(tmp_path):
    path = tmp_path / "x.zip"
    data = _zip_of(("a/a", os.urandom(1000) * 50))
    path.write_bytes(_patched(_patched(data, 24, "<I", 10, every=True), 24, "<I", 10))
    with pytest.raises((Unsafe, Altered)), SafeArchive(path) as archive:
        archive.read("a")


def test_a_member_larger_than_the_reader_wants_is_refused(copy):
    with SafeArchive(copy) as archive, pytest.raises(Unsafe):
        archive.read("data/journal.jsonl", limit=100)


def test_garbage_after_a_zip_signature_never_raises(tmp_path):
    path = tmp_path / "x.evb.zip"
    chance = random.Random(7)
    for size in range(4, 400, 7):
        path.write_bytes(b"PK\x03\x04" + chance.randbytes(size) + b"PK\x05\x06" + chance.randbytes(18))
        assert not verify(path).intact


def test_a_report_shows_no_control_character_of_a_bundle(copy):
    def hostile(files: dict[str, bytes]) -> None:
        described = json.loads(files["bundle.json"])
        described["size"]["dropped"] = [{"what": "\x1b]52;c;ZXZpbA==\x07"}]
        files["bundle.json"] = json.dumps(described).encode()

    report = verify(rebuilt(copy, hostile, seal=True)).report()
    assert all(character.isprintable() or character == "\n" for character in report)
