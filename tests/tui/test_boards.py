"""Boards that are not the eight GPUs on four NVSwitches that most drawings show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id
from lanescope.incident.platforms import PcieDevice, PcieGroup, Platform, platform
from lanescope.topology.sources.facts import build_fabric
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.draw.detail_view import cursor_on, detail_of
from lanescope.tui.draw.fleet import draw_fleet
from lanescope.tui.draw.fleet_view import fleet_view
from lanescope.tui.draw.node import draw_node
from lanescope.tui.draw.node_view import node_picture
from lanescope.tui.theme import Ink

from .made_up import MadeUp  # noqa: TID251 (this folder, not the room)

INK = Ink()
SIZES = [(120, 33), (80, 21)]
HGX = platform("h100_hgx")


def sixteen() -> Platform:
    """Two of its baseboards behind one host, as in a HGX-2: sixteen GPUs, twelve of them without a NIC of their own."""
    groups = tuple(
        PcieGroup(
            number // 8,
            (f"0000:{number:02x}:01.0", f"0000:{number:02x}:02.0"),
            (PcieDevice(f"gpu{number}", f"0000:{number:02x}:03.0", f"0000:{0x40 + number:02x}:00.0"),),
            (PcieDevice(f"mlx5_{number // 4}", f"0000:{number:02x}:04.0", f"0000:{0x80 + number:02x}:00.0"),)
            if number % 4 == 0
            else (),
        )
        for number in range(16)
    )
    return replace(HGX, key="sixteen", gpus=16, groups=groups)


def without_nvswitch() -> Platform:
    """GPUs that only PCIe connects."""
    return replace(HGX, key="pcie_only", lanes_per_gpu=0, switch_lanes=(), nvswitches=())


def with_storage_nics() -> Platform:
    """A PCIe switch that has NICs and no GPU."""
    nics = tuple(
        PcieDevice(f"mlx5_{20 + number}", f"0000:f0:0{number}.0", f"0000:f{1 + number}:00.0") for number in range(2)
    )
    return replace(HGX, key="storage", groups=(*HGX.groups, PcieGroup(1, ("0000:ef:01.0", "0000:f0:00.0"), (), nics)))


def node_text(made: MadeUp, size: tuple[int, int], part: str) -> str:
    snapshot = made.snapshot()
    fabric = build_fabric(snapshot.nodes.values())
    picture = node_picture(snapshot, fabric, NodeId("sim1"))
    cursor = cursor_on(picture, ComponentId(part))
    return text_of(draw_node(picture, detail_of(snapshot, fabric, picture, cursor), *size, INK, cursor))


@pytest.mark.parametrize("size", SIZES)
def test_sixteen_gpus_fit_at_any_width_and_a_fault_on_the_last_is_seen(size: tuple[int, int]) -> None:
    made = MadeUp(1, sixteen())
    lane = lane_id(gpu_id("sim1", 15), 0)
    made.nodes[NodeId("sim1")].down.add(lane)
    text = node_text(made.tick(2), size, lane)
    gpus = next(line for line in text.splitlines() if line.startswith("GPU"))
    assert [word for word in gpus.replace("GPU", " ").split() if word.isdigit()] == [str(n) for n in range(16)]
    assert "▲4" in text.splitlines()[0]
    assert "lane 0 down" in text


def test_sixteen_gpus_are_sixteen_cells_of_the_fleet() -> None:
    snapshot = MadeUp(3, sixteen()).tick(2).snapshot()
    text = text_of(draw_fleet(fleet_view(snapshot, build_fabric(snapshot.nodes.values())), 80, 21, INK))
    assert "sim1 " + "·" * 16 in text


@pytest.mark.parametrize("size", SIZES)
def test_a_board_without_nvswitch_has_no_rails_and_begins_with_its_gpus(size: tuple[int, int]) -> None:
    text = node_text(MadeUp(1, without_nvswitch()).tick(2), size, "sim1/gpu3")
    assert "NVS" not in text
    assert "NVLink" not in text
    assert "Selected: GPU3" in text
    assert "GPU7" in "".join(text.splitlines()[:2])


@pytest.mark.parametrize("size", SIZES)
def test_nics_without_a_gpu_stand_apart_and_can_be_selected(size: tuple[int, int]) -> None:
    text = node_text(MadeUp(1, with_storage_nics()).tick(2), size, "sim1/mlx5_21")
    apart = next(line for line in text.splitlines() if "mlx5_20" in line)
    assert apart.startswith("NIC")
    assert "[mlx5_21] 400G up" in apart
    assert "Selected: mlx5_21" in text
