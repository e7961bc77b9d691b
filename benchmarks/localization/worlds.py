"""The worlds that faults are drawn in: the standard one, and those that are not as the engine's model has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ...sim.surroundings import Surroundings
from ...sim.wiring import Wiring

WINDOW_S = 0.03
"""Seconds of one window of a trial."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is not perfect, and how faults behave in time."""

    surroundings: Surroundings = field(default_factory=Surroundings)
    burst_windows: float = 1.0
    """Mean windows that an intermittent fault stays on."""
    wiring: Wiring = field(default_factory=Wiring)
    knows_network: bool = True
    """Whether anybody tells what the nodes are plugged into."""


def _with(burst_windows: float = 1.0, **surroundings: float) -> Circumstances:
    """Outliers come in runs as long as a fault's bursts. Nobody else uses the NICs, unless said."""
    told = {"tenants": 0.0, "outlier_windows": burst_windows, **surroundings}
    return Circumstances(Surroundings(**told), burst_windows)  # type: ignore[arg-type]


WORLDS: Mapping[str, Circumstances] = MappingProxyType(
    {
        "standard": _with(),
        "bursts-4": _with(4),
        "bursts-16": _with(16),
        "noise-3": _with(noise=0.03),
        "noise-6": _with(noise=0.06),
        "outliers-0.05": _with(outliers=0.0005),
        "outliers-1": _with(outliers=0.01),
        "herrings-5": _with(herrings=0.05),
        "path-bias-3": _with(path_bias=0.03),
        "duty-drift": _with(duty_drift=30.0),
        "tenants": _with(tenants=0.1),
        "net-tenants": _with(tenants=0.3, net_tenants=0.2),
        "adaptive": replace(_with(), wiring=Wiring(routing="adaptive")),
        "untold-spines": replace(_with(), wiring=Wiring(told=False)),
        "unknown-network": replace(_with(), knows_network=False),
        "everything-wrong": _with(4, outliers=0.01, noise=0.06, herrings=0.05, tenants=0.1),
    }
)
"""By name. `adaptive`: traffic goes over all spines at once. `untold-spines`: over one each, and nobody says which.
`unknown-network`: nobody says what is between the nodes."""
