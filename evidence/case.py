"""The case folder: everything gathered in one incident, kept as it comes in.

    case.json        format, id, when it was opened
    journal.jsonl    events, chained (journal.py)      nonces.jsonl   what opens its commitments; never leaves the case
    recording/       samples (recording.py)            blobs/         outputs, by sha256

Private to its owner (0700). Nothing in it is ever rewritten; a killed process leaves a folder that opens as it is.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import platformdirs

from ..incident.errors import EvidenceError, InputError
from ..incident.events import Blob, BundleWritten, CommandEnded, Entry, SampleTaken, VerdictReached
from .blobs import BlobStore
from .cut import Cut
from .durable import PRIVATE_FOLDER, DiskThread, write_file
from .journal import Journal
from .recording import Recording

SYNC_SECONDS = 8.0
_AT_ONCE = (VerdictReached, CommandEnded, BundleWritten)
"""Events that are brought to the disk without waiting for their turn."""


class CaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """`case.json`."""

    format: str = "lanescope-case/1"
    id: str
    created: float


class _Writers:
    """What appends to an open case."""

    def __init__(self, path: Path, blobs: BlobStore) -> None:
        self.disk = DiskThread()
        self.journal = Journal(path, blobs.bytes_of)
        self.recording = Recording(path / "recording", self.disk)
        self._synced = time.monotonic()

    def append(self, entry: Entry) -> None:
        if isinstance(entry.event, SampleTaken):
            self.recording.append(entry)
        else:
            self.journal.append(entry)
            self._sync_journal(isinstance(entry.event, _AT_ONCE))
        self.recording.keep_up()

    def settle(self) -> None:
        """Bring the files to a state that no thread changes until the next append."""
        self.recording.flush()
        self.disk.wait()

    def close(self) -> None:
        try:
            self.disk.sync(self.journal.nonces_path, self.journal.path)
            self.recording.close()
        finally:
            self.journal.close()
            self.disk.close()

    def _sync_journal(self, at_once: bool) -> None:
        now = time.monotonic()
        if not self.disk.busy and (at_once or now - self._synced >= SYNC_SECONDS):
            self.disk.sync(self.journal.nonces_path, self.journal.path)
            self._synced = now


class Case:
    """One case folder. Made by `create` for writing or `open` for reading; safe to use from several threads."""

    def __init__(self, path: Path, writable: bool) -> None:
        self.path = path
        self.id = _case_file(path).id
        self._blobs = BlobStore(path / "blobs")
        self._lock = threading.Lock()
        self._writers = _Writers(path, self._blobs) if writable else None

    @classmethod
    def create(cls, root: Path | None = None, id: str | None = None) -> Case:  # noqa: A002 (the word for it)
        """Make the folder `root/id`, by default in the user's data directory and named by the time (UTC).

        Raises InputError for an id that is no plain name, one that is taken, or a root that can't be written.
        """
        now = time.time()
        name = id or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(2)}"
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
            raise InputError(f"a case id is up to 64 letters, digits, - and _; {name[:80]!r} is not")
        path = (root or default_root()) / name
        try:
            path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            path.mkdir(mode=PRIVATE_FOLDER)
            write_file(path / "case.json", msgspec.json.encode(CaseFile(id=name, created=now)) + b"\n")
        except FileExistsError:
            raise InputError(f"there is a case {name} in {path.parent} already; choose another id") from None
        except OSError as error:
            raise InputError(f"can't keep a case in {path}: {error.strerror}; name another folder") from error
        return cls(path, writable=True)

    @classmethod
    def open(cls, path: Path) -> Case:
        """Open a folder for reading, also one whose session was killed or still runs; raises InputError."""
        return cls(Path(path), writable=False)

    def keep(self, data: bytes) -> Blob:
        """Put an output in the case folder; to be done before the event that names it is appended."""
        if self._writers is None:
            raise EvidenceError(f"case {self.id} is open for reading only")
        return self._blobs.keep(data)

    def bytes_of(self, blob: Blob) -> bytes:
        """An output; raises Unresolved where it is missing and Altered where it is another."""
        return self._blobs.bytes_of(blob)

    def append(self, entry: Entry) -> None:
        """Write an entry down. Call it in order of seq, before the entry is folded.

        Raises Unresolved for an output that was not kept, EvidenceError when the disk takes no more.
        """
        with self._lock:
            if self._writers is None:
                raise EvidenceError(f"case {self.id} is open for reading only, or closed")
            try:
                self._writers.append(entry)
            except OSError as error:
                raise EvidenceError(
                    f"can't write to {self.path}: {error.strerror}; what was written before is kept"
                ) from error

    def flush(self) -> None:
        """Hand all that was appended to the system, so that a kill costs none of it."""
        with self._lock:
            if self._writers is not None:
                self._writers.recording.flush()

    def cut(self) -> Cut:
        """What the case holds now, for a reader that takes its time; close it after use (`with`)."""
        with self._lock:
            if self._writers is not None:
                self._writers.settle()
            return Cut(self.path)

    def close(self) -> None:
        """Seal what is open and bring everything to the disk. The case can be read on."""
        with self._lock:
            writers, self._writers = self._writers, None
            if writers is not None:
                writers.close()


def default_root() -> Path:
    """Where cases are kept unless told otherwise."""
    return platformdirs.user_data_path("lanescope") / "cases"


def entries(path: Path, damage: list[str] | None = None) -> Iterator[Entry]:
    """Every entry of a case folder in order of seq, exactly as appended.

    What a crash tore off or somebody altered is left out, and told in `damage` at the end, one sentence each.
    """
    _case_file(Path(path))
    with Cut(Path(path)) as cut:
        yield from cut.entries()
        if damage is not None:
            damage += cut.damage


def _case_file(path: Path) -> CaseFile:
    try:
        return msgspec.json.decode((path / "case.json").read_bytes(), type=CaseFile)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path} is no case folder: its case.json can't be read ({error})") from error
