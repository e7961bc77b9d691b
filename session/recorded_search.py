"""The last search of a bundle: what it began from, what every round measured, what was believed and concluded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..evidence import limits
from ..evidence.chunk import ChunkEntry, samples_of
from ..evidence.journal import read_lines
from ..evidence.names import LIKELIHOODS
from ..evidence.safe_open import SafeArchive
from ..incident.errors import EvidenceError, InputError, Unsafe
from ..incident.events import (
    BeliefUpdated,
    Entry,
    FactsRead,
    NetworkRead,
    NodeStateChanged,
    RoundEnded,
    SampleTaken,
    SchemaDeclared,
    SearchBegan,
    SearchEdited,
    SessionOpened,
    TrialEnded,
    VerdictReached,
)
from ..incident.fold import Incident
from ..topology.fabric import Fabric
from ..topology.sources.facts import build_fabric

JOURNAL = "data/journal.jsonl"
INDEX = "data/recording/idx.jsonl"
SEGMENTS = "data/recording/"

_WIRING = (SessionOpened, NodeStateChanged, FactsRead, SchemaDeclared, NetworkRead)
"""Events that a fabric is read from, with the first sample under every schema."""


@dataclass(frozen=True, slots=True)
class RecordedRound:
    """One round as it was learned from."""

    belief: BeliefUpdated
    """What was believed after it."""
    belief_id: str
    trials: tuple[tuple[str, TrialEnded], ...]
    """With the ids of their events."""
    seconds: float


@dataclass(frozen=True, slots=True)
class RecordedSearch:
    """All that the beliefs of one search are computed from, and those that were recorded."""

    began: SearchBegan
    fabric: Fabric
    """As the nodes' facts told it when the search began."""
    rounds: tuple[RecordedRound, ...]
    verdict: VerdictReached | None
    """None where the search was broken off."""
    edited: SearchEdited | None
    """What the operator let it do in the end; None where they changed nothing."""
    table: Mapping[str, Any] | None
    """The table of likelihoods of its last belief, as the bundle has it."""
    version: str
    """Of the Lanescope that recorded it."""
    notes: tuple[str, ...]
    """What could not be read, one sentence each."""


@dataclass(slots=True)
class _Search:
    """Events of one search."""

    began: SearchBegan
    seq: int
    wired: int
    """How many of the journal's `wiring` came before it."""
    trials: list[tuple[str, TrialEnded]] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    beliefs: list[tuple[str, BeliefUpdated]] = field(default_factory=list)
    verdict: VerdictReached | None = None
    edited: SearchEdited | None = None

    def take(self, id_: str, event: object) -> None:
        match event:
            case TrialEnded():
                self.trials.append((id_, event))
            case RoundEnded():
                self.seconds[event.round] = event.seconds
            case BeliefUpdated():
                self.beliefs.append((id_, event))
            case SearchEdited():
                self.edited = event
            case VerdictReached():
                self.verdict = event

    def rounds(self) -> Iterator[RecordedRound]:
        """Rounds that were learned from: those with a belief."""
        by_round: dict[int, list[tuple[str, TrialEnded]]] = {}
        for id_, trial in self.trials:
            by_round.setdefault(trial.round, []).append((id_, trial))
        for id_, belief in self.beliefs:
            trials = tuple(by_round.get(belief.round, ()))
            yield RecordedRound(belief, id_, trials, self.seconds.get(belief.round, 0.0))


@dataclass(slots=True)
class _Journal:
    """The journal's events that matter, sorted as they come."""

    wiring: list[Entry] = field(default_factory=list)
    searches: list[_Search] = field(default_factory=list)
    version: str = ""
    strays: int = 0
    """Beliefs of searches whose beginning was not recorded."""

    def take(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, SearchBegan):
            self.searches.append(_Search(event, entry.seq, len(self.wiring)))
        elif isinstance(event, _WIRING):
            self.wiring.append(entry)
            self.version = event.version if isinstance(event, SessionOpened) else self.version
        elif self.searches and self.searches[-1].verdict is None:
            self.searches[-1].take(entry.id, event)
        elif isinstance(event, BeliefUpdated):
            self.strays += 1

    @property
    def search(self) -> _Search | None:
        """The last one that learned something; one that was only proposed teaches nothing."""
        return next((search for search in reversed(self.searches) if search.beliefs), None)


def recorded_search(path: Path) -> RecordedSearch | None:
    """Read a bundle in place, within limits; None where no search was recorded.

    Raises EvidenceError for one that is unsafe, cut, or damaged where it matters, InputError for one that can't be read
    at all. Whether it is as it was written says `evidence.verify`.
    """
    try:
        with SafeArchive(path) as archive:
            return _read(archive)
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from error


def _read(archive: SafeArchive) -> RecordedSearch | None:
    notes: list[str] = []
    journal = _Journal()
    for entry in _entries(archive, notes):
        journal.take(entry)
    search = journal.search
    if search is None:
        if journal.strays:
            raise EvidenceError(
                "its search was recorded without what it began from, so its beliefs can't be recomputed"
            )
        return None
    fabric = _fabric(archive, journal.wiring[: search.wired], search.seq)
    return RecordedSearch(
        began=search.began,
        fabric=fabric,
        rounds=tuple(search.rounds()),
        verdict=search.verdict,
        edited=search.edited,
        table=_table(archive),
        version=journal.version,
        notes=tuple(notes),
    )


def _table(archive: SafeArchive) -> Mapping[str, Any] | None:
    """None in bundles of searches that another program made, and of versions that kept none."""
    name = f"data/{LIKELIHOODS}"
    if name not in archive.names:
        return None
    try:
        document = msgspec.json.decode(b"".join(archive.blocks(name)))
    except (msgspec.DecodeError, RecursionError) as error:
        raise EvidenceError(f"the table of likelihoods can't be read: {error}") from error
    return document if isinstance(document, dict) else None


def _fabric(archive: SafeArchive, wiring: Sequence[Entry], before: int) -> Fabric:
    incident = Incident()
    declared: dict[tuple[str, str], tuple[int, SchemaDeclared]] = {}
    for entry in wiring:
        incident.apply(entry)
        if isinstance(entry.event, SchemaDeclared):
            declared[entry.event.node, entry.event.domain] = (entry.seq, entry.event)
    for sample in _first_samples(archive, declared, before):
        incident.apply(sample)
    snapshot = incident.snapshot()
    return build_fabric(snapshot.nodes.values(), snapshot.network)


def _first_samples(
    archive: SafeArchive, declared: Mapping[tuple[str, str], tuple[int, SchemaDeclared]], before: int
) -> Iterator[Entry]:
    """The first sample under every node's and hang domain's last schema, taken before a sequence number."""
    wanted = dict(declared)
    for entry, data in _chunks(archive):
        since, schema = wanted.get((entry.node, entry.domain), (0, None))
        if schema is None or entry.schema != schema.schema or entry.last_seq < since or entry.first_seq >= before:
            continue
        fits = (one for one in samples_of(data) if since < one.seq < before and _fits(one, schema))
        if (first := next(fits, None)) is not None:
            del wanted[entry.node, entry.domain]
            yield first
        if not wanted:
            return


def _fits(sample: Entry, schema: SchemaDeclared) -> bool:
    return isinstance(sample.event, SampleTaken) and len(sample.event.values) == len(schema.fields)


def _chunks(archive: SafeArchive) -> Iterator[tuple[ChunkEntry, bytes]]:
    """The recording's chunks in the order of its index; segments are read from front to back, once."""
    if INDEX not in archive.names:
        return
    name, held = "", b""
    blocks: Iterator[bytes] = iter(())
    for line in _lines(archive.blocks(INDEX), INDEX):
        try:
            entry = msgspec.json.decode(line, type=ChunkEntry)
        except (msgspec.DecodeError, RecursionError) as error:
            raise EvidenceError(f"the index of the recording can't be read: {error}") from error
        if entry.segment != name:
            name, blocks, held = entry.segment, archive.blocks(SEGMENTS + entry.segment), b""
        while len(held) < entry.length <= limits.MEMBER_BYTES and (block := next(blocks, b"")):
            held += block
        data, held = held[: entry.length], held[entry.length :]
        yield entry, data


def _entries(archive: SafeArchive, notes: list[str]) -> Iterator[Entry]:
    unknown = 0
    for line in read_lines(_lines(archive.blocks(JOURNAL), JOURNAL), notes):
        try:
            yield line.entry()
        except msgspec.ValidationError:
            unknown += 1
    if unknown:
        notes.append(f"{unknown} journal lines are redacted or of a later version; they were passed over")


def _lines(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Lines with their ends."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        if len(rest) > limits.DOCUMENT_BYTES:
            raise Unsafe(f"{name} has a line of more than {limits.DOCUMENT_BYTES} bytes")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest
