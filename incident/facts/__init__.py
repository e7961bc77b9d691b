"""Reference data of the field: Xid, SXid, counters, platforms, the words of verdicts, each fact with its source.

The TOML files are what people edit; `facts.json` is made from them by `python -m lanescope.incident.facts.build`, so
that starting up parses one JSON. A test holds the two against each other.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

TABLES = ("boards", "classes", "counters", "layouts", "platforms", "sxid", "widths", "xid")


@cache
def table(name: str) -> dict[str, Any]:
    """One table of `TABLES` as parsed from its TOML; read once a process. Treat it as constant."""
    return _all_tables()[name]


@cache
def _all_tables() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = orjson.loads(Path(__file__).with_name("facts.json").read_bytes())
    return loaded
