"""The outlook of a search as text: what its probes can tell apart, then the first round and its cost; 80 columns."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from ..incident.events import RoundPlanned, Trial
from ..incident.ids import ComponentId, NodeId
from ..probes.localize.separability import Alike, Faint, Gain, GroupSort, KindCount, Make
from .plan import Outlook

WIDTH = 80
TRIALS_LISTED = 16
"""A larger round is shown as what one node of it runs."""
MEMBERS_LISTED = 4
ALL_OF_IT = 0.999


def plan_report(outlook: Outlook) -> str:
    """All of it as lines of text."""
    return "\n".join(_lines(outlook)) + "\n"


def _lines(outlook: Outlook) -> Iterator[str]:
    yield from _wrapped(f"What {_listed(outlook.probes)} can tell apart, before any trial:")
    for alike in outlook.separability.alike:
        yield ""
        yield from _alike(alike, outlook)
    if outlook.separability.faint:
        yield ""
        yield f"Below what bandwidth shows, at {100 * outlook.noise:.0f} % noise:"
        for sentence, kinds in _faint(outlook.separability.faint).items():
            yield from _wrapped(f"{_listed(kinds)}{sentence}", "  ", "    ")
    yield from _gains(outlook)
    if outlook.left_out:
        yield ""
        yield from _wrapped(f"Watched and not probed: {_nodes(outlook.left_out)}", later="  ")
    yield ""
    yield from _round(outlook)


def _alike(alike: Alike, outlook: Outlook) -> Iterator[str]:
    yield from _wrapped(f"{_heading(alike.nodes)}:")
    yield f"  {'kind':<10}{'parts':>6}{'alone':>7}{'by own counters':>17}{'only as a group':>22}{'not at all':>12}"
    for row in alike.kinds:
        yield f"  {_row(row)}"
    for group in alike.groups:
        yield from _group(group, outlook.splitters.get(group.make, ()))


def _heading(nodes: Sequence[NodeId]) -> str:
    if not nodes:
        return "Between nodes"
    return str(nodes[0]) if len(nodes) == 1 else f"Each of {len(nodes)} nodes ({_nodes(nodes)})"


def _row(row: KindCount) -> str:
    grouped = ", ".join(f"{parts} in groups of {size}" for size, parts in row.in_groups)
    counts = (str(number) if number else "-" for number in (row.alone, row.by_counters))
    alone, counters = counts
    return (
        f"{row.kind:<10}{row.parts:>6}{alone:>7}{counters:>17}{_short(grouped) or '-':>22}{row.untestable or '-':>12}"
    )


def _short(grouped: str) -> str:
    """What fits into the column; the groups stand below in full."""
    return grouped if len(grouped) <= 21 else "in several, see below"


def _group(group: GroupSort, probes: Sequence[str]) -> Iterator[str]:
    count = f"{group.count} groups" if group.count > 1 else "1 group"
    yield from _wrapped(f"{count} of {make_in_words(group.make)}, as {_members(group.example)}:", "  ", "    ")
    if group.counted:
        all_of_them = group.counted == sum(count for _, count in group.make)
        which = "each is" if all_of_them else f"{group.counted} of them {'is' if group.counted == 1 else 'are'}"
        yield from _wrapped(f"{which} told from the rest by its own counters, where these move", "    ", "      ")
    for test in group.tests:
        yield from _wrapped(f"to split it: {test}", "    ", "      ")
    if probes:
        yield from _wrapped(f"to split it: let {_listed(probes)} run as well", "    ", "      ")


def _faint(found: Sequence[Faint]) -> dict[str, list[str]]:
    """Kinds of parts by what is said of them."""
    kinds: dict[str, list[str]] = {}
    for faint in found:
        kinds.setdefault(_missed(faint), []).append(faint.kind)
    return kinds


def _missed(faint: Faint) -> str:
    carries = "" if faint.share > ALL_OF_IT else f" ({100 * faint.share:.1f} % of a transfer each)"
    missed = []
    if faint.duty:
        missed.append(f"faults that are on for {100 * faint.duty:.0f} % of the time or less")
    if faint.drop:
        whose = " (others' traffic looks the same)" if faint.share > ALL_OF_IT else " of its traffic"
        missed.append(f"lasting losses of {100 * faint.drop:.0f} % or less{whose}")
    left = "only its counters show these" if faint.counted else "nothing here shows these"
    return f"{carries}: {' and '.join(missed)}; {left}"


def _gains(outlook: Outlook) -> Iterator[str]:
    if of_search := [gain for gain in outlook.gains if gain.searches]:
        some = len(outlook.weighed) < len(outlook.nodes)
        where = f", looked at on {len(outlook.weighed)} of the {len(outlook.nodes)} nodes" if some else ""
        yield ""
        yield f"What each probe adds to the others{where}:"
        for gain in of_search:
            yield from _wrapped(_gain(gain), "  ", "    ")
    if by_hand := [gain for gain in outlook.gains if not gain.searches]:
        yield ""
        yield "Probes that run only when you start them, and what they cross:"
        for gain in by_hand:
            yield from _wrapped(f"{gain.probe} ({gain.title}): {', '.join(gain.crosses)}", "  ", "    ")


def _gain(gain: Gain) -> str:
    said = []
    if gain.reached:
        said.append(f"crosses {make_in_words(gain.reached)} that no other does")
    if gain.alone:
        said.append(f"tells {make_in_words(gain.alone)} from all others")
    if not said:
        said.append("crosses what the others do; it adds trials")
    name = f"{gain.probe} ({gain.title})"
    return f"{name}{'' if gain.allowed else ', if it might run'}: {'; '.join(said)}"


def _round(outlook: Outlook) -> Iterator[str]:
    proposal = outlook.proposal
    if proposal is None:
        yield from _wrapped(f"Nothing to probe: {outlook.why_not or 'see the reason in the case'}", later="  ")
        return
    count = len(proposal.trials)
    yield from _wrapped(
        f"Round 1 would run {count} probe{'s at once' if count > 1 else ''} for {proposal.seconds:.1f} s: "
        f"{proposal.reason}",
        later="  ",
    )
    if count <= TRIALS_LISTED:
        for trial in proposal.trials:
            yield from _wrapped(_trial(trial, trial.targets), "  ", "        ")
    else:
        yield from _summed(proposal)


def _summed(proposal: RoundPlanned) -> Iterator[str]:
    """A round of many nodes: how many trials of each probe, and those of the first node."""
    for probe, count in Counter(trial.probe for trial in proposal.trials).items():
        of_it = [trial for trial in proposal.trials if trial.probe == probe]
        nodes = tuple(dict.fromkeys(node for trial in of_it for node in trial.nodes))
        first = [trial for trial in of_it if trial.node == of_it[0].node]
        yield from _wrapped(f"{probe}: {count} trials on {len(nodes)} nodes ({_nodes(nodes)}), as", "  ", "    ")
        for trial in first[:TRIALS_LISTED]:
            yield from _wrapped(_trial(trial, trial.targets), "    ", "          ")


def _trial(trial: Trial, targets: Sequence[ComponentId]) -> str:
    return f"{trial.probe:5} {' '.join(targets)}  {trial.seconds:.1f} s"


def make_in_words(make: Make) -> str:
    """`18 nvlink`, `1 pcie and 3 bridge`."""
    return _listed([f"{count} {kind}" for kind, count in make])


def _members(example: Sequence[ComponentId]) -> str:
    if len(example) <= MEMBERS_LISTED:
        return ", ".join(example)
    return f"{example[0]}, {example[1].within}, ... {example[-1].within}"


def _nodes(nodes: Sequence[NodeId]) -> str:
    if len(nodes) <= MEMBERS_LISTED:
        return ", ".join(nodes)
    return f"{nodes[0]}, {nodes[1]}, ... {nodes[-1]}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _wrapped(text: str, first: str = "", later: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
