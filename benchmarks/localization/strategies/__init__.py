"""Ways to find a fault, ours and today's practice, each by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ..arena import Arena
from ..outcome import Outcome
from .bisection import bisection
from .fixed import fixed
from .noisy_binary_search import noisy_binary_search
from .ours import ours
from .soak import soak
from .sweep import sweep
from .two_round import two_round

Strategy = Callable[[Arena, np.random.Generator], Outcome]

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "ours": ours,
        "fixed": fixed,
        "sweep": sweep,
        "two_round": two_round,
        "bisection": bisection,
        "soak": soak,
        "noisy_binary_search": noisy_binary_search,
    }
)

MOST_NODES: Mapping[str, int] = MappingProxyType({"soak": 32, "noisy_binary_search": 32, "fixed": 128})
"""Clusters past which a strategy is not run, as computing it would take hours."""
