"""Events: everything that is learned or done, as frozen values with their own time.

An event says what was seen, never what it means; meaning is a finding, and a finding names the events it stands on.
Times are seconds since the epoch on the operator's clock unless a field says otherwise. Samples are one event with a
vector of values and live in the recording; all other events live in the journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from .findings import CounterMove, Exclusion, Finding, Suspect, Verdict
from .ids import ComponentId, NodeId


class NodeState(StrEnum):
    """Where a node stands between the operator and its collector."""

    IDLE = "idle"
    CONNECTING = "connecting"
    STARTING = "starting"
    LIVE = "live"
    STALE = "stale"
    LOST = "lost"
    FAILED = "failed"
    BACKOFF = "backoff"
    CLOSED = "closed"


class Blob(msgspec.Struct, frozen=True):
    """Bytes kept in the case folder."""

    sha256: str
    size: int


class JournalEvent(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="event"):
    """Base of all events that live in the journal."""

    time: float


class SessionOpened(JournalEvent, frozen=True, kw_only=True):
    """A session began."""

    case: str
    version: str
    hosts: tuple[NodeId, ...]
    source: str
    """`ssh`, `sim` or `replay`."""


class Ticked(JournalEvent, frozen=True, kw_only=True):
    """Time passed: 1 Hz, so that staleness is a fold and not a timer."""


class NodeStateChanged(JournalEvent, frozen=True, kw_only=True):
    """A node became reachable, silent, refused, ..."""

    node: NodeId
    state: NodeState
    reason: str = ""
    """One sentence for people; empty while all is well."""
    code: str = ""
    """Code of the error that caused it (errors.py); empty while all is well."""


class Fact(msgspec.Struct, frozen=True):
    """One thing about a part that does not change by the second: serial, firmware, bus address, what it is wired to."""

    component: ComponentId
    key: str
    value: str | int | float | bool | None


class FactsRead(JournalEvent, frozen=True, kw_only=True):
    """Facts of a node were read; they replace those of the same component and key."""

    node: NodeId
    source: str
    facts: tuple[Fact, ...]


class Field(msgspec.Struct, frozen=True):
    """One element of a sample's vector."""

    component: ComponentId
    name: str


class SchemaDeclared(JournalEvent, frozen=True, kw_only=True):
    """What the elements of a node's following samples of one hang domain mean."""

    node: NodeId
    domain: str
    schema: str
    """Id, unique within the node."""
    fields: tuple[Field, ...]


class LogRead(JournalEvent, frozen=True, kw_only=True):
    """A line of a node's log, verbatim."""

    node: NodeId
    source: str
    """`kmsg`, `dmesg`, `journal`."""
    text: str
    node_time: float | None = None
    """When the node says it happened, seconds since the epoch on the node's clock; None where the line says nothing."""


class DomainHung(JournalEvent, frozen=True, kw_only=True):
    """A worker on the node is stuck in a call."""

    node: NodeId
    domain: str
    seconds: float
    process_state: str
    """`D`, `R`, ... of /proc/PID/stat."""
    wchan: str


class DomainResumed(JournalEvent, frozen=True, kw_only=True):
    """A stuck worker goes on."""

    node: NodeId
    domain: str


class DomainFailed(JournalEvent, frozen=True, kw_only=True):
    """A worker on the node can't read its part of the node at all, or lost it."""

    node: NodeId
    domain: str
    reason: str


class ClockMeasured(JournalEvent, frozen=True, kw_only=True):
    """A node's clock against the operator's."""

    node: NodeId
    offset: float
    """Node's clock minus operator's, seconds."""
    uncertainty: float
    """Half the round trip, seconds."""


class CommandEnded(JournalEvent, frozen=True, kw_only=True):
    """A command ran on a node and its output was captured verbatim."""

    node: NodeId
    argv: tuple[str, ...]
    exit_status: int | None
    """None when the deadline passed or the channel was lost; `why` then says which."""
    stdout: Blob
    stderr: Blob
    started: float
    ended: float
    why: str = ""
    truncated: bool = False
    """Whether more was printed than was kept."""


class OutputRead(JournalEvent, frozen=True, kw_only=True):
    """One tool's output was read in a file that somebody handed in."""

    node: NodeId
    """Whose output it is; `unknown` where neither the text nor the folder says."""
    path: str
    """The file's, below what was handed in."""
    first_line: int
    """Where it begins in the file, from 1; 0 of a file without lines."""
    tool: str
    """As one would type it; empty where nothing recognizes it."""
    readings: int
    moment: str = ""
    """`t0`, `t1`: which of several points in time, where folder or file name say so."""
    taken: float | None = None
    """When it was printed, seconds since the epoch on the node's clock; None where the text does not say."""
    command: str = ""
    """What was typed, where the text shows it."""
    notes: tuple[str, ...] = ()
    """Sentences for the operator: what could not be read, and why."""


class FindingRaised(JournalEvent, frozen=True, kw_only=True):
    """A rule found something; replaces the finding of the same key."""

    finding: Finding


class FindingCleared(JournalEvent, frozen=True, kw_only=True):
    """A rule no longer finds it."""

    key: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One probe of one target, as planned."""

    id: str
    """Unique in the case: `R3T12`."""
    probe: str
    """Name in the catalogue: `p2p`, `h2d`."""
    node: NodeId
    targets: tuple[ComponentId, ...]
    seconds: float
    """Probing time it is expected to take."""

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """The nodes it runs on, `node` first."""
        return tuple(dict.fromkeys((self.node, *(target.node for target in self.targets))))


class Wire(msgspec.Struct, frozen=True):
    """A cable of the network: two ports of NICs or switches."""

    here: ComponentId
    here_port: int | str
    there: ComponentId
    there_port: int | str


class NetworkRead(JournalEvent, frozen=True, kw_only=True):
    """What the network between nodes is wired like, as a tool on one of them tells it."""

    source: str
    """The tool: `ibnetdiscover`."""
    switches: dict[str, str]
    """Network switches by name, with their tier: `leaf`, `spine`, or empty."""
    wires: tuple[Wire, ...]
    evidence: str
    """Event of the command's output."""


class SearchBegan(JournalEvent, frozen=True, kw_only=True):
    """A search for a faulty part began: with the trials that follow, all that its belief is computed from."""

    nodes: tuple[NodeId, ...]
    probes: tuple[str, ...]
    """Names of the probes it may run."""
    priors: dict[str, float]
    """Nats that standing counters and findings give a part."""
    unusable: tuple[ComponentId, ...]
    """GPUs and NICs that no trial may aim at."""
    budget: float
    """Probing seconds."""
    seed: int
    first_round: int
    """Number of the first round that belongs to it."""
    drained: bool = False
    """Whether the operator said that nobody else uses the nodes."""


class RoundPlanned(JournalEvent, frozen=True, kw_only=True):
    """Disjoint trials that run at once, proposed to the operator."""

    round: int
    trials: tuple[Trial, ...]
    seconds: float
    """What the round costs, launch overhead included."""
    gain: float
    """Expected information, nats."""
    reason: str
    """One sentence: what the round is to decide."""
    meaning: tuple[str, ...] = ()
    """Sentences: what each outcome of the round would mean."""


class SearchEdited(JournalEvent, frozen=True, kw_only=True):
    """The operator changed what the search may do, from the next round on; each list replaces the one before."""

    left_out: tuple[NodeId, ...]
    """Nodes that are probed no more."""
    forbidden: tuple[str, ...]
    """Probes that run no more."""
    pinned: tuple[ComponentId, ...]
    """Parts the operator suspects: rounds are chosen to decide about them first."""
    by: str


class Consented(JournalEvent, frozen=True, kw_only=True):
    """The operator said yes (or `--yes` did), and to what."""

    what: str
    by: str


class TrialEnded(JournalEvent, frozen=True, kw_only=True):
    """A trial ended, measured or not."""

    trial: Trial
    round: int
    windows: tuple[float, ...]
    """GB/s of each sub-window (microseconds for a latency); empty when it failed or measures none."""
    moves: tuple[CounterMove, ...]
    """Every counter read at the trial's edges on the parts it loaded, also those that stood still."""
    started: float
    ended: float
    seconds: float = 0.0
    """Time it took by the node's own clock, launch included; of a simulated node the simulated seconds."""
    measured_by: str = ""
    """The program and its version that measured."""
    check: str = ""
    """Of a probe that checks data or a state: `good` or `wrong`; empty for one that only measures."""
    detail: str = ""
    """One sentence: what the check found, or what was measured besides."""
    digests: tuple[str, ...] = ()
    """Of results that equal parts must have alike."""
    error: str = ""
    """One sentence; empty when it was measured."""
    code: str = ""


class RoundEnded(JournalEvent, frozen=True, kw_only=True):
    """All trials of a round have ended."""

    round: int
    seconds: float
    """Probing seconds spent: the longest trial and the launch overhead, as the nodes measured them."""


class BeliefUpdated(JournalEvent, frozen=True, kw_only=True):
    """What is believed after a round."""

    round: int
    suspects: tuple[Suspect, ...]
    """Most believed first; all with a posterior >= 0.001, at most 32."""
    no_fault: float
    parts: int
    """Hypothetical parts in all."""
    probes: int
    seconds: float
    noise: float
    """Standard deviation of log bandwidth, learnt."""
    outliers: float
    """Share of windows that are low for no reason, learnt."""
    burst: float
    """Mean length of a run of bad windows, learnt."""


class VerdictReached(JournalEvent, frozen=True, kw_only=True):
    """Probing ended."""

    outcome: str
    """`localized`, `none`, `undecided` or `not_run`."""
    verdicts: tuple[Verdict, ...]
    excludes: tuple[Exclusion, ...]
    untestable: tuple[ComponentId, ...]
    reason: str
    rounds: int
    probes: int
    seconds: float


class NoteWritten(JournalEvent, frozen=True, kw_only=True):
    """The operator wrote something down."""

    text: str
    by: str


class PartSwapped(JournalEvent, frozen=True, kw_only=True):
    """Somebody moved or replaced a part."""

    component: ComponentId
    text: str
    by: str


class BundleWritten(JournalEvent, frozen=True, kw_only=True):
    """A bundle was exported."""

    path: str
    root: str
    """sha256 of the tag manifest: the bundle's id."""


AnyJournalEvent: TypeAlias = (
    SessionOpened
    | Ticked
    | NodeStateChanged
    | FactsRead
    | SchemaDeclared
    | LogRead
    | DomainHung
    | DomainResumed
    | DomainFailed
    | ClockMeasured
    | CommandEnded
    | OutputRead
    | FindingRaised
    | FindingCleared
    | NetworkRead
    | SearchBegan
    | RoundPlanned
    | SearchEdited
    | Consented
    | TrialEnded
    | RoundEnded
    | BeliefUpdated
    | VerdictReached
    | NoteWritten
    | PartSwapped
    | BundleWritten
)


@dataclass(frozen=True, slots=True, eq=False)
class SampleTaken:
    """All values of one hang domain of one node at one moment."""

    time: float
    """Operator's clock: the node's stamp corrected by the measured offset, or the time of arrival without one."""
    node: NodeId
    domain: str
    schema: str
    values: npt.NDArray[np.float64]
    """One value a field of the schema; NaN where it is missing. Read-only."""


Event: TypeAlias = AnyJournalEvent | SampleTaken


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as taken into the log."""

    seq: int
    """Global, counted from 1 at intake."""
    id: str
    """`<node>#<n>` for samples, `J<n>` for the rest; the same live and replayed."""
    event: Event


def _encode(value: object) -> object:
    if isinstance(value, ComponentId):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in the journal")


def _decode(kind: type, value: object) -> object:
    if issubclass(kind, ComponentId):
        return kind(str(value))
    raise NotImplementedError(f"{kind.__name__} has no place in the journal")


_encoder = msgspec.json.Encoder(enc_hook=_encode)
_decoder = msgspec.json.Decoder(AnyJournalEvent, dec_hook=_decode)


def encode_event(event: AnyJournalEvent) -> bytes:
    """One line of JSON without the newline."""
    return _encoder.encode(event)


def decode_event(line: bytes) -> AnyJournalEvent:
    """The event of a line; raises msgspec.ValidationError on one that fits no event."""
    return _decoder.decode(line)
