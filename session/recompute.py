"""A sceptic's view of a bundle: the belief computed again from what was recorded, and the sums behind its verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from .. import __version__
from ..evidence.verify import Integrity, Verification, verify
from ..incident.errors import EvidenceError, InputError
from ..incident.events import BeliefUpdated, VerdictReached
from ..incident.findings import Verdict
from ..incident.ids import ComponentId
from ..probes.catalogue import CATALOGUE
from ..probes.localize.account import Books
from ..probes.localize.edits import Edits
from ..probes.localize.localizer import Localizer
from ..probes.localize.parts import Parts
from ..probes.localize.posterior import Belief, Grounds, believe
from ..probes.localize.reckoning import (
    Class,
    History,
    Reckoning,
    Rival,
    class_of,
    classes,
    counters_say,
    reckon,
    rivals,
    speaks_by_bandwidth,
)
from ..probes.localize.settings import Settings
from ..probes.localize.table_document import is_reproduced
from .recorded_search import RecordedRound, RecordedSearch, recorded_search

CLOSE = 1e-9
"""Relative difference that another processor's last digits may make; reported, and no difference in substance."""
NEVER = math.inf
"""No posterior reaches it: as a threshold it keeps a part from being convicted."""
NOT_COMPARED = ("time",)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a recorded statement and the recomputed one part first."""

    round: int
    what: str
    """`suspects[0].posterior`"""
    recorded: str
    recomputed: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One recorded statement against the recomputed one."""

    round: int
    equal: bool
    exact: bool
    """Equal to the last bit."""
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Case:
    """The sum that made a suspect what it is, as things stood after some round."""

    verdict: Verdict | None
    """What was recorded of it; None for a suspect that was not convicted."""
    after_round: int
    rounds: int
    """Of the search until then."""
    accused: Reckoning
    rival: Reckoning | None
    """The one believed in most beside it."""
    rivals: tuple[Rival, ...]
    no_fault: float
    """Probability that nothing is wrong."""

    @property
    def others(self) -> float:
        """Log odds of all other parts together against `nothing is wrong`."""
        rest = max(1.0 - self.no_fault - self.accused.posterior, 1e-300)
        return math.log(rest / max(self.no_fault, 1e-300))


@dataclass(frozen=True, slots=True)
class Recomputation:
    """What reading a bundle with doubt showed."""

    verification: Verification
    search: RecordedSearch | None
    why_not: str
    """Why nothing could be recomputed; empty where it was."""
    beliefs: tuple[Compared, ...] = ()
    verdict: Compared | None = None
    """The conclusion; None where the search reached none."""
    cases: tuple[Case, ...] = ()

    @property
    def difference(self) -> Difference | None:
        """The first one."""
        compared = (*self.beliefs, *([self.verdict] if self.verdict else []))
        return next((one.difference for one in compared if one.difference), None)

    @property
    def table_agrees(self) -> bool | None:
        """Whether the bundle's table of likelihoods is the one reckoned here; None where it has none."""
        return is_reproduced(self.search.table) if self.search is not None and self.search.table else None

    @property
    def equal(self) -> bool:
        """Whether everything recorded follows from what was measured."""
        return self.search is not None and not self.why_not and self.difference is None

    @property
    def exit_code(self) -> int:
        """0 recomputed and equal, 1 it differs or the bundle is altered, 3 nothing to recompute or cut, 4 unsafe."""
        if self.difference is not None:
            return 1
        if not self.verification.intact:
            return self.verification.exit_code
        return 0 if self.equal else 3


def recompute(path: Path, suspect: str | None = None) -> Recomputation:
    """Recompute the last search of a bundle. `suspect`: the part to account for, in place of those convicted.

    Raises InputError for a file that can't be read, and for a suspect that no trial of the search crossed.
    """
    verification = verify(path)
    if verification.integrity is Integrity.UNSAFE:
        return Recomputation(verification, None, "the bundle is unsafe to open")
    try:
        search = recorded_search(path)
    except EvidenceError as error:
        return Recomputation(verification, None, str(error))
    if search is None:
        return Recomputation(verification, None, "no search was recorded in this bundle")
    if why_not := _cannot(search):
        return Recomputation(verification, search, why_not)
    try:
        return _recomputed(verification, search, suspect)
    except (ArithmeticError, LookupError, ValueError, TypeError) as error:  # numbers no search writes; told, not shown
        return Recomputation(verification, search, f"what was recorded can't be computed with: {error}")


def _cannot(search: RecordedSearch) -> str:
    """Why this version can't recompute a search; empty where it can."""
    if unknown := [name for name in search.began.probes if name not in CATALOGUE]:
        return f"this version has no probe {unknown[0]!r}, which the search ran"
    if missing := [node for node in search.began.nodes if node not in search.fabric.nodes]:
        return f"the bundle does not tell how {missing[0]} is wired"
    return ""


def _recomputed(verification: Verification, search: RecordedSearch, suspect: str | None) -> Recomputation:
    localizer = _localizer(search)
    compared: list[Compared] = []
    convicted: list[int] = []
    for recorded in search.rounds:
        _learn(localizer, recorded)
        belief = localizer.belief(recorded.belief.round, recorded.belief.time)
        compared.append(_compare(recorded.belief.round, recorded.belief, belief))
        convicted += [recorded.belief.round] * (len(localizer.verdicts) - len(convicted))
    if search.edited is not None:
        said = search.edited
        localizer.edit(Edits(frozenset(said.left_out), frozenset(said.forbidden), frozenset(said.pinned)))
    concluded = None
    if search.verdict is not None:
        concluded = _compare(0, search.verdict, localizer.conclusion(search.verdict.time))
    named = tuple(zip(localizer.verdicts, convicted, strict=True))
    cases = _cases(search, named, suspect, localizer.books) if search.rounds else ()
    return Recomputation(verification, search, "", tuple(compared), concluded, tuple(cases))


def _localizer(search: RecordedSearch) -> Localizer:
    began = search.began
    return Localizer(
        search.fabric,
        began.nodes,
        Settings(budget=began.budget, seed=began.seed, drained=began.drained),
        {ComponentId(part): nats for part, nats in began.priors.items()},
        unusable=began.unusable,
        rounds_before=began.first_round - 1,
        probes={name: CATALOGUE[name] for name in began.probes},
    )


def _learn(localizer: Localizer, recorded: RecordedRound) -> None:
    localizer.learn(recorded.trials, recorded.seconds)


def _compare(number: int, recorded: BeliefUpdated | VerdictReached, again: BeliefUpdated | VerdictReached) -> Compared:
    differences = list(_differences("", _plain(recorded), _plain(again)))
    first = next((one for one in differences if not one[3]), None)
    difference = Difference(number, first[0], repr(first[1]), repr(first[2])) if first else None
    return Compared(number, first is None, not differences, difference)


def _plain(event: BeliefUpdated | VerdictReached) -> Mapping[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(event, enc_hook=str)
    return {name: value for name, value in plain.items() if name not in NOT_COMPARED}


def _differences(where: str, left: object, right: object) -> Iterator[tuple[str, object, object, bool]]:
    """Where two values differ, both values, and whether they are close all the same."""
    if isinstance(left, Mapping) and isinstance(right, Mapping) and left.keys() == right.keys():
        for name in left:
            yield from _differences(f"{where}.{name}" if where else str(name), left[name], right[name])
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple) and len(left) == len(right):
        for at, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(f"{where}[{at}]", one, other)
    elif left != right:
        yield where, left, right, _is_close(left, right)


def _is_close(left: object, right: object) -> bool:
    if not (isinstance(left, float | int) and isinstance(right, float | int)):
        return False
    return math.isclose(left, right, rel_tol=CLOSE, abs_tol=CLOSE * CLOSE)


def _cases(
    search: RecordedSearch, named: Sequence[tuple[Verdict, int]], suspect: str | None, books: Books
) -> Iterator[Case]:
    """The convicted, each as things stood when it was convicted; else the one suspected most at the end."""
    last = search.rounds[-1].belief.round
    if suspect is not None:
        at = _part(suspect, books.parts)
        its = next((one for one in named if one[0].component == suspect), None)
        after = its[1] if its else _verdict_beside(at, named, books) or last
        yield _case(search, after, partial(_asked, at), its[0] if its else None)
    elif named:
        for verdict, after in named:
            yield _case(search, after, partial(_asked, _part(verdict.component, books.parts)), verdict)
    else:
        yield _case(search, last, _top, None)


def _part(name: str, parts: Parts) -> int:
    at = parts.index.get(ComponentId(name))
    if at is None:
        raise InputError(f"no trial of this search crosses a part {name!r}; name one as the report does")
    return at


def _verdict_beside(part: int, named: Sequence[tuple[Verdict, int]], books: Books) -> int | None:
    """The round of the verdict whose evidence crosses a part most; None where no verdict's does."""
    across = {books.bandwidth.observations[at].id for at in books.bandwidth.crossing(int(books.parts.column[part]))}
    shared = [(len(across.intersection(verdict.evidence)), -after) for verdict, after in named]
    most, after = max(shared, default=(0, 0))
    return -after if most else None


def _top(grounds: Grounds, belief: Belief) -> Class:
    return classes(grounds, belief, 1)[0]


def _asked(part: int, grounds: Grounds, belief: Belief) -> Class:
    return replace(class_of(grounds, belief, part), part=part)


def _case(
    search: RecordedSearch, after: int, choose: Callable[[Grounds, Belief], Class], verdict: Verdict | None
) -> Case:
    """The sums after a round, before anything that this round convicted is taken out of the reckoning."""
    localizer = _as_of(search, after)
    grounds, books = localizer.grounds, localizer.books
    belief = believe(grounds)
    accused = choose(grounds, belief)
    others = [one for one in classes(grounds, belief, 3) if one.part not in accused.members]
    weighed = [accused, *others[:1]]
    histories = _histories(search, after, {one.part: speaks_by_bandwidth(grounds, one.part) for one in weighed})
    sums = [reckon(grounds, belief, books, one, histories[one.part]) for one in weighed]
    rounds = sum(recorded.belief.round <= after for recorded in search.rounds)
    return Case(
        verdict,
        after,
        rounds,
        sums[0],
        sums[1] if len(sums) > 1 else None,
        rivals(grounds, belief, books, sums[0]),
        belief.no_fault,
    )


def _as_of(search: RecordedSearch, after: int) -> Localizer:
    localizer = _localizer(search)
    for recorded in _until(search, after):
        if recorded.belief.round == after:
            localizer.settings = replace(localizer.settings, convict=NEVER, convict_by_counters=NEVER)
        _learn(localizer, recorded)
    return localizer


def _histories(search: RecordedSearch, after: int, parts: Mapping[int, bool]) -> dict[int, History]:
    """What counters said of some parts round by round; by part, with whether bandwidth speaks of it."""
    localizer = _localizer(search)
    if not any(localizer.grounds.parts.counted[part] for part in parts):
        return dict.fromkeys(parts, History(0.0, {}))
    before = {part: counters_say(localizer.grounds, part, shown) for part, shown in parts.items()}
    steps: dict[int, dict[int, float]] = {part: {} for part in parts}
    last = dict(before)
    for recorded in _until(search, after):
        if recorded.belief.round == after:
            localizer.settings = replace(localizer.settings, convict=NEVER, convict_by_counters=NEVER)
        _learn(localizer, recorded)
        for part, shown in parts.items():
            now = counters_say(localizer.grounds, part, shown)
            steps[part][recorded.belief.round] = 0.0 if now == last[part] else now - last[part]
            last[part] = now
    return {part: History(before[part], steps[part]) for part in parts}


def _until(search: RecordedSearch, after: int) -> list[RecordedRound]:
    return [recorded for recorded in search.rounds if recorded.belief.round <= after]


def recomputed_by() -> str:
    """The version that recomputes."""
    return __version__
