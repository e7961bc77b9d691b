"""When a part may be called guilty: the rules that keep the likelihood honest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .compile import kind_in
from .counters import HURTS, Counters
from .epochs import SMALL_DROP
from .evidence import BandwidthEvidence
from .parts import Ints, Parts
from .posterior import Belief, Grounds, believe
from .settings import MODES, Mode

RIVALS = 6
RESIDUE = 3.0
"""Nats a rival must have left without the bad trials it shares: then it is a second fault and no rival."""
ASKED_FROM = 0.5
"""Posterior from which it is asked what it would be without this and that."""
USED_BY_ALL = ("leaf", "spine", "uplink")
ALL_BUT_GONE = 0.9
LIKELY_SHARE = 0.99
"""Share of a group's probability from which one of its parts stands for it alone."""
ALTERNATIVE_FROM = 0.01
"""Share of a group's probability from which a part is an alternative."""
SILENT_FOR_GOOD = 6
"""Trials after which a counter that never moved will not tell which part is always at fault."""
EARLIER_FROM = 0.25
"""The first part of a group on the way stands for it unless a later one is believed in so many times more."""


@dataclass(frozen=True, slots=True)
class Conviction:
    """A part that is called guilty."""

    part: int
    alternatives: Ints
    group: int
    posterior: float
    by: str
    """`bandwidth` or `counters`."""
    seconds: float
    """Probing seconds until then."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the group believed in most stands."""

    group: int
    posterior: float
    """Independent second faults left out of the reckoning."""
    unprompted: float
    """The same without standing counters and findings."""
    by_bandwidth: float
    """The same without any counter."""
    independent: tuple[int, ...]


def standing(grounds: Grounds, belief: Belief, bandwidth: BandwidthEvidence) -> Standing:
    """How the top group stands against its rivals."""
    group = belief.top()
    independent = _independent(grounds, belief, bandwidth, group)
    posterior = _against_rivals(belief, group, independent)
    if posterior < ASKED_FROM:
        return Standing(group, posterior, posterior, posterior, independent)
    unprompted, by_bandwidth = (
        _against_rivals(believe(view), group, independent)
        for view in (grounds.without_prompts(), grounds.without_counters())
    )
    return Standing(group, posterior, unprompted, by_bandwidth, independent)


def convict(
    grounds: Grounds, belief: Belief, bandwidth: BandwidthEvidence, counters: Counters, now: Standing, waited: float
) -> Conviction | None:
    """The part to call guilty, or None. `waited`: seconds since its group could first be convicted."""
    settings, group = grounds.settings, now.group
    if now.posterior < settings.convict_by_counters or now.unprompted < settings.convict_unprompted:
        return None
    part, share = _spokesman(grounds.parts, belief, group)
    if _may_be_traffic(grounds, belief, now):
        return None
    if now.by_bandwidth < settings.convict_unprompted:
        if share < LIKELY_SHARE or not counters_may_convict(grounds, counters, part):
            return None
        return _conviction(grounds, belief, now, part, "counters")
    if now.posterior < settings.convict:
        return None
    if _hinges_on_noise(grounds.parts, belief, group) and not bandwidth.calibration.settled:
        return None
    named = share >= LIKELY_SHARE and grounds.counters.strikes[part] >= settings.strikes
    if not named and waited < settings.patience and _counters_could_tell(grounds, belief, group):
        return None
    return _conviction(grounds, belief, now, part, "bandwidth")


def counters_may_convict(grounds: Grounds, counters: Counters, part: int) -> bool:
    """Rule for counters: enough strikes, and nothing that lets them be harmless."""
    return len(counters.struck.get(part, ())) >= grounds.settings.strikes and not may_be_harmless(
        grounds, counters, part
    )


def _may_be_traffic(grounds: Grounds, belief: Belief, now: Standing) -> bool:
    """Whether what looks at fault may as well be the traffic of others on a switch or an uplink that all share.

    Unless nobody else uses the nodes, anything but a part that is all but gone may."""
    if grounds.settings.drained:
        return False
    part, _ = _spokesman(grounds.parts, belief, now.group)
    _, mode = _looks(grounds.parts, belief, now.group)
    kind = kind_in(grounds.parts.ways.fabric, grounds.parts.components[part])
    return kind in USED_BY_ALL and mode.low < ALL_BUT_GONE


def may_be_harmless(grounds: Grounds, counters: Counters, part: int) -> bool:
    """Whether equals elsewhere step as often, or the counter moves without load and not just when bandwidth dips."""
    hurts = grounds.counters.together[part] >= HURTS
    return bool(counters.comparable(part)) or (counters.steps_without_load(part) and not hurts)


def waits_for_bandwidth(grounds: Grounds, belief: Belief, counters: Counters, now: Standing) -> bool:
    """Whether a verdict waits for bandwidth to agree, because the counters that point may be harmless."""
    if now.posterior < grounds.settings.convict or now.by_bandwidth >= grounds.settings.convict_unprompted:
        return False
    part, _ = _spokesman(grounds.parts, belief, now.group)
    return may_be_harmless(grounds, counters, part)


def waits_for_noise(grounds: Grounds, belief: Belief, bandwidth: BandwidthEvidence, now: Standing) -> bool:
    """Whether a verdict waits for the noise to be known better: whole rounds, please."""
    return (
        now.posterior >= grounds.settings.convict
        and not bandwidth.calibration.settled
        and _hinges_on_noise(grounds.parts, belief, now.group)
    )


def _independent(grounds: Grounds, belief: Belief, bandwidth: BandwidthEvidence, group: int) -> tuple[int, ...]:
    """Groups that stay suspicious without the bad trials they share with the top one."""
    probability = belief.group[group]
    if not (0.3 < probability < 0.99 or (probability <= 0.3 and 1 - belief.no_fault > 0.9)):
        return ()
    mine = {at for at in bandwidth.across(_columns(grounds.parts, group).tolist()) if bandwidth.is_flagged(at)}
    found = []
    for rival in np.argsort(-belief.group)[:RIVALS]:
        if rival == group or belief.group[rival] < 1e-3:
            continue
        rival_columns = _columns(grounds.parts, int(rival))
        column = int(rival_columns[0])
        shared = np.zeros(2 * len(MODES))
        for at in sorted(mine.intersection(bandwidth.across([column]))):
            shared += bandwidth.said_to(at, column)
        left = believe(grounds.without(rival_columns, shared))
        if np.log(max(left.group[rival], 1e-300)) - np.log(max(left.no_fault, 1e-300)) > RESIDUE:
            found.append(int(rival))
    return tuple(found)


def _against_rivals(belief: Belief, group: int, independent: tuple[int, ...]) -> float:
    others = float(belief.group[list(independent)].sum()) if independent else 0.0
    return float(min(1.0, belief.group[group] / max(1 - others, 1e-12)))


def _columns(parts: Parts, group: int) -> Ints:
    return np.flatnonzero(parts.column_group == group)


def _spokesman(parts: Parts, belief: Belief, group: int) -> tuple[int, float]:
    """The part that stands for a group, and its share of the group's probability, with that of its twin."""
    members = parts.members(group)
    weights = belief.part[members]
    at = int(np.flatnonzero(weights >= EARLIER_FROM * weights.max())[0])
    mine = weights[(members == members[at]) | (members == parts.twin[members[at]])].sum()
    return int(members[at]), float(mine / weights.sum())


def _counters_could_tell(grounds: Grounds, belief: Belief, group: int) -> bool:
    """Whether a counter may yet single out one part; that of a fault that is always on would have moved by now."""
    members = grounds.parts.members(group)
    if len(members) < 2 or not grounds.counters.readable[members].all():
        return False
    _, mode = _looks(grounds.parts, belief, group)
    silent = not grounds.counters.strikes[members].any() and grounds.counters.trials[members].min() >= SILENT_FOR_GOOD
    return not (mode.duty >= 1.0 and silent)


def _hinges_on_noise(parts: Parts, belief: Belief, group: int) -> bool:
    share, mode = _looks(parts, belief, group)
    return share * mode.high < SMALL_DROP


def _looks(parts: Parts, belief: Belief, group: int) -> tuple[float, Mode]:
    """The share of traffic and the mode in which a group is most likely at fault."""
    columns = _columns(parts, group)
    column = int(columns[belief.by_mode[columns].sum(axis=1).argmax()])
    at = int(belief.by_mode[column].argmax())
    share = parts.shares[parts.column_share[column]] if at < len(MODES) else 1.0
    return share, MODES[at % len(MODES)]


def _conviction(grounds: Grounds, belief: Belief, now: Standing, part: int, by: str) -> Conviction:
    """Its alternatives too: that parts carry other shares of the same transfers tells how much is lost, not by whom."""
    parts, members = grounds.parts, grounds.parts.members(now.group)
    weights = belief.part[members]
    if grounds.counters.strikes[part]:
        shares = weights / weights.sum()
    else:
        columns = parts.column[members]
        shares = weights / np.array([weights[columns == column].sum() for column in columns])
    others = members[(shares >= ALTERNATIVE_FROM) & (members != part)]
    return Conviction(part, others, now.group, now.posterior, by, 0.0)
