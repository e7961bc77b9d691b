"""`uname`."""

from __future__ import annotations

from ..machine import Machine
from ..procfs import uname

PLACES = {"s": 0, "n": 1, "r": 2, "v": 3, "m": 4, "p": 4, "i": 4}


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print what is asked for, in uname's own order."""
    names = uname(machine)
    letters = {letter for argument in arguments for letter in argument.lstrip("-")} or {"s"}
    if "a" in letters:
        print(" ".join((*names, "x86_64", "x86_64", "GNU/Linux")))
        return 0
    shown = [names[PLACES[letter]] for letter in "snrvmpi" if letter in letters]
    print(" ".join(shown + (["GNU/Linux"] if "o" in letters else [])))
    return 0
