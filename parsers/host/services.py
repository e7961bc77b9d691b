"""`systemctl status UNIT` and `systemctl is-active UNIT`.

Source: systemctl(1); the words of `Active:` and `Main PID:` are those of systemd's unit states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One unit; `is-active` does not say which."""

    unit: str
    active: str
    """`active`, `inactive`, `failed`, `activating`, ..."""
    detail: str = ""
    """`running`, `Result: signal`, ..."""
    since: str = ""
    main_process: str = ""
    """How its main process ended: `code=killed, signal=KILL`."""


_UNIT = re.compile(r"(?:[●○×x*↻] )?([\w@.\\:-]{1,120}\.(?:service|socket|target))(?: - .{0,200})?")
_ACTIVE = re.compile(r"\s{1,20}Active: (\w{1,24})(?: \(([^)]{1,80})\))?(?: since ([^;]{1,60}))?(?:;.{0,80})?\s*")
_MAIN = re.compile(
    r"\s{1,20}Main PID: \d{1,10} (?:\([^)]{0,80}\) ?)?\(?(code=\w{1,20}, (?:status|signal)=[\w/-]{1,40})\)?.*"
)
_WORDS = frozenset({"active", "inactive", "failed", "activating", "deactivating", "reloading", "unknown"})


def parse_service_status(text: str) -> Parsed[ServiceStatus]:
    """Read the status of one unit or several; the journal's lines below it are passed over."""
    parsed = Parsed[ServiceStatus]()
    unit, said, process = "", None, ""
    for _, line in numbered(without_escapes(text)):
        if found := _UNIT.fullmatch(line.rstrip()):
            if said:
                parsed.add(_status(unit, said, process))
            unit, said, process = found[1], None, ""
        elif found := _ACTIVE.fullmatch(line):
            said = found
        elif found := _MAIN.fullmatch(line):
            process = found[1]
    if said:
        parsed.add(_status(unit, said, process))
    return parsed


def _status(unit: str, said: re.Match[str], process: str) -> ServiceStatus:
    return ServiceStatus(unit, said[1], said[2] or "", (said[3] or "").strip(), process)


def parse_is_active(text: str) -> Parsed[ServiceStatus]:
    """Read the words; one for each unit that was asked about."""
    parsed = Parsed[ServiceStatus]()
    for word in _words(text):
        parsed.add(ServiceStatus("", word))
    return parsed


def _is_status(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head))]
    return any(_UNIT.fullmatch(line.rstrip()) for line in lines) and any(_ACTIVE.fullmatch(line) for line in lines)


def _is_active(head: str) -> bool:
    words = _words(head)
    return 0 < len(words) <= 16 and all(word in _WORDS for word in words)


def _words(text: str) -> list[str]:
    lines = [line.strip() for _, line in numbered(without_escapes(text[:4096])) if not prompt_of(line)]
    return [line for line in lines if line]


STATUS = Tool("systemctl status", _is_status, parse_service_status, file_names=("*systemctl*", "*fm-status*"))
IS_ACTIVE = Tool("systemctl is-active", _is_active, parse_is_active)
