"""What a case folder keeps, and what it gives back after a crash."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lanescope.evidence import chunk, journal
from lanescope.evidence.case import Case, entries
from lanescope.evidence.cut import Cut
from lanescope.evidence.durable import DiskThread
from lanescope.evidence.recording import Recording
from lanescope.incident.errors import Altered, EvidenceError, InputError, Unresolved
from lanescope.incident.events import Blob, CommandEnded, Entry, NoteWritten, SampleTaken
from lanescope.incident.ids import NodeId

BEGIN = 1_790_000_000.0


def write(folder: str, log: list[Entry]) -> Path:
    case = Case.create(Path(folder), "c1")
    for entry in log:
        case.append(entry)
    case.close()
    return case.path


def test_a_torn_last_journal_line_is_dropped_and_told(tmp_path):
    log = [Entry(seq, f"J{seq}", NoteWritten(time=BEGIN, text=f"note {seq}", by="me")) for seq in (1, 2, 3)]
    path = write(str(tmp_path), log)
    lines = path / "journal.jsonl"
    os.truncate(lines, lines.stat().st_size - 5)
    damage: list[str] = []
    assert [entry.id for entry in entries(path, damage)] == ["J1", "J2"]
    assert len(damage) == 1
    assert "line 3 is torn" in damage[0]


KILLED = """
import os, signal, sys
import numpy as np
from pathlib import Path
from lanescope.evidence.durable import DiskThread
from lanescope.evidence.recording import Recording
from lanescope.incident.events import Entry, SampleTaken
from lanescope.incident.ids import NodeId
second = seq = 0
recording = Recording(Path(sys.argv[1]) / "recording", DiskThread(), clock=lambda: float(second))
for second in range(150):
    for number in range(8):
        seq += 1
        sample = SampleTaken(1e9 + second, NodeId(f"n{number}"), "nvml", "a", np.arange(50.0) * second)
        recording.append(Entry(seq, f"n{number}#{second + 1}", sample))
    recording.keep_up()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_9_loses_at_most_ten_seconds_of_samples(tmp_path):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    with Cut(tmp_path) as cut:
        back = list(cut.entries())
    for number in range(8):
        times = [entry.event.time for entry in back if entry.event.node == f"n{number}"]
        assert times == [1e9 + second for second in range(len(times))], "nothing is missing before the end"
        assert len(times) >= 140
    assert np.array_equal(back[-1].event.values, np.arange(50.0) * (back[-1].event.time - 1e9))


def test_a_tail_is_removed_once_its_samples_are_sealed(tmp_path):
    log = [
        Entry(n, f"n1#{n}", SampleTaken(BEGIN + n, NodeId("n1"), "nvml", "a", np.array([float(n)])))
        for n in range(1, 200)
    ]
    path = write(str(tmp_path), log)
    assert not list((path / "recording").glob("tail-*"))
    assert [entry.seq for entry in entries(path)] == list(range(1, 200))


def test_a_disk_that_takes_no_more_is_told_in_a_sentence_and_loses_nothing_written(tmp_path, monkeypatch):
    case = Case.create(tmp_path)
    note = NoteWritten(time=BEGIN, text="x", by="me")
    case.append(Entry(1, "J1", note))

    def full(descriptor: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal, "write_all", full)
    with pytest.raises(EvidenceError, match="No space left"):
        case.append(Entry(2, "J2", note))
    monkeypatch.undo()
    assert [entry.id for entry in entries(case.path)] == ["J1"]


def test_a_chunk_that_could_not_be_written_keeps_the_tail_that_has_its_samples(tmp_path, monkeypatch):
    disk, now = DiskThread(), 0.0
    recording = Recording(tmp_path / "recording", disk, clock=lambda: now)

    def full(samples: object, prev: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(chunk, "seal", full)
    with pytest.raises(OSError, match="No space left"):
        for second in range(400):
            now = float(second)
            sample = SampleTaken(BEGIN + second, NodeId("n1"), "nvml", "a", np.array([now]))
            recording.append(Entry(second + 1, f"n1#{second + 1}", sample))
            recording.keep_up()
            if second % 60 == 59:
                disk.wait()
    monkeypatch.undo()
    with Cut(tmp_path) as cut:
        seqs = [entry.seq for entry in cut.entries()]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) > 30, "the first chunk's samples, however soon the disk's thread came to it"


def test_a_case_belongs_to_its_owner_alone(tmp_path):
    case = Case.create(tmp_path)
    case.keep(b"output")
    case.append(Entry(1, "J1", NoteWritten(time=BEGIN, text="x", by="me")))
    case.close()
    assert stat.S_IMODE(case.path.stat().st_mode) == 0o700
    open_to_others = [file for file in case.path.rglob("*") if file.stat().st_mode & 0o077]
    assert open_to_others == []


def test_an_output_is_kept_once_by_its_hash_and_given_back(tmp_path):
    case = Case.create(tmp_path)
    blob = case.keep(b"ok\n")
    assert case.keep(b"ok\n") == blob
    assert case.bytes_of(blob) == b"ok\n"
    assert len(list((case.path / "blobs").iterdir())) == 1


def test_an_output_that_was_changed_on_disk_is_altered_and_one_that_is_missing_unresolved(tmp_path):
    case = Case.create(tmp_path)
    blob = case.keep(b"ok\n")
    (case.path / "blobs" / blob.sha256).write_bytes(b"ko\n")
    with pytest.raises(Altered):
        case.bytes_of(blob)
    with pytest.raises(Unresolved):
        case.bytes_of(Blob("0" * 64, 3))
    with pytest.raises(Unresolved):
        case.bytes_of(Blob("../../../../etc/passwd", 3))


def test_an_event_that_names_an_output_nobody_kept_is_refused(tmp_path):
    case = Case.create(tmp_path)
    missing = Blob("0" * 64, 3)
    ended = CommandEnded(
        time=BEGIN,
        node=NodeId("n1"),
        argv=("ls",),
        exit_status=0,
        stdout=missing,
        stderr=missing,
        started=BEGIN,
        ended=BEGIN,
    )
    with pytest.raises(Unresolved):
        case.append(Entry(1, "J1", ended))


@pytest.mark.parametrize("id_", ["../up", "a/b", ".hidden", "x" * 65, "a b"])
def test_a_case_id_that_is_no_plain_name_is_refused(tmp_path, id_):
    with pytest.raises(InputError):
        Case.create(tmp_path, id_)


def test_a_case_id_that_is_taken_is_refused(tmp_path):
    Case.create(tmp_path, "a").close()
    with pytest.raises(InputError, match="already"):
        Case.create(tmp_path, "a")


def test_a_folder_that_is_no_case_is_refused(tmp_path):
    with pytest.raises(InputError, match="no case folder"):
        Case.open(tmp_path)
    with pytest.raises(InputError, match="no case folder"):
        list(entries(tmp_path))


def test_a_case_opened_for_reading_takes_nothing(tmp_path):
    path = write(str(tmp_path), [])
    case = Case.open(path)
    with pytest.raises(EvidenceError):
        case.append(Entry(1, "J1", NoteWritten(time=BEGIN, text="x", by="me")))
    with pytest.raises(EvidenceError):
        case.keep(b"x")


def test_a_cut_shows_what_was_there_when_it_was_made(tmp_path):
    case = Case.create(tmp_path)
    case.append(Entry(1, "J1", NoteWritten(time=BEGIN, text="x", by="me")))
    with case.cut() as cut:
        case.append(Entry(2, "J2", NoteWritten(time=BEGIN, text="y", by="me")))
        assert [entry.id for entry in cut.entries()] == ["J1"]
    case.close()
