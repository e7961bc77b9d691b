"""Run Python code as the interpreter's own command line would: -c, -m, a script, or standard input."""

from __future__ import annotations

import runpy
import sys
from types import ModuleType

WITHOUT_VALUE = frozenset("bBdEhiIOPqRsSuvx?")
WITH_VALUE = frozenset("WX")


def run_python(executable: str, arguments: list[str]) -> None:
    """Run what a `python3` command line asks for; the code sees itself as `__main__` of the node's interpreter."""
    sys.executable = executable
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option in ("-V", "--version", "-VV"):
            sys.stdout.write(f"Python {sys.version.split()[0]}\n")
            return
        if option.startswith("--"):
            continue
        for at, letter in enumerate(option[1:], 1):
            if letter in "cm":
                _run(letter, option[at + 1 :] or _next(rest, letter), rest)
                return
            if letter in WITH_VALUE:
                if not option[at + 1 :]:
                    _next(rest, letter)
                break
            if letter not in WITHOUT_VALUE:
                sys.stderr.write(f"Unknown option: -{letter}\n")
                sys.exit(2)
    _run_file(rest)


def _next(rest: list[str], letter: str) -> str:
    if not rest:
        sys.stderr.write(f"Argument expected for the -{letter} option\n")
        sys.exit(2)
    return rest.pop(0)


def _run(letter: str, what: str, rest: list[str]) -> None:
    if letter == "m":
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv = ["-c", *rest]
    _execute(what, "<string>")


def _run_file(rest: list[str]) -> None:
    if not rest or rest[0] == "-":
        sys.argv = rest or [""]
        _execute(sys.stdin.buffer.read(), "<stdin>")
        return
    sys.argv = rest
    with open(rest[0], "rb") as file:
        code = file.read()
    sys.path.insert(0, rest[0].rpartition("/")[0] or ".")
    _execute(code, rest[0])


def _execute(code: str | bytes, name: str) -> None:
    module = ModuleType("__main__")
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    if not name.startswith("<"):
        module.__file__ = name
    sys.modules["__main__"] = module
    exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)
