"""What the operator lets a search do."""

from __future__ import annotations

from dataclasses import dataclass

from ...incident.ids import ComponentId, NodeId


@dataclass(frozen=True, slots=True)
class Edits:
    """Limits and wishes; they shape the next rounds and never the belief."""

    left_out: frozenset[NodeId] = frozenset()
    """Nodes that are probed no more."""
    forbidden: frozenset[str] = frozenset()
    """Probes that run no more."""
    pinned: frozenset[ComponentId] = frozenset()
    """Parts to decide about first."""
