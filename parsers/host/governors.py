"""CPU frequency governors: `cpupower frequency-info`, and `scaling_governor` of each CPU, counted or one by one.

Source: Linux Documentation/admin-guide/pm/cpufreq; tools/power/cpupower frequency-info.c.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class Governor:
    """A governor and the CPUs that follow it."""

    name: str
    cpus: int
    """How many said so; 1 of cpupower, which asks one."""
    driver: str = ""
    """`intel_pstate`, `acpi-cpufreq`; empty where not printed. Under intel_pstate `powersave` still clocks up."""


_GOVERNOR = r"performance|powersave|ondemand|conservative|schedutil|userspace"
_BARE = re.compile(
    rf"(?:/sys/devices/system/cpu/(?:cpu\d{{1,5}}/cpufreq|cpufreq/policy\d{{1,5}})/scaling_governor:)?({_GOVERNOR})\s*"
)
_COUNTED = re.compile(rf"\s{{0,12}}(\d{{1,5}})\s({_GOVERNOR})\s*")
_CPUPOWER = re.compile(rf"\s{{0,12}}The governor \"({_GOVERNOR})\" may decide.{{0,80}}")
_DRIVER = re.compile(r"\s{0,12}driver: (\w[\w-]{0,40})\s*")
_CPU = re.compile(r"analyzing CPU \d{1,5}:\s*|analyzing CPUs? .{1,40}:\s*")


def parse_governors(text: str) -> Parsed[Governor]:
    """Read whichever form; one reading for each governor in use."""
    parsed = Parsed[Governor]()
    cpus, driver = Counter[str](), ""
    for number, line in numbered(without_escapes(text)):
        if found := _COUNTED.fullmatch(line):
            cpus[found[2]] += int(found[1])
        elif found := _BARE.fullmatch(line) or _CPUPOWER.fullmatch(line):
            cpus[found[1]] += 1
        elif found := _DRIVER.fullmatch(line):
            driver = found[1]
        elif line.strip() and line[0] not in " \t" and not _CPU.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    for name, count in cpus.most_common():
        parsed.add(Governor(name, count, driver))
    return parsed


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)][:2000]
    if any(_CPUPOWER.fullmatch(line) for line in lines):
        return True
    return bool(lines) and all(_BARE.fullmatch(line) or _COUNTED.fullmatch(line) for line in lines)


TOOL = Tool(
    "cpupower frequency-info",
    _recognizes,
    parse_governors,
    file_names=("*governor*", "*cpupower*"),
    unconfirmed="the kernel's documentation and the source of cpupower",
)
