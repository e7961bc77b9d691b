"""What health checks of clusters complain of, in their own words: NVLinks that are inactive, bandwidth below a limit.

Source: messages of public node health checks (`check_nvlink_status`, `check_gpu_bw`). A check's limit is its own
expectation and no fact about the board.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class InactiveLinks:
    """A check says that a GPU has NVLinks that are inactive."""

    gpu: int
    links: tuple[int, ...]
    check: str


@dataclass(frozen=True, slots=True)
class BelowLimit:
    """A check measured less than it wants."""

    check: str
    subject: str
    """In the check's words: `P2P test on GPU 1 to GPU 0`."""
    measured: float
    limit: float


_CHECK = re.compile(r"(?:ERROR|WARNING|FAIL(?:ED)?|error)[:\s]\s*(?P<check>\w{1,64}): (?P<text>.{1,2000})")
_INACTIVE = re.compile(r"GPU (\d{1,3}) has nvlinks? inactive:(.{1,1500})", re.IGNORECASE)
_LINK = re.compile(r"Link (\d{1,3})")
_BELOW = re.compile(
    r"(?P<subject>.{1,160}?) (?:failed|is low)\.? ?Bandwidth:? (?P<measured>\d{1,9}(?:\.\d{1,6})?) "
    r"is less than:? (?P<limit>\d{1,9}(?:\.\d{1,6})?)"
)


def parse_complaints(text: str) -> Parsed[InactiveLinks | BelowLimit]:
    """Read one complaint a line."""
    parsed = Parsed[InactiveLinks | BelowLimit]()
    for number, line in numbered(without_escapes(text)):
        check = _CHECK.search(line[:2400])
        if check is None:
            continue
        if found := _INACTIVE.search(check["text"]):
            links = tuple(int(link) for link in _LINK.findall(found[2]))
            parsed.add(InactiveLinks(int(found[1]), links, check["check"]))
        elif found := _BELOW.search(check["text"]):
            parsed.add(BelowLimit(check["check"], found["subject"], float(found["measured"]), float(found["limit"])))
        else:
            parsed.cannot_read(number, line, "a check's complaint in words that are not known")
    return parsed


def _recognizes(head: str) -> bool:
    found = [_CHECK.search(line[:2400]) for _, line in numbered(without_escapes(head)) if line.strip()]
    return any(one and (_INACTIVE.search(one["text"]) or _BELOW.search(one["text"])) for one in found)


TOOL = Tool("node health check", _recognizes, parse_complaints, file_names=("*check*",))
