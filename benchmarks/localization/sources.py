"""Which sources a result comes from: when they change, so does their digest, and the result is measured anew."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORLD = ("sim", "topology", "probes", "benchmarks/localization", "benchmarks/localization/strategies")
"""Folders that every strategy's results come from ..."""
HYPOTHESES = ("compile.py", "parts.py", "path_table.py", "sampling.py", "settings.py", "ways.py")
"""... with those files of the engine that say what parts there are."""
ENGINE = "probes/localize"
ENGINES = ("ours", "fixed")
"""Strategies that ask the engine."""
SHOWS_ONLY = ("__main__.py", "ci.py", "sources.py", "summary.py", "table.py")
"""Files here that only show what was measured."""


@cache
def digest(strategy: str) -> str:
    """Twelve hex digits of all sources that a strategy's results come from."""
    files = [path for folder in WORLD for path in (ROOT / folder).glob("*.py") if path.name not in SHOWS_ONLY]
    engine = (ROOT / ENGINE).glob("*.py")
    files += [path for path in engine if strategy in ENGINES or path.name in HYPOTHESES]
    hashed = sha256()
    for path in sorted(files):
        hashed.update(f"{path.relative_to(ROOT)}\n".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:12]
