"""SXid lines of NVSwitches that no GPU's going explains."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.logs.sxid import SXid
from ..frus import fru_of
from ..logs import Burst
from ..scene import Scene
from ..wording import span, times
from ..xid_facts import CodeFacts, sxid_class, sxid_facts

RULE = "sxids"
RATE_BEGINS = 3
"""Events from which a number that is only worth a rate is worth a warning."""


def sxids(scene: Scene) -> Iterator[Finding]:
    """One finding for each part and number."""
    groups: dict[tuple[ComponentId, int], list[Burst]] = {}
    for burst in scene.open_bursts:
        if isinstance(burst.reading, SXid):
            groups.setdefault((burst.component, burst.reading.code), []).append(burst)
    for (part, code), told in groups.items():
        yield _finding(part, sxid_facts(code), told)


def _finding(part: ComponentId, facts: CodeFacts, told: list[Burst]) -> Finding:
    count = sum(burst.count for burst in told)
    is_fatal = any(_is_fatal(burst, facts) for burst in told)
    harmless = facts.action == "ignore" and not is_fatal
    reading = told[0].reading
    names_port = isinstance(reading, SXid) and reading.link is not None and part.kind == "nvlink"
    port = f" (port {reading.link} of nvswitch{reading.switch})" if names_port and isinstance(reading, SXid) else ""
    when = span(told[0].first, max(burst.last for burst in told))
    return Finding(
        component=part,
        fru="none" if harmless else fru_of(part),
        fault_class="not-a-fault/by-design" if harmless else sxid_class(facts, is_fatal),
        severity=_severity(facts, is_fatal, count),
        confidence=facts.confidence,
        title=f"SXid {facts.code} on {_name(part)}{port} {times(count)} {when}: {facts.in_a_sentence}",
        evidence=tuple(dict.fromkeys(id_ for burst in told for id_ in burst.ids)),
        argues_against=() if harmless else ("a link has two ends and a board between: the other end may be at fault",),
        next=f"{facts.action_text}.",
        rule=f"{RULE}:{facts.code}",
    )


def _name(part: ComponentId) -> str:
    """A line names a switch by its address; where nobody tells its number, that has to do."""
    if part.kind != "bridge":
        return part.within
    if part.name.startswith("port"):
        return f"port {part.number} of the NVSwitch at {part.parent.name}"
    return f"the NVSwitch at {part.name}"


def _is_fatal(burst: Burst, facts: CodeFacts) -> bool:
    """The word on the line stands over the table."""
    said = burst.reading.severity if isinstance(burst.reading, SXid) else ""
    return (said or facts.severity) == "fatal"


def _severity(facts: CodeFacts, is_fatal: bool, count: int) -> Severity:
    if is_fatal:
        return Severity.CRITICAL
    if facts.action == "ignore" or (facts.action == "watch_rate" and count < RATE_BEGINS):
        return Severity.INFO
    return Severity.WARNING
