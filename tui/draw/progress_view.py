"""How far a search is: what it is at now, rounds and trials, probing seconds of its budget, what the operator limited.

What only the running search knows (its budget, a pause, edits) is unknown where there is none, as in a replay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...incident.snapshot import Snapshot
from ..session_like import InvestigationLike
from .words import place, plural

LISTED = 3
"""Names in an edit that are said; more are counted."""


@dataclass(frozen=True)
class Progress:
    """A search under way, or ended."""

    state: str
    """As the investigation's; empty before the first."""
    round: int
    """The one that waits or runs, or ended last; 0 before the first."""
    trials: int
    """Of that round."""
    nodes: int
    elapsed: float
    """Seconds the running round has taken by the operator's clock; NaN while none runs."""
    planned: float
    """Seconds the round is planned to take."""
    seconds: float
    """Probing seconds spent."""
    budget: float
    """NaN where nobody knows."""
    trials_ended: int
    paused_at: float | None
    edits: tuple[str, ...]
    """What the operator limited, a phrase each."""

    @property
    def is_paused(self) -> bool:
        """Whether the operator asked for a pause, whatever still runs."""
        return self.paused_at is not None

    @property
    def left(self) -> float:
        """Probing seconds left at most; NaN where the budget is not known."""
        return max(0.0, self.budget - self.seconds)


def progress_of(snapshot: Snapshot, investigation: InvestigationLike | None) -> Progress:
    """The progress as of a snapshot."""
    plan = snapshot.rounds[-1] if snapshot.rounds else None
    began = investigation.began if investigation else None
    spent = snapshot.belief.seconds if snapshot.belief else 0.0
    return Progress(
        investigation.state if investigation else "",
        plan.round if plan else 0,
        len(plan.trials) if plan else 0,
        len({node for trial in plan.trials for node in trial.nodes}) if plan else 0,
        max(0.0, snapshot.now - began) if began is not None else math.nan,
        plan.seconds if plan else math.nan,
        investigation.seconds if investigation else spent,
        investigation.budget if investigation else math.nan,
        len(snapshot.trials),
        investigation.paused_at if investigation else None,
        _edits_in_words(investigation) if investigation else (),
    )


def _edits_in_words(investigation: InvestigationLike) -> tuple[str, ...]:
    """`without sim3`, `no h2d`, `sim4 GPU5 first`."""
    edits = investigation.edits
    said = [f"without {_some(sorted(edits.left_out), 'node')}"] if edits.left_out else []
    said += [f"no {_some(sorted(edits.forbidden), 'probe')}"] if edits.forbidden else []
    said += [f"{_some([place(part) for part in sorted(edits.pinned)], 'part')} first"] if edits.pinned else []
    return tuple(said)


def _some(names: list[str], noun: str) -> str:
    return ", ".join(names) if len(names) <= LISTED else plural(len(names), noun)
