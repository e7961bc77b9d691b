"""Warnings of NCCL that have one known cause each, told by the words that stay the same over its versions.

Source: NVIDIA/nccl src/misc/shmutils.cc, src/misc/ibvwrap.cc, src/bootstrap.cc, src/init.cc, src/misc/socket.cc;
its user guide, "Troubleshooting".
"""

from __future__ import annotations

from collections.abc import Mapping

from ..incident.ids import NodeId
from ..parsers.bandwidth.nccl_tests import CollectiveWarning
from ..parsers.nccl.log_warnings import NcclWarning
from .nccl_hosts import node_of
from .readings import Readings, Witness

Words = tuple[tuple[str, ...], ...]
"""Alternatives, each of which is a set of words that must all stand in the text, in lower case."""

SHARED_MEMORY: Words = (("extend /dev/shm",), ("/dev/shm/nccl-", "no space left"), ("shared memory", "no space left"))
LOCKED: Words = (
    ("ibv_reg_mr", "cannot allocate memory"),
    ("ibv_create_qp", "cannot allocate memory"),
    ("ibv_create_cq", "cannot allocate memory"),
    ("ibv_reg_mr_iova2", "cannot allocate memory"),
)
VERSIONS: Words = (("mismatched nccl version",), ("different versions of nccl",), ("nccl version mismatch",))
NO_INTERFACE: Words = (("no socket interface found",), ("no interface found in the same subnet",))

Warned = Witness[NcclWarning] | Witness[CollectiveWarning]


def complaints(readings: Readings, words: Words) -> Mapping[NodeId, tuple[Warned, ...]]:
    """Warnings of one cause, by node."""
    found: dict[NodeId, list[Warned]] = {}
    for told in readings.of(NcclWarning):
        if _says(told.reading.text, words):
            found.setdefault(node_of(told, readings.nodes), []).append(told)
    for one in readings.of(CollectiveWarning):
        if _says(one.reading.text, words):
            found.setdefault(NodeId(one.reading.host or one.node), []).append(one)
    return {node: tuple(told) for node, told in found.items()}


def _says(text: str, words: Words) -> bool:
    lower = text.lower()
    return any(all(word in lower for word in alternative) for alternative in words)
