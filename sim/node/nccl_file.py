"""The file that a simulated node has as its libnccl.so.2: nothing but the words by which one tells which NCCL it is."""

from __future__ import annotations

import os

from .machine import Machine

NAME = "libnccl.so.2"
SEARCHED = "LD_LIBRARY_PATH"

_exists, _open = os.path.exists, open
"""The real ones: the process may since have been made to look like the node."""


def install(machine: Machine) -> None:
    """Put the file into the node's folder, where it is not yet, and let this process and its children find it first."""
    folder = f"{machine.folder}/lib"
    if not _exists(f"{folder}/{NAME}"):
        _write(folder)
    os.environ[SEARCHED] = ":".join(filter(None, (folder, os.environ.get(SEARCHED))))


def _write(folder: str) -> None:
    """Make the file; only its owner may write, or no program would load it."""
    from ..nccl_program import LIBRARY  # once a node: an interpreter's start is too dear for it

    os.makedirs(folder, mode=0o755, exist_ok=True)
    os.chmod(folder, 0o755)
    new = f"{folder}/{NAME}.{os.getpid()}"
    with _open(new, "w", encoding="ascii") as file:
        file.write(f"NCCL version {LIBRARY['version']}+cuda{LIBRARY['cuda']}\n")
    os.chmod(new, 0o644)
    os.replace(new, f"{folder}/{NAME}")
