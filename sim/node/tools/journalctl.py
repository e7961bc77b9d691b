"""`journalctl -k`: the kernel log as the journal has it; -f, -n, -o short-iso-precise."""

from __future__ import annotations

import sys
import time

from ..machine import Machine
from .kernel_lines import kernel_lines


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print the log; there is no journal but the kernel's."""
    letters = {
        letter for argument in arguments if argument.startswith("-") and argument[1:2] != "-" for letter in argument[1:]
    }
    if not letters & {"k"} and "--dmesg" not in arguments:
        sys.stderr.write("No journal files were found.\n")
        print("-- No entries --")
        return 1
    follow = "f" in letters or "--follow" in arguments
    form = _value(arguments, "-o", "--output")
    last = int(_value(arguments, "-n", "--lines") or 0)
    lines = kernel_lines(machine, follow)
    if last and not follow:
        shown = list(lines)[-last:]
        for seconds, text in shown:
            print(_line(machine, form, seconds, text))
        return 0
    for seconds, text in lines:
        print(_line(machine, form, seconds, text), flush=follow)
    return 0


def _value(arguments: list[str], short: str, long: str) -> str:
    for at, argument in enumerate(arguments):
        if argument in (short, long):
            return "".join(arguments[at + 1 : at + 2])
        if argument.startswith(f"{long}="):
            return argument.partition("=")[2]
        if argument.startswith(short) and argument != short and not argument.startswith("--"):
            return argument[len(short) :]
    return ""


def _line(machine: Machine, form: str, seconds: float, text: str) -> str:
    at = machine.boot_time + seconds
    moment = time.gmtime(at)
    stamps = {
        "short-iso": time.strftime("%Y-%m-%dT%H:%M:%S+0000", moment),
        "short-iso-precise": f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(at % 1 * 1e6):06d}+0000",
        "short-precise": f"{time.strftime('%b %d %H:%M:%S', moment)}.{int(at % 1 * 1e6):06d}",
    }
    stamp = stamps.get(form, time.strftime("%b %d %H:%M:%S", moment))
    return text if form == "cat" else f"{stamp} {machine.hostname} kernel: {text}"
