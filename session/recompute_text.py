"""A recomputed bundle as text: whether the beliefs follow, and the sums behind its verdicts; 80 columns of ASCII."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from ..evidence.names import LIKELIHOODS
from ..incident.ids import ComponentId
from ..probes.localize.reckoning import Reckoning, Rival, Term
from ..probes.localize.words import plural, small
from .recompute import Case, Recomputation, recomputed_by

WIDTH = 80
LABELS = 56
"""Columns of a sum's labels; two of numbers follow."""
TOLD = 12
"""Convicting trials told one by one; the JSON document has all."""
PROBLEMS = 10
MEMBERS = 3
SLIGHT = 0.005
"""Nats that print as nothing."""

Read = Callable[[Reckoning], float]
"""Takes one term out of a sum."""


def explain_report(found: Recomputation) -> str:
    """All of it as lines of text; whatever a bundle says stands escaped where it is not printable ASCII."""
    return "\n".join(_plain(line) for line in _lines(found)) + "\n"


def _lines(found: Recomputation) -> Iterator[str]:
    yield from _head(found)
    if found.search is None or found.why_not:
        yield ""
        yield from _wrapped(f"Not recomputed: {found.why_not}", later="  ")
        return
    yield ""
    yield from _outcome(found)
    trials = {id_: trial.trial.id for recorded in found.search.rounds for id_, trial in recorded.trials}
    for case in found.cases:
        yield ""
        yield from _case(case, trials)


def _head(found: Recomputation) -> Iterator[str]:
    verification = found.verification
    yield f"bundle     {verification.path}"
    yield f"integrity  {verification.integrity.value}"
    for problem in verification.problems[:PROBLEMS]:
        yield from _wrapped(problem[:300], "           ", "           ")
    if len(verification.problems) > PROBLEMS:
        yield f"           and {len(verification.problems) - PROBLEMS} more"
    if verification.root:
        yield f"id         {verification.root}"
    search = found.search
    if search is None:
        return
    rounds = search.rounds
    trials = sum(len(recorded.trials) for recorded in rounds)
    span = f"rounds {rounds[0].belief.round} to {rounds[-1].belief.round}, " if rounds else ""
    yield from _wrapped(
        f"search     {plural(len(search.began.nodes), 'node')}, {span}{plural(trials, 'trial')} of "
        f"{' and '.join(search.began.probes)}, {sum(recorded.seconds for recorded in rounds):.1f} s of probing",
        later="           ",
    )
    yield f"versions   recorded by {search.version or 'unknown'}, recomputed by {recomputed_by()}"
    for note in search.notes:
        yield from _wrapped(f"note       {note}", later="           ")


def _outcome(found: Recomputation) -> Iterator[str]:
    difference = found.difference
    count = plural(len(found.beliefs), "recorded belief")
    if difference is None:
        exact = all(one.exact for one in found.beliefs) and (found.verdict is None or found.verdict.exact)
        so_far = "to the last bit" if exact else "up to the last digits, which another processor may round otherwise"
        end = "and the conclusion follow" if found.verdict else "follow (the search reached no conclusion)"
        yield from _wrapped(f"EQUAL: {count} {end} from the recorded trials, {so_far}.", later="  ")
        if found.table_agrees is not None:
            is_same = "is the one reckoned here" if found.table_agrees else "differs from the one reckoned here"
            yield from _wrapped(f"  The bundle's table of likelihoods ({LIKELIHOODS}) {is_same}.", later="  ")
        return
    where = f"the belief after round {difference.round}" if difference.round else "the conclusion"
    yield from _wrapped(
        f"DIFFERS: {where} does not follow from the recorded trials. {difference.what} was recorded as "
        f"{difference.recorded[:80]} and is {difference.recomputed[:80]}.",
        later="  ",
    )
    equal = sum(one.equal for one in found.beliefs)
    yield f"  {equal} of {count} are equal."
    if found.search is not None and found.search.version != recomputed_by():
        yield "  Another version recorded it; take that one to be sure."


def _case(case: Case, trials: Mapping[str, str]) -> Iterator[str]:
    accused, rival = case.accused, case.rival
    yield from _wrapped(_title(case), later="  ")
    yield from _wrapped(_looks(accused), "  ", "    ")
    if len(accused.members) > 1:
        yield from _wrapped(f"its sum stands for {_members(accused.members)}: nothing tells them apart", "  ", "    ")
    if rival is not None:
        alike = f" and {len(rival.members) - 1} alike" if len(rival.members) > 1 else ""
        yield from _wrapped(f"runner-up: {rival.part}{alike}, {_looks(rival)}", "  ", "    ")
    yield ""
    yield f"{'  nats of log odds against nothing being wrong':<{LABELS}}{'accused':>12}{'runner-up':>12}"
    yield from _sum(accused, rival, trials)
    yield from _posterior(case)
    if case.rivals:
        yield ""
        yield "  What speaks for and against the others:"
        for other in case.rivals:
            yield from _wrapped(_rival(other, accused), "    ", "      ")


def _title(case: Case) -> str:
    part = case.accused.part
    if case.verdict is None:
        return f"What speaks for {part} ({small(case.accused.posterior)}), after {plural(case.rounds, 'round')}:"
    said = f"{case.verdict.confidence}, by {case.verdict.by}, posterior {case.verdict.posterior:.4f} as recorded"
    return f"Why {part} ({said}), convicted after {plural(case.rounds, 'round')}:"


def _looks(sums: Reckoning) -> str:
    if sums.mode is None:
        return "bandwidth shows no fault of it; its counters alone speak"
    duty = "always on" if sums.mode.duty >= 1 else f"on for about {100 * sums.mode.duty:.0f} % of the time"
    loss = f"losing {100 * sums.mode.low:.0f} to {100 * sums.mode.high:.0f} % of its traffic"
    return f"fits best: {duty}, {loss}{', whole transfers waiting for it' if sums.gated else ''}"


def _sum(accused: Reckoning, rival: Reckoning | None, trials: Mapping[str, str]) -> Iterator[str]:
    yield _pair("prior: how often such a part fails", accused, rival, attrgetter("prior"))
    yield from _unless_nothing("what stood before any trial", accused, rival, attrgetter("findings"))
    yield _pair("this way of failing among all", accused, rival, attrgetter("ways"))
    yield from _trials(accused, rival, trials)
    yield from _unless_nothing(
        "small lasting losses: no more is believed of them", accused, rival, attrgetter("held_back")
    )
    yield from _unless_nothing("counters of its equals", accused, rival, attrgetter("equals"))
    yield from _unless_nothing("something may be slow without a fault", accused, rival, attrgetter("excused"))
    yield from _unless_nothing("all members alike, not it alone", accused, rival, attrgetter("alike"))
    yield _pair("total", accused, rival, attrgetter("total"))
    if accused.unheard:
        yield f"  ({plural(accused.unheard, 'more trial')} not counted: across a part convicted before)"


def _trials(accused: Reckoning, rival: Reckoning | None, trials: Mapping[str, str]) -> Iterator[str]:
    """The convicting ones one by one, what else crossed either of the two in one sum each."""
    to_rival = {term.at: term.nats for term in rival.terms} if rival else {}
    convicting = accused.convicting
    for term in convicting[:TOLD]:
        yield from _trial(term, trials, to_rival.pop(term.at, None))
    if rest := convicting[TOLD:]:
        shared = [to_rival.pop(term.at) for term in rest if term.at in to_rival]
        yield _row(f"{len(rest)} more like these", sum(term.nats for term in rest), sum(shared) if shared else None)
    others = accused.others
    bad = sum(term.bad for term in others)
    label = f"{plural(len(others), 'other trial')}{f', {bad} of them bad' if bad else ', clean'}"
    if rival:
        label += f" (runner-up: {len(to_rival)})"
    yield _row(label, sum(term.nats for term in others), sum(to_rival.values()) if rival else None)


def _trial(term: Term, trials: Mapping[str, str], its: float | None) -> Iterator[str]:
    first, *rest = term.targets
    ends = [first, *(target.within if target.node == first.node else target for target in rest)]
    label = f"{trials.get(term.event, '')} [{term.event}] {term.probe} {' to '.join(ends)}"
    yield _row(label, term.nats, its, absent="-")
    yield from _wrapped(f"{_windows(term)}", "      ", "      ")


def _windows(term: Term) -> str:
    if term.failed:
        seen = "the transfer failed"
    else:
        lowest, middle = min(term.windows), statistics.median(term.windows)
        seen = f"lowest of {len(term.windows)} windows {100 * lowest:.0f} % of expected, middle {100 * middle:.0f} %"
    return f"{seen}; its counter moved" if term.struck else seen


def _posterior(case: Case) -> Iterator[str]:
    total, others = case.accused.total, case.others
    yield _row("all other parts together", others, None)
    yield (
        f"  posterior = e^{total:.2f} / (1 + e^{total:.2f} + e^{others:.2f}) = {case.accused.posterior:.4f}"
        f"; nothing wrong: {case.no_fault:.2g}"
    )
    if case.verdict is not None and abs(case.verdict.posterior - case.accused.posterior) > SLIGHT:
        yield from _wrapped(
            f"the verdict says {case.verdict.posterior:.4f}: it speaks of its whole group, and leaves out parts that "
            "are suspicious for trials of their own",
            "  ",
            "    ",
        )


def _rival(rival: Rival, accused: Reckoning) -> str:
    told = len(accused.convicting)
    name = f"{rival.part} and {rival.alike - 1} alike" if rival.alike > 1 else str(rival.part)
    if not told:
        return f"{name}: {small(rival.posterior)}"
    said = [_shared(rival.shared, told)]
    if rival.counted and rival.shared:
        moved = f"moved in {plural(rival.strikes, 'trial')}" if rival.strikes else "stood still"
        said.append(f"its counters {moved}")
    if rival.clean_elsewhere:
        said.append(
            f"{plural(rival.clean_elsewhere, 'clean trial')} elsewhere said {_nats(rival.nats_elsewhere)} to it"
        )
    return f"{name}: {'; '.join(said)}; {small(rival.posterior)} is left"


def _shared(shared: int, told: int) -> str:
    if not shared:
        return "crosses none of the trials above"
    return f"crosses {'all' if shared == told else shared} of the {plural(told, 'trial')} above"


def _pair(label: str, accused: Reckoning, rival: Reckoning | None, read: Read) -> str:
    return _row(label, read(accused), read(rival) if rival else None)


def _unless_nothing(label: str, accused: Reckoning, rival: Reckoning | None, read: Read) -> Iterator[str]:
    if any(abs(read(sums)) >= SLIGHT for sums in (accused, rival) if sums):
        yield _pair(label, accused, rival, read)


def _row(label: str, mine: float, its: float | None, absent: str = "") -> str:
    shown = label if len(label) <= LABELS - 4 else f"{label[: LABELS - 7]}..."
    return f"  {shown:<{LABELS - 2}}{_nats(mine):>12}{absent if its is None else _nats(its):>12}".rstrip()


def _nats(value: float) -> str:
    return f"{value:+.2f}" if math.isfinite(value) else "excluded"


def _members(members: Sequence[ComponentId]) -> str:
    if len(members) <= MEMBERS:
        return ", ".join(members)
    return f"{len(members)} parts from {members[0]} to {members[-1].within}"


def _plain(line: str) -> str:
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _wrapped(text: str, first: str = "", later: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
