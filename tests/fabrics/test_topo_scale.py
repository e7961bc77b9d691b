"""Hundreds of nodes in one report, and NVL72 racks as one domain."""

from __future__ import annotations

from lanescope.incident.platforms import platform
from lanescope.topology.expected import compare
from lanescope.topology.exports import dot, graphml
from lanescope.topology.sources.platform import fabric_of
from lanescope.topology.text import text


def test_512_nodes_are_one_block_and_their_network_is_cut_with_a_count():
    fabric = fabric_of([f"gpu{n:03}" for n in range(512)], platform("h100_hgx"), rails=8, leaves=128, spines=32)
    report = text(fabric, compare(fabric), ())
    assert "gpu[000-511]  (512 alike)" in report
    assert "and 120 more: --json has all" in report
    assert len(report.splitlines()) < 80


def test_a_rack_of_18_trays_and_9_switch_trays_is_one_domain():
    fabric = fabric_of([f"tray{n:02}" for n in range(1, 19)], platform("gb200_nvl72"))
    (domain,) = {fabric.domain_of(node) for node in fabric.nodes}
    switches = fabric.domain_switches(domain)
    trays = {fabric.facts(switch)["tray"] for switch in switches}
    assert (len(fabric.domain_nodes(domain)), len(switches), len(trays)) == (18, 18, 9)
    assert sum(len(fabric.gpus(node)) for node in fabric.nodes) == 72
    assert {tuple(fabric.lane_counts(gpu).values()) for node in fabric.nodes for gpu in fabric.gpus(node)} == {
        (1,) * 18
    }
    assert "of 18 nodes" in text(fabric, compare(fabric), ())


def test_large_fabrics_are_exported_whole():
    fabric = fabric_of([f"gpu{n:03}" for n in range(64)], platform("b200_hgx"), rails=8, leaves=16, spines=4)
    assert dot(fabric).count("NVLink x9") == 64 * 8 * 2
    assert graphml(fabric).count("<node ") == fabric.graph.number_of_nodes()
