"""Which rules judged a case: their names, and hashes of their text, so that a reader knows what to run again."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import orjson

from .. import __version__
from ..incident.snapshot import Snapshot


def rules_document(snapshot: Snapshot) -> dict[str, Any]:
    """`rules.json`: version, the rules that raised what stands, and the sha256 of every rule's text."""
    signals = files(__package__.rpartition(".")[0] + ".signals")
    texts = {path: sha256(text).hexdigest() for path, text in sorted(_sources(signals, "signals"))}
    return {
        "format": "rules/1",
        "version": __version__,
        "raised_by": sorted({finding.rule for finding in snapshot.findings if finding.rule}),
        "texts": texts,
        "sha256": sha256(orjson.dumps(texts, option=orjson.OPT_SORT_KEYS)).hexdigest(),
    }


def _sources(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found = []
    for item in folder.iterdir():
        if item.is_dir() and item.name != "__pycache__":
            found += _sources(item, f"{path}/{item.name}")
        elif item.name.endswith(".py"):
            found.append((f"{path}/{item.name}", item.read_bytes()))
    return found
