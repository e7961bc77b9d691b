"""Pairs of nodes, or of GPUs, that are slow while others are fast: which part explains them, and what can't be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ..pair_measures import Pair, compared_pairs
from ..scene import Scene
from ..slow_pairs import Reckoning, reckon
from ..wording import listed, quoted, several

RULE = "slow_pairs"
MOST_NAMED = 8
"""Findings of one kind from one set of pairs; the rest is counted in the last of them."""
SURE = 2
"""Partners, each fast with others, with which a node must be slow before the pair itself is no explanation."""
MOSTLY = 0.8
"""Share of the pairs among the others that must be fast before a GPU stands out: else it is the board's wiring."""
FEWEST_GPUS = 4


def slow_pairs(scene: Scene) -> Iterator[Finding]:
    """What each set of pairs that were measured alike says."""
    for compared in compared_pairs(scene.readings):
        found = reckon(compared)
        if found is None:
            continue
        if found.slow[0].ends[0].kind == "gpu":
            yield from _gpus(found)
        else:
            yield from _nodes(found)


def _nodes(found: Reckoning) -> Iterator[Finding]:
    for node, pairs in sorted(found.convicted.items(), key=lambda one: -len(one[1]))[:MOST_NAMED]:
        yield _straggler(node, pairs, found)
    hubs = _hubs(found)
    for node, pairs in hubs.items():
        yield _hub(node, pairs, found)
    yield from _unsplit(found, [pair for pair in found.unsplit if not any(end in hubs for end in pair.ends)])
    yield from _between(found)


def _hubs(found: Reckoning) -> dict[ComponentId, tuple[Pair, ...]]:
    """Nodes that several unsplit pairs have in common: one slow node explains what would take several others."""
    left, hubs = list(found.unsplit), dict[ComponentId, tuple[Pair, ...]]()
    while left and len(hubs) < MOST_NAMED:
        count = Counter(end for pair in left for end in pair.ends)
        (node, most), *others = count.most_common(2)
        if most < SURE or (others and others[0][1] == most):
            break
        hubs[node] = tuple(pair for pair in left if node in pair.ends)
        left = [pair for pair in left if node not in pair.ends]
    return hubs


def _hub(node: ComponentId, pairs: tuple[Pair, ...], found: Reckoning) -> Finding:
    partners = listed(_other(pair, node) for pair in pairs)
    known = found.best_partner or "a node known to be good"
    return Finding(
        component=node,
        fru="none",
        fault_class="straggler/node",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"{node} is the common end of slow pairs with {partners}: {_figures(pairs, found)}",
        evidence=found.compared.evidence,
        argues_against=(*_against(found, pairs), f"none of {partners} is fast with anyone, so each may be slow itself"),
        next=f"Pair {node} and each of {partners} with {known}: who is slow there is at fault.",
        rule=RULE,
    )


def _straggler(node: ComponentId, pairs: tuple[Pair, ...], found: Reckoning) -> Finding:
    partners = [_other(pair, node) for pair in pairs]
    partner = found.best_partner
    beside = f" with {partner}" if partner else ""
    sure = len(pairs) >= SURE and not any(attribute.splits for attribute in found.attributes)
    fast_elsewhere = "each fast with others" if len(partners) > 1 else "which is fast with others"
    return Finding(
        component=node,
        fru="none",
        fault_class="straggler/node",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
        title=f"{node} is slow with {listed(partners)}, {fast_elsewhere}: {_figures(pairs, found)}",
        evidence=found.compared.evidence,
        argues_against=(*_against(found, pairs), "the cause inside the node is not shown by pairs"),
        next=(
            f"On {node} compare per-NIC loopback (ib_write_bw), LnkSta of the NICs, peer memory module and topology"
            f"{beside}; keep it out of jobs until then."
        ),
        rule=RULE,
    )


def _unsplit(found: Reckoning, pairs: list[Pair]) -> Iterator[Finding]:
    """Pairs of which nobody is fast with anyone."""
    partner = found.best_partner
    for pair in pairs[:MOST_NAMED]:
        one, other = pair.ends
        tests = f"Run {one}-{partner} and {other}-{partner}: whichever is slow is at fault." if partner else ""
        yield Finding(
            component=one,
            fru="none",
            fault_class="straggler/pair",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            title=f"{one}, {other} or both are slow: no other pair tells which, {_figures((pair,), found)}",
            evidence=found.compared.evidence,
            argues_against=(*_against(found, (pair,)), "what lies between the two may be slow and neither of them"),
            next=tests or f"Pair {one} and {other} each with a node known to be good.",
            rule=RULE,
        )


def _between(found: Reckoning) -> Iterator[Finding]:
    """Slow pairs whose ends are fast with others: told as one, since they may share what lies between."""
    pairs = found.between
    if not pairs:
        return
    shared = [attribute for attribute in found.attributes if attribute.splits]
    cause = f", all with {_told(shared[0].column, shared[0].value)} as no fast pair" if shared else ""
    named = ", ".join(pair.name for pair in pairs[:4]) + (f" and {len(pairs) - 4} more" if len(pairs) > 4 else "")
    ((often, mostly),) = Counter(end for pair in pairs for end in pair.ends).most_common(1)
    yield Finding(
        component=often,
        fru="none",
        fault_class="straggler/pair",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE if mostly < len(pairs) or len(pairs) == 1 else Confidence.UNKNOWN,
        title=f"slow between {named} though each end is fast with others{cause}: {_figures(pairs, found)}",
        evidence=found.compared.evidence,
        argues_against=(
            *_against(found, pairs),
            f"{often} is an end of {mostly} of {several(len(pairs), 'such pair')}: what comes and goes looks like that",
        ),
        next="Measure these pairs again, then compare what lies between them (leaf, uplink, rail) with a fast pair's.",
        rule=RULE,
    )


def _gpus(found: Reckoning) -> Iterator[Finding]:
    """A GPU that is slow with all others, which are fast among themselves. Anything else may be the board's wiring."""
    gpus = {end for pair in found.compared.pairs for end in pair.ends}
    for gpu, pairs in sorted(found.convicted.items(), key=lambda one: -len(one[1]))[:MOST_NAMED]:
        among_others = len(found.compared.pairs) - len(found.pairs_of(gpu))
        if len(gpus) < FEWEST_GPUS or len(pairs) < len(gpus) - 1 or len(found.fast) < MOSTLY * among_others:
            continue
        yield Finding(
            component=gpu,
            fru="none",
            fault_class="straggler/gpu",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            title=f"{gpu.within} of {gpu.node} is slow with every other GPU: {_figures(pairs, found)}",
            evidence=found.compared.evidence,
            argues_against=(
                "on some boards one GPU hangs below another switch or socket than the rest: compare with an equal node",
                "clocks, power cap or load of other programs on that GPU slow its copies as well",
            ),
            next=f"Read clocks event reasons, PCIe width under load and NVLink states of {gpu.within}, and test again.",
            rule=RULE,
        )


def _figures(pairs: tuple[Pair, ...], found: Reckoning) -> str:
    """`busbw_GBps 49.3 where fast pairs have 87.6`."""
    low, high = min(pair.value for pair in pairs), max(pair.value for pair in pairs)
    value = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return f"{quoted(found.compared.what, 60)} {value} where fast pairs have {found.typical:.4g}"


def _against(found: Reckoning, pairs: tuple[Pair, ...]) -> Iterator[str]:
    """What else could make the pairs slow by the table: what explains them too, and what a fast pair refutes."""
    for attribute in found.attributes:
        told = _told(attribute.column, attribute.value)
        if attribute.splits:
            yield f"all slow pairs have {told} and no fast pair has: that would explain them as well"
        elif any(pair.told.get(attribute.column) == attribute.value for pair in pairs):
            fast = attribute.fast[0]
            yield f"{told} is refuted as an explanation by {fast.name}, which has it and is fast ({fast.value:g})"
    if len(found.fast) < len(found.slow) / 2:
        yield f"only {several(len(found.fast), 'pair')} of {len(found.fast) + len(found.slow)} are fast"


def _told(column: str, value: str) -> str:
    return f"{quoted(column, 40)}={quoted(value, 40)}"


def _other(pair: Pair, node: ComponentId) -> ComponentId:
    return pair.ends[1] if pair.ends[0] == node else pair.ends[0]
