"""`lanescope verify` on bundles as they were written, altered, cut off, and on what is no bundle."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

from .program import Ended, run


def test_a_bundle_of_a_live_node_is_written_and_its_id_told(collected: tuple[Ended, Path]) -> None:
    ended, path = collected
    assert ended.code == 0, ended.err
    assert str(path) in ended.out
    assert "lanescope verify" in ended.out
    assert zipfile.is_zipfile(path)


def test_a_bundle_as_written_is_intact_and_unsigned(collected: tuple[Ended, Path]) -> None:
    _, path = collected
    ended = run("verify", path)
    assert ended.code == 2
    assert "signature" in ended.out
    document = json.loads(run("verify", path, "--json").out)
    assert document


def test_one_altered_byte_is_altered(collected: tuple[Ended, Path], tmp_path: Path) -> None:
    _, path = collected
    altered = tmp_path / "altered.evb.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(altered, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info, data.replace(b"sim1", b"sim2", 1) if info.filename.endswith("bundle.json") else data)
    ended = run("verify", altered)
    assert ended.code == 1
    assert "Traceback" not in ended.err


def test_a_bundle_cut_off_in_transfer_cannot_be_believed(collected: tuple[Ended, Path], tmp_path: Path) -> None:
    _, path = collected
    cut = tmp_path / "cut.evb.zip"
    cut.write_bytes(path.read_bytes()[:-200])
    ended = run("verify", cut)
    assert ended.code in (3, 4)
    assert "cut off" in ended.out + ended.err


def test_a_file_that_is_no_archive_is_not_opened(tmp_path: Path) -> None:
    plain = tmp_path / "plain.evb.zip"
    plain.write_text("no zip at all")
    ended = run("verify", plain)
    assert ended.code == 4
    assert "Traceback" not in ended.err


def test_a_missing_bundle_and_a_folder_are_told_in_a_sentence(tmp_path: Path) -> None:
    missing = run("verify", tmp_path / "missing.evb.zip")
    assert missing.code == 64
    assert missing.says_one_sentence("missing.evb.zip")
    folder = run("verify", tmp_path)
    assert folder.code in (4, 64)
    assert "Traceback" not in folder.err


def test_a_moved_bundle_verifies_where_it_is(collected: tuple[Ended, Path], tmp_path: Path) -> None:
    _, path = collected
    moved = shutil.copy(path, tmp_path / "handed over.zip")
    assert run("verify", moved).code == 2
