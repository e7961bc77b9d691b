"""Exact statements about counts: tails of the binomial distribution, and the interval of Clopper and Pearson."""

from __future__ import annotations

import math
from collections.abc import Callable

HALVINGS = 60


def tail(count: int, trials: int, probability: float) -> float:
    """Log of the chance of at least `count` of `trials`, each with that probability."""
    if count <= 0:
        return 0.0
    if probability <= 0:
        return -math.inf
    if probability >= 1:
        return 0.0
    terms = [_log_chance(at, trials, probability) for at in range(count, trials + 1)]
    most = max(terms)
    return min(0.0, most + math.log(sum(math.exp(term - most) for term in terms)))


def clopper_pearson(count: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The share that `count` of `trials` speaks for, at least and at most."""
    if trials == 0:
        return 0.0, 1.0
    each = math.log((1 - confidence) / 2)
    low = 0.0 if count == 0 else _solved(lambda share: tail(count, trials, share) < each)
    high = 1.0 if count == trials else 1.0 - _solved(lambda share: tail(trials - count, trials, share) < each)
    return low, high


def _solved(is_below: Callable[[float], bool]) -> float:
    """The share up to which it is below."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def _log_chance(count: int, trials: int, probability: float) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return ways + count * math.log(probability) + (trials - count) * math.log1p(-probability)
