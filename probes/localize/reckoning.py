"""The sum behind a posterior, term by term: what every trial added to a suspect, and to its runner-up.

All terms are nats of log odds against `nothing is wrong`. A part's odds are its prior, times what findings said before,
times what trials say of the way of failing that fits best, times what the other ways and its counters make of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...incident.ids import ComponentId
from .account import Books
from .evidence import Observation
from .likelihood import log_sum
from .parts import Floats, Ints
from .posterior import Belief, Grounds, mode_priors
from .settings import MODES, RAISES_COUNTER, STEP_RATES, Mode

RIVALS_TOLD = 5
LEAST = 1e-300
TELLS = 0.5
"""Nats from which a trial is told by itself."""


@dataclass(frozen=True, slots=True)
class History:
    """How what counters say of a part came to be."""

    before: float
    """Before any round: what its prior leaves to them."""
    steps: Mapping[int, float]
    """What each round added, by its number."""


@dataclass(frozen=True, slots=True)
class Term:
    """One trial across a suspect."""

    at: int
    """Its place among the observations."""
    event: str
    round: int
    probe: str
    targets: tuple[ComponentId, ...]
    windows: tuple[float, ...]
    """Of what was expected, 1 is all of it; empty where the transfer failed."""
    failed: bool
    bad: bool
    """Whether noise does not explain it."""
    struck: bool
    """Whether the suspect's counter moved while its equals stayed still."""
    by_bandwidth: float
    by_counters: float

    @property
    def nats(self) -> float:
        """What it added."""
        return self.by_bandwidth + self.by_counters

    @property
    def convicts(self) -> bool:
        """Whether it is told by itself; the others are summed."""
        return self.struck or self.nats > TELLS


@dataclass(frozen=True, slots=True)
class Reckoning:
    """All terms of one suspect."""

    part: ComponentId
    members: tuple[ComponentId, ...]
    """Parts that nothing seen so far tells from it, itself included."""
    mode: Mode | None
    """The way of failing that fits best; None where bandwidth shows none and its counters alone speak."""
    gated: bool
    """Whether whole transfers wait for the part in that way."""
    prior: float
    findings: float
    ways: float
    """What the prior of that way of failing takes, and all other ways together add."""
    terms: tuple[Term, ...]
    unheard: int
    """Trials across it that count no more, as they cross a part convicted before."""
    held_back: float
    """What trials said more than is believed: others' traffic or like parts may be why a loss is small and lasts."""
    equals: float
    """What counters of its equals changed about it in rounds without a trial across it."""
    excused: float
    """What all parts lose because something may be slow for no fault of its own."""
    alike: float
    """What the other members add: the odds are those of any of them."""
    total: float
    posterior: float

    @property
    def convicting(self) -> tuple[Term, ...]:
        """The trials told one by one, strongest first."""
        return tuple(sorted((term for term in self.terms if term.convicts), key=lambda term: -term.nats))

    @property
    def others(self) -> tuple[Term, ...]:
        """Those that say little, or acquit."""
        return tuple(term for term in self.terms if not term.convicts)


@dataclass(frozen=True, slots=True)
class Rival:
    """A part that crossed convicting trials too, and what speaks for it."""

    part: ComponentId
    alike: int
    """Members of its class."""
    shared: int
    """Convicting trials that it crosses too."""
    clean_elsewhere: int
    """Clean trials that crossed it and not the accused ..."""
    nats_elsewhere: float
    """... and what they said to it."""
    counted: bool
    """Whether it has counters of its own."""
    strikes: int
    """Trials in which they moved while its equals stayed still."""
    posterior: float


@dataclass(frozen=True, slots=True)
class Class:
    """Parts that nothing seen so far tells apart."""

    part: int
    """The member believed in most."""
    members: Ints
    posterior: float


def classes(grounds: Grounds, belief: Belief, count: int) -> list[Class]:
    """The suspects believed in most. Parts that were struck stand alone, the rest of their group together."""
    struck = np.flatnonzero(grounds.counters.strikes > 0)
    rest = belief.group - np.bincount(grounds.parts.group[struck], belief.part[struck], grounds.parts.groups)
    found = [class_of(grounds, belief, int(part)) for part in struck]
    for group in np.argsort(-rest, kind="stable")[:count].tolist():
        members = grounds.parts.members(group)
        free = members[grounds.counters.strikes[members] == 0]
        if len(free):
            found.append(class_of(grounds, belief, int(free[0])))
    return sorted(found, key=lambda one: -one.posterior)[:count]


def class_of(grounds: Grounds, belief: Belief, part: int) -> Class:
    """The class a part is in."""
    strikes = grounds.counters.strikes
    members = grounds.parts.members(int(grounds.parts.group[part]))
    members = np.array([part]) if strikes[part] > 0 else members[strikes[members] == 0]
    first = int(members[belief.part[members].argmax()])
    return Class(first, members, float(belief.part[members].sum()))


def counters_say(grounds: Grounds, part: int, by_bandwidth: bool) -> float:
    """What counters make of a part on top of bandwidth, or alone where bandwidth shows none of its faults."""
    shown, hidden, stepping, either = _pieces(grounds, part)
    return float(np.logaddexp(shown + either, hidden + stepping)) - (shown if by_bandwidth else hidden)


def speaks_by_bandwidth(grounds: Grounds, part: int) -> bool:
    """Whether faults that bandwidth shows are likelier for a part than those that only its counters do."""
    shown, hidden, stepping, either = _pieces(grounds, part)
    return shown + either >= hidden + stepping


def reckon(grounds: Grounds, belief: Belief, books: Books, of: Class, history: History) -> Reckoning:
    """All terms of a class, told of its first member."""
    part, column = of.part, int(grounds.parts.column[of.part])
    by_bandwidth = speaks_by_bandwidth(grounds, part)
    mode = _best_mode(grounds, part) if by_bandwidth else None
    shown, hidden, _, _ = _pieces(grounds, part)
    ratio = float(grounds.ratios[column, mode]) if mode is not None else 0.0
    terms = tuple(_terms(books, part, mode, history))
    summed = _summed(grounds, part)
    alone, together = (_log_odds(share, belief, summed) for share in (float(belief.part[part]), of.posterior))
    prior = math.log(float(grounds.parts.rate[part]) * (1 - grounds.settings.no_fault) / grounds.settings.no_fault)
    return Reckoning(
        part=grounds.parts.components[part],
        members=tuple(grounds.parts.components[member] for member in of.members),
        mode=None if mode is None else MODES[mode % len(MODES)],
        gated=mode is not None and mode >= len(MODES),
        prior=prior,
        findings=_findings(grounds, part),
        ways=(shown - ratio if mode is not None else hidden) + history.before,
        terms=terms,
        unheard=sum(not books.bandwidth.is_heard(at) for at in books.bandwidth.crossing(column)),
        held_back=ratio - sum(term.by_bandwidth for term in terms),
        equals=sum(history.steps.values()) - sum(term.by_counters for term in terms),
        excused=_difference(alone, summed),
        alike=_difference(together, alone),
        total=together,
        posterior=of.posterior,
    )


def rivals(grounds: Grounds, belief: Belief, books: Books, accused: Reckoning) -> tuple[Rival, ...]:
    """Those that crossed most of the convicting trials too, and the one believed in most after the accused."""
    parts, bandwidth = grounds.parts, books.bandwidth
    through = set(bandwidth.crossing(int(parts.column[parts.index[accused.part]])))
    shared = _crossings(books, [term.at for term in accused.convicting])
    found: dict[ComponentId, Rival] = {}
    most = [one for one in classes(grounds, belief, 2) if parts.components[one.part] not in accused.members]
    for one in (*most[:1], *_sharing(grounds, belief, shared)):
        name = parts.components[one.part]
        if name in accused.members or name in found:
            continue
        column = int(parts.column[one.part])
        clean = [at for at in bandwidth.crossing(column) if at not in through and not bandwidth.is_bad(at)]
        mode = _best_mode(grounds, one.part)
        said = sum(float(bandwidth.said_to(at, column)[mode]) for at in clean) if mode is not None else 0.0
        found[name] = Rival(
            part=name,
            alike=len(one.members),
            shared=int(shared[column]),
            clean_elsewhere=len(clean),
            nats_elsewhere=said,
            counted=bool(grounds.counters.readable[one.part]),
            strikes=int(grounds.counters.strikes[one.part]),
            posterior=one.posterior,
        )
    return tuple(sorted(found.values(), key=lambda rival: (-rival.shared, -rival.posterior)))


def _crossings(books: Books, trials: Sequence[int]) -> Ints:
    """[columns] how many of these trials cross each."""
    crossed = np.zeros(books.parts.columns, dtype=np.int64)
    for at in trials:
        crossed[books.bandwidth.observations[at].path.columns] += 1
    return crossed


def _sharing(grounds: Grounds, belief: Belief, shared: Ints) -> Iterator[Class]:
    """The classes of the columns that share most, the parts in them that were struck first."""
    strikes = grounds.counters.strikes
    for column in np.argsort(-shared, kind="stable")[: RIVALS_TOLD + 1]:
        if shared[column]:
            members = np.flatnonzero(grounds.parts.column == column)
            kept = members[strikes[members] == 0]
            yield from (class_of(grounds, belief, int(part)) for part in members[strikes[members] > 0])
            if len(kept):
                yield class_of(grounds, belief, int(kept[0]))


def _terms(books: Books, part: int, mode: int | None, history: History) -> list[Term]:
    bandwidth = books.bandwidth
    column = int(books.parts.column[part])
    struck = set(books.counters.struck.get(part, ()))
    heard = bandwidth.across([column])
    speaks = _one_a_round(bandwidth.observations, heard, struck)
    terms = []
    for at in heard:
        seen = bandwidth.observations[at]
        terms.append(
            Term(
                at=at,
                event=seen.id,
                round=seen.round,
                probe=seen.path.probe,
                targets=seen.path.targets,
                windows=() if seen.failed else tuple(np.exp(bandwidth.ratio(at)).tolist()),
                failed=seen.failed,
                bad=bandwidth.is_bad(at),
                struck=seen.id in struck,
                by_bandwidth=float(bandwidth.said_to(at, column)[mode]) if mode is not None else 0.0,
                by_counters=history.steps.get(seen.round, 0.0) if at in speaks else 0.0,
            )
        )
    return terms


def _one_a_round(observations: Sequence[Observation], heard: Sequence[int], struck: set[str]) -> set[int]:
    """The trials that speak for the counters of their rounds: one each, a round's strike if there is one."""
    by_round: dict[int, int] = {}
    for at in heard:
        seen = observations[at]
        if seen.round not in by_round or (seen.id in struck and observations[by_round[seen.round]].id not in struck):
            by_round[seen.round] = at
    return set(by_round.values())


def _pieces(grounds: Grounds, part: int) -> tuple[float, float, float, float]:
    """Log likelihood ratios: of faults that bandwidth shows, of those it can't, of stepping counters, of any."""
    column = int(grounds.parts.column[part])
    seen, prior = grounds.seen[column], _mode_prior(grounds, column)
    shown = _sum(prior[seen] + grounds.ratios[column][seen])
    hidden = _sum(prior[~seen])
    if not grounds.counters.readable[part]:
        return shown, hidden, -math.inf, 0.0
    stepping = _sum(np.log(RAISES_COUNTER / len(STEP_RATES)) + grounds.counters.ratios[part])
    return shown, hidden, stepping, float(np.logaddexp(stepping, math.log(1 - RAISES_COUNTER)))


def _log_odds(share: float, belief: Belief, otherwise: float) -> float:
    """Against `nothing is wrong`; `otherwise`, where so little is believed that no number holds it."""
    return math.log(share / belief.no_fault) if share > LEAST and belief.no_fault > LEAST else otherwise


def _difference(one: float, other: float) -> float:
    """0 also between two that are equally impossible."""
    return 0.0 if one == other else one - other


def _summed(grounds: Grounds, part: int) -> float:
    """The log odds of one part from its own terms."""
    shown, hidden, stepping, either = _pieces(grounds, part)
    rate = float(grounds.parts.rate[part]) * (1 - grounds.settings.no_fault) / grounds.settings.no_fault
    return math.log(rate) + _findings(grounds, part) + float(np.logaddexp(shown + either, hidden + stepping))


def _findings(grounds: Grounds, part: int) -> float:
    prompts = grounds.prompts
    return prompts.of(grounds.parts.components[part], grounds.settings.prior_cap) if prompts else 0.0


def _best_mode(grounds: Grounds, part: int) -> int | None:
    """The way of failing that bandwidth shows and that fits best; None where it shows none."""
    column = int(grounds.parts.column[part])
    fit = np.where(grounds.seen[column], _mode_prior(grounds, column) + grounds.ratios[column], -np.inf)
    return int(fit.argmax()) if np.isfinite(fit).any() else None


def _mode_prior(grounds: Grounds, column: int) -> Floats:
    row: Floats = mode_priors(grounds.parts)[column]
    return row


def _sum(values: Floats) -> float:
    return float(log_sum(values, axis=0)) if len(values) else -math.inf
