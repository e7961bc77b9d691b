"""The kernel's command line: `/proc/cmdline`, or an excerpt of it, as a bare line of parameters.

Source: kernel Documentation/admin-guide/kernel-parameters for the words by which such a line is told from others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .parsed import Parsed, numbered
from .plain import prompt_of, without_escapes
from .tool import Tool

MOST_PARAMETERS = 400
LONGEST = 4096
"""Characters of a command line that are looked at; the kernel's own limit is 2048 on x86 and 4096 at most."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One word of the line."""

    name: str
    value: str | None = None
    """None of a word without `=`."""

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class KernelCommandLine:
    """What a kernel was started with, in its order; a later word overrules an earlier one."""

    parameters: tuple[KernelParameter, ...]

    def of(self, name: str) -> tuple[KernelParameter, ...]:
        """All words of one name."""
        return tuple(parameter for parameter in self.parameters if parameter.name == name)


_WORD = re.compile(r"([A-Za-z][\w.\-]{0,63})(?:=(\S{0,512}))?")
_TELLING = re.compile(
    r"(?:BOOT_IMAGE|root|(?:intel_|amd_)?iommu|iommu\.\w{1,24}|pcie?|pcie_\w{1,24}|initrd|default_hugepagesz|isolcpus"
    r"|numa_balancing|mitigations|nohz_full|intel_idle\.\w{1,24}|processor\.\w{1,24}|modprobe\.blacklist)=\S.*"
)


def parse_kernel_command_line(text: str) -> Parsed[KernelCommandLine]:
    """Read the one line that it is."""
    parsed = Parsed[KernelCommandLine]()
    for number, line in numbered(without_escapes(text)):
        if not line.strip() or prompt_of(line):
            continue
        if told := command_line_of(line):
            parsed.add(told)
        else:
            parsed.cannot_read(number, line)
    return parsed


@lru_cache(maxsize=1024)
def command_line_of(text: str) -> KernelCommandLine | None:
    """The words of one line; None of a line in which nothing tells that it is one."""
    words = text[:LONGEST].split()[:MOST_PARAMETERS]
    found = [_WORD.fullmatch(word) for word in words]
    if not any(_TELLING.fullmatch(word) for word in words):
        return None
    return KernelCommandLine(tuple(KernelParameter(one[1], one[2]) for one in found if one))


def _recognizes(head: str) -> bool:
    """True of a text of one such line, every word of which is a parameter."""
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    if len(lines) != 1 or not command_line_of(lines[0]):
        return False
    return all(_WORD.fullmatch(word) or word == "--" for word in lines[0][:LONGEST].split())


TOOL = Tool("/proc/cmdline", _recognizes, parse_kernel_command_line, file_names=("*cmdline*",))
