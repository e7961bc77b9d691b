"""A fabric against its platform: missing, downgraded, by design, unknown."""

from __future__ import annotations

import pytest
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, nvswitch_id
from lanescope.topology.claims import CableClaim, ChainClaim, LaneClaim, NodeClaims, PartClaim, PcieClaim, Source
from lanescope.topology.expected import Standing, compare
from lanescope.topology.merge import merge

NODE = NodeId("n")
H100 = "NVIDIA H100 80GB HBM3"
H100_PCIE = "NVIDIA H100 PCIe"
RTX = "NVIDIA GeForce RTX 4090"


def gpus(model, count):
    return [PartClaim(gpu_id(NODE, i), "gpu", Source.NVIDIA_SMI, {"model": model}) for i in range(count)]


def lanes(count, total, down=(), gpu_count=8, switched=True):
    """Lanes of each GPU: those in `down[gpu]` are down."""
    for index in range(gpu_count):
        for lane in range(total):
            far = nvswitch_id(NODE, lane * 4 // total) if switched else None
            up = lane not in (down.get(index, ()) if isinstance(down, dict) else down)
            yield LaneClaim(gpu_id(NODE, index), lane, Source.NVIDIA_SMI, far, up=up)


def links(widths, most=16, speed=32.0):
    for index, width in enumerate(widths):
        facts = {"width": width, "max_width": most, "max_speed_gts": speed}
        yield PcieClaim(gpu_id(NODE, index) / "pcie", Source.LSPCI, facts)


def deviations(*claims):
    return compare(merge([NodeClaims(NODE, tuple(claims))]))


def faults(*claims):
    return [(one.component, one.what, one.standing) for one in deviations(*claims) if one.standing.is_fault]


def of(what, *claims):
    return [(str(one.component), one.standing, one.seen) for one in deviations(*claims) if one.what == what]


def test_a_baseboard_with_all_its_gpus_and_lanes_has_no_fault():
    assert faults(*gpus(H100, 8), *lanes(8, 18), *links([16] * 8)) == []


def test_a_baseboard_with_seven_gpus_misses_one_and_names_it():
    seen = [claim for claim in gpus(H100, 8) if claim.part != gpu_id(NODE, 5)]
    (one,) = [one for one in deviations(*seen) if one.what == "GPUs"]
    assert (one.standing, one.expected, one.seen) == (Standing.MISSING, "8", "7")
    assert "gpu5" in one.reason


def test_cards_that_stand_in_any_number_are_never_missing():
    assert of("GPUs", *gpus(RTX, 3)) == []
    assert of("GPUs", *gpus(H100_PCIE, 1)) == []


def test_a_lane_that_is_down_on_one_gpu_is_missing():
    found = of("NVLinks", *gpus(H100, 8), *lanes(8, 18, down={3: (7,)}))
    assert found == [("n/gpu3", Standing.MISSING, "17 up")]


def test_links_inactive_on_every_card_alike_with_as_many_up_as_the_board_has_are_by_design():
    down = (4, 5, 10, 11, 16, 17)
    found = of("NVLinks", *gpus(H100_PCIE, 2), *lanes(2, 18, down, gpu_count=2, switched=False))
    assert found == [("n/gpu0", Standing.BY_DESIGN, "12 up"), ("n/gpu1", Standing.BY_DESIGN, "12 up")]


def test_links_inactive_on_one_card_only_are_missing():
    down = {0: (4, 5, 10, 11, 16, 17), 1: (3, 4, 5, 10, 11, 16, 17)}
    found = of("NVLinks", *gpus(H100_PCIE, 2), *lanes(2, 18, down, gpu_count=2, switched=False))
    assert ("n/gpu1", Standing.MISSING, "11 up") in found


def test_all_links_down_on_all_gpus_of_a_baseboard_points_at_the_fabric_manager():
    found = [one for one in deviations(*gpus(H100, 8), *lanes(8, 18, tuple(range(18)))) if one.what == "NVLinks"]
    assert {one.standing for one in found} == {Standing.MISSING}
    assert all("fabric manager" in one.reason for one in found)


def test_lanes_that_nobody_tells_are_unknown_and_not_missing():
    assert {standing for _, standing, _ in of("NVLinks", *gpus(H100, 8))} == {Standing.UNKNOWN}


def test_nvswitches_that_nothing_shows_are_unknown_as_in_a_virtual_machine():
    assert of("NVSwitches", *gpus(H100, 8)) == [("n", Standing.UNKNOWN, "none")]


def test_one_of_four_nvswitches_that_does_not_answer_is_missing():
    switches = [
        PartClaim(nvswitch_id(NODE, number), "nvswitch", Source.LSPCI, {"bus_address": f"0000:8{number}:00.0"})
        for number in range(3)
    ]
    assert of("NVSwitches", *gpus(H100, 8), *switches) == [("n", Standing.MISSING, "3")]


def test_a_narrow_link_whose_ends_could_do_more_is_downgraded():
    found = of("PCIe width", *gpus(H100, 8), *links([16, 16, 8, 16, 16, 16, 16, 16]))
    assert found == [("n/gpu2/pcie", Standing.DOWNGRADED, "x8")]


def test_cards_that_are_all_x8_share_their_slots_lanes_by_design():
    assert {s for _, s, _ in of("PCIe width", *gpus(RTX, 2), *links([8, 8], speed=16.0))} == {Standing.BY_DESIGN}


def test_one_card_that_is_x8_beside_one_that_is_x16_is_downgraded():
    found = of("PCIe width", *gpus(RTX, 2), *links([8, 16], speed=16.0))
    assert found == [("n/gpu0/pcie", Standing.DOWNGRADED, "x8")]


def test_a_slot_that_has_no_more_lanes_is_by_design():
    assert of("PCIe width", *gpus(RTX, 1), *links([8], most=8, speed=16.0)) == [
        ("n/gpu0/pcie", Standing.BY_DESIGN, "x8")
    ]


def test_the_x1_management_link_of_a_gpu_on_c2c_is_by_design():
    found = of("PCIe width", *gpus("NVIDIA GH200 480GB", 1), *links([1], most=1))
    assert found == [("n/gpu0/pcie", Standing.BY_DESIGN, "x1")]


def test_a_width_that_nobody_tells_says_nothing():
    assert of("PCIe width", *gpus(H100, 8), ChainClaim(gpu_id(NODE, 0), Source.LSPCI, ("0000:15:01.0",))) == []


def test_an_idle_link_at_generation_1_is_no_deviation():
    slow = PcieClaim(gpu_id(NODE, 0) / "pcie", Source.LSPCI, {"speed_gts": 2.5, "max_speed_gts": 32.0, "width": 16})
    assert of("PCIe speed", *gpus(H100, 8), slow) == []


def test_a_gpu_of_an_unknown_model_has_an_unknown_platform_and_nothing_is_missed():
    assert of("platform", *gpus("NVIDIA Whatever 9000", 4)) == [("n", Standing.UNKNOWN, "none")]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"state": "down"}, [("state", Standing.MISSING)]),
        ({"rate_gbps": 200.0, "max_rate_gbps": 400.0, "state": "active"}, [("rate", Standing.DOWNGRADED)]),
        ({"rate_gbps": 400.0, "max_rate_gbps": 400.0, "state": "active"}, []),
        ({}, []),
    ],
)
def test_a_cable_that_is_down_or_slower_than_both_ends_can_be_is_told(facts, expected):
    nic, leaf = ComponentId("n/mlx5_0"), ComponentId("leaf-1")
    cable = CableClaim(nic, 1, leaf, 4, Source.IBLINKINFO, facts)
    node = NodeClaims(NODE, (*gpus(H100, 8), PartClaim(nic, "nic", Source.SYSFS)))
    network = NodeClaims(None, (PartClaim(leaf, "netswitch", Source.IBLINKINFO), cable))
    found = [(one.what, one.standing) for one in compare(merge([node, network])) if one.standing.is_fault]
    assert found == expected


# What is so on any board


def test_a_cable_below_what_its_ends_can_is_downgraded_on_a_node_of_no_known_platform():
    wire = CableClaim(
        ComponentId("n/mlx5_0"),
        1,
        ComponentId("leaf-1"),
        12,
        Source.IBLINKINFO,
        {"rate_gbps": 10.0, "max_rate_gbps": 120.0},
    )
    (found,) = compare(merge([NodeClaims(None, (wire,))]))
    assert (found.standing, found.expected, found.seen) == (Standing.DOWNGRADED, "120 Gb/s", "10 Gb/s")


def test_a_device_that_answers_with_ones_only_is_missing():
    gone = PartClaim(gpu_id(NODE, 0), "gpu", Source.LSPCI, {"bus_address": "0000:19:00.0", "answers": False})
    found = [one for one in compare(merge([NodeClaims(NODE, (gone,))])) if one.what == "device"]
    assert [(one.component, one.standing, one.source) for one in found] == [
        ("n/gpu0", Standing.MISSING, Source.LSPCI),
    ]


def test_a_gpu_of_which_nvml_tells_only_the_place_is_missing_where_it_tells_more_of_the_others():
    parts = [
        PartClaim(gpu_id(NODE, number), "gpu", Source.NVML, {"bus_address": f"0000:1{number}:00.0", **more})
        for number, more in enumerate([{"model": "NVIDIA H100 80GB HBM3"}, {}])
    ]
    assert [one.component for one in compare(merge([NodeClaims(NODE, tuple(parts))])) if one.what == "device"] == [
        "n/gpu1"
    ]
    assert [one for one in compare(merge([NodeClaims(NODE, tuple(parts[1:]))])) if one.what == "device"] == []
