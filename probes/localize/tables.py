"""Rows of different lengths as one table of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def padded(rows: Sequence[Sequence[int]], filling: int) -> npt.NDArray[np.int64]:
    """[rows, longest], the rest filled."""
    table = np.full((len(rows), max(map(len, rows), default=0)), filling, dtype=np.int64)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table
