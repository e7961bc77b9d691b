"""The warm probe worker as one text: its files of fleet/node/, each made a module when the text runs on the node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

NODE = files(f"{__package__}.node")
WITHOUT_DRIVER = frozenset({"tool", "fabric_state"})
"""Programs that run on a node whose CUDA driver can't be opened."""

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
    return f"SOURCES = {[(name, _text(name)) for name in MODULES]!r}\n{LOADER}".encode()


def _text(module: str) -> str:
    return (NODE / f"{module}.py").read_text(encoding="utf-8")


def _with_its_imports(module: str, seen: set[str]) -> Iterator[str]:
    """The module files of fleet/node/ that `module` needs, each after those that it needs itself."""
    seen.add(module)
    text = _text(module)
    imported = [line.split()[1] for line in text.splitlines() if line.split()[:1] == ["import"]]
    for name in (*imported, *(_programs(text) if module == "programs" else ())):
        if name not in seen and (NODE / f"{name}.py").is_file():
            yield from _with_its_imports(name, seen)
    yield module


def _programs(text: str) -> tuple[str, ...]:
    """The names in programs.py."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "NAMES":
            return tuple(ast.literal_eval(statement.value))
    raise LookupError("programs.py has no NAMES")


MODULES = tuple(_with_its_imports("worker", set()))
"""In the order in which they import each other."""
PROGRAMS = _programs(_text("programs"))
"""What a task can ask for."""
