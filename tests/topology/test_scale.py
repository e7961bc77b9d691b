"""A whole cluster in one graph: how long it takes, what it weighs, and that nodes share what is equal."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest
from lanescope.incident.platforms import platform
from lanescope.topology.compiled import CompiledFabric
from lanescope.topology.paths import path
from lanescope.topology.sources.platform import fabric_of

NODES = 512


def cluster():
    names = [f"gpu-{number:03}" for number in range(NODES)]
    return fabric_of(names, platform("h100_hgx"), rails=8, leaves=128, spines=32)


@pytest.fixture(scope="module")
def fabric():
    return cluster()


def test_512_nodes_with_rails_leaves_and_spines_stand_within_two_seconds_of_computing():
    began = time.process_time()
    cluster()
    assert time.process_time() - began <= 2.0


def test_512_nodes_weigh_at_most_150_megabytes_with_every_lane_asked_for():
    tracemalloc.start()
    try:
        whole = cluster()
        assert sum(len(whole.lanes(gpu)) for gpu in whole.parts("gpu")) == NODES * 8 * 18
        assert tracemalloc.get_traced_memory()[1] <= 150e6
    finally:
        tracemalloc.stop()


def test_all_parts_of_the_cluster_stand_in_it(fabric):
    assert len(fabric.nodes) == NODES
    assert (len(fabric.parts("gpu")), len(fabric.parts("nic")), len(fabric.parts("nvswitch"))) == (4096, 4096, 2048)
    assert len(fabric.netswitches) == 160
    assert all(len(fabric.uplinks(f"leaf-{number}")) == 32 for number in (1, 64, 128))
    assert fabric.leaf_of("gpu-511/mlx5_11") == "leaf-128"
    assert fabric.rail_of("gpu-511/mlx5_11") == 7


def test_nodes_of_one_kind_share_their_facts_and_one_that_is_plugged_in_keeps_the_others_as_they_are(fabric):
    assert fabric.graph.nodes["gpu-000/gpu3"] is fabric.graph.nodes["gpu-400/gpu3"]
    assert (
        fabric.graph.edges["gpu-000/gpu3", "gpu-000/nvswitch0"]
        is fabric.graph.edges["gpu-400/gpu3", "gpu-400/nvswitch0"]
    )
    assert fabric.cable_of("gpu-000/mlx5_0") != fabric.cable_of("gpu-400/mlx5_0")


def test_a_path_takes_20_microseconds_once_its_ends_are_known(fabric):
    compiled, draw = CompiledFabric(fabric), random.Random(1)
    gpus = draw.sample(fabric.parts("gpu"), 64)
    pairs = [(src, dst) for src in gpus for dst in gpus if src != dst]
    for src, dst in pairs:
        compiled.path(src, dst)
    passes = []
    for _ in range(5):
        began = time.process_time()
        for src, dst in pairs:
            compiled.path(src, dst)
        passes.append((time.process_time() - began) / len(pairs))
    assert min(passes) <= 20e-6


def test_paths_of_the_cluster_are_those_of_the_graph(fabric):
    compiled, draw = CompiledFabric(fabric), random.Random(2)
    for _ in range(40):
        src, dst = draw.sample(fabric.parts("gpu"), 2)
        indices, shares = compiled.path(src, dst)
        said = {compiled.components[at]: share for at, share in zip(indices.tolist(), shares.tolist(), strict=True)}
        assert said == pytest.approx({crossing.component: crossing.share for crossing in path(fabric, src, dst)})


def test_eight_racks_of_nvl72_are_eight_domains_that_share_their_bundles():
    trays = [f"t{number}" for number in range(8 * 18)]
    racks = fabric_of(trays, platform("gb300_nvl72"))
    assert len({racks.domain_of(tray) for tray in trays}) == 8
    assert len(racks.parts("nvswitch")) == 8 * 18
    assert len(racks.parts("switchtray")) == 8 * 9
    assert all(racks.lane_count(gpu) == 18 for gpu in racks.parts("gpu"))
