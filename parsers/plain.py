"""A line as its tool meant it: without the terminal's escapes, and shell prompts told from what a tool printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;:?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[()][0-9A-Za-z]|[=>78])"
)
_FULL_PROMPT = re.compile(
    r"\s{0,8}(?:\([\w.-]{1,40}\) )?\[?(?:[\w.-]{1,32})@(?P<host>[\w.-]{1,64})"
    r"(?:[: ][^\s#$\]]{0,120})?\]?[#$](?: (?P<command>.*))?\s*"
)
_DOLLAR = re.compile(r"\s{0,8}\$ (?P<command>[\w./~-].*)")
_HASH = re.compile(
    r"\s{0,8}(?:#|\+{1,4}) (?P<command>(?:sudo |/|\./|numactl |mpirun |srun |kubectl |pdsh |clush |ssh |for |cat |grep "
    r"|journalctl\b|dmesg\b|nvidia-smi\b|nvidia-bug-report|dcgmi\b|lspci\b|ibstat\b|ibv_devinfo\b"
    r"|ibdev2netdev\b|iblinkinfo\b|ibnetdiscover\b|ibqueryerrors\b|ibdiagnet\b|ib_(?:write|read|send|atomic)_(?:bw|lat)\b|perfquery\b|mlxlink\b|mstlink\b|show_gids\b"
    r"|ethtool\b|ipmitool\b|lldpctl\b|lldpcli\b|nvbandwidth\b|gpu_burn\b).*)"
)
_MAY_BE_PROMPT = re.compile(r"^[ \t]{0,8}(?:[$#+]|(?:\([\w.-]{1,40}\) )?\[?[\w.-]{1,32}@)[^\n]{0,4000}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A line on which somebody typed a command: `[root@gpu-017 ~]# nvidia-smi topo -m`."""

    host: str
    """Empty where the prompt does not name one."""
    command: str
    """Empty where nothing was typed."""


def without_escapes(text: str) -> str:
    """Colours, cursor moves and window titles taken out."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def prompt_of(line: str) -> Prompt | None:
    """The prompt that a line shows; None where a tool printed the line.

    A bare `# word` is a prompt only before a command of this field, since many tools begin their own lines so.
    """
    found = _FULL_PROMPT.fullmatch(line)
    if found:
        return Prompt(found["host"], (found["command"] or "").strip())
    found = _DOLLAR.fullmatch(line) or _HASH.fullmatch(line)
    return Prompt("", found["command"].strip()) if found else None


def prompts_in(text: str) -> Iterator[tuple[int, int, Prompt]]:
    """All prompts with the offsets of their lines, line ends excluded."""
    for found in _MAY_BE_PROMPT.finditer(text):
        if prompt := prompt_of(found[0].rstrip("\r")):
            yield found.start(), found.end(), prompt
