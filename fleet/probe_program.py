"""The warm probe worker as one text: its files of fleet/node/, each made a module when the text runs on the node."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

MODULES = ("watch", "edge_counters", "placement", "cuda", "cuda_copy", "bench", "crew", "worker")
"""In the order in which they import each other."""

LOADER = """\
import sys, types
for name, text in SOURCES:
    sys.modules[name] = module = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), module.__dict__)
sys.modules["worker"].main()
"""


@cache
def probe_program() -> bytes:
    """Python source for `python3 -I -S` of 3.6 or newer."""
    folder = files(f"{__package__}.node")
    sources = [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    return f"SOURCES = {sources!r}\n{LOADER}".encode()
