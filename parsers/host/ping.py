"""`ping`, above all with `-M do`, which tells whether packets of a size get through whole.

Source: iputils ping(8); the words of its errors and its summary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class PingRun:
    """One run against one address."""

    address: str
    payload: int | None
    """Bytes of data a packet; None where the heading is not shown."""
    sent: int | None
    received: int | None
    too_long_for: int | None
    """The MTU that refused such a packet; None where none did."""
    refused_by: str = ""
    """The router that did; empty where this machine's own interface did."""


_HEADING = re.compile(
    r"PING (\S{1,200}) \(?(\S{1,80}?)\)?(?: from \S{1,80}(?: \S{1,40})?:?)? (\d{1,6})(?:\(\d{1,6}\))? .*"
)
_LOCAL = re.compile(r"ping: (?:local error|sendmsg): [Mm]essage too long(?:, mtu[:=] ?(\d{1,6}))?\s*")
_ROUTER = re.compile(
    r"From (\S{1,100})(?: \(\S{1,80}\))?:? icmp_seq=\d{1,8} Frag needed and DF set \(mtu = (\d{1,6})\)\s*"
)
_SUMMARY = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) received.*")
_BESIDE = re.compile(
    r"\d{1,6} bytes from .*|--- \S{1,200} ping statistics ---\s*|rtt min/avg/max.*|From \S.*|no answer yet.*|pipe \d.*"
)


def parse_ping(text: str) -> Parsed[PingRun]:
    """Read all runs; of one that is cut its beginning."""
    parsed = Parsed[PingRun]()
    run: PingRun | None = None
    for number, line in numbered(without_escapes(text)):
        if found := _HEADING.fullmatch(line):
            if run:
                parsed.add(run)
            run = PingRun(found[2], int(found[3]), None, None, None)
        elif found := _LOCAL.fullmatch(line):
            run = _refused(run, found[1], "")
        elif found := _ROUTER.fullmatch(line):
            run = _refused(run, found[2], found[1])
        elif run and (found := _SUMMARY.fullmatch(line)):
            sent, received = int(found[1]), int(found[2])
            run = PingRun(run.address, run.payload, sent, received, run.too_long_for, run.refused_by)
        elif line.strip() and not _BESIDE.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    if run:
        parsed.add(run)
    return parsed


def _refused(run: PingRun | None, mtu: str | None, router: str) -> PingRun:
    run = run or PingRun("", None, None, None, None)
    return PingRun(run.address, run.payload, run.sent, run.received, int(mtu) if mtu else 0, router)


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head))]
    return any(_HEADING.fullmatch(line) or _LOCAL.fullmatch(line) or _ROUTER.fullmatch(line) for line in lines)


TOOL = Tool("ping", _recognizes, parse_ping, file_names=("*ping*",), unconfirmed="the source of iputils")
