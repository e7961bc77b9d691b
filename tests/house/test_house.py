"""The house stands as ARCHITECTURE.md says."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import lanescope
import pytest

ROOT = Path(lanescope.__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_SHIPPED = {"tests", "benchmarks", "screenshots", "build", "dist"}
ROOMS = [
    "evidence",
    "fleet",
    "incident",
    "parsers",
    "playbooks",
    "probes",
    "session",
    "signals",
    "sim",
    "topology",
    "tui",
]


def packages() -> set[str]:
    found = {"lanescope"}
    for init in ROOT.rglob("__init__.py"):
        folders = init.relative_to(ROOT).parts[:-1]
        if folders and not folders[0].startswith(".") and folders[0] not in NOT_SHIPPED:
            found.add(".".join(("lanescope", *folders)))
    return found


def test_every_package_of_the_tree_is_listed_for_the_wheel_and_no_other() -> None:
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages()


def test_imports_point_down_only_and_siblings_do_not_meet() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed")
    ended = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("room", ["probes", "playbooks", "evidence", "session"])
def test_nothing_below_the_screens_loads_textual(room: str) -> None:
    code = (
        f"import pkgutil, importlib, sys, lanescope.{room} as room\n"
        "for found in pkgutil.walk_packages(room.__path__, room.__name__ + '.'): importlib.import_module(found.name)\n"
        "assert 'textual' not in sys.modules"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "fleet" / "node").glob("*.py")), ids=lambda path: path.name)
def test_what_runs_on_a_node_is_python_3_6_and_the_standard_library_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    beside = {sibling.stem for sibling in (ROOT / "fleet" / "node").glob("*.py")}
    assert imported <= set(sys.stdlib_module_names) | beside | {"pynvml", "", "__future__"}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_imported_relatively_so_that_no_second_copy_is_made(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & set(ROOMS), f"{path} imports {names}"


@pytest.mark.parametrize("path", sorted((ROOT / "fleet").glob("*.py")), ids=lambda path: path.name)
def test_no_connection_skips_host_keys_or_hides_its_tunnel(path: Path) -> None:
    text = path.read_text()
    assert "known_hosts=None" not in text
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "SSHClientConnectionOptions":
            assert "tunnel" not in {keyword.arg for keyword in call.keywords}
