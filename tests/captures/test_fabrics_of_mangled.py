"""Whatever becomes of outputs on their way to us, they become a fabric, a report and exports, never a traceback."""

from __future__ import annotations

import contextlib
import io
import random

import pytest
from lanescope.incident.errors import InputError
from lanescope.parsers.intake import read
from lanescope.topology.expected import compare
from lanescope.topology.exports import dot, graphml
from lanescope.topology.gather import gather
from lanescope.topology.merge import merge
from lanescope.topology.nccl_xml import nccl_xml
from lanescope.topology.text import text

from .mutations import MUTATIONS
from .test_fuzz import FILES

WIRING = [
    path
    for path in FILES
    if any(word in path.name for word in ("topo", "nvlink", "lspci", "q-", "ib", "lldp", "sysfs"))
]


def drawn(data: bytes, name: str) -> None:
    gathered = gather(read(name, io.BytesIO(data)), "n")
    fabric = merge(gathered.claims)
    text(fabric, compare(fabric), gathered.unused, gathered.remarks)
    dot(fabric)
    graphml(fabric)
    fabric.to_json()
    for node in fabric.nodes[:4]:
        with contextlib.suppress(InputError):  # a node whose GPUs have no address
            nccl_xml(fabric, node)


def mangled(mutation, path, seed: int) -> bytes:
    chance = random.Random(f"{path.name} {seed}")
    return mutation(chance, path.read_bytes(), chance.choice(FILES).read_bytes())


@pytest.mark.skipif(not WIRING, reason="the shared captures are not here")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mangled_outputs_become_a_fabric_as_far_as_they_go(mutation):
    for path in WIRING[:: len(MUTATIONS)]:
        drawn(mangled(mutation, path, 0), path.name)


@pytest.mark.slow
@pytest.mark.parametrize("path", WIRING, ids=lambda path: path.name)
def test_every_output_of_wiring_survives_every_mutation(path):
    for mutation in MUTATIONS:
        for seed in range(4):
            drawn(mangled(mutation, path, seed), path.name)
