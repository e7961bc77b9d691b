"""What is sent to a node: one line for its python3's `-c`, and a compressed program over standard input.

The programs in fleet/node/ are read as text, stripped of comments and docstrings, and travel with the modules they
import; pynvml travels pruned to what they name (332 KB become 6). Nothing is written to the node's disk.
"""

from __future__ import annotations

import ast
import functools
import json
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from ..incident.errors import InputError

NODE = resources.files(__package__) / "node"

COLLECTOR_MODULES = ("deltas", "workers", "pci", "sysfs", "fields", "nvml", "kmsg", "wiring", "collector")
"""Module files of the collector, in fleet/node/."""

NO_PYTHON = 86
"""Exit status of the finder where the node has no Python 3."""

RUN_VARIABLE = "LANESCOPE_RUN"
"""In the environment of every process we start on a node, so that anyone can count what is left."""

_PYTHONS = (
    "python3",
    "/usr/libexec/platform-python",
    *(f"python3.{minor}" for minor in range(14, 5, -1)),
)
_FIND_PYTHON = (
    f"for p in {' '.join(_PYTHONS)}; do "
    'command -v "$p" >/dev/null 2>&1 && exec "$p" -I -S -u -c "$1"; '
    f"done; exit {NO_PYTHON}"
)
_MODULES_FIRST = """\
import sys, types
for name, text in {modules}:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), module.__dict__)
"""


def launch_command(run: str) -> str:
    """The command line that waits for a program on standard input, in a form that every login shell takes."""
    boot = f"exec({json.dumps(_stripped(_node_text('boot')))})"
    return _command(run, ("sh", "-c", _FIND_PYTHON, "lanescope", boot))


def shell_command(run: str, script: str) -> str:
    """The command line for nodes without Python: runs a POSIX shell script of this length sent over standard input."""
    return _command(run, ("sh", "-c", f'eval "$(dd bs=1 count={len(script.encode())} 2>/dev/null)"'))


def framed(program: str) -> bytes:
    """A program as the first words on the node expect it: eight digits of length, then the zlib bytes."""
    packed = zlib.compress(program.encode(), 9)
    return b"%08d" % len(packed) + packed


@functools.cache
def collector_program() -> str:
    """The collector with everything it imports; what calls its main() is added by `collector_payload`."""
    modules = [("pynvml", pruned_pynvml(COLLECTOR_MODULES))]
    modules += [(name, _stripped(_node_text(name))) for name in COLLECTOR_MODULES]
    return _MODULES_FIRST.format(modules=repr(modules))


@functools.lru_cache(maxsize=8)
def collector_payload(run: str, period: float, lease: float) -> bytes:
    """The bytes that start the collector; times in seconds. Making them takes 0.2 s the first time."""
    config = {"run": run, "period": period, "lease": lease}
    return framed(f"{collector_program()}sys.modules['collector'].main({config!r})\n")


def runner_payload(config: Mapping[str, object]) -> bytes:
    """The bytes that start the runner of one command: config has `argv`, `deadline`, `lease` and `most` (bytes)."""
    modules = [(name, _stripped(_node_text(name))) for name in ("runner",)]
    return framed(f"{_MODULES_FIRST.format(modules=repr(modules))}sys.modules['runner'].main({dict(config)!r})\n")


@functools.cache
def shell_collector() -> str:
    """The collector for nodes without Python 3."""
    return (NODE / "collector.sh").read_text()


def pruned_pynvml(users: Iterable[str]) -> str:
    """pynvml's own source, cut down to the definitions that the modules `users` of fleet/node/ name."""
    wanted = {
        node.attr
        for user in users
        for node in ast.walk(ast.parse(_node_text(user)))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pynvml"
    }
    source = _pynvml_source()
    notice = [line for line in source.split("\n", 40)[:40] if line.startswith("# ")]
    kept = ast.unparse(_without_docstrings(_reachable(ast.parse(source), wanted)))
    return "\n".join(notice) + "\n" + kept


def _command(run: str, argv: Iterable[str]) -> str:
    return f"exec env {RUN_VARIABLE}={shlex.quote(run)} {' '.join(shlex.quote(word) for word in argv)}"


def _node_text(name: str) -> str:
    return (NODE / f"{name}.py").read_text()


@functools.cache
def _stripped(text: str) -> str:
    return ast.unparse(_without_docstrings(ast.parse(text)))


def _pynvml_source() -> str:
    spec = find_spec("pynvml")
    if spec is None or spec.origin is None:
        raise InputError("pynvml is not installed here; expected the package nvidia-ml-py beside lanescope")
    return Path(spec.origin).read_text()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """The module without texts that stand alone as statements."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [statement for statement in body if not _is_text(statement)]
            node.body = kept or ([] if isinstance(node, ast.Module) else [ast.Pass()])  # type: ignore[attr-defined]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _reachable(tree: ast.Module, wanted: set[str]) -> ast.Module:
    """The statements of a module that define what `wanted` leads to, with its imports and bare calls."""
    definitions: dict[str, list[ast.stmt]] = {}
    kept: set[ast.stmt] = set()
    open_names = set(wanted)
    for statement in tree.body:
        for name in _defined(statement):
            definitions.setdefault(name, []).append(statement)
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr) and not _is_text(statement):
            kept.add(statement)
            open_names |= _named(statement)
    done: set[str] = set()
    while open_names - done:
        name = (open_names - done).pop()
        done.add(name)
        for statement in definitions.get(name, ()):
            if statement not in kept:
                kept.add(statement)
                open_names |= _named(statement)
    return ast.Module([statement for statement in tree.body if statement in kept], [])


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif not isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _named(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
