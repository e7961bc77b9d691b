"""`sysctl`: settings of the running kernel, whole or an excerpt.

Source: procps sysctl(8): `net.ipv4.conf.all.arp_ignore = 1`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class KernelSetting:
    """One setting."""

    name: str
    value: str


_SETTING = re.compile(
    r"((?:abi|crypto|debug|dev|fs|kernel|net|sunrpc|user|vm)(?:[./][\w*@:-]{1,64}){1,8}) ?= ?(.{0,400}?)\s*"
)
_COMPLAINT = re.compile(r"sysctl: .{1,200}")


def parse_sysctl(text: str) -> Parsed[KernelSetting]:
    """Read all settings."""
    parsed = Parsed[KernelSetting]()
    for number, line in numbered(without_escapes(text)):
        if found := _SETTING.fullmatch(line[:1000]):
            parsed.add(KernelSetting(found[1], " ".join(found[2].split())))
        elif _COMPLAINT.fullmatch(line):
            parsed.not_applicable("sysctl", line)
        elif line.strip() and not prompt_of(line) and line[0] not in "#;":
            parsed.cannot_read(number, line)
    return parsed


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    lines = [line for line in lines if line[0] not in "#;"][:200]
    return any(_SETTING.fullmatch(line[:1000]) for line in lines) and all(
        _SETTING.fullmatch(line[:1000]) or _COMPLAINT.fullmatch(line) for line in lines
    )


TOOL = Tool("sysctl", _recognizes, parse_sysctl, file_names=("*sysctl*",))
