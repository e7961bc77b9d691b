from __future__ import annotations

import pytest
from lanescope.incident.events import NodeState, VerdictReached
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id
from lanescope.incident.snapshot import Snapshot
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.facts import build_fabric
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.draw.consent import draw_consent
from lanescope.tui.draw.counters import draw_counters
from lanescope.tui.draw.counters_view import counter_table
from lanescope.tui.draw.detail_view import cursor_on, detail_of
from lanescope.tui.draw.events import draw_events
from lanescope.tui.draw.events_view import event_lines
from lanescope.tui.draw.fleet import draw_fleet
from lanescope.tui.draw.fleet_view import Metric, fleet_view
from lanescope.tui.draw.node import draw_node
from lanescope.tui.draw.node_view import node_picture
from lanescope.tui.draw.problems import draw_problems, problems_of
from lanescope.tui.draw.suspects import draw_suspects
from lanescope.tui.draw.suspects_view import next_round, suspects_view
from lanescope.tui.draw.verdict import draw_verdict
from lanescope.tui.theme import Ink

from .made_up import MadeUp, nothing_found, plan, rounds_on, verdict_on, with_faults  # noqa: TID251 (this folder, not the room)

INK = Ink()
WIDE, NARROW = (120, 33), (80, 21)


def of(made: MadeUp) -> tuple[Snapshot, Fabric]:
    snapshot = made.snapshot()
    return snapshot, build_fabric(snapshot.nodes.values())


def node_text(made: MadeUp, node: str, size: tuple[int, int], part: str = "", ink: Ink = INK) -> str:
    snapshot, fabric = of(made)
    picture = node_picture(snapshot, fabric, NodeId(node))
    cursor = cursor_on(picture, ComponentId(part or node))
    return text_of(draw_node(picture, detail_of(snapshot, fabric, picture, cursor), *size, ink, cursor))


def line_with(text: str, word: str) -> str:
    return next(line for line in text.splitlines() if word in line)


# ---- fleet


def test_a_healthy_fleet_is_a_page_of_dots_without_any_loud_sign() -> None:
    text = text_of(draw_fleet(fleet_view(*of(MadeUp(20).tick(2))), 80, 21, INK))
    assert "nothing found on 20 nodes" in text
    assert not set(text) & set("▲×?")


def test_sixty_four_nodes_stand_in_eighty_columns_with_the_troubled_ones_marked() -> None:
    made = with_faults(MadeUp(64, prefix="gpu-", first=0))
    text = text_of(draw_fleet(fleet_view(*of(made)), 80, 21, INK))
    assert all(f"gpu-{number:03}" in text for number in range(64))
    assert "×gpu-005 ×·······" in text
    assert "▲gpu-002 ·····▲··" in text
    assert "?gpu-006 ????????" in text


def test_a_silent_node_says_why_and_how_old_its_last_sample_is(faulty: MadeUp) -> None:
    text = text_of(draw_fleet(fleet_view(*of(faulty)), 120, 33, INK))
    assert "no answer over ssh: the connection timed out · for 5 s · showing the sample of 5 s ago" in text


def test_a_metric_shows_heights_but_trouble_stays_a_sign(faulty: MadeUp) -> None:
    text = text_of(draw_fleet(fleet_view(*of(faulty), Metric.LOAD), 80, 21, INK))
    assert "×sim6 ×███████" in text


def test_more_nodes_than_rows_scroll_to_the_selected_one() -> None:
    text = text_of(draw_fleet(fleet_view(*of(MadeUp(40, prefix="gpu-", first=0).tick())), 80, 10, INK, selected=39))
    assert "gpu-039" in text
    assert "of 14" in text


def test_faults_only_and_a_filter_narrow_the_grid_and_say_so(faulty: MadeUp) -> None:
    few = fleet_view(*of(faulty), faults_only=True)
    assert [node.name for node in few.nodes] == ["sim3", "sim5", "sim6", "sim7"]
    rest = fleet_view(*of(faulty), pattern="!sim3")
    assert len(rest.nodes) == 7
    assert "7 of 8 nodes match" in text_of(draw_fleet(rest, 80, 21, INK))


# ---- node


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_error_rate_of_a_link_stands_in_its_crossing(faulty: MadeUp, size: tuple[int, int]) -> None:
    rail = line_with(node_text(faulty, "sim3", size), "▲4/4")
    assert rail.startswith(("NVSW2", "NVS2"))
    assert "+11" in rail


def test_the_lanes_of_a_selected_crossing_are_listed_with_the_moving_one_first(faulty: MadeUp) -> None:
    text = node_text(faulty, "sim3", WIDE, "sim3/gpu5/nvlink9")
    assert "Selected: GPU5 ↔ NVSW2" in text
    assert "▲ lane 9" in text.split("Selected")[1].splitlines()[2]
    assert "replay 276 recovery 60 CRC 0" in text


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_lost_gpu_is_a_cross_and_its_links_are_unknown_not_zero(faulty: MadeUp, size: tuple[int, int]) -> None:
    text = node_text(faulty, "sim6", size)
    assert "off" in text
    assert "×" in text
    assert "?/5" in text
    assert "0/5" not in text


def test_a_lost_gpus_counters_and_their_rates_are_missing_and_never_zero(faulty: MadeUp) -> None:
    rows = node_text(faulty, "sim6", WIDE, "sim6/gpu0").split("Selected")[1].splitlines()
    lanes = next(row for row in rows if "NVLink errors" in row)
    assert lanes.count("?") == 2
    assert "+0/s" not in lanes


def test_a_degraded_pcie_link_stands_at_its_nic(faulty: MadeUp) -> None:
    assert "▲gen5 x8" in node_text(faulty, "sim5", WIDE)
    assert "PCIe x8" in node_text(faulty, "sim5", NARROW)


def test_a_link_that_is_down_is_missing_from_the_count() -> None:
    made = MadeUp(1)
    lane = lane_id(gpu_id("sim1", 2), 0)
    made.nodes[NodeId("sim1")].down.add(lane)
    assert "▲4/5" in node_text(made.tick(2), "sim1", WIDE, lane)


def test_two_gpus_and_two_nics_to_a_switch_share_its_box() -> None:
    text = node_text(MadeUp(1, "h100_hgx_4sw").tick(2), "sim1", WIDE)
    assert text.count("PCIe sw ") == 4
    assert "├PSW0·N0─┤" in node_text(MadeUp(1, "h100_hgx_4sw").tick(2), "sim1", NARROW)


def test_a_silent_node_says_on_its_picture_that_this_is_the_past(faulty: MadeUp) -> None:
    first = node_text(faulty, "sim7", WIDE).splitlines()[0]
    assert first.startswith(" ? no answer over ssh")
    assert "5 s ago" in first


def test_a_node_of_which_nothing_is_known_says_so() -> None:
    made = MadeUp(1)
    made.take(made_up_stranger(made))
    assert "No part of this node is known yet." in node_text(made, "stranger", NARROW)


def made_up_stranger(made: MadeUp) -> object:
    from lanescope.incident.events import NodeStateChanged

    return NodeStateChanged(time=made.now, node=NodeId("stranger"), state=NodeState.CONNECTING)


@pytest.mark.parametrize("size", [(120, 33), (100, 30), (80, 21), (200, 60)])
def test_every_drawing_fills_exactly_its_size(faulty: MadeUp, size: tuple[int, int]) -> None:
    snapshot, fabric = of(rounds_on(faulty, "sim3", [(0.3, 0.1, 0.2)]))
    picture = node_picture(snapshot, fabric, NodeId("sim3"))
    cursor = cursor_on(picture, NodeId("sim3"))
    drawings = [
        draw_fleet(fleet_view(snapshot, fabric), *size, INK),
        draw_node(picture, detail_of(snapshot, fabric, picture, cursor), *size, INK, cursor),
        draw_counters(counter_table(snapshot), *size, INK, 0, 0, with_node=True),
        draw_events(event_lines(snapshot), *size, INK, 0),
        draw_suspects(suspects_view(snapshot, fabric, None), *size, INK),
    ]
    for strips in drawings:
        assert len(strips) == size[1]
        assert {strip.cell_length for strip in strips} == {size[0]}


def test_ascii_drawings_hold_nothing_but_ascii(faulty: MadeUp) -> None:
    plain = Ink(ascii_only=True)
    text = node_text(faulty, "sim3", WIDE, "sim3/gpu5/nvlink9", ink=plain)
    assert text.isascii()
    assert "!4/4 +11/s" in text


# ---- counters and events


def test_counters_that_move_stand_first_and_all_are_counted(faulty: MadeUp) -> None:
    table = counter_table(faulty.snapshot())
    assert table.moving == 2
    assert len(table) == table.known
    assert table.row(0).counter == "replay errors"
    assert table.row(0).per_second > table.row(1).per_second > 0


def test_a_missing_counter_reads_as_missing(faulty: MadeUp) -> None:
    table = counter_table(faulty.snapshot(), [NodeId("sim6")], "gpu0 lane 0")
    assert table.row(0).total != table.row(0).total
    assert "?" in line_with(text_of(draw_counters(table, 80, 10, INK, 0, 0, False)), "GPU0 lane 0")


def test_a_log_line_is_shown_whole_when_selected(faulty: MadeUp) -> None:
    lines = event_lines(faulty.snapshot(), pattern="Xid")
    text = text_of(draw_events(lines, 80, 21, INK, 0))
    assert "pid='<unknown>', name=<unknown>, GPU has" in text
    assert "fallen off the bus." in text


# ---- suspects and verdict


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_belief_stands_in_per_cent_on_the_map_and_in_the_list(faulty: MadeUp, size: tuple[int, int]) -> None:
    rounds_on(faulty, "sim3", [(0.02, 0.1, 0.6), (0.71, 0.06, 0.05)])
    text = text_of(draw_suspects(suspects_view(*of(faulty), None), *size, INK))
    assert "80 % of the belief" in line_with(text, " sim3 ")
    assert "71" in line_with(text, " NVSW2 ")
    assert "sim3 GPU5 lane 9 is most suspected (71 %)" in text
    assert "No probe tells its" in text
    assert "verdict" in text


def test_trials_in_which_a_counter_moved_are_pointed_out(faulty: MadeUp) -> None:
    rounds_on(faulty, "sim3", [(0.02, 0.1, 0.6), (0.71, 0.06, 0.05)])
    text = text_of(draw_suspects(suspects_view(*of(faulty), None), *WIDE, INK))
    assert "GPU5 lane 9 recovery errors +2" in line_with(text, "▲ R2T1")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_verdict_names_its_alternative_its_confidence_and_what_to_do(faulty: MadeUp, size: tuple[int, int]) -> None:
    rounds_on(faulty, "sim3", [(0.967, 0.01, 0.001)])
    faulty.take(verdict_on(faulty, "sim3"))
    text = text_of(draw_verdict(suspects_view(*of(faulty), None), *size, INK))
    assert "NVLINK LANE  sim3 GPU5 lane 9" in text
    assert "or  sim3 NVSW2 port 12" in text
    assert "likely 97 %" in text
    assert "Swap GPU5 with GPU4" in text


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_no_fault_found_states_what_it_excludes(faulty: MadeUp, size: tuple[int, int]) -> None:
    rounds_on(faulty, "sim3", [(0.01, 0.01, 0.96)])
    faulty.take(nothing_found(faulty))
    text = text_of(draw_verdict(suspects_view(*of(faulty), None), *size, INK))
    assert "No fault found" in text
    assert "none faulty over 5 % of the time with 25 % or more lost" in line_with(text, "GPUs")


def test_an_undecided_end_says_why(faulty: MadeUp) -> None:
    end = VerdictReached(
        time=faulty.now, outcome="undecided", verdicts=(), excludes=(), untestable=(), reason="the budget is used up",
        rounds=3, probes=24, seconds=4.0,
    )  # fmt: skip
    faulty.take(end)
    text = text_of(draw_verdict(suspects_view(*of(faulty), None), *NARROW, INK))
    assert "Undecided: the budget is used up." in text


def test_consent_names_nodes_probes_and_cost_and_keeps_its_keys_in_view_at_any_height() -> None:
    coming = next_round(plan(3, "sim3"))
    for size in ((88, 14), (40, 10), (40, 5)):
        text = text_of(draw_consent(coming, {"p2p": "GPU to GPU copy"}, *size, INK))
        assert text.splitlines()[-1].split()[:3] == ["y", "this", "round"]
    whole = text_of(draw_consent(coming, {"p2p": "GPU to GPU copy"}, 88, 14, INK))
    assert "4 probes at once, 1.4 s, on 1 node" in whole
    assert "sim3 4× p2p  GPU0→GPU5" in whole


# ---- small


def test_a_tiny_terminal_shows_the_worst_problem_first_and_counts_the_rest(faulty: MadeUp) -> None:
    text = text_of(draw_problems(problems_of(faulty.snapshot()), 8, 40, 4, INK))
    assert "4 of 8 nodes need a look" in text
    assert "× sim6" in text.splitlines()[1]
    assert "and" in text.splitlines()[-1]
