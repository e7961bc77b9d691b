"""What the healthy majority teaches: a window's noise, how often one is low for no reason, how long bad runs last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .settings import Settings

Floats = npt.NDArray[np.float64]

NOISE_GRID = (
    0.01,
    0.0125,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.045,
    0.05,
    0.055,
    0.06,
    0.07,
    0.08,
    0.1,
    0.13,
    0.17,
)
OUTLIER_GRID = (0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.014, 0.02, 0.03, 0.05)
HYSTERESIS = 0.06
"""Log distance that an estimate must have from the cell in use before a neighbour is taken."""
OUTLIER_PRIOR = 600.0
"""Windows that the prior outlier rate is worth."""
NOISE_PRIOR = 50.0
FIRST_AT, GROWTH = 60, 1.6
"""Windows after which the tables are calibrated first, and by which factor they must grow until the next time."""
CROWDED_PRIOR = (1.0, 20.0)
"""Moments at which others slow a path, and all, that the prior is worth."""
ENOUGH_TRIALS = 20
"""Innocent trials from which their medians tell of the noise."""
TRIAL_WINDOWS, LEAST_RUN = 16, 3.0
ENOUGH = 100
"""Independent windows needed before a verdict may hinge on the noise level."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What has been learnt about the measuring itself."""

    noise: float
    outliers: float
    run: tuple[int, int] = (12, 4)
    """Bad windows in so many runs of them: what the mean length of a run is reckoned from."""
    windows: int = 0
    """Windows it was learnt from."""
    crowded: float = 0.05
    """Share of moments at which others slow a path that they use too."""
    next_at: float = FIRST_AT

    @classmethod
    def start(cls, settings: Settings) -> Calibration:
        """Before the first trial."""
        return cls(_nearest(NOISE_GRID, settings.noise), _nearest(OUTLIER_GRID, settings.outliers))

    @property
    def burst(self) -> float:
        """Mean length of a run of bad windows."""
        return self.run[0] / self.run[1]

    @property
    def settled(self) -> bool:
        """Whether small drops can be judged."""
        return self.windows / self.burst >= ENOUGH


def run_of(bad: int, recoveries: int, longest: int) -> tuple[int, int]:
    """Bad windows by runs, at most a whole trial of `longest` each: by recoveries seen, prior 12 by 4."""
    windows, runs = 12 + bad, 4 + recoveries
    return (windows, runs) if windows <= longest * runs else (longest, 1)


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to learn from."""

    steady: Floats
    """Windows of all trials, each against its trial's own median."""
    levels: Floats
    """Medians, against what is expected, of the trials that avoid the suspects."""
    innocent: int
    """Windows of those trials ..."""
    low: int
    """... and how many of them lie five standard deviations down."""
    run: tuple[int, int]
    shared: int
    """Moments of innocent paths that others use too, each path once an epoch, ..."""
    slowed: int
    """... and in how many of them it was slow as a whole."""


def recalibrate(now: Calibration, settings: Settings, seen: Seen) -> Calibration:
    """Noise from how windows spread within trials, outliers from the innocent ones.

    All but a few of the windows are healthy, so their median absolute deviation is the noise; a part that is slow all
    the time does not widen it. Where whole trials differ by more than that explains, it is wider. Cells of a grid
    change only when the estimate has clearly left the one in use.
    """
    count = len(seen.steady)
    weight = count / (count + NOISE_PRIOR)
    noise = weight * max(_spread(seen.steady), _between_trials(seen)) + (1 - weight) * settings.noise
    burst, innocent, low, run = seen.run[0] / seen.run[1], seen.innocent, seen.low, seen.run
    outliers = (settings.outliers * OUTLIER_PRIOR + 1.25 * low / burst) / (OUTLIER_PRIOR + innocent / burst)
    return Calibration(
        _moved(NOISE_GRID, now.noise, noise),
        _moved(OUTLIER_GRID, now.outliers, max(outliers, OUTLIER_GRID[0])),
        run,
        count,
        (CROWDED_PRIOR[0] + seen.slowed) / (CROWDED_PRIOR[1] + seen.shared),
        count * GROWTH,
    )


def _spread(values: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(values)))


def _between_trials(seen: Seen) -> float:
    """The window's noise that would make innocent trials differ as they do, when runs of windows go together."""
    if len(seen.levels) < ENOUGH_TRIALS:
        return 0.0
    together = max(seen.run[0] / seen.run[1], LEAST_RUN)
    return _spread(seen.levels) * float(np.sqrt(TRIAL_WINDOWS / together))


def _moved(grid: tuple[float, ...], current: float, estimate: float) -> float:
    return current if abs(np.log(estimate / current)) < HYSTERESIS else _nearest(grid, estimate)


def _nearest(grid: tuple[float, ...], value: float) -> float:
    return min(grid, key=lambda cell: abs(float(np.log(cell / value))))
