"""What counts bound: rates from trials, and the time a fault is on from the trials it shows in."""

from __future__ import annotations

import math
from collections.abc import Callable

CONFIDENCE = 0.95


def clean_bound(clean: int, bad: int = 0) -> float:
    """Upper 95 % bound of a failure rate after so many clean and bad trials; 1 - 0.05^(1/n) where all n were clean."""
    trials = clean + bad
    if trials == 0:
        return 1.0
    if bad == 0:
        return float(1 - (1 - CONFIDENCE) ** (1 / trials))
    return _solve(lambda rate: at_most(bad, trials, rate), 1 - CONFIDENCE)


def interval(bad: int, trials: int) -> tuple[float, float]:
    """Exact two-sided 95 % interval of a rate."""
    tail = (1 - CONFIDENCE) / 2
    if trials == 0:
        return 0.0, 1.0
    low = 0.0 if bad == 0 else _solve(lambda rate: at_most(bad - 1, trials, rate), 1 - tail)
    high = 1.0 if bad == trials else _solve(lambda rate: at_most(bad, trials, rate), tail)
    return low, high


def duty_from_strikes(struck: int, trials: int, trial_s: float, window_s: float) -> tuple[float, float]:
    """Share of time on, of a fault whose counter moved in some trials of `trial_s` seconds.

    Between two extremes: bursts as short as a window show in a trial far more often than they are on; bursts that
    outlast trials show in just that share of them. Bursts that no counter shows are not reckoned with.
    """
    low, high = interval(struck, trials)
    per_second = -math.log1p(-min(low, 0.999)) / max(trial_s, window_s)
    shortest = per_second * window_s / (1 + per_second * window_s)
    return min(low, shortest), high


def at_most(bad: int, trials: int, rate: float) -> float:
    """Probability of at most so many bad trials."""
    if rate <= 0:
        return 1.0
    if rate >= 1:
        return 1.0 if bad >= trials else 0.0
    logs = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(rate) + (trials - k) * math.log1p(-rate)
        for k in range(bad + 1)
    )  # fmt: skip
    return min(1.0, sum(map(math.exp, logs)))


def _solve(falling: Callable[[float], float], target: float) -> float:
    """Where a falling function of a rate meets the target."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if falling(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
