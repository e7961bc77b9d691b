"""`dmesg`: the kernel log; -T, --time-format, -x, -w."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..machine import Machine
from .kernel_lines import kernel_lines

FOLLOW = {"-w", "--follow", "-W", "--follow-new"}


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print the log."""
    letters = {f"-{letter}" for argument in arguments if _is_short(argument) for letter in argument[1:]}
    given = letters | {argument for argument in arguments if argument.startswith("--")}
    form = next((argument.partition("=")[2] for argument in arguments if argument.startswith("--time-format")), "")
    if "--time-format" in arguments:
        form = arguments[arguments.index("--time-format") + 1]
    if given & {"-T", "--ctime"}:
        form = "ctime"
    if given & {"-t", "--notime"}:
        form = "notime"
    stamp = STAMPS.get(form, _since_boot)
    decoded = "kern  :warn  : " if given & {"-x", "--decode"} else ""
    for seconds, text in kernel_lines(machine, bool(given & FOLLOW)):
        print(f"{decoded}{stamp(machine, seconds)}{text}", flush=bool(given & FOLLOW))
    return 0


def _is_short(argument: str) -> bool:
    return argument.startswith("-") and not argument.startswith("--")


def _since_boot(_machine: Machine, seconds: float) -> str:
    return f"[{seconds:12.6f}] "


def _ctime(machine: Machine, seconds: float) -> str:
    return time.strftime("[%a %b %e %H:%M:%S %Y] ", time.gmtime(machine.boot_time + seconds))


def _iso(machine: Machine, seconds: float) -> str:
    at = machine.boot_time + seconds
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))},{int(at % 1 * 1e6):06d}+00:00 "


STAMPS: dict[str, Callable[[Machine, float], str]] = {
    "ctime": _ctime,
    "iso": _iso,
    "notime": lambda _machine, _seconds: "",
    "raw": _since_boot,
}
