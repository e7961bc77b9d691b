"""What is written to the terminal: the cells that changed, and no others."""

from __future__ import annotations

from lanescope.tui.widgets.cropped_update import CroppedUpdate
from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

CLOCK = Strip([Segment("lanescope › fleet        "), Segment("14:03:24")])


def written(*spans: tuple[int, int, int], rows: int = 1) -> str:
    return CroppedUpdate([{0: CLOCK}] * rows, list(spans), [[CLOCK.cell_length]] * rows).render_segments(Console())


def test_a_clock_at_the_end_of_a_line_costs_its_own_cells() -> None:
    assert written((0, 32, 33)) == "\x1b[1;33H4"


def test_spans_of_several_lines_are_each_written_where_they_begin() -> None:
    assert written((0, 25, 27), (2, 0, 9), rows=3) == "\x1b[1;26H14\x1b[3;1Hlanescope"


def test_a_line_that_widgets_share_is_written_piece_by_piece() -> None:
    left, right = Strip([Segment("left ")]), Strip([Segment("right")])
    update = CroppedUpdate([{0: left, 5: right}], [(0, 3, 8)], [[5, 10]])
    assert update.render_segments(Console()) == "\x1b[1;4Ht \x1b[1;6Hrig"
