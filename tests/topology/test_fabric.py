"""What the fabric says about nodes, from whatever their facts tell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.incident.platforms import platform
from lanescope.incident.snapshot import NodeView
from lanescope.topology.fabric import canonical_address
from lanescope.topology.paths import host_copy_path, peer_copy_path
from lanescope.topology.sources.facts import FabricReader, build_fabric
from lanescope.topology.sources.platform import fabric_of


def fabric_from(*rows, node="n1"):
    facts = {(ComponentId(f"{node}/{part}"), key): value for part, key, value in rows}
    return build_fabric([NodeView(NodeId(node), facts=facts)])


@pytest.fixture(scope="module")
def hgx():
    return fabric_of(["n1", "n2"], platform("h100_hgx"))


def test_a_node_has_the_parts_of_its_platform(hgx):
    assert hgx.nodes == ("n1", "n2")
    assert len(hgx.gpus("n1")) == len(hgx.nics("n1")) == 8
    assert hgx.nvswitches("n1") == tuple(f"n1/nvswitch{number}" for number in range(4))
    assert len(hgx.lanes("n1/gpu0")) == 18
    assert hgx.platform is platform("h100_hgx")


def test_parts_come_in_the_order_of_their_numbers(hgx):
    assert [nic.name for nic in hgx.nics("n1")] == [
        "mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11",
    ]  # fmt: skip


def test_the_chain_above_a_device_runs_from_its_own_link_to_the_root_port(hgx):
    assert hgx.chain("n1/gpu0") == (
        "n1/gpu0/pcie", "n1/pcie/0000:17:00.0", "n1/pcie/0000:16:00.0", "n1/pcie/0000:15:01.0",
    )  # fmt: skip


def test_the_two_layouts_of_a_platform_are_told_apart_by_who_shares_a_switch():
    for name, gpus in (("h100_hgx", 1), ("h100_hgx_4sw", 2)):
        fabric = fabric_of(["n1"], platform(name))
        assert fabric.platform_of("n1").key == name
        assert {len(group.gpus) for group in fabric.groups("n1")} == {gpus}
        assert fabric.groups("n1")[0].id == "n1/pcie/0000:16:00.0"
        assert fabric.groups("n1")[0].numa == 0


def test_a_lane_ends_at_its_switch_and_at_a_port_only_where_the_node_says_which():
    rows = [
        ("gpu0", "bus_address", "0000:19:00.0"),
        ("nvswitch0", "bus_address", "0000:83:00.0"),
        ("gpu0/nvlink0", "remote_address", "00000000:83:00.0"),
        ("gpu0/nvlink0", "remote_type", "switch"),
        ("gpu0/nvlink0", "remote_port", 28),
        ("gpu0/nvlink1", "remote_address", "0000:83:00.0"),
        ("gpu0/nvlink1", "remote_type", "switch"),
    ]
    fabric = fabric_from(*rows)
    assert fabric.port_of("n1/gpu0/nvlink0") == "n1/nvswitch0/port28"
    assert fabric.switch_of("n1/gpu0/nvlink1") == "n1/nvswitch0"
    assert fabric.port_of("n1/gpu0/nvlink1") is None


def test_switches_that_only_lanes_name_are_numbered_by_their_address():
    rows = [("gpu0", "bus_address", "0000:19:00.0")]
    for lane, address in enumerate(["0000:86:00.0", "0000:83:00.0"]):
        rows += [
            (f"gpu0/nvlink{lane}", "remote_address", address),
            (f"gpu0/nvlink{lane}", "remote_type", "switch"),
        ]
    fabric = fabric_from(*rows)
    assert fabric.bus_address("n1/nvswitch0") == "0000:83:00.0"
    assert fabric.switch_of("n1/gpu0/nvlink0") == "n1/nvswitch1"


def test_a_lost_gpu_stands_there_as_unknown_and_without_invented_lanes():
    fabric = fabric_from(("gpu0", "bus_address", "0000:19:00.0"), ("gpu1", "uuid", "GPU-x"))
    assert fabric.gpus("n1") == ("n1/gpu0", "n1/gpu1")
    assert fabric.is_known("n1/gpu0")
    assert not fabric.is_known("n1/gpu1")
    assert fabric.lanes("n1/gpu1") == ()
    assert fabric.chain("n1/gpu1") == ()
    assert fabric.numa_of("n1/gpu1") is None


def test_devices_without_a_known_path_are_gathered_below_no_switch():
    fabric = fabric_from(("gpu0", "bus_address", "0000:19:00.0"), ("mlx5_0", "bus_address", "0000:1a:00.0"))
    (group,) = fabric.groups("n1")
    assert group.id is None
    assert group.devices == ("n1/gpu0", "n1/mlx5_0")


def test_a_node_that_told_nothing_is_a_host_alone():
    fabric = build_fabric([NodeView(NodeId("n1"))])
    assert fabric.nodes == ("n1",)
    assert fabric.gpus("n1") == fabric.nvswitches("n1") == fabric.groups("n1") == ()
    assert not fabric.is_known("n1/host")


def test_a_numa_node_of_minus_one_is_unknown_and_not_a_socket():
    fabric = fabric_from(("gpu0", "bus_address", "0000:19:00.0"), ("gpu0", "numa", -1))
    assert fabric.numa_of("n1/gpu0") is None


def direct(ports):
    rows = []
    for gpu, address, other in (("gpu0", "0000:19:00.0", "0000:3b:00.0"), ("gpu1", "0000:3b:00.0", "0000:19:00.0")):
        rows.append((gpu, "bus_address", address))
        for lane in range(4):
            rows += [(f"{gpu}/nvlink{lane}", "remote_address", other), (f"{gpu}/nvlink{lane}", "remote_type", "gpu")]
            if ports:
                rows.append((f"{gpu}/nvlink{lane}", "remote_port", 3 - lane))
    return fabric_from(*rows)


@pytest.mark.parametrize("ports", [True, False])
def test_gpus_wired_to_each_other_have_lanes_at_both_ends(ports):
    fabric = direct(ports)
    assert len(fabric.lanes_to("n1/gpu0", "n1/gpu1")) == len(fabric.lanes_to("n1/gpu1", "n1/gpu0")) == 4
    assert fabric.far_end("n1/gpu1/nvlink0").port == ("n1/gpu0/nvlink3" if ports else None)
    assert fabric.switch_of("n1/gpu0/nvlink0") is None


def test_a_copy_between_wired_gpus_is_striped_over_the_lanes_between_them():
    path = peer_copy_path(direct(True), ComponentId("n1/gpu0"), ComponentId("n1/gpu1"))
    assert {crossing.share for crossing in path if crossing.component.kind == "nvlink"} == {0.25}
    assert sum(crossing.component.kind == "nvlink" for crossing in path) == 8


def test_a_copy_through_switches_crosses_the_lanes_of_either_gpu_and_each_switch_by_its_lanes(hgx):
    shares = {c.component: c.share for c in peer_copy_path(hgx, ComponentId("n1/gpu1"), ComponentId("n1/gpu5"))}
    assert shares["n1/gpu1"] == shares["n1/gpu5"] == shares["n1/host"] == 1.0
    assert shares["n1/gpu1/nvlink17"] == pytest.approx(1 / 18)
    assert [shares[f"n1/nvswitch{number}"] for number in range(4)] == pytest.approx([5 / 18, 4 / 18, 4 / 18, 5 / 18])
    assert sum(share for part, share in shares.items() if part.kind == "nvswitch") == pytest.approx(1.0)


def test_a_host_copy_crosses_everything_between_socket_and_gpu_wholly(hgx):
    path = host_copy_path(hgx, ComponentId("n2/gpu4"))
    assert {crossing.share for crossing in path} == {1.0}
    assert {"n2/gpu4", "n2/gpu4/pcie", "n2/pcie/0000:97:01.0", "n2/numa1", "n2/host"} <= {c.component for c in path}


def test_without_nvlink_a_peer_copy_turns_round_at_the_common_bridge_or_crosses_the_sockets():
    rows = []
    for gpu, numa, path in (
        ("gpu0", 0, "0000:15:01.0/0000:16:00.0/0000:17:00.0"),
        ("gpu1", 0, "0000:15:01.0/0000:16:00.0/0000:17:01.0"),
        ("gpu2", 1, "0000:97:01.0"),
    ):
        rows += [(gpu, "bus_address", f"0000:{gpu[3]}0:00.0"), (gpu, "numa", numa), (gpu, "pcie_path", path)]
    fabric = fabric_from(*rows)
    near = {c.component for c in peer_copy_path(fabric, ComponentId("n1/gpu0"), ComponentId("n1/gpu1"))}
    assert "n1/pcie/0000:16:00.0" in near
    assert "n1/pcie/0000:15:01.0" not in near
    far = {c.component for c in peer_copy_path(fabric, ComponentId("n1/gpu0"), ComponentId("n1/gpu2"))}
    assert {"n1/pcie/0000:15:01.0", "n1/pcie/0000:97:01.0", "n1/numa0", "n1/numa1"} <= far


def test_a_part_is_found_by_its_address_however_that_is_written(hgx):
    assert hgx.component_at("n1", "00000000:19:00.0") == "n1/gpu0"
    assert hgx.component_at("n1", "1A:00.0") == "n1/mlx5_0"
    assert hgx.component_at("n1", "0000:ff:00.0") is None


def test_the_graph_goes_into_a_bundle_as_plain_json_with_lanes_by_bundle(hgx):
    said = json.loads(json.dumps(hgx.to_json()))
    assert said["platforms"] == {"n1": "h100_hgx", "n2": "h100_hgx"}
    bundles = [edge for edge in said["edges"] if edge["kind"] == "nvlink"]
    assert len(bundles) == 2 * 8 * 4
    assert sum(len(edge["lanes"]) for edge in bundles) == 2 * 8 * 18


ROWS = st.tuples(
    st.sampled_from(["gpu0", "gpu1", "gpu12", "mlx5_0", "nvswitch0", "gpu0/nvlink3", "gpu1/nvlink0", "gpu0/pcie"]),
    st.sampled_from(["bus_address", "numa", "pcie_path", "remote_address", "remote_type", "remote_port", "name"]),
    st.one_of(
        st.sampled_from(["0000:19:00.0", "switch", "gpu", "NVIDIA H100", "a/b", "", "[N/A]"]),
        st.integers(-2, 40),
        st.none(),
        st.booleans(),
        st.text(max_size=8),
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, max_size=20))
def test_no_facts_however_mangled_make_the_fabric_raise(rows):
    fabric = fabric_from(*rows)
    for gpu in fabric.gpus("n1"):
        host_copy_path(fabric, gpu)
    for gpu in fabric.gpus("n1")[1:]:
        peer_copy_path(fabric, fabric.gpus("n1")[0], gpu)
    fabric.groups("n1")
    fabric.to_json()


@given(st.from_regex(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]", fullmatch=True))
def test_an_address_read_twice_reads_the_same(address):
    assert canonical_address(canonical_address(address)) == canonical_address("0000" + address)


def _view(node: str, *addresses: str, told_by: str = "J1") -> NodeView:
    facts = {(ComponentId(f"{node}/gpu{number}"), "bus_address"): address for number, address in enumerate(addresses)}
    return NodeView(NodeId(node), facts=facts, facts_id=told_by)


def test_a_reader_gives_the_same_fabric_until_a_node_tells_something():
    reader = FabricReader()
    before = reader.fabric([_view("n1", "0000:19:00.0"), _view("n2", "0000:19:00.0")])
    assert reader.fabric([_view("n1", "0000:19:00.0"), _view("n2", "0000:19:00.0")]) is before
    after = reader.fabric([_view("n1", "0000:19:00.0"), _view("n2", "0000:19:00.0", "0000:3b:00.0", told_by="J9")])
    assert after.gpus("n1") == before.gpus("n1")
    assert after.gpus("n2") == ("n2/gpu0", "n2/gpu1")


def test_a_reader_says_what_reading_all_nodes_at_once_says():
    views = [_view("n1", "0000:19:00.0"), _view("n2", "0000:19:00.0", "0000:3b:00.0")]
    reader = FabricReader()
    reader.fabric(views[:1])
    assert reader.fabric(views).to_json() == build_fabric(views).to_json()


def _tray(number: int, told_by: str = "J1") -> NodeView:
    node = NodeId(f"t{number}")
    facts = {}
    for gpu in (node / f"gpu{index}" for index in range(4)):
        facts |= {(gpu, "name"): "NVIDIA GB200", (gpu, "cluster_uuid"): "91bfbee7-3d6a", (gpu, "clique_id"): 2}
        facts |= {(gpu, "bus_address"): f"000{gpu.number}:06:00.0", (gpu, "numa"): gpu.number // 2}
    return NodeView(node, facts=facts, facts_id=told_by)


def test_a_rack_that_is_read_tray_by_tray_is_the_rack_that_is_read_at_once():
    reader, trays = FabricReader(), [_tray(number) for number in range(18)]
    for count in (1, 9, 18):
        found = reader.fabric(trays[:count])
        assert found.to_json() == build_fabric(trays[:count]).to_json()
    assert len(found.domain_nodes("nvl-91bfbee7-2")) == 18
    assert len(found.domain_switches("nvl-91bfbee7-2")) == 18
