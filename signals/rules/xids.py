"""Xid lines that nothing else explains: what the table says of the number, on the part that the line names.

First event wins: what other GPUs log because of an Xid stands under it as its victims.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.logs.xid import Xid
from ..frus import fru_of
from ..gone import EARLY, LATE
from ..logs import Burst
from ..scene import Scene
from ..timeline import first_mover, order_error
from ..wording import quoted, span, times
from ..xid_advice import advice
from ..xid_facts import FOLLOWERS, RECOVERY_ACTION, CodeFacts, severity_of, xid_class, xid_facts

RULE = "xids"
LOST_PACKETS = 145
"""NVLink 5: requests over the fabric that got no answer; told by every GPU that had some under way."""


def xids(scene: Scene) -> Iterator[Finding]:
    """One finding for each part and number; repeated bursts are told together."""
    bursts = [burst for burst in scene.open_bursts if burst.xid]
    followers = _followers(bursts)
    followed = {id(burst) for told in followers.values() for burst in told}
    groups: dict[tuple[ComponentId, int], list[Burst]] = {}
    for burst in bursts:
        if id(burst) not in followed:
            groups.setdefault((_part(burst), burst.xid), []).append(burst)
    for (part, code), told in groups.items():
        yield _finding(part, xid_facts(code), told, [one for burst in told for one in followers.get(id(burst), [])])


def _followers(bursts: list[Burst]) -> dict[int, list[Burst]]:
    """Bursts that are consequences, under the first Xid that may have caused them (by its identity)."""
    origins = [burst for burst in bursts if burst.xid not in FOLLOWERS and _is_hardware(burst)]
    origins += [burst for burst in bursts if burst.xid == LOST_PACKETS]
    found: dict[int, list[Burst]] = {}
    for burst in bursts:
        if burst.xid not in FOLLOWERS:
            continue
        causes = [origin for origin in origins if origin is not burst and _may_cause(origin, burst)]
        mover = first_mover(causes)
        if mover is not None:
            found.setdefault(id(mover.burst), []).append(burst)
    return _under_roots(found, bursts)


def _under_roots(found: dict[int, list[Burst]], bursts: list[Burst]) -> dict[int, list[Burst]]:
    """A follower that itself caused others passes them on to its own cause."""
    roots: dict[int, list[Burst]] = {}
    caused = {id(burst): origin for origin, told in found.items() for burst in told}
    for burst in bursts:
        origin = caused.get(id(burst))
        for _ in range(len(caused)):
            if origin is None or origin not in caused:
                break
            origin = caused[origin]
        if origin is not None:
            roots.setdefault(origin, []).append(burst)
    return roots


def _is_hardware(burst: Burst) -> bool:
    facts = xid_facts(burst.xid)
    return facts.component != "application" and severity_of(facts) is not Severity.INFO


def _may_cause(origin: Burst, burst: Burst) -> bool:
    reading = burst.reading
    if isinstance(reading, Xid) and reading.cause is not None and reading.cause != origin.xid:
        return False
    if origin.xid == LOST_PACKETS and burst.xid == LOST_PACKETS:
        return False
    error = order_error(origin, burst)
    if isinf(error):
        return _can_only_follow(origin, burst)
    early = EARLY if origin.node == burst.node else 0.0
    return error < LATE and -error - early <= burst.first - origin.first <= LATE + error


def _can_only_follow(origin: Burst, burst: Burst) -> bool:
    """Where clocks were never compared: who lost packets tells of somebody else's NVLink, whoever logs first."""
    nvlink = xid_facts(origin.xid).component == "nvlink" and origin.xid != LOST_PACKETS
    return nvlink and burst.xid == LOST_PACKETS and abs(burst.first - origin.first) <= LATE


def _part(burst: Burst) -> ComponentId:
    """The part a finding is about: memory Xids are about the GPU's memory."""
    in_memory = xid_facts(burst.xid).component == "gpu-memory" and burst.component.kind == "gpu"
    return burst.component / "hbm" if in_memory else burst.component


def _finding(part: ComponentId, facts: CodeFacts, told: list[Burst], followers: list[Burst]) -> Finding:
    severity = severity_of(facts)
    if facts.code in FOLLOWERS and severity is not Severity.INFO and facts.code != LOST_PACKETS:
        severity = Severity.INFO
    is_software = facts.component in ("application", "driver") or severity is Severity.INFO
    fault_class = "software" if is_software and facts.code != RECOVERY_ACTION else xid_class(facts)
    victims = tuple(dict.fromkeys(gpu for burst in followers if (gpu := _gpu(burst.component)) != _gpu(part)))
    count = sum(burst.count for burst in told)
    evidence = [id_ for burst in told for id_ in burst.ids] + [burst.ids[0] for burst in followers]
    return Finding(
        component=part,
        fru=_fru(part, facts, is_software),
        fault_class=fault_class,
        severity=severity,
        confidence=Confidence.POSSIBLE if is_software else facts.confidence,
        title=_title(part, facts, told, count, len(victims)),
        evidence=tuple(dict.fromkeys(evidence)),
        argues_against=tuple(_against(facts, told, followers)),
        next=f"{_advice(facts, told)}.",
        victims=victims,
        rule=f"{RULE}:{facts.code}",
    )


def _advice(facts: CodeFacts, told: list[Burst]) -> str:
    last = told[-1].reading
    return advice(last, facts) if isinstance(last, Xid) else facts.action_text


def _fru(part: ComponentId, facts: CodeFacts, is_software: bool) -> str:
    if facts.code == RECOVERY_ACTION:
        return "none"
    if is_software:
        return "software"
    return "gpu-module" if part.kind == "bridge" else fru_of(part)


def _title(part: ComponentId, facts: CodeFacts, told: list[Burst], count: int, victims: int) -> str:
    when = span(told[0].first, max(burst.last for burst in told))
    also = f"; {victims} other GPUs logged the consequences" if victims > 1 else ""
    last = told[-1].reading
    what = quoted(last.text) if facts.code == RECOVERY_ACTION and isinstance(last, Xid) else facts.name
    return f"Xid {facts.code} on {_name(part)}{_link(part, last)} {times(count)} {when}: {what}{also}"


def _name(part: ComponentId) -> str:
    """A line names a GPU by its address; where nobody tells its number, that has to do."""
    return f"the GPU at {part.name}" if part.kind == "bridge" else part.within


def _link(part: ComponentId, reading: object) -> str:
    """The NVLink that the line names, where the part is not that lane itself."""
    named = isinstance(reading, Xid) and reading.link is not None and part.kind == "bridge"
    return f" (NVLink {reading.link})" if named and isinstance(reading, Xid) else ""


def _gpu(part: ComponentId) -> ComponentId:
    return part.parent if part.kind in ("nvlink", "hbm", "pcie") else part


def _against(facts: CodeFacts, told: list[Burst], followers: list[Burst]) -> Iterator[str]:
    reading = told[0].reading
    if isinstance(reading, Xid) and reading.cause is not None:
        yield f"the driver says it follows Xid {reading.cause}, whose line is not here"
    if facts.component == "application":
        yield "the number speaks for the program; the same unit again under other programs would speak for hardware"
    elif facts.hardware in ("no", "unlikely"):
        yield "this number is seldom a hardware fault"
    mover = first_mover([*told, *followers])
    if mover is not None and not mover.is_certain:
        yield "the nodes' clocks are too poor to say for certain that it came first"
