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


def recalibrate(
    now: Calibration, settings: Settings, everything: Floats, innocent: int, low: int, run: tuple[int, int]
) -> Calibration:
    """Noise from the spread of all windows, outliers from the `innocent` ones, of trials that avoid the suspects, `low`
    of which lie five standard deviations down.

    All but a few of the windows are healthy, so their median absolute deviation is the noise. Cells of a grid change
    only when the estimate has clearly left the one in use.
    """
    count = len(everything)
    weight = count / (count + NOISE_PRIOR)
    noise = weight * 1.4826 * float(np.median(np.abs(everything))) + (1 - weight) * settings.noise
    burst = run[0] / run[1]
    outliers = (settings.outliers * OUTLIER_PRIOR + 1.25 * low / burst) / (OUTLIER_PRIOR + innocent / burst)
    return Calibration(
        _moved(NOISE_GRID, now.noise, noise),
        _moved(OUTLIER_GRID, now.outliers, max(outliers, OUTLIER_GRID[0])),
        run,
        count,
        count * GROWTH,
    )


def _moved(grid: tuple[float, ...], current: float, estimate: float) -> float:
    return current if abs(np.log(estimate / current)) < HYSTERESIS else _nearest(grid, estimate)


def _nearest(grid: tuple[float, ...], value: float) -> float:
    return min(grid, key=lambda cell: abs(float(np.log(cell / value))))
