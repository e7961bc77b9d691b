"""What a matrix of measurements means, in sentences that could be read out on a call.

The sentences say what the slow pairs have in common; whether a part is at fault is for the belief to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .matrix_cell import LOW_BELOW, Cell
from .words import plural

ALWAYS = 0.8
"""Share of an end's pairs from which it is slow with everybody."""
SELDOM = 0.25
FEWEST = 3
"""Pairs of an end below which nothing is said about it."""
EVERYTHING = 0.7
"""Share of expected of the middle pair below which it is not one end that is slow."""
MOST = 0.6
"""Share of the slow pairs that an end must be in to be named for them."""
TOLD = 3
"""Pairs named at most."""


@dataclass(frozen=True)
class Ends:
    """What rows and columns are."""

    noun: str
    own: str
    """What an end brings to each of its pairs: `its lanes`."""


At = tuple[int, int]


@dataclass(frozen=True)
class Tally:
    """How many pairs of each end were slow, and how many were measured."""

    slow_from: Counter[int]
    slow_to: Counter[int]
    all_from: Counter[int]
    all_to: Counter[int]

    @classmethod
    def of(cls, low: Sequence[At], measured: Sequence[At]) -> Tally:
        """Count once; many ends ask."""
        return cls(
            Counter(source for source, _ in low),
            Counter(end for _, end in low),
            Counter(source for source, _ in measured),
            Counter(end for _, end in measured),
        )

    def sent(self, end: int) -> tuple[int, int]:
        """As a source: slow, measured."""
        return self.slow_from[end], self.all_from[end]

    def received(self, end: int) -> tuple[int, int]:
        """As a destination."""
        return self.slow_to[end], self.all_to[end]

    def both(self, end: int) -> tuple[int, int]:
        """Either way."""
        return self.slow_from[end] + self.slow_to[end], self.all_from[end] + self.all_to[end]

    def is_hot(self, end: int) -> bool:
        """Slow with everybody, in at least one direction."""
        counts = (self.both(end), self.sent(end), self.received(end))
        return any(total >= FEWEST and slow >= ALWAYS * total for slow, total in counts)


def reading_of_matrix(cells: Mapping[At, Cell], names: Sequence[str], ends: Ends, below: float) -> tuple[str, ...]:
    """One to three sentences, the most telling first; `below`: the share from which a pair is not slow."""
    measured = [at for at, cell in cells.items() if not cell.is_silent]
    silent = len(cells) - len(measured)
    if not measured:
        nothing = f"No pair of {ends.noun}s has been measured yet."
        return (nothing, f"{plural(silent, 'pair')} answered with an error.") if silent else (nothing,)
    low = [at for at in measured if cells[at].is_low]
    said = list(_wrong(cells, names))
    if below / LOW_BELOW < EVERYTHING:
        said.append(
            f"The middle pair's worst window is at {below / LOW_BELOW * 100:.0f} % of expected: "
            f"look first for what all {ends.noun}s share."
        )
    said += _of_low(low, measured, cells, names, ends) if low else [_none_low(cells, measured, below)]
    if silent:
        said.append(f"{plural(silent, 'pair')} measured nothing, so nothing is known of them.")
    return tuple(said)


def _wrong(cells: Mapping[At, Cell], names: Sequence[str]) -> Iterable[str]:
    wrong = [at for at, cell in cells.items() if cell.is_wrong]
    if wrong:
        yield f"Data arrived wrong: {_pairs(wrong, cells, names)}."


def _none_low(cells: Mapping[At, Cell], measured: Sequence[At], below: float) -> str:
    known = [cells[at].share for at in measured if cells[at].share == cells[at].share]
    if not known:
        return "What is expected here is not known, so no pair can be called slow."
    return (
        f"None of the {plural(len(known), 'measured pair')} fell below {below * 100:.0f} % of expected in any window."
    )


def _of_low(
    low: Sequence[At], measured: Sequence[At], cells: Mapping[At, Cell], names: Sequence[str], ends: Ends
) -> list[str]:
    tally = Tally.of(low, measured)
    hot = [end for end in range(len(names)) if tally.is_hot(end)]
    if len(hot) > max(2, len(names) // 2):
        everybody = f"{len(low)} of {plural(len(measured), 'pair')} are slow, {len(hot)} {ends.noun}s with everybody"
        return [f"{everybody}: look for what they share, not at one {ends.noun}."]
    said = [_of_hot(end, tally, names, ends) for end in hot]
    rest = [at for at in low if not set(at) & set(hot)]
    if hot and rest:
        said.append(f"Not explained by that: {_pairs(rest, cells, names)}.")
    elif rest:
        said.append(_of_rest(rest, measured, tally, cells, names, ends))
    return said


def _of_hot(end: int, tally: Tally, names: Sequence[str], ends: Ends) -> str:
    """Slow with everybody, or in one direction only, or in one more than in the other."""
    name, (slow, total) = names[end], tally.both(end)
    blamed = f": the fault is at {name} or {ends.own}, not in a pair."
    if slow >= ALWAYS * total:
        everybody = "every partner" if slow == total else "nearly every partner"
        return f"{name} is slow with {everybody} ({slow} of {total} pairs){blamed}"
    ways = [("source", *tally.sent(end)), ("destination", *tally.received(end))]
    (way, many, of), (other, few, of_other) = sorted(ways, key=lambda each: -each[1] / max(1, each[2]))
    if few <= SELDOM * of_other:
        return f"{name} is slow as a {way} ({many} of {of} pairs) and not as a {other} ({few} of {of_other})."
    return f"{name} is slow as a {way} ({many} of {of} pairs), seldomer as a {other} ({few} of {of_other}){blamed}"


def _of_rest(
    rest: Sequence[At],
    measured: Sequence[At],
    tally: Tally,
    cells: Mapping[At, Cell],
    names: Sequence[str],
    ends: Ends,
) -> str:
    shared = set(rest[0]).intersection(*rest[1:])
    if len(rest) == 1 or len(shared) > 1:
        others = [at for at in measured if set(at) & set(rest[0]) and at not in rest]
        but = f"; both are fast in {plural(len(others), 'other pair')}" if others else ""
        return f"Slow: {_pairs(rest, cells, names)}{but}. A dip that came and went, or something between the two."
    common = max({end for at in rest for end in at}, key=lambda end: sum(end in at for at in rest))
    slow, total = tally.both(common)
    if slow >= max(FEWEST - 1, MOST * len(rest)):
        which = f"All {len(rest)}" if slow == len(rest) else f"{slow} of the {len(rest)}"
        return (
            f"{which} slow pairs have {names[common]} in common, and {total - slow} of its {total} are fast: "
            "it comes and goes, or only some of its paths are slow."
        )
    return f"{len(rest)} slow pairs share no {ends.noun}: {_pairs(rest, cells, names)}."


def _pairs(some: Sequence[At], cells: Mapping[At, Cell], names: Sequence[str]) -> str:
    """The lowest first; more are counted."""
    ordered = sorted(some, key=lambda at: (cells[at].share != cells[at].share, cells[at].share))
    shown = [f"{names[source]}→{names[end]}{_per_cent(cells[source, end].share)}" for source, end in ordered[:TOLD]]
    more = f" and {len(ordered) - TOLD} more" if len(ordered) > TOLD else ""
    return ", ".join(shown) + more


def _per_cent(share: float) -> str:
    return "" if share != share else f" ({share * 100:.0f} %)"
