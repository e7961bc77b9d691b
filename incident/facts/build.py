"""Make `facts.json` from the TOML files beside it: `python -m lanescope.incident.facts.build`."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path

from . import TABLES

HERE = Path(__file__).parent


def built() -> bytes:
    """The bytes that `facts.json` should have."""
    tables = {name: tomllib.loads((HERE / f"{name}.toml").read_text()) for name in TABLES}
    text = json.dumps(tables, default=_plain, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode() + b"\n"


def _plain(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a fact of type {type(value).__name__} has no place in JSON")


if __name__ == "__main__":
    (HERE / "facts.json").write_bytes(built())
