"""A fabric as plain JSON values, as bundles and `--json` hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..incident.ids import ComponentId
from .claims import Contradiction

Edge = tuple[ComponentId, ComponentId, Mapping[str, Any]]


def plain_parts(parts: Iterable[tuple[ComponentId, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Parts by `id`, with all that stands about them."""
    return [_plain({"id": part, **facts}) for part, facts in parts]


def plain_edges(edges: Iterable[Edge]) -> list[dict[str, Any]]:
    """Edges by their two `ends`."""
    return [_plain({"ends": [here, there], **facts}) for here, there, facts in edges]


def plain_contradictions(found: Iterable[Contradiction]) -> list[dict[str, Any]]:
    """Who says what of which part."""
    return [
        {"component": str(one.component), "attribute": one.attribute, "said": _plain_value(one.said)} for one in found
    ]


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _plain_value(value) for key, value in facts.items()}


def _plain_value(value: Any) -> Any:
    """Arrays as lists, ids as text, NaN as null."""
    match value:
        case np.ndarray():
            return [_plain_value(item) for item in value.tolist()]
        case str():
            return str(value)
        case Mapping():
            return _plain(value)
        case tuple() | list():
            return [_plain_value(item) for item in value]
        case float() if value != value:
            return None
    return value
