"""One probe in words: the catalogue, what it could be aimed at, and what its runs measured; 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ..incident.findings import CounterMove
from ..probes.probe import Aim, Measure, Probe, Targets
from .probe_targets import LISTED, Possible, on_example_nodes, wanted, written
from .probing import CLEARLY_SLOW, LOW_WINDOW, Judgement, Outcome

WIDTH = 80
MOST_MOVES = 12
MOST_TARGETS = 40


def catalogue_report(probes: Iterable[Probe]) -> str:
    """All probes: what each does, is aimed at, costs, needs and disturbs."""
    return "\n".join(line for probe in probes for line in (*_entry(probe), ""))


def disturbed(probe: Probe) -> tuple[str, ...]:
    """What it takes from others, in words: `gpu`, `host memory`."""
    return tuple(str(flag.name).lower().replace("_", " ") for flag in type(probe.disturbs) if flag in probe.disturbs)


def targets_report(probe: Probe, can: Possible) -> str:
    """What a probe could be aimed at on the nodes at hand."""
    lines = list(_wrapped(f"{probe.name} ({probe.title}) is aimed at {wanted(probe, can)}."))
    if can.example:
        lines += _wrapped(f"For one: --at {written(can.example)}")
    lines.append(f"{len(can.targets)} {'ends' if probe.aim is Aim.ACROSS else 'targets'} here:")
    lines += [f"  {written(target)}" for target in can.targets[:MOST_TARGETS]]
    if len(can.targets) > MOST_TARGETS:
        lines.append(f"  and {len(can.targets) - MOST_TARGETS} more")
    return "\n".join(lines)


def outcome_report(outcomes: Sequence[Outcome]) -> str:
    """What the runs measured, aim by aim."""
    return "\n".join(line for outcome in outcomes for line in (*_outcome(outcome), "")).rstrip("\n")


def _entry(probe: Probe) -> Iterator[str]:
    yield from _wrapped(f"{probe.name}: {probe.title}")
    can = on_example_nodes(probe)
    targets = can.example
    at = f", as {written(targets)}" if targets else ""
    yield from _wrapped(f"aimed at {wanted(probe, can)}{at}; answers in {probe.measure}", "  ", "    ")
    if targets:
        yield from _wrapped(f"cost: {probe.cost(targets)}", "  ", "    ")
    needs = ", ".join(f"{need.name} ({need.package})" for need in probe.needs) or "nothing"
    yield from _wrapped(f"needs: {needs}", "  ", "    ")
    yield from _wrapped(f"disturbs: {', '.join(disturbed(probe)) or 'nobody'}", "  ", "    ")
    yield f"  {'a search may run it' if probe.searches else 'runs only when you ask for it'}"


def _outcome(outcome: Outcome) -> Iterator[str]:
    probe = outcome.aimed.probe
    yield from _wrapped(f"{probe.title} ({probe.name}) at {_named(outcome.aimed.targets)}")
    yield from _distribution(outcome)
    last = outcome.runs[-1].trial
    for detail in dict.fromkeys(run.trial.detail for run in outcome.runs if run.trial.detail):
        yield from _wrapped(detail, "  ", "  ")
    if outcome.odd:
        yield from _wrapped(outcome.odd, "  ", "  ")
    failed = [run.trial for run in outcome.runs if run.trial.error]
    if failed and len(outcome.runs) > 1:
        yield f"  {len(failed)} of {len(outcome.runs)} runs measured nothing:"
    for error in dict.fromkeys(trial.error for trial in failed):
        yield from _wrapped(error, "  ", "  ")
    yield from _counters([move for run in outcome.runs for move in run.trial.moves])
    by = next((run.trial.measured_by for run in outcome.runs if run.trial.measured_by), last.measured_by)
    if by:
        yield from _wrapped(f"measured by {by}", "  ", "    ")
    yield from _wrapped(_judged(outcome), "  ", "    ")


def _named(targets: Targets) -> str:
    """The parts; of a large group how many."""
    return f"{len(targets)} parts of {written(targets)}" if len(targets) > LISTED else written(targets)


def _distribution(outcome: Outcome) -> Iterator[str]:
    windows, unit = outcome.windows, outcome.aimed.probe.measure
    if not windows:
        return
    expected = outcome.aimed.expected
    against = f", expected {expected:.4g} {unit}" if not math.isnan(expected) else ""
    if len(windows) == 1:
        yield from _wrapped(f"1 window: {windows[0]:.4g} {unit}{against}", "  ", "    ")
        return
    worst = f"highest {max(windows):.4g}" if unit is Measure.LATENCY else f"lowest {min(windows):.4g}"
    spread = f", spread {100 * outcome.spread:.1f} %" if not math.isnan(outcome.spread) else ""
    said = f"{len(windows)} windows: median {outcome.median:.4g} {unit}, {worst}{spread}{against}"
    yield from _wrapped(said, "  ", "    ")
    if outcome.low:
        latency = unit is Measure.LATENCY
        side = f"above {100 / LOW_WINDOW:.0f} % of" if latency else f"below {100 * LOW_WINDOW:.0f} % of"
        yield from _wrapped(f"{len(outcome.low)} of {len(windows)} windows are {side} the median", "  ", "    ")


def _counters(moves: Sequence[CounterMove]) -> Iterator[str]:
    if not moves:
        return
    sums: dict[tuple[str, str], float] = {}
    for move in moves:
        key = (str(move.component), move.counter)
        sums[key] = sums.get(key, 0.0) + move.step
    moved = {key: step for key, step in sums.items() if step > 0}
    if not moved:
        yield f"  {len(sums)} error counters read at its edges, none moved"
        return
    yield f"  {len(moved)} of {len(sums)} error counters read at its edges moved:"
    for (part, counter), step in sorted(moved.items(), key=lambda entry: -entry[1])[:MOST_MOVES]:
        yield f"    {part} {counter} +{step:.0f}"
    if len(moved) > MOST_MOVES:
        yield f"    and {len(moved) - MOST_MOVES} more"


def _judged(outcome: Outcome) -> str:
    """The judgement as a sentence."""
    percent = f"{100 * outcome.share:.0f} % of what healthy parts measure"
    match outcome.judgement:
        case Judgement.SLOW:
            return f"SLOW: {percent} (below {100 * CLEARLY_SLOW:.0f} % is clearly slow)"
        case Judgement.WRONG:
            return "WRONG: see above"
        case Judgement.MEASURED:
            return "measured; there is no published figure to hold it against"
        case Judgement.NOT_TESTED:
            return "not tested"
        case Judgement.FAILED:
            return "could not tell: a run gave no measurement"
        case _:
            return "good" if math.isnan(outcome.share) else f"good: {percent}"


def _wrapped(text: str, first: str = "", then: str = "  ") -> Iterator[str]:
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
