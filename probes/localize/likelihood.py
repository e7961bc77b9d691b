"""What one window says about every way a part can be at fault: tables of log-likelihood ratios against `healthy`.

All in integer micro-nats of x in integer micro-units: sums are the same on any machine, and can be added up by hand.
x is log(measured / expected). Healthy: (1 - e) N(x; 0, s) + e Out(x), where Out is a window that is low for no reason,
its bandwidth uniform between 10 and 100 %. A part that carries a share w of the traffic and is at fault in a mode (duty
d, drop uniform): d [(1 - e) N(x; log(1 - w drop), s) + e Out] + (1 - d) Healthy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .settings import MODES, Mode

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NAT = 1_000_000
"""Units of a nat, and of x."""
LOWEST, STEP, BINS = -5.2, 0.01, 560
"""x is binned from LOWEST in steps of STEP; what lies outside falls into the outermost bins."""
FLOOR = 1e-9
"""Added to densities, so that no window can be impossible."""
BAD, SOFT = -4.0, -1.5
"""Below so many standard deviations a window is bad, or soft."""
LEAST_DIVERGENCE = 0.03
"""Nats per window below which a mode drowns in the noise."""

_EDGES = LOWEST + STEP * np.arange(BINS + 1)


def bins_of(x: Ints) -> Ints:
    """Bin of each x, micro-units."""
    return np.clip((x - round(LOWEST * NAT)) // round(STEP * NAT), 0, BINS - 1)


def micro(values: Floats) -> Ints:
    """Values in integer micro-units."""
    return np.round(values * NAT).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables for one noise and outlier rate. S share codes, M modes."""

    noise: float
    outliers: float
    ratios: Ints
    """[S, M, BINS] log-likelihood ratio of a window, micro-nats."""
    on: Ints
    """[S, M, BINS] the same of a window in which the fault is on for certain."""
    outcomes: Floats
    """[S, M, 3] probability that a window is bad, soft or clean when the part is at fault ..."""
    healthy_outcomes: Floats
    """[3] ... and when nothing is."""
    divergence: Floats
    """[S, M] nats per window."""


@lru_cache(maxsize=64)
def tables(noise: float, outliers: float, shares: tuple[float, ...]) -> Tables:
    """The tables for these shares of traffic."""
    healthy = (1 - outliers) * _smeared(_spike(), noise) + outliers * _outlier(noise)
    on = np.array([[_on(mode, share, noise, outliers) for mode in MODES] for share in shares])
    duty = np.array([mode.duty for mode in MODES])[:, None]
    faulty = duty * on + (1 - duty) * healthy
    floor = FLOOR * STEP
    ratios: Floats = np.log((faulty + floor) / (healthy + floor))
    cuts = bins_of(micro(np.array([BAD * noise, SOFT * noise])))
    pieces = [slice(0, cuts[0]), slice(cuts[0], cuts[1]), slice(cuts[1], None)]
    outcomes = np.stack([faulty[..., piece].sum(axis=-1) for piece in pieces], axis=-1)
    healthy_outcomes = np.array([healthy[piece].sum() for piece in pieces])
    return Tables(
        noise,
        outliers,
        micro(ratios),
        micro(np.log((on + floor) / (healthy + floor))),
        outcomes / outcomes.sum(axis=-1, keepdims=True),
        healthy_outcomes / healthy_outcomes.sum(),
        (faulty * ratios).sum(axis=-1),
    )


def strike(ratios: Ints, run: tuple[int, int]) -> Ints:
    """What all windows of a trial say together; `ratios` [..., K] of its windows, micro-nats.

    Bad windows come in bursts of `run` (windows, bursts), so K windows are worth K * bursts / windows, and one trial is
    at most one strike: it never says more than its worst window.
    """
    windows, bursts = run
    together: Ints = np.minimum(ratios.sum(axis=-1) * bursts // windows, np.maximum(ratios.max(axis=-1), 0))
    return together


def _outlier(noise: float) -> Floats:
    return _smeared(_uniform_bandwidth(0.1, 1.0), noise) + 1e-6 * STEP


def _on(mode: Mode, share: float, noise: float, outliers: float) -> Floats:
    """Of a window in which the fault is on."""
    dropped = _smeared(_uniform_bandwidth(1 - share * mode.high, 1 - share * mode.low), noise)
    on: Floats = (1 - outliers) * dropped + outliers * _outlier(noise)
    return on


def _uniform_bandwidth(low: float, high: float) -> Floats:
    """Mass of log bandwidth in each bin when the bandwidth is uniform between two shares of the expected."""
    inside = np.clip(np.exp(_EDGES), low, high)
    mass: Floats = np.diff(inside) / (high - low)
    return mass


def _spike() -> Floats:
    """All mass at x = 0, spread over the two bins that meet there."""
    mass = np.zeros(BINS)
    at = round(-LOWEST / STEP)
    mass[at - 1 : at + 1] = 0.5
    return mass


@lru_cache(maxsize=64)
def _kernel(noise: float) -> Floats:
    """Mass of a normal distribution in bins around its mean."""
    reach = math.ceil(5 * noise / STEP)
    edges = (np.arange(-reach, reach + 2) - 0.5) * STEP / (noise * math.sqrt(2))
    return np.diff([math.erf(edge) for edge in edges]) / 2


def _smeared(mass: Floats, noise: float) -> Floats:
    return np.convolve(mass, _kernel(noise), mode="same")


def log_sum(values: Floats, axis: int) -> Floats:
    """Log of the sum of exponentials along an axis; -inf where all are."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        summed: Floats = np.log(np.exp(values - top).sum(axis=axis)) + np.squeeze(top, axis=axis)
    return summed


def entropy(probabilities: Floats) -> Floats:
    """Entropy along the last axis, nats."""
    result: Floats = -(probabilities * np.log(np.maximum(probabilities, 1e-300))).sum(axis=-1)
    return result
