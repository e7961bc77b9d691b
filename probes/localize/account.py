"""The account of every part: trials across it, what they added, how much of the time and of the traffic it lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...incident.findings import Exclusion, Suspect
from ...incident.ids import ComponentId
from ...topology.fabric import Fabric
from .bounds import clean_bound, duty_from_strikes, interval
from .counters import CounterEvidence, Counters
from .evidence import BandwidthEvidence
from .parts import Ints, Parts
from .posterior import Belief, Grounds, mode_priors, nudges
from .settings import MODES

SHOWN_FROM = 0.001
MOST_SHOWN = 32
WINDOW_S = 0.03
"""Length of a window when duty is read from strikes."""


@dataclass(frozen=True, slots=True)
class Account:
    """What the trials say about one part."""

    bad: tuple[int, ...]
    """Observations across it that are bad, or in which it was struck."""
    clean: tuple[int, ...]
    strikes: tuple[str, ...]
    """Events of the trials in which its counter moved."""


@dataclass(frozen=True, slots=True)
class Books:
    """Everything an account is drawn from."""

    fabric: Fabric
    parts: Parts
    bandwidth: BandwidthEvidence
    counters: Counters

    def account(self, part: int) -> Account:
        """The account of one part."""
        struck = tuple(self.counters.struck.get(part, ()))
        crossed = self.bandwidth.crossing(int(self.parts.column[part]))
        ids = set(struck)
        bad = [at for at in crossed if self.bandwidth.is_bad(at) or self.bandwidth.observations[at].id in ids]
        return Account(tuple(bad), tuple(sorted(set(crossed) - set(bad))), struck)

    def far_end(self, part: int) -> tuple[ComponentId, ...]:
        """What no probe separates from a lane: the port, or the lane, at its other end."""
        far = self.fabric.far_end(self.parts.components[part])
        return (far.port,) if far is not None and far.port is not None else ()

    def suspects(self, belief: Belief, grounds: Grounds) -> tuple[Suspect, ...]:
        """Most believed first. Parts that were struck stand alone, the rest of their group together."""
        rows = [
            row
            for group in np.argsort(-belief.group, kind="stable")[:MOST_SHOWN]
            if belief.group[group] >= SHOWN_FROM
            for row in self._rows(int(group), belief, grounds)
        ]
        return tuple(sorted(rows, key=lambda suspect: -suspect.posterior)[:MOST_SHOWN])

    def _rows(self, group: int, belief: Belief, grounds: Grounds) -> list[Suspect]:
        members = self.parts.members(group)
        struck = [int(part) for part in members if grounds.counters.strikes[part] > 0]
        rest = np.array([part for part in members if part not in struck], dtype=np.int64)
        rows = [self._suspect(np.array([part]), belief, grounds) for part in struck]
        if len(rest):
            rows.append(self._suspect(rest, belief, grounds))
        return [row for row in rows if row.posterior >= SHOWN_FROM]

    def _suspect(self, members: Ints, belief: Belief, grounds: Grounds) -> Suspect:
        part = int(members[belief.part[members].argmax()])
        account = self.account(part)
        names = tuple(self.parts.components[member] for member in members)
        return Suspect(
            component=self.parts.components[part],
            members=names if len(members) > 1 else (*names, *self.far_end(part)),
            posterior=float(belief.part[members].sum()),
            bad=len(account.bad),
            clean=len(account.clean),
            nats=self.nats(members, belief, grounds),
            strikes=len(account.strikes),
        )

    def nats(self, members: Ints, belief: Belief, grounds: Grounds) -> float:
        """What all trials added to the log odds of some parts together against `no fault`."""
        rate = self.parts.rate * np.exp(nudges(grounds))
        prior = float(rate[members].sum()) * (1 - grounds.settings.no_fault)
        odds = float(belief.part[members].sum()) / max(belief.no_fault, 1e-300)
        return math.log(max(odds, 1e-300)) - math.log(prior / grounds.settings.no_fault)

    def duty(self, part: int, by: str) -> tuple[float, float]:
        """95 % interval of the share of time the fault is on."""
        account = self.account(part)
        trials = len(account.bad) + len(account.clean)
        if by == "counters":
            seconds = self.bandwidth.observations[account.bad[0]].path.seconds if account.bad else 1.0
            return duty_from_strikes(len(account.strikes), trials, seconds, WINDOW_S)
        mode, _ = self.likeliest_mode(part)
        if MODES[mode].duty >= 1.0:
            return 1 - clean_bound(trials), 1.0
        burst = self.bandwidth.calibration.burst
        windows = [self.bandwidth.ratio(at) for at in (*account.bad, *account.clean)]
        low = sum(int((x < -4.0 * self.bandwidth.calibration.noise).sum()) for x in windows)
        count = sum(map(len, windows))
        return interval(min(round(low / burst), round(count / burst)), round(count / burst))

    def drop(self, part: int) -> tuple[float, float]:
        """Share of the part's traffic lost while the fault is on: 10th and 90th percentile of what was seen."""
        mode, gated = self.likeliest_mode(part)
        share = 1.0 if gated else self.parts.shares[self.parts.column_share[self.parts.column[part]]]
        account = self.account(part)
        if MODES[mode].duty >= 1.0:
            lost = np.array(
                [1 - math.exp(float(np.median(self.bandwidth.ratio(at)))) for at in account.bad + account.clean]
            )
        else:
            noise = self.bandwidth.calibration.noise
            windows = [x[x < -4.0 * noise] for x in (self.bandwidth.ratio(at) for at in account.bad)]
            lost = 1 - np.exp(np.concatenate([*windows, np.array([])]))
        if not len(lost):
            return MODES[mode].low, MODES[mode].high
        low, high = np.percentile(lost / share, [10, 90])
        return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))

    def likeliest_mode(self, part: int) -> tuple[int, bool]:
        """The mode that fits bandwidth best, and whether the whole transfer waited for the part."""
        column = self.parts.column[part]
        fit = mode_priors(self.parts)[column] + self.bandwidth.ratios[column]
        at = int(fit.argmax())
        return at % len(MODES), at >= len(MODES)

    def exclusions(self, grounds: Grounds, guilty: frozenset[int]) -> tuple[Exclusion, ...]:
        """What clean trials rule out, family by family; windows of one trial count once."""
        kinds = [part.kind for part in self.parts.components]
        found = []
        for kind in dict.fromkeys(kinds):
            family = [at for at, name in enumerate(kinds) if name == kind and at not in guilty]
            found += [
                row
                for row in (
                    self._by_bandwidth(kind, family, grounds),
                    self._by_counters(kind, family, grounds.counters),
                )
                if row
            ]
        return tuple(found)

    def _by_bandwidth(self, kind: str, family: list[int], grounds: Grounds) -> Exclusion | None:
        """Smallest drop that is resolved for every part of the family, and the bound on how often it may occur."""
        bounds, drops = [], []
        for column in {int(self.parts.column[part]) for part in family}:
            seen = grounds.seen[column][: len(MODES)]
            if not seen[[mode.duty < 0.1 for mode in MODES]].all():
                return None
            drops.append(min(mode.low for mode, told in zip(MODES, seen, strict=True) if told and mode.duty < 1))
            bounds.append(self._bound(column))
        if not bounds or max(bounds) >= 1:
            return None
        return Exclusion(family=kind, duty=max(bounds), drop=max(drops), by="bandwidth")

    def _bound(self, column: int) -> float:
        heard = self.bandwidth.across([column])
        bad = sum(self.bandwidth.dips(at) for at in heard)
        return clean_bound(len(heard) - bad, bad)

    def _by_counters(self, kind: str, family: list[int], evidence: CounterEvidence) -> Exclusion | None:
        counted = [part for part in family if evidence.readable[part]]
        if not counted or len(counted) < len(family) or not evidence.trials[counted].all():
            return None
        bounds = {
            clean_bound(int(evidence.trials[part] - evidence.strikes[part]), int(evidence.strikes[part]))
            for part in counted
        }
        return Exclusion(family=kind, duty=max(bounds), drop=0.0, by="counters")
