"""The wheel holds the whole house under one import name, and runs the demo where nothing else of it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import lanescope
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

ROOT = Path(lanescope.__file__).resolve().parent
DATA = {".toml", ".json", ".sh"}
NOT_SHIPPED = {"tests", "benchmarks", "screenshots", "build", "dist"}

if not (ROOT / "pyproject.toml").exists():
    pytest.skip("this is an installed package, not a checkout", allow_module_level=True)


def shipped() -> set[str]:
    """Every module and data file of the rooms, as the tree has them."""
    found = {"py.typed"}
    for path in ROOT.rglob("*"):
        place = path.relative_to(ROOT)
        if any(part.startswith(".") or part.endswith(".egg-info") for part in place.parts):
            continue
        if place.parts[0] in NOT_SHIPPED or not path.is_file():
            continue
        if path.suffix == ".py" or (len(place.parts) > 1 and path.suffix in DATA):
            found.add(place.as_posix())
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the checkout stays as it is; needs no network."""
    source, out = tmp_path_factory.mktemp("a source"), tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignored, dirs_exist_ok=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it; of this one it sees the dependencies and no checkout."""
    place = tmp_path_factory.mktemp("elsewhere") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=60)
    (site,) = place.glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet", "--no-index"]
    subprocess.run([*command, "--no-deps", "--disable-pip-version-check", wheel], check=True, timeout=60)
    ours = {path for path in map(Path, sys.path) if path.name == "site-packages"}
    # Appended as plain folders: the .pth files there, the editable install's among them, are not read.
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in ours))
    return place


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_holds_every_room_and_data_file_and_nothing_else(wheel: Path) -> None:
    ours = {name.removeprefix("lanescope/") for name in files_of(wheel) if name.startswith("lanescope/")}
    assert ours == shipped()


def test_it_brings_one_import_name(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in files_of(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"lanescope"}


def test_it_carries_its_licence_and_its_command(wheel: Path) -> None:
    names = files_of(wheel)
    for wanted in ("licenses/LICENSE", "licenses/NOTICE", "entry_points.txt"):
        assert any(name.endswith(f".dist-info/{wanted}") for name in names), wanted


def test_it_asks_for_what_it_needs_at_run_time(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for dependency in project["dependencies"]:
        assert f"Requires-Dist: {dependency.split('>')[0]}" in metadata


@pytest.fixture(scope="module")
def demo(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The demo, run by the installed command from a folder of its own."""
    away = tmp_path_factory.mktemp("away")
    return subprocess.run(
        [installed / "bin" / "lanescope", "demo", "--headless", "--json", "--cases", away / "cases"],
        cwd=away,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )


def test_nothing_but_the_wheel_is_imported(installed: Path, tmp_path: Path) -> None:
    command = [installed / "bin" / "python", "-c", "import lanescope; print(lanescope.__file__)"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True)
    assert Path(told.stdout.strip()).is_relative_to(installed)


def test_the_demo_names_every_declared_fault_and_no_other(demo: subprocess.CompletedProcess[str]) -> None:
    assert demo.returncode == 0, demo.stderr
    assert "all 3 declared faults were named, and nothing else; bundle verified" in demo.stderr


def test_the_demo_prints_one_document_that_keeps_its_schema(demo: subprocess.CompletedProcess[str]) -> None:
    document = json.loads(demo.stdout)
    schemas = [json.loads(path.read_text()) for path in (ROOT / "session" / "schemas").glob("*.json")]
    registry = Registry().with_resources([(schema["$id"], Resource.from_contents(schema)) for schema in schemas])
    (schema,) = [schema for schema in schemas if schema["$id"] == "lanescope/demo.json"]
    assert [error.message for error in Draft202012Validator(schema, registry=registry).iter_errors(document)] == []
    assert document["outcome"] == "localized"
    assert "sim3/gpu5/nvlink7" in [verdict["component"] for verdict in document["verdicts"]]
    assert (document["verified"], document["signed"]) == (True, False)
    assert Path(document["bundle"]).is_file()
