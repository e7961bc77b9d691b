"""Results that equal parts must have alike, compared across GPUs and nodes: what most of them have is right."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..incident.ids import ComponentId
from .probing import Outcome

FEWEST = 3
"""GPUs that must have a result alike before another one is called wrong; of two nobody knows which."""

Model = Callable[[ComponentId], object]
"""What a part is; only parts of one model are equals."""


def compared(outcomes: Sequence[Outcome], model: Model) -> tuple[Outcome, ...]:
    """The outcomes, those marked whose results differ from what most of their equals have."""
    odd = dict(_odd(outcomes, model))
    return tuple(replace(outcome, odd=odd.get(at, outcome.odd)) for at, outcome in enumerate(outcomes))


def _odd(outcomes: Sequence[Outcome], model: Model) -> Iterator[tuple[int, str]]:
    equals: dict[tuple[object, str], list[tuple[int, str]]] = defaultdict(list)
    for at, outcome in enumerate(outcomes):
        what = (outcome.aimed.probe.name, tuple(model(target) for target in outcome.aimed.targets))
        for digest in dict.fromkeys(digest for run in outcome.runs for digest in run.trial.digests):
            equals[what, digest.rpartition(" ")[0]].append((at, digest))
    for (_, kind), told in equals.items():
        (usual, count), *_ = Counter(digest for _, digest in told).most_common(1)
        if count >= FEWEST and 2 * count > len(told):
            yield from ((at, _sentence(kind, digest, usual, count)) for at, digest in told if digest != usual)


def _sentence(kind: str, digest: str, usual: str, count: int) -> str:
    return (
        f"its {kind} result {digest.rpartition(' ')[2]} differs from {usual.rpartition(' ')[2]}, which {count} equal "
        "GPUs have alike: it computes wrongly, and the same way each time"
    )
