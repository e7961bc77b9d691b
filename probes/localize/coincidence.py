"""Counters that move in the very trials whose bandwidth dips: then one fault does both.

A counter that steps for reasons that don't hurt, and a dip that is somebody else's doing, fall on the same trials by
chance alone. A fault that shows in both does so in the same trials.
"""

from __future__ import annotations

import math
from collections import Counter

from .counters import Counters
from .evidence import BandwidthEvidence

LEAST_STRIKES = 2
MOST = 8.0
"""Nats that coincidence may add: no model of a trial is trusted further."""


def coincidences(counters: Counters, bandwidth: BandwidthEvidence) -> dict[int, float]:
    """Nats by part, of parts that were struck more than once."""
    return {
        part: _of(part, set(events), counters, bandwidth)
        for part, events in counters.struck.items()
        if len(events) >= LEAST_STRIKES
    }


def log_odds_of_one_cause(both: int, struck: int, dipped: int, neither: int) -> float:
    """Nats for dips that come more often with a strike than without, against dips that don't care; within 0 and MOST.

    `struck`, `dipped`: trials that show the one and not the other. Rates are unknown, each uniform between 0 and 1.
    """
    if both * (dipped + neither) <= dipped * (both + struck):
        return 0.0
    apart = _log_beta(both, struck) + _log_beta(dipped, neither)
    alike = _log_beta(both + dipped, struck + neither)
    return min(max(apart - alike, 0.0), MOST)


def _of(part: int, struck: set[str], counters: Counters, bandwidth: BandwidthEvidence) -> float:
    observations = bandwidth.observations
    seen = Counter(
        (observations[at].id in struck, bandwidth.dips(at))
        for at in bandwidth.across([int(counters.parts.column[part])])
        if part in observations[at].path.counted
    )
    return log_odds_of_one_cause(seen[True, True], seen[True, False], seen[False, True], seen[False, False])


def _log_beta(hits: int, misses: int) -> float:
    """Log probability of one sequence of hits and misses when their rate is uniform."""
    return math.lgamma(hits + 1) + math.lgamma(misses + 1) - math.lgamma(hits + misses + 2)
