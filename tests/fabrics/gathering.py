"""Fabrics of texts and captures, as `lanescope topo` reads them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from lanescope.parsers.intake import read
from lanescope.topology.fabric import Fabric
from lanescope.topology.gather import Gathered, gather
from lanescope.topology.merge import merge

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"


def gathered(*files: tuple[str, str], root: str = "n") -> Gathered:
    return gather([one for name, text in files for one in read(name, io.BytesIO(text.encode()))], root)


def fabric_of_texts(*files: tuple[str, str], root: str = "n") -> Fabric:
    return merge(gathered(*files, root=root).claims)


def capture(name: str) -> str:
    path = CAPTURES / name
    if not path.is_file():
        pytest.skip(f"the shared capture {name} is not here")
    return path.read_bytes().decode("utf-8", "replace")


def fabric_of_captures(*names: str) -> Fabric:
    return fabric_of_texts(*((name.rpartition("/")[2], capture(name)) for name in names))
