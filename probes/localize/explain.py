"""A conviction told to people: what convicts, what acquits each rival, and the verdict they add up to."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from ...incident.findings import Verdict, confidence_of
from ...incident.ids import ComponentId
from .account import Account, Books
from .bounds import interval
from .compile import kind_in
from .conviction import Conviction
from .posterior import Belief, Grounds
from .settings import MODES
from .words import class_of, naming, next_test, plural, small, times_likelier

RIVALS_TOLD = 5


def verdict_of(found: Conviction, books: Books, belief: Belief, grounds: Grounds) -> Verdict:
    """The verdict of a conviction, as things stood when it was made."""
    parts = books.parts
    part = parts.components[found.part]
    kind = kind_in(books.fabric, part)
    account = books.account(found.part)
    duty = books.duty(found.part, found.by)
    named = [parts.components[other] for other in found.alternatives]
    alternatives = tuple(dict.fromkeys([*books.far_end(found.part), *named]))
    return Verdict(
        component=part,
        fru=naming(kind, part).fru,
        fault_class=class_of(kind, part, duty, found.by),
        alternatives=alternatives,
        posterior=found.posterior,
        confidence=confidence_of(found.posterior),
        duty=duty,
        drop=books.drop(found.part) if found.by == "bandwidth" or _shows_in_bandwidth(books, account) else (0.0, 0.0),
        by=found.by,
        why=(
            *_convicts(found, books, account, belief, grounds),
            *_acquits(found, books, account, belief),
            *_limits(books, found, account, alternatives, grounds),
        ),
        next=next_test(kind, part),
        evidence=_evidence(books, account),
    )


def _convicts(found: Conviction, books: Books, account: Account, belief: Belief, grounds: Grounds) -> list[str]:
    part = books.parts.components[found.part]
    weight = times_likelier(books.nats(books.parts.members(found.group), belief, grounds))
    trials = len(account.bad) + len(account.clean)
    said = []
    if found.by == "bandwidth":
        said.append(
            f"{_slowness(books, found.part, account)}. All {plural(trials, 'trial')} across {part.within} "
            f"together make a fault there {weight}"
        )
    if account.strikes:
        said.append(
            f"Its error counter moved in {_of(len(account.strikes), trials)} that loaded it; "
            f"{_stillness(books, found.part)}"
        )
        if found.by == "counters":
            said.append(f"{_how_often(books, account, trials)}. All trials together make a fault there {weight}")
    return said


def _slowness(books: Books, part: int, account: Account) -> str:
    """How it is at fault, as bandwidth shows it."""
    mode, gated = books.likeliest_mode(part)
    waits = ", and whole transfers wait for it" if gated else ""
    crossed = sorted((*account.bad, *account.clean))
    if MODES[mode].duty < 1:
        return f"{_of(len(account.bad), len(crossed))} that crossed it were slow now and then{waits}"
    lost = 1 - math.exp(float(np.median([np.median(books.bandwidth.ratio(at)) for at in crossed])))
    return f"Trials that crossed it were slow all the time, by {100 * lost:.0f} % in the middle{waits}"


def _how_often(books: Books, account: Account, trials: int) -> str:
    low, high = interval(len(account.strikes), trials)
    seconds = max(books.bandwidth.observations[at].path.seconds for at in account.bad)
    return f"So it moves in {100 * low:.0f} % to {100 * high:.0f} % of trials of {seconds:.1f} s"


def _of(some: int, trials: int) -> str:
    return f"{some} of {plural(trials, 'trial')}"


def _stillness(books: Books, part: int) -> str:
    """What its equals did meanwhile."""
    evidence = books.counters.evidence()
    equals = [
        other
        for other in books.parts.members(int(books.parts.group[part]))
        if other != part and books.parts.counted[other]
    ]
    moved = int((evidence.strikes[equals] > 0).sum()) if equals else 0
    idle = int(evidence.idle_steps[part])
    between = f"between trials it moved {plural(idle, 'time')}" if idle else "between trials it never moved"
    if not equals:
        return between
    return f"of its {len(equals)} siblings in the same trials, {moved or 'none'} moved; {between}"


def _acquits(found: Conviction, books: Books, account: Account, belief: Belief) -> list[str]:
    """One sentence for each rival that crossed the most bad trials."""
    through = set(books.bandwidth.crossing(int(books.parts.column[found.part])))
    shared: Counter[int] = Counter()
    for at in account.bad:
        for column in books.bandwidth.observations[at].path.columns.tolist():
            if int(books.parts.column_group[column]) != found.group:
                shared[column] += 1
    said: list[str] = []
    told: set[int] = set()
    for column, count in shared.most_common():
        group = int(books.parts.column_group[column])
        if group in told or len(said) >= RIVALS_TOLD:
            continue
        told.add(group)
        elsewhere = [
            at for at in books.bandwidth.crossing(column) if at not in through and not books.bandwidth.is_bad(at)
        ]
        left = f"a probability of {small(belief.group[group])}"
        rival = _name(books, group)
        said.append(
            f"Acquitted: {rival}, crossed by {count} of these as well, but {plural(len(elsewhere), 'clean trial')} "
            f"crossed it elsewhere; {left} is left"
            if elsewhere
            else f"Less likely: {rival}, with {left}, though no clean trial crossed it elsewhere"
        )
    return said


def _name(books: Books, group: int) -> str:
    members = books.parts.members(group)
    first = books.parts.components[members[0]]
    return first.within if len(members) == 1 else f"{first.within} and {len(members) - 1} more that look the same"


def _shows_in_bandwidth(books: Books, account: Account) -> bool:
    """Whether at least half of the trials in which the counter moved have bad windows too."""
    struck = set(account.strikes)
    dips = [books.bandwidth.dips(at) for at in account.bad if books.bandwidth.observations[at].id in struck]
    return bool(dips) and 2 * sum(dips) >= len(dips)


def _limits(
    books: Books, found: Conviction, account: Account, alternatives: tuple[ComponentId, ...], grounds: Grounds
) -> list[str]:
    said = []
    if alternatives:
        shown = ", ".join(part.within for part in alternatives[:4])
        more = f" and {len(alternatives) - 4} more" if len(alternatives) > 4 else ""
        said.append(f"No probe here separates it from {shown}{more}" + _pointer(found, books, grounds))
    if books.parts.components[found.part].kind == "nvlink" and not books.far_end(found.part):
        said.append("No probe here tells which of its two ends is at fault")
    if found.by == "counters" and not _shows_in_bandwidth(books, account):
        said.append("Bandwidth shows nothing: what the part may lose drowns in the noise; its counter alone convicts")
    return said


def _pointer(found: Conviction, books: Books, grounds: Grounds) -> str:
    """What makes it stand for them, where that is no probe's doing."""
    part = str(books.parts.components[found.part])
    points = grounds.prompts.of(part, grounds.settings.prior_cap) if grounds.prompts else 0.0
    return "; what it showed before any probe points to it among them" if points > 0 else ""


def _evidence(books: Books, account: Account) -> tuple[str, ...]:
    """Events of the bad trials, then of up to as many clean ones."""
    events = [books.bandwidth.observations[at].id for at in account.bad]
    clean = [books.bandwidth.observations[at].id for at in account.clean]
    shown = clean[:: max(1, len(clean) // max(4, len(events)))]
    return tuple(dict.fromkeys([*events, *account.strikes, *shown]))
