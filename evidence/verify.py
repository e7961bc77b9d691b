"""Verifying a bundle: is everything there, is it unchanged, is it safe to open. No product data is trusted to say so.

It agrees with `sha256sum -c --strict tagmanifest-sha256.txt manifest-sha256.txt` in the unpacked folder, and notices
more: files that were added, a journal whose chain is broken, chunks of the recording that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from ..incident.errors import Altered, InputError, Unsafe
from . import chunk, limits
from .chunk import ChunkEntry, head_of
from .journal import check_chain, read_lines
from .manifest import PAYLOAD, TAGS, parse_manifest
from .safe_open import Incomplete, SafeArchive

SIGNATURES = "signatures/"
"""Stand outside the manifests; not read by this version."""


class Integrity(StrEnum):
    """Whether a bundle is as it was written; the worst that was found."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    ALTERED = "altered"
    UNSAFE = "unsafe"


_EXIT = {Integrity.OK: 0, Integrity.ALTERED: 1, Integrity.INCOMPLETE: 3, Integrity.UNSAFE: 4}
INTACT_UNSIGNED = 2


class _Described(msgspec.Struct, frozen=True):
    """The part of bundle.json that is checked; unknown keys and versions are let pass."""

    format: str = ""
    case: str = ""
    journal: dict[str, Any] = {}
    recording: dict[str, Any] = {}
    size: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Verification:
    """What checking a bundle showed."""

    path: Path
    integrity: Integrity
    root: str = ""
    """The bundle's id: sha256 of its tag manifest; empty where that can't be read."""
    case: str = ""
    files: int = 0
    problems: tuple[str, ...] = ()
    """Sentences; empty when the integrity is ok."""
    left_out: tuple[str, ...] = ()
    """What the writer says he left out."""
    signed: bool = False
    signer: str = "unknown"

    @property
    def intact(self) -> bool:
        """Nothing is altered or missing."""
        return self.integrity is Integrity.OK

    @property
    def exit_code(self) -> int:
        """0 signed and good, 1 altered, 2 intact but unsigned, 3 incomplete, 4 unsafe to open."""
        return INTACT_UNSIGNED if self.intact and not self.signed else _EXIT[self.integrity]

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "path": str(self.path),
            "integrity": self.integrity.value,
            "root": self.root,
            "case": self.case,
            "files": self.files,
            "problems": list(self.problems),
            "left_out": list(self.left_out),
            "signed": self.signed,
            "signer": self.signer,
        }

    def report(self) -> str:
        """A few lines for people."""
        lines = [f"integrity  {self.integrity.value}"]
        lines += [f"           {ascii_line(problem)}" for problem in self.problems[:20]]
        if len(self.problems) > 20:
            lines.append(f"           and {len(self.problems) - 20} more")
        if self.root:
            lines.append(f"id         {self.root}")
            lines.append(f"files      {self.files}")
        lines += [f"left out   {ascii_line(what)}" for what in self.left_out[:20]]
        if self.intact:
            lines.append("signature  none: nothing changed since this id was given away; who wrote it is not shown")
        return "\n".join(lines)


def ascii_line(text: str) -> str:
    """Text out of a bundle, fit for a terminal: whatever is not printable ASCII stands escaped."""
    return ascii(text[:300])[1:-1]


def verify(path: Path) -> Verification:
    """Check a bundle. Never raises for what is in it; raises InputError for a file that can't be read."""
    path = Path(path)
    try:
        with SafeArchive(path) as archive:
            return _Check(path, archive).verification()
    except Unsafe as error:
        return Verification(path, Integrity.UNSAFE, problems=(str(error),))
    except Incomplete as error:
        return Verification(path, Integrity.INCOMPLETE, problems=(str(error),))
    except Altered as error:
        return Verification(path, Integrity.ALTERED, problems=(str(error),))
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}") from error


class _Check:
    """Checks of one open archive; collects what is wrong."""

    def __init__(self, path: Path, archive: SafeArchive) -> None:
        self._path, self._archive = path, archive
        self._found: list[tuple[Integrity, str]] = []
        self._described = _Described()

    def verification(self) -> Verification:
        if "fetch.txt" in self._archive.names:
            raise Unsafe("the bundle has a fetch.txt, which asks to load files from elsewhere")
        tags = self._archive.read(TAGS)
        self._check_files(tags)
        if not self._found:
            self._attempt(self._check_description)
            self._attempt(self._check_journal)
            self._attempt(self._check_recording)
        order = list(Integrity)
        worst = max((kind for kind, _ in self._found), key=order.index, default=Integrity.OK)
        dropped = self._described.size.get("dropped", [])
        return Verification(
            self._path,
            worst,
            root=sha256(tags).hexdigest(),
            case=self._described.case,
            files=len(self._archive.names),
            problems=tuple(problem for _, problem in self._found),
            left_out=tuple(str(item.get("what")) for item in dropped if isinstance(item, dict)),
        )

    def _attempt(self, check: Callable[[], None]) -> None:
        try:
            check()
        except Incomplete as error:
            self._found.append((Integrity.INCOMPLETE, str(error)))
        except Altered as error:
            self._found.append((Integrity.ALTERED, str(error)))

    def _check_files(self, tags: bytes) -> None:
        """Every listed file is there with its hash, and no other file is."""
        tag_hashes = parse_manifest(tags, TAGS)
        payload_hashes = parse_manifest(self._archive.read(PAYLOAD), PAYLOAD)
        if PAYLOAD not in tag_hashes:
            self._found.append((Integrity.ALTERED, f"{TAGS} does not list {PAYLOAD}"))
        for name, expected in sorted({**tag_hashes, **payload_hashes}.items()):
            self._attempt(partial(self._check_file, name, expected))
        unlisted = self._archive.names - {*tag_hashes, *payload_hashes, TAGS}
        for name in sorted(unlisted):
            if not name.startswith(SIGNATURES):
                self._found.append((Integrity.ALTERED, f"{name} was added: no manifest lists it"))

    def _check_file(self, name: str, expected: str) -> None:
        digest = sha256()
        for block in self._archive.blocks(name):
            digest.update(block)
        if digest.hexdigest() != expected:
            raise Altered(f"{name} was changed")

    def _check_description(self) -> None:
        try:
            self._described = msgspec.json.decode(self._archive.read("bundle.json"), type=_Described)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Altered(f"bundle.json can't be read: {error}") from error

    def _check_journal(self) -> None:
        damage: list[str] = []
        chain = check_chain(read_lines(self._lines("data/journal.jsonl"), damage))
        for problem in (*damage, *chain.problems):
            self._found.append((Integrity.ALTERED, problem))
        tip = self._described.journal.get("chain_tip")
        if tip is not None and tip != chain.tip:
            self._found.append((Integrity.ALTERED, "the journal does not end where bundle.json says"))

    def _check_recording(self) -> None:
        last: dict[str, str] = {}
        segments = _Segments(self._archive)
        count = 0
        for entry in self._index():
            count += 1
            data = segments.chunk(entry)
            if sha256(data).hexdigest() != entry.sha256:
                raise Altered(f"the recording of {entry.node} from {entry.first_id} on was changed")
            head = head_of(data)
            if (head.node, head.domain, head.schema, head.prev) != (entry.node, entry.domain, entry.schema, entry.prev):
                raise Altered(f"the index describes the recording of {entry.node} from {entry.first_id} on wrongly")
            if entry.prev != last.get(entry.node, chunk.FIRST):
                self._found.append(
                    (Integrity.INCOMPLETE, f"the recording of {entry.node} before {entry.first_id} is missing")
                )
            last[entry.node] = entry.sha256
        if count != self._described.recording.get("chunks", count):
            self._found.append((Integrity.INCOMPLETE, "the recording has not as many chunks as bundle.json says"))

    def _index(self) -> Iterator[ChunkEntry]:
        for number, line in enumerate(self._lines("data/recording/idx.jsonl"), 1):
            try:
                yield msgspec.json.decode(line, type=ChunkEntry)
            except (msgspec.DecodeError, RecursionError) as error:
                raise Altered(f"line {number} of the recording's index can't be read: {error}") from error

    def _lines(self, name: str) -> Iterator[bytes]:
        rest = b""
        for block in self._archive.blocks(name):
            *whole, rest = (rest + block).split(b"\n")
            if len(rest) > limits.DOCUMENT_BYTES:
                raise Unsafe(f"{name} has a line of more than {limits.DOCUMENT_BYTES} bytes")
            yield from (line + b"\n" for line in whole)
        if rest:
            yield rest


class _Segments:
    """Chunks out of segments, which are read once and from front to back."""

    def __init__(self, archive: SafeArchive) -> None:
        self._archive = archive
        self._blocks: Iterator[bytes] = iter(())
        self._name, self._held, self._at = "", b"", 0

    def chunk(self, entry: ChunkEntry) -> bytes:
        """The bytes of the index's next chunk; raises Altered where it is not the next."""
        if entry.segment != self._name:
            self._name = entry.segment
            self._blocks = self._archive.blocks(f"data/recording/{entry.segment}")
            self._held, self._at = b"", 0
        if entry.offset != self._at or not 0 < entry.length <= chunk.INFLATED_LIMIT:
            raise Altered(f"the index places the recording of {entry.node} from {entry.first_id} on wrongly")
        while len(self._held) < entry.length and (block := next(self._blocks, b"")):
            self._held += block
        data, self._held = self._held[: entry.length], self._held[entry.length :]
        self._at += entry.length
        return data
