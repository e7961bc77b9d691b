"""Findings and verdicts: statements about what is wrong, each naming the evidence it stands on.

Words come from `facts/classes.toml`; health and confidence from ARCHITECTURE.md, "Words".
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from .facts import table
from .ids import ComponentId


class Severity(StrEnum):
    """How bad; `info` findings leave exit codes at 0."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Confidence(StrEnum):
    """Words with numbers: confirmed needs a posterior >= 0.99 and a swap or a second method."""

    CONFIRMED = "confirmed"
    LIKELY = "likely"
    POSSIBLE = "possible"
    UNKNOWN = "unknown"


class Health(StrEnum):
    """State of a part. The last three are never folded into the first three."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not applicable"
    NOT_TESTED = "not tested"


def confidence_of(posterior: float, second_method: bool = False) -> Confidence:
    """The word for a posterior; `second_method`: a swap or an independent method agreed."""
    if posterior >= 0.99 and second_method:
        return Confidence.CONFIRMED
    if posterior >= 0.95:
        return Confidence.LIKELY
    return Confidence.POSSIBLE if posterior >= 0.5 else Confidence.UNKNOWN


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, or looks wrong and is right."""

    component: ComponentId
    fru: str
    """What a technician would replace or change; a word of `classes.toml`."""
    fault_class: str = msgspec.field(name="class")
    """`family/kind`, or the family alone."""
    severity: Severity
    confidence: Confidence
    title: str
    """One line that could be read out on a call: what, how much, since when."""
    evidence: tuple[str, ...]
    """Ids of the events it stands on; never empty."""
    argues_against: tuple[str, ...] = ()
    next: str = ""
    """The next test or command."""
    victims: tuple[ComponentId, ...] = ()
    """Parts whose symptoms are only consequences of this one."""
    rule: str = ""
    """The rule that raised it."""

    def __post_init__(self) -> None:
        check_words(self.fault_class, self.fru)
        if not self.evidence:
            raise ValueError(f"finding {self.title!r} names no evidence")

    @property
    def key(self) -> str:
        """What makes two findings the same one: the rule, the part and the class."""
        return f"{self.rule}:{self.component}:{self.fault_class}"

    @property
    def is_fault(self) -> bool:
        """False for what looks wrong and is right."""
        return self.severity is not Severity.INFO


class CounterMove(msgspec.Struct, frozen=True, kw_only=True):
    """A counter of one part read before and after a trial that loaded it."""

    component: ComponentId
    counter: str
    before: float
    after: float

    @property
    def step(self) -> float:
        """By how much it moved; a falling value is a reset and counts from zero."""
        return self.after - self.before if self.after >= self.before else self.after


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that no probe can tell apart, and how far they are believed to be at fault."""

    component: ComponentId
    """The member that stands for the class."""
    members: tuple[ComponentId, ...]
    posterior: float
    bad: int = 0
    """Bad trials across it."""
    clean: int = 0
    """Clean trials across it."""
    nats: float = 0.0
    """What all trials together added to its log odds against `nothing wrong`."""
    strikes: int = 0
    """Trials in which its counter moved while its equals stayed still."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The part that probing convicted."""

    component: ComponentId
    fru: str
    fault_class: str = msgspec.field(name="class")
    alternatives: tuple[ComponentId, ...]
    """Parts that no probe separates from it."""
    posterior: float
    confidence: Confidence
    duty: tuple[float, float]
    """Share of time the fault is on, 95 % interval."""
    drop: tuple[float, float]
    """Share of the part's traffic lost while it is on; (0, 0) where only counters show it."""
    by: str
    """`bandwidth` or `counters`: which kind of observation convicts."""
    why: tuple[str, ...]
    """Sentences: what convicts, then what acquits each rival."""
    next: str
    """The cheapest test or swap that would separate the alternatives or confirm."""
    evidence: tuple[str, ...]

    def __post_init__(self) -> None:
        check_words(self.fault_class, self.fru)


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What clean trials rule out for one family of parts."""

    family: str
    """Kind of part: `gpu`, `nvlink`, ..."""
    duty: float
    """No part of it fails more often than this share of the time (95 % confidence) ..."""
    drop: float
    """... by at least this share of its traffic; 0 where counters show it."""
    by: str
    """`bandwidth` or `counters`."""


def check_words(fault_class: str, fru: str) -> None:
    """Raise ValueError for a class or FRU that the vocabulary lacks."""
    vocabulary = table("classes")
    family, _, kind = fault_class.partition("/")
    if family not in vocabulary["families"] or (kind and kind not in vocabulary["kinds"].get(family, [])):
        raise ValueError(f"{fault_class!r} is no class of classes.toml")
    if fru not in vocabulary["vocabulary"]["fru"]:
        raise ValueError(f"{fru!r} is no FRU of classes.toml")
