"""`ibdiagnet`: what the fabric consists of, what each stage found, and the findings in words.

Source: capture infiniband/ibdiagnet-*; NVIDIA ibdiagnet user manual for `-W-` and `-E-` lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class FabricSummary:
    """How many nodes of each kind were found; None for what is not printed."""

    nodes: int | None = None
    switches: int | None = None
    adapters: int | None = None
    """Hosts' channel adapters."""
    aggregation_nodes: int | None = None
    """SHARP engines inside switches: no hosts."""
    routers: int | None = None
    adaptive_routing_switches: int | None = None


@dataclass(frozen=True, slots=True)
class DiagnosticStage:
    """A row of the summary."""

    name: str
    warnings: int
    errors: int
    comment: str = ""


@dataclass(frozen=True, slots=True)
class DiagnosticMessage:
    """A finding in words."""

    severity: str
    """`warning` or `error`."""
    section: str
    """Heading under which it stands; empty above the first."""
    text: str


_COUNT = re.compile(
    r"\s{0,8}(Total Nodes|IB Switches|IB Channel Adapters|IB Aggregation Nodes|IB Routers)\s{0,40}: (\d{1,9})\s{0,8}"
)
_ROUTING = re.compile(r"\s{0,8}Adaptive Routing is enabled on (\d{1,9}) switches\s{0,8}")
_STAGE = re.compile(
    r"\s{0,8}-[IWE]- (?P<name>\S.{0,80}?)\s{2,80}(?P<warnings>\d{1,9})\s{1,40}(?P<errors>\d{1,9})"
    r"(?P<comment>\s.{0,300})?"
)
_MESSAGE = re.compile(r"\s{0,8}-([IWE])-\s{1,4}(.{1,2000})")
_RULE = re.compile(r"\s{0,8}-{20,200}\s{0,8}")
_TABLE = re.compile(r"\s{0,8}-I- Stage\s{2,80}Warnings\s{1,20}Errors")
_MARKS = re.compile(
    r"^[ \t]{0,8}-I- Stage[ \t]{2,80}Warnings[ \t]{1,20}Errors|^[ \t]{0,8}IB Channel Adapters[ \t]{0,40}: \d"
    r"|^Running version[ \t]{0,4}: ?\"?IBDIAGNET|^[ \t]{0,8}-I- Using port \d{1,3} as the local port",
    re.MULTILINE,
)
_FIELDS = {
    "Total Nodes": "nodes",
    "IB Switches": "switches",
    "IB Channel Adapters": "adapters",
    "IB Aggregation Nodes": "aggregation_nodes",
    "IB Routers": "routers",
}


def _counted(line: str) -> dict[str, int]:
    """What a line of the summary counts; empty for any other line."""
    if found := _COUNT.fullmatch(line):
        return {_FIELDS[found[1]]: int(found[2])}
    found = _ROUTING.fullmatch(line)
    return {"adaptive_routing_switches": int(found[1])} if found else {}


def parse_ibdiagnet(text: str) -> Parsed[FabricSummary | DiagnosticStage | DiagnosticMessage]:
    """Read summary, stages and findings; remarks (`-I-`) carry nothing."""
    parsed = Parsed[FabricSummary | DiagnosticStage | DiagnosticMessage]()
    counts: dict[str, int] = {}
    section, after_rule, in_table = "", False, False
    for number, line in numbered(without_escapes(text)):
        if counted := _counted(line):
            counts |= counted
        elif _TABLE.match(line):
            in_table = True
        elif in_table and (found := _STAGE.fullmatch(line)):
            comment = (found["comment"] or "").strip()
            parsed.add(DiagnosticStage(found["name"], int(found["warnings"]), int(found["errors"]), comment))
        elif found := _MESSAGE.fullmatch(line):
            if found[1] != "I":
                severity = "error" if found[1] == "E" else "warning"
                parsed.add(DiagnosticMessage(severity, section, found[2].strip()))
        elif after_rule and line.strip():
            section, in_table = line.strip()[:200], False
        elif line.strip() and not _RULE.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
        after_rule = bool(_RULE.fullmatch(line))
    if counts:
        parsed.add(FabricSummary(**counts))
    return parsed


TOOL = Tool(
    "ibdiagnet",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibdiagnet,
    file_names=("*ibdiagnet*",),
)
