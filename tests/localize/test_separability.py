"""Before any trial it is told which parts the allowed probes can tell apart, and what would split the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lanescope.incident.ids import NodeId
from lanescope.incident.platforms import platform
from lanescope.probes.h2d import HostToDeviceCopy
from lanescope.probes.localize.compile import compile_parts
from lanescope.probes.localize.separability import (
    Alike,
    Gain,
    GroupSort,
    KindCount,
    Separability,
    gains,
    separability,
    splitters,
)
from lanescope.probes.localize.settings import Settings
from lanescope.probes.p2p import PeerCopy
from lanescope.probes.probe import Probe
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.platform import fabric_of

COPIES: Mapping[str, Probe] = {"p2p": PeerCopy(), "h2d": HostToDeviceCopy()}
HOST_COPIES: Mapping[str, Probe] = {"h2d": HostToDeviceCopy()}
PAIRS: Mapping[str, Probe] = {"p2p": PeerCopy()}


class AskedForOnly(HostToDeviceCopy):
    """A copy that no search starts."""

    name = "by-hand"
    searches = False


def nodes(count: int, kind: str = "h100_hgx") -> Fabric:
    return fabric_of([f"n{number}" for number in range(1, count + 1)], platform(kind))


def seen(fabric: Fabric, probes: Mapping[str, Probe] = COPIES) -> Separability:
    return separability(fabric, compile_parts(fabric, fabric.nodes, probes.values()), fabric.nodes, Settings())


def group_of(alike: Alike, kind: str) -> GroupSort:
    (found,) = [group for group in alike.groups if kind in dict(group.make)]
    return found


def row_of(alike: Alike, kind: str) -> KindCount:
    (found,) = [row for row in alike.kinds if row.kind == kind]
    return found


def test_the_18_lanes_of_a_gpu_are_one_group_that_only_their_counters_split() -> None:
    (alike,) = seen(nodes(1)).alike
    lanes = group_of(alike, "nvlink")
    assert (lanes.make, lanes.count, lanes.counted) == ((("nvlink", 18),), 8, 18)
    assert len({lane.parent for lane in lanes.example}) == 1
    assert row_of(alike, "nvlink") == KindCount("nvlink", 144, 0, 144, (), 0)
    assert any("swap n1/gpu0 with a neighbour's socket" in test for test in lanes.tests)


def test_two_equal_nodes_are_told_once() -> None:
    one, two = seen(nodes(1)), seen(nodes(2))
    (alike,) = two.alike
    assert alike.nodes == ("n1", "n2")
    assert alike.kinds == one.alike[0].kinds
    assert [group.make for group in alike.groups] == [group.make for group in one.alike[0].groups]


def test_nodes_that_differ_stand_apart() -> None:
    mixed = Fabric.joined([nodes(2), fabric_of(["old"], platform("a100_hgx"))])
    assert [alike.nodes for alike in seen(mixed).alike] == [("n1", "n2"), ("old",)]


def test_the_switches_are_a_group_that_nothing_here_splits_and_what_would_is_said() -> None:
    (alike,) = seen(nodes(1)).alike
    switches = group_of(alike, "nvswitch")
    assert (switches.make, switches.counted) == ((("nvswitch", 4),), 0)
    assert row_of(alike, "nvswitch").in_groups == ((4, 4),)
    assert any("SXid" in test for test in switches.tests)


def test_parts_that_no_trial_crosses_are_counted_as_such() -> None:
    (alike,) = seen(nodes(1)).alike
    assert row_of(alike, "nic").untestable == row_of(alike, "nic").parts == 8


def test_every_part_is_counted_once() -> None:
    fabric = nodes(3)
    parts = compile_parts(fabric, fabric.nodes, COPIES.values())
    told = sum(row.parts * len(alike.nodes) for alike in seen(fabric).alike for row in alike.kinds)
    assert told == len(parts.components) + len(parts.untestable)
    for row in (row for alike in seen(fabric).alike for row in alike.kinds):
        assert row.parts == row.alone + row.by_counters + sum(n for _, n in row.in_groups) + row.untestable


def test_without_pair_copies_a_gpu_looks_like_its_pcie_links_and_they_are_named_as_what_would_split_these() -> None:
    fabric = nodes(2)
    (alone,) = seen(fabric, COPIES).alike
    (alike,) = seen(fabric, HOST_COPIES).alike
    assert row_of(alone, "gpu").alone == 8
    group = group_of(alike, "gpu")
    assert dict(group.make)["pcie"] == 1
    assert splitters(fabric, fabric.nodes, group.example, HOST_COPIES, COPIES) == ("p2p",)


def test_no_further_copy_splits_the_lanes() -> None:
    fabric = nodes(2)
    lanes = group_of(seen(fabric, PAIRS).alike[0], "nvlink")
    assert splitters(fabric, fabric.nodes, lanes.example, PAIRS, COPIES) == ()


def test_a_lane_that_fails_now_and_then_is_below_what_bandwidth_shows_and_its_counters_are_what_is_left() -> None:
    faint = {one.kind: one for one in seen(nodes(1)).faint}
    assert faint["nvlink"].duty >= 0.05
    assert round(faint["nvlink"].share * 18, 6) == 1
    assert faint["nvlink"].counted
    assert not faint["nvswitch"].counted


def gains_by_name(allowed: Mapping[str, Probe], catalogue: Mapping[str, Probe]) -> dict[str, Gain]:
    fabric = nodes(1)
    return {gain.probe: gain for gain in gains(fabric, fabric.nodes, allowed, catalogue)}


def test_each_probe_is_told_with_what_only_it_adds() -> None:
    found = gains_by_name(COPIES, COPIES)
    assert dict(found["p2p"].reached)["nvlink"] == 144
    assert dict(found["h2d"].reached)["pcie"] == 8
    assert dict(found["p2p"].alone) == {"gpu": 8}
    assert all(gain.allowed for gain in found.values())


def test_a_probe_that_may_not_run_is_told_with_what_it_would_add() -> None:
    found = gains_by_name(HOST_COPIES, COPIES)
    assert not found["p2p"].allowed
    assert dict(found["p2p"].reached)["nvswitch"] == 4


def test_a_probe_that_only_people_start_promises_a_search_nothing() -> None:
    by_hand = AskedForOnly()
    found = gains_by_name(COPIES, {**COPIES, "by-hand": by_hand})["by-hand"]
    assert not found.searches
    assert (found.reached, found.alone) == ((), ())
    assert "pcie" in found.crosses


def test_a_probe_that_cannot_be_aimed_at_these_nodes_is_not_told_of() -> None:
    class Nowhere(HostToDeviceCopy):
        name = "nowhere"

        def targets(self, fabric: Fabric, node: NodeId) -> tuple[tuple[NodeId, ...], ...]:
            return ()

    assert "nowhere" not in gains_by_name(COPIES, {**COPIES, "nowhere": Nowhere()})


def examples(found: Separability) -> Iterator[Sequence[NodeId]]:
    yield from (group.example for alike in found.alike for group in alike.groups)


def test_an_example_is_a_group_that_exists() -> None:
    fabric = nodes(2)
    parts = compile_parts(fabric, fabric.nodes, COPIES.values())
    for example in examples(seen(fabric)):
        group = {int(parts.group[parts.index[part]]) for part in example}
        assert len(group) == 1
        assert len(parts.members(group.pop())) == len(example)
