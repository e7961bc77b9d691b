"""From a snapshot to findings, and from one tick's findings to the next one's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

from ..incident.findings import Finding
from ..incident.snapshot import Snapshot
from ..topology.fabric import Fabric
from .readings import NOTHING_READ, Readings
from .rules import EVERY_TICK, ORIGINS, RULES, Rule
from .scene import Scene
from .told_links import ToldLink


@dataclass(frozen=True, slots=True)
class Change:
    """What to tell after a tick."""

    raised: tuple[Finding, ...]
    """New findings, and standing ones that now say something else."""
    cleared: tuple[str, ...]
    """Keys of standing findings that no rule finds any more."""


def judge(snapshot: Snapshot, fabric: Fabric, readings: Readings = NOTHING_READ) -> tuple[Finding, ...]:
    """All that the rules find at this moment; what a GPU off the bus shows besides is a consequence and left out."""
    scene = Scene(snapshot, fabric, readings)
    standing = _standing(_Moment(scene.slow, scene))
    scene = scene.with_told_links(standing.told_links)
    found: dict[str, Finding] = {}
    for rule in RULES:
        for finding in rule(scene) if rule in EVERY_TICK else standing.findings[rule]:
            if rule in ORIGINS or not scene.is_gone(finding.component):
                found.setdefault(finding.key, finding)
    return tuple(found.values())


@dataclass(frozen=True)
class _Moment:
    """A scene, compared by what changes seldom; holding it keeps its identities from being given to anything else."""

    slow: tuple[int, ...]
    scene: Scene = field(compare=False)


@dataclass(frozen=True)
class _Standing:
    """What follows from facts, outputs and log lines alone."""

    told_links: tuple[ToldLink, ...]
    findings: Mapping[Rule, tuple[Finding, ...]]


@lru_cache(maxsize=4)
def _standing(moment: _Moment) -> _Standing:
    scene = moment.scene
    return _Standing(scene.told_links, {rule: tuple(rule(scene)) for rule in RULES if rule not in EVERY_TICK})


def compare(standing: Iterable[Finding], found: Iterable[Finding]) -> Change:
    """What changed between the findings that stand and those just found.

    A finding that says the same is not told again because newer samples show it too: it keeps the evidence it was
    raised with.
    """
    before = {finding.key: finding for finding in standing}
    now = {finding.key: finding for finding in found}
    return Change(
        raised=tuple(
            finding for key, finding in now.items() if key not in before or not says_the_same(before[key], finding)
        ),
        cleared=tuple(key for key in before if key not in now),
    )


def says_the_same(one: Finding, other: Finding) -> bool:
    """Whether two findings are the same statement, whatever evidence each of them names."""
    return msgspec.structs.replace(one, evidence=other.evidence) == other
