"""The matrix of measurements fills in trial by trial; its reading says what the slow pairs have in common."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import pytest
from lanescope.incident.events import Trial, TrialEnded
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.topology.sources.facts import build_fabric
from lanescope.tui.draw.canvas import Canvas, text_of
from lanescope.tui.draw.matrix import draw_matrix, put_matrix_reading
from lanescope.tui.draw.matrix_view import Matrix, network_matrix, node_matrix
from lanescope.tui.draw.measurements import Measurements
from lanescope.tui.theme import DARK, Ink, Role

from .made_up import START, MadeUp  # noqa: TID251 (this folder, not the room)

INK = Ink()
P2P, NET = 397.0, 49.1
"""What healthy parts of this board measure, GB/s."""


class Bench:
    """A node's fabric and the trials that ended on it."""

    def __init__(self, nodes: int = 1) -> None:
        made = MadeUp(nodes)
        snapshot = made.snapshot()
        self.fabric = build_fabric(snapshot.nodes.values())
        self.nodes = self.fabric.nodes
        self.trials: list[tuple[str, TrialEnded]] = []

    def end(self, probe: str, targets: Iterable[ComponentId], windows: tuple[float, ...], **more: Any) -> None:
        parts = tuple(targets)
        trial = Trial(id=f"R1T{len(self.trials)}", probe=probe, node=parts[0].node, targets=parts, seconds=0.6)
        ended = TrialEnded(
            time=START, trial=trial, round=1, windows=windows, moves=(), started=START, ended=START, **more
        )
        self.trials.append((f"J{len(self.trials)}", ended))

    def pair(self, source: int, end: int, share: float, **more: Any) -> None:
        node = self.nodes[0]
        windows = (P2P, P2P * share, P2P) if share == share else ()
        self.end("p2p", (gpu_id(node, source), gpu_id(node, end)), windows, **more)

    def all_pairs(self, slow: Iterable[tuple[int, int]] = (), share: float = 0.55) -> Bench:
        chosen = set(slow)
        for source, end in permutations(range(8), 2):
            self.pair(source, end, share if (source, end) in chosen else 0.97)
        return self

    def matrix(self) -> Matrix:
        return node_matrix(Measurements().learn(self.trials), self.fabric, self.nodes[0])

    def network(self) -> Matrix:
        return network_matrix(Measurements().learn(self.trials), self.fabric, self.nodes)


def drawn(matrix: Matrix, width: int = 80, height: int = 20) -> list[str]:
    canvas = Canvas(width, height, INK)
    y = draw_matrix(canvas, 0, 0, matrix, width, height)
    put_matrix_reading(canvas, 0, y, matrix, width, height - y)
    return text_of(canvas.strips()).splitlines()


def said(matrix: Matrix) -> str:
    return " ".join(matrix.reading)


def test_a_pair_that_nobody_measured_is_not_measured_and_never_zero() -> None:
    bench = Bench()
    assert said(bench.matrix()) == "No pair of GPUs has been measured yet."
    bench.pair(0, 1, 0.98)
    lines = drawn(bench.matrix())
    assert "1 of 56 pairs" in lines[1]
    assert lines[3].split() == ["GPU0", "98", "-", "-", "-", "-", "-", "-"]
    assert not any("0 " in line.partition("GPU1")[2] for line in lines[4:5])


def test_the_worst_window_of_all_trials_stands_in_a_cell() -> None:
    bench = Bench()
    bench.pair(0, 1, 0.98)
    bench.pair(0, 1, 0.41)
    bench.pair(0, 1, 0.97)
    assert drawn(bench.matrix())[3].split()[1] == "▲41"


def test_trials_that_measured_nothing_say_nothing_about_a_pair() -> None:
    bench = Bench()
    bench.pair(0, 1, float("nan"), error="the node is busy", code="busy")
    bench.pair(1, 0, 0.98)
    bench.pair(1, 0, float("nan"), error="the node is busy", code="busy")
    lines = drawn(bench.matrix())
    assert lines[3].split()[:2] == ["GPU0", "?"]
    assert lines[4].split()[:2] == ["GPU1", "98"]
    assert "1 pair measured nothing, so nothing is known of them" in said(bench.matrix())


def test_a_gpu_that_is_slow_with_every_partner_is_named_and_no_pair_is() -> None:
    slow = [pair for pair in permutations(range(8), 2) if 5 in pair]
    assert said(Bench().all_pairs(slow).matrix()) == (
        "GPU5 is slow with every partner (14 of 14 pairs): the fault is at GPU5 or its lanes, not in a pair."
    )


def test_a_pair_that_is_slow_alone_is_told_from_its_ends() -> None:
    text = said(Bench().all_pairs([(2, 6)]).matrix())
    assert text.startswith("Slow: GPU2→GPU6 (55 %); both are fast in 25 other pairs.")


def test_a_gpu_that_is_slow_one_way_is_said_so() -> None:
    out = [(3, end) for end in range(8) if end != 3]
    assert "GPU3 is slow as a source (7 of 7 pairs) and not as a destination (0 of 7)." in said(
        Bench().all_pairs(out).matrix()
    )
    into = [(end, source) for source, end in out]
    assert "GPU3 is slow as a destination (7 of 7 pairs)" in said(Bench().all_pairs(into).matrix())


def test_a_gpu_that_is_slow_more_one_way_than_the_other_is_not_said_to_be_slow_with_everybody() -> None:
    slow = [*((end, 3) for end in range(8) if end != 3), (3, 0), (3, 1), (3, 2)]
    assert said(Bench().all_pairs(slow).matrix()) == (
        "GPU3 is slow as a destination (7 of 7 pairs), seldomer as a source (3 of 7): "
        "the fault is at GPU3 or its lanes, not in a pair."
    )


def test_what_one_slow_gpu_does_not_explain_is_said() -> None:
    slow = [pair for pair in permutations(range(8), 2) if 5 in pair]
    assert "Not explained by that: GPU0→GPU1 (55 %)." in said(Bench().all_pairs([*slow, (0, 1)]).matrix())


def test_slow_pairs_with_a_common_gpu_whose_others_are_fast_come_and_go() -> None:
    text = said(Bench().all_pairs([(5, 1), (5, 2), (0, 5)]).matrix())
    assert text.startswith("All 3 slow pairs have GPU5 in common, and 11 of its 14 are fast: it comes and goes")


def test_when_all_is_slow_no_gpu_is_blamed() -> None:
    text = said(Bench().all_pairs(permutations(range(8), 2)).matrix())
    assert "The middle pair's worst window is at 55 % of expected: look first for what all GPUs share." in text
    assert "GPU5" not in text


def test_noise_that_all_pairs_share_points_at_none() -> None:
    bench = Bench()
    for source, end in permutations(range(8), 2):
        bench.pair(source, end, 0.80 + 0.01 * ((source + end) % 3))
    assert not any(cell.is_low for cell in bench.matrix().cells.values())
    assert said(bench.matrix()).startswith("None of the 56 measured pairs fell below 69 %")


def test_wrong_data_stands_before_everything_else() -> None:
    bench = Bench().all_pairs()
    bench.pair(1, 2, 0.97, check="wrong", detail="3 words of 64 MiB differ")
    assert said(bench.matrix()).startswith("Data arrived wrong: GPU1→GPU2 (97 %).")
    assert "×" in drawn(bench.matrix())[4]


def test_copies_from_host_memory_stand_in_a_row_of_their_own() -> None:
    bench = Bench().all_pairs()
    for index in range(7):
        bench.end("h2d", (gpu_id(bench.nodes[0], index),), (55.4 * (0.5 if index == 2 else 0.96),))
    host = next(line for line in drawn(bench.matrix()) if line.startswith(" host"))
    assert host.split() == ["host", "96", "96", "▲50", "96", "96", "96", "96", "-"]


def test_between_nodes_the_worst_pair_of_ends_stands_for_two_nodes() -> None:
    bench = Bench(4)
    for one, other in permutations(range(4), 2):
        for index in range(2):
            slow = 2 in (one, other)
            ends = (gpu_id(bench.nodes[one], index), gpu_id(bench.nodes[other], index))
            bench.end("net_pair", ends, (NET * (0.5 if slow and index else 0.96),))
    matrix = bench.network()
    assert matrix.names == tuple(str(node) for node in bench.nodes)
    assert matrix.cells[2, 0].trials == 2
    assert said(matrix) == (
        "sim3 is slow with every partner (6 of 6 pairs): the fault is at sim3 or its NICs and cables, not in a pair."
    )


def test_of_too_many_nodes_the_slowest_are_shown_and_the_others_counted() -> None:
    bench = Bench(40)
    for one, node in enumerate(bench.nodes):
        other = bench.nodes[(one + 1) % 40]
        share = 0.4 if one == 33 else 0.96
        bench.end("net_pair", (gpu_id(node, 0), gpu_id(other, 0)), (NET * share,))
    lines = drawn(bench.network(), 80, 18)
    assert any(line.startswith(" sim34 ") and "▲40" in line for line in lines)
    assert any("more rows have no room" in line for line in lines)


def test_without_a_known_expectation_the_others_stand_for_it_and_that_is_said() -> None:
    bench = Bench()
    for source, end in permutations(range(8), 2):
        node = bench.nodes[0]
        bench.end("nccl_p2p", (gpu_id(node, source), gpu_id(node, end)), (150.0 if source == 4 else 300.0,))
    matrix = bench.matrix()
    assert matrix.is_by_equals
    assert "the middle of all" in drawn(matrix)[1]
    assert "GPU4 is slow as a source" in said(matrix)


def test_of_a_few_pairs_without_expectation_nothing_is_called_slow() -> None:
    bench = Bench()
    node = bench.nodes[0]
    bench.end("nccl_p2p", (gpu_id(node, 0), gpu_id(node, 1)), (10.0,))
    assert said(bench.matrix()) == "What is expected here is not known, so no pair can be called slow."
    assert drawn(bench.matrix())[3].split()[:2] == ["GPU0", "10"]


def test_a_slow_pair_is_seen_without_colour_and_is_not_red() -> None:
    bench = Bench().all_pairs([(2, 6)])
    canvas = Canvas(80, 14, INK)
    draw_matrix(canvas, 0, 0, bench.matrix(), 80, 14)
    styles = [
        segment.style
        for strip in canvas.strips()
        for segment in strip
        if "▲" in segment.text and segment.style is not None
    ]
    colours = {colour.name for style in styles for colour in (style.color, style.bgcolor) if colour is not None}
    assert DARK.roles[Role.FAIL] not in colours
    assert "▲55" in text_of(canvas.strips())


def test_only_new_trials_are_looked_at_and_another_case_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanescope.tui.draw import measurements

    bench = Bench().all_pairs()
    kept = Measurements().learn(bench.trials)
    looked: list[TrialEnded] = []
    true = measurements._told
    monkeypatch.setattr(measurements, "_told", lambda ended: looked.append(ended) or true(ended))
    kept.learn(tuple(bench.trials))
    assert not looked
    bench.pair(0, 1, 0.3)
    assert len(kept.learn(tuple(bench.trials)).within(bench.nodes[0])) == 56
    assert len(looked) == 1
    other = Bench()
    other.pair(4, 5, 0.9)
    assert len(kept.learn(tuple(other.trials)).within(NodeId("sim1"))) == 1


def test_what_was_made_of_trials_is_kept_until_there_are_new_ones() -> None:
    bench = Bench().all_pairs()
    kept = Measurements().learn(bench.trials)
    made: list[int] = []
    for _ in range(3):
        kept.learn(tuple(bench.trials)).kept("key", lambda: made.append(1))
    assert len(made) == 1
    bench.pair(0, 1, 0.3)
    kept.learn(tuple(bench.trials)).kept("key", lambda: made.append(1))
    assert len(made) == 2
