"""Belief as heat: on the fleet, on one node, never where nothing is known, and never in the colour of a verdict."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from lanescope.incident.events import BeliefUpdated, Fact, FactsRead, RoundPlanned, Trial
from lanescope.incident.findings import Suspect
from lanescope.incident.ids import ComponentId, NodeId, bridge_id, gpu_id, host_id, lane_id, numa_id, nvswitch_id
from lanescope.topology.sources.facts import build_fabric
from lanescope.tui.draw.belief_heat import heat_cell
from lanescope.tui.draw.belief_map import Heat
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.draw.suspects import Pane, draw_suspects
from lanescope.tui.draw.suspects_view import Choice, SuspectsView, suspects_view
from lanescope.tui.theme import DARK, Ink, Mark, Role

from .made_up import START, MadeUp  # noqa: TID251 (this folder, not the room)

INK = Ink()
SIZES = [(120, 33), (80, 21)]


def believed(made: MadeUp, *suspects: tuple[str, float, tuple[str, ...]]) -> MadeUp:
    made.take(
        BeliefUpdated(
            time=made.now,
            round=3,
            suspects=tuple(
                Suspect(
                    component=ComponentId(part),
                    members=tuple(ComponentId(member) for member in (part, *others)),
                    posterior=posterior,
                )
                for part, posterior, others in suspects
            ),
            no_fault=0.1,
            parts=1702,
            probes=48,
            seconds=4.2,
            noise=0.04,
            outliers=0.003,
            burst=1.5,
        )
    )
    return made


def plan_on(nodes: Iterable[NodeId]) -> RoundPlanned:
    trials = tuple(
        Trial(id=f"R1T{n}", probe="h2d", node=node, targets=(gpu_id(node, 0),), seconds=0.6)
        for n, node in enumerate(nodes)
    )
    return RoundPlanned(time=START, round=1, trials=trials, seconds=1.1, gain=0.2, reason="every part once more")


def view_of(made: MadeUp, choice: Choice | None = None) -> SuspectsView:
    snapshot = made.snapshot()
    return suspects_view(snapshot, build_fabric(snapshot.nodes.values()), None, None, choice or Choice())


def drawn(made: MadeUp, size: tuple[int, int], choice: Choice | None = None) -> list[str]:
    return text_of(draw_suspects(view_of(made, choice), *size, INK)).splitlines()


def row(lines: list[str], name: str) -> str:
    """The row of a node's drawing that begins with a name, without what stands beside it."""
    found = (line for line in lines if line.startswith(f" {name} ") and not line.startswith(f" {name} PCIe"))
    return next(found)[:66]


def column_of(lines: list[str], gpu: str) -> int:
    return next(line for line in lines if f" {gpu} " in line).index(gpu) + 2


@pytest.fixture
def made() -> MadeUp:
    return MadeUp(4).tick(3)


PLACES = [
    (gpu_id("sim2", 3), "GPU", "GPU3"),
    (gpu_id("sim2", 3) / "hbm", "GPU", "GPU3"),
    (lane_id(gpu_id("sim2", 5), 9), "NVSW2", "GPU5"),
    (gpu_id("sim2", 6) / "pcie", "PCIe", "GPU6"),
    (ComponentId("sim2/mlx5_0"), "NIC", "GPU0"),
    (ComponentId("sim2/mlx5_0/pcie"), "NIC PCIe", "GPU0"),
    (ComponentId("cable/sim2:mlx5_0~leaf-1:port2"), "NIC", "GPU0"),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("part", "name", "gpu"), PLACES, ids=[str(part) for part, *_ in PLACES])
def test_the_belief_in_a_part_stands_where_the_part_is_drawn(
    made: MadeUp, size: tuple[int, int], part: ComponentId, name: str, gpu: str
) -> None:
    lines = drawn(believed(made, (part, 0.42, ())), size)
    hot = row(lines, name)
    assert hot.count("42") == 1
    assert abs(hot.index("42") - column_of(lines, gpu)) <= 2
    others = [line for line in lines if line.startswith((" NVSW", " GPU", " PCIe", " NIC")) and line[:66] != hot]
    assert not any("42" in line[:66] for line in others)


@pytest.mark.parametrize("size", SIZES)
def test_parts_without_a_column_stand_beside_the_drawing(made: MadeUp, size: tuple[int, int]) -> None:
    parts = ((numa_id("sim2", 1), 0.31, ()), (host_id("sim2"), 0.12, ()), ("sim2/psu1", 0.07, ()))
    line = row(drawn(believed(made, *parts), size), "host")
    assert line.split() == ["host", "12", "NUMA", "0", "·", "NUMA", "1", "31", "psu1", "7"]


def test_an_nvswitch_is_hot_itself_and_not_its_crossings(made: MadeUp) -> None:
    lines = drawn(believed(made, (nvswitch_id("sim2", 1), 0.42, ())), SIZES[0])
    assert row(lines, "NVSW1").split()[:2] == ["NVSW1", "42"]
    assert row(lines, "NVSW1").count("·") == 8


def test_a_bridge_that_devices_share_stands_over_all_of_them(made: MadeUp) -> None:
    fabric = build_fabric(made.snapshot().nodes.values())
    shared = fabric.chain(gpu_id("sim2", 0))[-1]
    assert shared == bridge_id("sim2", shared.name)
    lines = drawn(believed(made, (shared, 0.42, ())), SIZES[0])
    assert "42" in row(lines, "bridge")
    assert "42" not in row(lines, "PCIe")


def test_what_no_probe_tells_from_a_suspect_is_marked_and_counts_no_belief(made: MadeUp) -> None:
    lines = drawn(believed(made, ("sim2/mlx5_0", 0.42, ("sim2/mlx5_0/pcie",))), SIZES[0])
    assert "42" in row(lines, "NIC")
    assert row(lines, "NIC PCIe").split()[2] == "~"
    assert any("~ no probe tells it apart" in line for line in lines)
    assert any(line.startswith(" sim2  42 % of the belief") for line in lines)


def test_the_node_of_the_top_suspect_is_drawn_and_another_can_be_chosen(made: MadeUp) -> None:
    believed(made, (gpu_id("sim3", 1), 0.5, ()), (gpu_id("sim1", 1), 0.2, ()))
    assert view_of(made).chosen == "sim3"
    lines = drawn(made, SIZES[1], Choice(node=NodeId("sim1")))
    assert "[sim1 20]" in next(line for line in lines if line.startswith(" nodes"))
    assert "20" in row(lines, "GPU")


def test_many_nodes_keep_the_most_believed_and_count_the_belief_of_the_others() -> None:
    made = MadeUp(64).tick()
    made.take(plan_on(made.nodes))
    others = ((gpu_id(f"sim{n:02}", 0), 0.01, ()) for n in range(20, 40))
    believed(made, (gpu_id("sim60", 0), 0.5, ()), *others)
    lines = drawn(made, SIZES[1])
    assert any("[sim60 50]" in line for line in lines)
    assert any("nodes more with" in line for line in lines)
    wide = drawn(made, SIZES[0])
    assert all(f"sim{n:02}" in "\n".join(wide) for n in range(1, 65))


def test_links_that_nobody_tells_of_are_unknown_and_not_cold() -> None:
    made = MadeUp(1)
    facts = tuple(Fact(gpu_id("bare", n), "bus_address", f"0000:{n + 16:02x}:00.0") for n in range(2))
    lanes = tuple(Fact(lane_id(gpu_id("bare", 0), n), "remote_type", "switch") for n in range(4))
    ends = tuple(Fact(lane_id(gpu_id("bare", 0), n), "remote_address", "0000:05:00.0") for n in range(4))
    switch = Fact(nvswitch_id("bare", 0), "bus_address", "0000:05:00.0")
    made.take(FactsRead(time=made.now, node=NodeId("bare"), source="collector", facts=(*facts, *lanes, *ends, switch)))
    believed(made, (gpu_id("bare", 0), 0.3, ()))
    line = row(drawn(made, SIZES[0]), "NVSW0")
    assert line.count("·") == 2  # the switch itself and GPU0's lanes
    assert line.count("?") == 1


def test_network_switches_stand_in_the_strip_with_their_belief(made: MadeUp) -> None:
    from lanescope.tui.draw.belief_heat import draw_fleet_heat
    from lanescope.tui.draw.belief_map import FleetHeat, Place
    from lanescope.tui.draw.canvas import Canvas

    def strip(leaf: float) -> list[str]:
        canvas = Canvas(80, 5, INK)
        nodes = ((NodeId("sim1"), Place("sim1", 0.3, False)),)
        leaves = (Place("leaf-1", 0.0, False), Place("leaf-2", leaf, False))
        heat = FleetHeat(nodes, leaves, (Place("spine-1", 0.0, False),), (), Place("uplinks", 0.02, False))
        draw_fleet_heat(canvas, 0, heat, NodeId("sim1"), 1)
        return text_of(canvas.strips()).splitlines()

    hot = strip(0.4)
    assert hot[1].split() == ["leaves", "leaf-2", "40", "leaf-1", "·"]
    assert hot[2].split() == ["spines", "uplinks", "2", "spine-1", "·"]
    assert strip(0.0)[1].split() == ["leaves", "leaf-1", "·", "leaf-2", "·"]


def test_a_guess_is_never_red_and_a_conviction_is() -> None:
    red = DARK.roles[Role.FAIL]
    for share in (0.006, 0.3, 0.999):
        style = heat_cell(Heat(share), INK)[1]
        assert red not in (style.color.name if style.color else "", style.bgcolor.name if style.bgcolor else "")
    text, style = heat_cell(Heat(0.999, is_convicted=True), INK)
    assert text == Mark.FAIL.glyph
    assert style.bgcolor is not None
    assert style.bgcolor.name == red


@pytest.mark.parametrize("pane", list(Pane), ids=[pane.name for pane in Pane])
@pytest.mark.parametrize("size", [*SIZES, (80, 20), (200, 60)])
def test_every_pane_fills_exactly_its_size_and_its_ascii_is_ascii(
    made: MadeUp, size: tuple[int, int], pane: Pane
) -> None:
    believed(made, (gpu_id("sim2", 3), 0.42, ("sim2/gpu3/pcie",)))
    strips = draw_suspects(view_of(made), *size, Ink(ascii_only=True), pane)
    assert (len(strips), {strip.cell_length for strip in strips}) == (size[1], {size[0]})
    assert text_of(strips).isascii()
