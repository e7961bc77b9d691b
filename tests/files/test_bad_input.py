"""What strangers hand in: each is named, bounded and passed over or split; nothing hangs, crashes or stays unsaid."""

import gzip
import io
import os
import stat
import tarfile
import tracemalloc
import zipfile

import pytest
from lanescope.incident.errors import InputError
from lanescope.session.files import bounded, folders, found
from lanescope.session.files.archives import Allowance
from lanescope.session.files.handed_in import handed_in

LOG = b"[   12.000000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n"


def unread(*paths):
    return {one.section.name: "; ".join(one.section.notes) for one in handed_in(paths) if one.section.tool is None}


def tools(*paths):
    return {one.section.name: one.section.tool.name for one in handed_in(paths) if one.section.tool}


def zipped(members, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tarred(members, path, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def test_a_binary_file_is_named_as_such(tmp_path):
    (tmp_path / "core").write_bytes(b"\x7fELF\x02\x01" + bytes(500))
    assert unread(tmp_path) == {"core": "the file is a program: not read as text"}


def test_a_document_that_is_no_output_is_listed_with_how_it_begins(tmp_path):
    (tmp_path / "README").write_text("Please look at node 3\n")
    assert unread(tmp_path) == {"README": "no known tool's output: begins with `Please look at node 3`"}


def test_a_path_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="neither a file nor a folder"):
        list(handed_in([tmp_path / "nothing"]))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_is_read_however_it_is_packed(tmp_path, mode):
    archive = tarred({"kern.log": LOG, "notes": b"hello\n"}, tmp_path / "all", mode)
    assert tools(archive) == {"all/kern.log": "kernel log"}
    assert list(unread(archive)) == ["all/notes"]


def test_a_zip_archive_is_read_whatever_it_is_called(tmp_path):
    assert tools(zipped({"kern.log": LOG}, tmp_path / "upload.bin")) == {"upload.bin/kern.log": "kernel log"}


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_a_packed_log_is_read(tmp_path, ending):
    import bz2
    import lzma

    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[ending]
    (tmp_path / f"kern.log.{ending}").write_bytes(pack(LOG))
    assert tools(tmp_path) == {f"kern.log.{ending}": "kernel log"}


def test_archives_in_an_archive_are_read_and_those_deeper_are_named(tmp_path):
    inner = zipped({"kern.log": LOG}, tmp_path / "inner.zip").read_bytes()
    middle = tarred({"inner.zip": inner, "kern.log": LOG}, tmp_path / "middle.tgz").read_bytes()
    outer = zipped({"middle.tgz": middle, "inner.zip": inner}, tmp_path / "outer.zip")
    assert list(tools(outer)) == ["outer.zip/middle.tgz/kern.log", "outer.zip/inner.zip/kern.log"]
    assert unread(outer) == {
        "outer.zip/middle.tgz/inner.zip": "is an archive in an archive in an archive: not read",
    }


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../../b", "C:\\x"])
def test_members_whose_names_leave_the_archive_are_named_and_not_read(tmp_path, name):
    for archive in (zipped({name: LOG}, tmp_path / "a.zip"), tarred({name: LOG}, tmp_path / "a.tgz")):
        [(_, why)] = unread(archive).items()
        assert why.endswith("not read")
        assert tools(archive) == {}


def test_links_and_devices_in_a_tar_are_named_and_the_rest_is_read(tmp_path):
    link, device = tarfile.TarInfo("link"), tarfile.TarInfo("null")
    link.type, link.linkname, device.type = tarfile.SYMTYPE, "/etc/shadow", tarfile.CHRTYPE
    archive = tarred({link: b"", device: b"", "kern.log": LOG}, tmp_path / "a.tar", "w")
    assert unread(archive) == {
        "a.tar/link": "is a link to /etc/shadow: not followed",
        "a.tar/null": "is no plain file: not read",
    }
    assert tools(archive) == {"a.tar/kern.log": "kernel log"}


def test_a_link_in_a_zip_is_not_followed(tmp_path):
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert unread(zipped({info: "/etc/passwd"}, tmp_path / "a.zip")) == {
        "a.zip/link": "is a link or a device: not followed"
    }


def test_an_encrypted_member_is_named_and_the_others_are_read(tmp_path):
    path = zipped({"secret.log": LOG, "kern.log": LOG}, tmp_path / "a.zip")
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)
    assert unread(path) == {"a.zip/secret.log": "is encrypted: not read"}
    assert tools(path) == {"a.zip/kern.log": "kernel log"}


def test_a_damaged_member_is_named_and_the_others_are_read(tmp_path):
    path = zipped({"bad.log": LOG * 50, "kern.log": LOG}, tmp_path / "a.zip")
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    assert "a.zip/bad.log" in unread(path)
    assert tools(path)["a.zip/kern.log"] == "kernel log"


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_that_breaks_off_gives_what_came_before_and_says_so(tmp_path, mode):
    archive = tarred({"kern.log": LOG, "big": os.urandom(3_000_000)}, tmp_path / "a.tar", mode)
    archive.write_bytes(archive.read_bytes()[:1_500_000])
    found = unread(archive)
    assert any("break off" in why or "damaged" in why or "can't be read" in why for why in found.values())


def test_a_zip_whose_end_is_missing_says_so(tmp_path):
    path = zipped({"kern.log": LOG}, tmp_path / "a.zip")
    path.write_bytes(path.read_bytes()[:-30])
    assert unread(path) == {"a.zip": "the end of the archive is missing: was the transfer cut off?"}


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_an_archive_bomb_is_stopped_at_what_archives_may_unpack_to(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(Allowance, "of_size", classmethod(lambda cls, size: cls(1_000_000)))
    members = {f"{number}.log": LOG * 5000 for number in range(20)}
    path = zipped(members, tmp_path / "a.zip") if kind == "zip" else tarred(members, tmp_path / "a.tgz")
    assert 1 < len(tools(path)) < 20
    assert any("holds more than is read of one" in why for why in unread(path).values())


def test_a_member_that_says_it_unpacks_to_a_thousandfold_is_not_unpacked(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as member:
        for _ in range(80):
            member.write(bytes(1 << 20))
    assert "the file is NUL bytes only" in unread(path)["a.zip/zeros"] or "unpacks" in unread(path)["a.zip/zeros"]


def test_a_tar_with_a_header_that_would_fill_the_memory_is_refused(tmp_path):
    header = tarfile.TarInfo("long")
    header.type = tarfile.GNUTYPE_LONGNAME
    archive = tarred({header: bytes(40_000_000)}, tmp_path / "a.tgz")
    tracemalloc.start()
    assert "damaged" in unread(archive)["a.tgz"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_an_archive_of_more_members_than_are_read_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(Allowance, "of_size", classmethod(lambda cls, size: cls(1 << 30, 3)))
    archive = tarred({str(number): LOG for number in range(10)}, tmp_path / "a.tgz")
    assert len(tools(archive)) < 4
    assert "holds more" in unread(archive)["a.tgz"]


def test_a_link_out_of_the_folder_is_named_and_not_followed(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret.log").write_bytes(LOG)
    (inside / "kern.log").write_bytes(LOG)
    (inside / "again.log").symlink_to("kern.log")
    (inside / "out.log").symlink_to(tmp_path / "secret.log")
    (inside / "up").symlink_to("..")
    assert list(tools(inside)) == ["kern.log"]
    assert {name: why.startswith("is a link out of the folder") for name, why in unread(inside).items()} == {
        "out.log": True,
        "up": True,
    }


def test_links_in_a_ring_are_not_followed(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "kern.log").write_bytes(LOG)
    assert tools(tmp_path) == {"kern.log": "kernel log"}


def test_a_fifo_does_not_hang_and_is_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert unread(tmp_path) == {"pipe": "is a FIFO: not read"}


def test_a_file_that_becomes_a_fifo_before_it_is_opened_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        folders.open_plain(tmp_path / "pipe")


def test_a_file_that_vanishes_while_the_folder_is_read_is_named(tmp_path):
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(LOG)
    walk = found.found_below([tmp_path])
    next(walk)
    (tmp_path / "b.log").unlink()
    assert [(one.name, one.why) for one in walk] == [("b.log", "can't be read: No such file or directory")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    (tmp_path / "shadow").write_bytes(LOG)
    (tmp_path / "shadow").chmod(0)
    assert unread(tmp_path) == {"shadow": "can't be read: Permission denied"}


def test_what_the_system_refuses_to_open_is_named(tmp_path, monkeypatch):
    (tmp_path / "shadow").write_bytes(LOG)

    def refuse(path, *_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(found, "open_plain", refuse)
    assert unread(tmp_path) == {"shadow": "can't be read: Permission denied"}


def test_names_with_line_ends_escapes_and_bytes_that_are_no_text_are_shown_harmlessly(tmp_path):
    for name in (b"a\nb", b"\x1b[31mred", b"caf\xe9"):
        (tmp_path / os.fsdecode(name)).write_bytes(LOG)
    shown = list(tools(tmp_path))
    assert sorted(shown) == ["\\x1b[31mred", "a\\nb", "caf\\udce9"]
    assert all(name.isprintable() and name.encode() for name in shown)


def test_more_files_than_are_read_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST_FILES", 3)
    for number in range(7):
        (tmp_path / f"{number}.log").write_bytes(LOG)
    assert len(tools(tmp_path)) == 3
    assert unread(tmp_path) == {tmp_path.name: "only the first 3 files were read, 4 others were not"}


def test_of_a_log_longer_than_is_read_both_ends_are_and_line_numbers_stay_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(found, "MOST_READ", 200_000)
    filler = b"[   13.000000] usb 1-2: New USB device strings: Mfr=1, Product=2, SerialNumber=3\n"
    (tmp_path / "kern.log").write_bytes(LOG + filler * 10_000 + LOG + filler * 10 + LOG)
    lines = [line.number for one in handed_in([tmp_path]) if one.section.parsed for line in one.section.parsed.readings]
    assert lines == [1, 10_002, 10_013]
    assert "only the first and the last" in unread(tmp_path)["kern.log"]


def test_a_sparse_file_of_five_gigabytes_is_read_at_both_ends_in_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(found, "MOST_READ", 4_000_000)
    with (tmp_path / "kern.log").open("wb") as file:
        file.write(LOG * 20)
        file.seek(5 << 30)
        file.write(b"\n" + LOG)
    tracemalloc.start()
    said = list(handed_in([tmp_path]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(len(one.section.parsed.readings) for one in said if one.section.parsed) >= 20
    assert any("only the first and the last" in note for one in said for note in one.section.notes)
    assert peak < 40_000_000


def test_a_bounded_stream_says_when_there_was_more():
    whole, cut = bounded.Bounded(io.BytesIO(b"12345"), 5), bounded.Bounded(io.BytesIO(b"123456"), 5)
    for stream in (whole, cut):
        assert b"".join(iter(lambda stream=stream: stream.read(2), b"")) == b"12345"
    assert (whole.trouble, bool(cut.trouble)) == ("", True)
