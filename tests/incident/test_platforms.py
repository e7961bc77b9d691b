"""Platforms come from the reference data."""

from __future__ import annotations

import tomllib
from pathlib import Path

import lanescope
import pytest
from lanescope.incident.errors import InputError
from lanescope.incident.facts import TABLES, build, table
from lanescope.incident.platforms import platform, platform_names


def test_the_shipped_json_is_what_the_toml_files_say() -> None:
    shipped = Path(lanescope.__file__).parent / "incident" / "facts" / "facts.json"
    assert shipped.read_bytes() == build.built(), "run: python -m lanescope.incident.facts.build"


@pytest.mark.parametrize("name", ["classes", "xid", "sxid", "counters", "platforms"])
def test_the_reference_data_are_those_of_the_shared_reference(name: str) -> None:
    source = Path(lanescope.__file__).resolve().parent.parent / "shared" / "reference" / f"{name}.toml"
    if not source.exists():
        pytest.skip("no shared reference beside this checkout")
    ours = Path(lanescope.__file__).parent / "incident" / "facts" / f"{name}.toml"
    assert tomllib.loads(ours.read_text()) == tomllib.loads(source.read_text())


def test_all_tables_load() -> None:
    assert all(table(name) for name in TABLES)


@pytest.mark.parametrize("name", platform_names())
def test_a_platform_has_a_pcie_switch_above_every_gpu_and_a_switch_behind_every_lane(name: str) -> None:
    found = platform(name)
    gpus = sorted(gpu.name for group in found.groups for gpu in group.gpus)
    assert gpus == [f"gpu{i}" for i in range(found.gpus)]
    assert sum(found.switch_lanes) == found.lanes_per_gpu
    switches = [found.switch_of_lane(lane) for lane in range(found.lanes_per_gpu)]
    assert [switches.count(i) for i in range(len(found.switch_lanes))] == list(found.switch_lanes)
    assert found.switch_of_lane(found.lanes_per_gpu) == -1
    assert len(found.nvswitches) == len(found.switch_lanes)


def test_an_unknown_platform_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match="h100_hgx"):
        platform("abacus")


def test_the_vocabulary_table_is_no_platform() -> None:
    with pytest.raises(InputError):
        platform("meta")
