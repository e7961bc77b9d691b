from __future__ import annotations

import pytest
from lanescope.incident.ids import ComponentId
from lanescope.tui.draw.words import label, place, spoken


@pytest.mark.parametrize(
    ("id_", "drawn"),
    [
        ("sim3/gpu5", "sim3 GPU5"),
        ("sim3/gpu5/nvlink7", "sim3 GPU5 lane 7"),
        ("sim3/gpu5/hbm", "sim3 GPU5 memory"),
        ("sim3/nvswitch1/port22", "sim3 NVSW1 port 22"),
        ("sim3/mlx5_4/pcie", "sim3 mlx5_4 PCIe"),
        ("sim3/pcie/0000:16:00.0", "sim3 PCIe 16:00.0"),
        ("sim3/host", "sim3 host"),
        ("sim3", "sim3"),
    ],
)
def test_a_part_is_named_the_same_on_drawings_and_in_sentences(id_: str, drawn: str) -> None:
    assert place(ComponentId(id_)) == drawn
    assert spoken(f"is it {id_} (16%), or not?") == f"is it {drawn} (16%), or not?"


def test_a_part_without_its_node_is_named_too() -> None:
    assert spoken("acquits gpu7/nvlink0; gpu5, nvswitch2.") == "acquits GPU7 lane 0; GPU5, NVSW2."
    assert label(ComponentId("sim1/numa1")) == "NUMA 1"


@pytest.mark.parametrize(
    "sentence", ["swap and/or reseat", "400 Gb/s of 52 GB/s", "/tmp/gpu1/F is missing", "gpu-module", "a  b ", ""]
)
def test_what_is_no_id_stays_as_it_was(sentence: str) -> None:
    assert spoken(sentence) == sentence
