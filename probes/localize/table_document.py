"""The table of likelihoods as a document: with it anybody can add a belief up by hand, and compare it with theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .likelihood import BINS, LOWEST, NAT, STEP, Tables, tables
from .settings import MODES

FORMAT = "likelihood-tables/1"


def table_document(used: Tables, shares: Sequence[float]) -> dict[str, Any]:
    """Log-likelihood ratios of one window against `no fault`, [share][mode][bin] in micro-nats."""
    return {
        "format": FORMAT,
        "unit": 1 / NAT,
        "x": "log(measured / expected); bin = floor((x - lowest) / step), from 0 to bins - 1",
        "lowest": LOWEST,
        "step": STEP,
        "bins": BINS,
        "noise": used.noise,
        "outliers": used.outliers,
        "shares": list(shares),
        "modes": [{"duty": mode.duty, "drop": [mode.low, mode.high]} for mode in MODES],
        "ratios": used.ratios.tolist(),
        "on": used.on.tolist(),
    }


def is_reproduced(document: object) -> bool | None:
    """Whether this machine reckons the same table to the last unit; None for a document that is none of this form."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return None
    try:
        shares = tuple(float(share) for share in document["shares"])
        again = table_document(tables(float(document["noise"]), float(document["outliers"]), shares), shares)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None
    return bool(again == document)
