"""Where the parts of a node picture stand for one size, and which of its rows a cursor can stand on."""

from __future__ import annotations

from dataclasses import dataclass

from .node_view import NodePicture

GUTTER = 7
BOXED_FROM = 11
"""Cells a column needs to hold a box."""


@dataclass(frozen=True)
class Cursor:
    """What is selected: a row of the picture and a column of it."""

    row: int = 0
    column: int = 0


@dataclass(frozen=True)
class Layout:
    """Where things stand for one size."""

    gutter: int
    column: int
    middles: tuple[int, ...]
    boxed: bool
    rail_step: int
    gpus: int
    pcie: int
    switches: int
    nics: int
    apart: int
    end: int
    """The row after the picture."""

    @property
    def right(self) -> int:
        """The last cell of the last column."""
        return self.middles[-1] + self.column // 2 - 1 if self.middles else self.gutter


def layout_of(picture: NodePicture, width: int, height: int) -> Layout:
    """Boxes and spread rails where they fit, one row each where they don't."""
    count = max(1, len(picture.gpus))
    gutter = GUTTER if width >= 100 else 5
    column = min((width - gutter - 1) // count, 18)
    middles = tuple(gutter + column * at + column // 2 for at in range(len(picture.gpus)))
    rails = len(picture.rails)
    has_nics = any(picture.below)
    full = 2 * rails + 5 + 3 + 3 * bool(picture.groups) + 5 * has_nics + bool(picture.apart)
    boxed = column >= BOXED_FROM and full + 8 <= height
    step = 2 if boxed else 1
    gpus = rails * step + (0 if boxed or not rails else 1)
    pcie = gpus + (6 if boxed else 3)
    switches = pcie + (2 if boxed else 1)
    below = switches + (bool(picture.groups) * (3 if boxed else 1))
    nics = below + (1 if boxed and has_nics else 0)
    apart = nics + (4 if boxed else 2) * has_nics
    return Layout(gutter, column, middles, boxed, step, gpus, pcie, switches, nics, apart, apart + bool(picture.apart))


def row_kinds(picture: NodePicture) -> list[str]:
    """The rows the cursor can stand on, from the top."""
    rows = [f"rail{number}" for number in range(len(picture.rails))]
    if picture.gpus:
        rows += ["gpu", "pcie"]
    if any(picture.below):
        rows.append("nic")
    if picture.apart:
        rows.append("apart")
    return rows or ["gpu"]
