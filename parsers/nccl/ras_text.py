"""NCCL's RAS service in text: `ncclras`, or `echo verbose status | nc localhost 28028` (NCCL 2.24 and later).

A job summary, a table of communicator groups, then Errors and Warnings, with the ranks that stand out from the others
named. A MISMATCH of counts is no fault while the counts go on rising from query to query.
Source: captures nccl/ras-text-*; NVIDIA/nccl src/ras/client_support.cc for jobs of uneven shape, DEAD and ERROR.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .ras_event import device_list, read_event
from .ras_report import (
    RasCollection,
    RasGroup,
    RasJob,
    RasNodes,
    RasProblem,
    RasProcess,
    RasProcesses,
    RasRank,
    RasReading,
    RasShare,
)

_N = r"\d{1,9}"
_SECTIONS = ("Errors", "Warnings", "Job summary")
_COLLECTION = re.compile(r"Communicators\.{3} \((\d{1,7}(?:\.\d{1,6})?)s\)")
_GROUP_TABLE = re.compile(r"Group\s{1,12}Comms\s{1,12}Nodes\s{1,12}Ranks\b")
_TABLE_ROW = re.compile(
    rf"\s{{0,12}}(?P<group>{_N})\s+(?P<comms>{_N})\s+(?P<nodes>{_N})\s+(?P<least>{_N})(?:-(?P<most>{_N}))?"
    rf"\s+(?P<ranks>{_N})\s+(?P<total>{_N})\s+(?P<status>[A-Z]{{2,16}})\s+(?P<errors>[A-Z+,/ ]{{2,60}})"
)
_JOB_ROW = re.compile(rf"\s{{1,12}}{_N}(?:\s{{1,16}}{_N}){{1,4}}\s*")
_JOB_HEADING = re.compile(r"\s{0,32}(?:Nodes|Processes|\(total\)|per node|per process)[\s\w()]{0,80}")
_COMMUNICATOR = re.compile(r"#(\d{1,6})-(\d{1,6}) \(([0-9a-f]{1,16})\) ([A-Z]{3,16})\s*")
_KIND = re.compile(r"(INCOMPLETE|DEAD|TIMEOUT|ERROR|MISMATCH)\s*")
_COUNT = re.compile(
    rf"\s+(?:Missing communicator data from ({_N}) (?:rank|job process)"
    rf"|({_N}) job process(?:es)? (?:is|are) considered dead"
    rf"|Encountered ({_N}) communication timeout|(?:Initialization|Asynchronous) errors? on ({_N}) rank)"
)
_PROCESS = re.compile(
    rf"\s+Process ({_N}) on node (\S{{1,255}}) managing GPUs? ([\d,]{{1,400}})(?: \(NVML ([\d,]{{1,400}})\))?\s*"
)
_MISSING = re.compile(r"\s+The missing ranks?: ([\d, ]{1,2000})")
_OPERATIONS = r"launched up to operation (?P<operation>\d{1,19})|not launched any operations"
_SHARE = re.compile(
    rf"\s+(?P<ranks>{_N}) ranks (?:have status (?P<status>[A-Z]{{2,16}})|have (?:{_OPERATIONS})"
    rf"|reported (?P<error>.{{1,60}}))\s*"
)
_RANK = re.compile(
    rf"\s+Rank (?P<rank>{_N})"
    rf"(?: has status (?P<status>[A-Z]{{2,16}})| has (?P<did>{_OPERATIONS})| reported (?P<error>[^-]{{1,60}}?))? -- "
    rf"(?:GPU (?P<gpu>{_N})(?: \(NVML (?P<nvml>{_N})\))? managed by process (?P<pid>{_N}) on node (?P<node>\S{{1,255}})"
    rf"|\[process information not found\])\s*"
)
_PASSED_OVER = re.compile(
    r"\s*|[=*-]{3,120}|\[\.{3}\]|\s{0,8}#\s{1,8}in group\s{1,8}per comm.{0,80}|NCCL version .{0,80}"
    r"|CUDA runtime version .{0,80}|RAS Monitor Mode .{0,80}|No communicator data collected!"
    r"|\s{1,8}Communicator ranks have different .{1,60}|\s{0,8}The outlier nodes?:"
    r"|\s{1,8}Node \S{1,255} running process(?:es)? [\d,]{1,400}|\s{1,8}\[could not find information on .{1,40}\]"
)


@dataclass(slots=True)
class _Report:
    """Where in the report a line stands."""

    parsed: Parsed[RasReading]
    section: str = ""
    table: str = ""
    """Whose rows follow: the last heading of columns."""
    problem: RasProblem | None = None
    """Kept until its count is known."""
    share: tuple[str, str] = ("", "")
    columns: list[str] = field(default_factory=list)

    def line(self, number: int, line: str) -> None:
        for read in (self._headings, self._rows, self._details):
            if read(line):
                return
        if event := read_event(line):
            self.parsed.add(event)
        elif not _PASSED_OVER.fullmatch(line) and not prompt_of(line):
            self.parsed.cannot_read(number, line)

    def _headings(self, line: str) -> bool:
        if line.strip() in _SECTIONS:
            self.close()
            self.section, self.table = line.strip(), "job" if line.startswith("Job") else ""
            self.columns = []
        elif found := _COLLECTION.match(line):
            self.parsed.add(RasCollection(float(found[1])))
        elif _GROUP_TABLE.match(line):
            self.table = "groups"
        elif found := _COMMUNICATOR.fullmatch(line):
            self._open(
                RasProblem(int(found[1]), int(found[2]), found[3].rjust(16, "0"), found[4], self._shown_section(), None)
            )
        elif found := _KIND.fullmatch(line):
            self._open(RasProblem(None, None, "", found[1], self._shown_section(), None))
        else:
            return False
        return True

    def _shown_section(self) -> str:
        return self.section if self.section in ("Errors", "Warnings") else ""

    def _open(self, problem: RasProblem) -> None:
        self.close()
        self.problem, self.share = problem, ("missing", "") if problem.kind == "INCOMPLETE" else ("", "")
        self.table = ""

    def close(self) -> None:
        """What was found on the problem is complete."""
        if self.problem:
            self.parsed.add(self.problem)
        self.problem = None

    def _rows(self, line: str) -> bool:
        if self.table == "groups" and (found := _TABLE_ROW.fullmatch(line)):
            self.parsed.add(
                RasGroup(
                    group=int(found["group"]),
                    communicators=int(found["comms"]),
                    nodes=int(found["nodes"]),
                    ranks_per_node_least=int(found["least"]),
                    ranks_per_node_most=int(found["most"] or found["least"]),
                    ranks=int(found["ranks"]),
                    ranks_in_group=int(found["total"]),
                    status=found["status"],
                    errors=found["errors"].strip(),
                )
            )
            return True
        return self.table == "job" and self._job(line)

    def _job(self, line: str) -> bool:
        """The summary comes in one row, or for jobs of uneven shape in several, told by their headings."""
        if _JOB_HEADING.fullmatch(line):
            self.columns = [*self.columns[-1:], " ".join(line.split())]
            return True
        if not _JOB_ROW.fullmatch(line) or len(self.columns) < 2:
            return False
        numbers = [int(number) for number in line.split()]
        match self.columns, numbers:
            case _, [nodes, per_node, per_process, processes, gpus]:
                self.parsed.add(RasJob(nodes, per_node, per_process, processes, gpus))
            case [_, below], [nodes, processes, gpus] if below.startswith("(total)"):
                self.parsed.add(RasJob(nodes, None, None, processes, gpus))
            case [above, _], [nodes, per_node, *per_process] if above.startswith("Nodes"):
                self.parsed.add(RasNodes(nodes, per_node, per_process[0] if per_process else None))
            case [above, _], [processes, each] if above.startswith("Processes"):
                self.parsed.add(RasProcesses(processes, each))
            case _:
                return False
        return True

    def _details(self, line: str) -> bool:
        readers: tuple[Callable[[str], bool], ...] = (
            self._count,
            self._process,
            self._missing,
            self._share,
            self._rank,
        )
        return self.problem is not None and any(read(line) for read in readers)

    def _count(self, line: str) -> bool:
        found = _COUNT.match(line)
        if found and self.problem:
            count = next(int(number) for number in found.groups() if number)
            self.problem = replace(self.problem, count=(self.problem.count or 0) + count)
        return found is not None

    def _process(self, line: str) -> bool:
        found = _PROCESS.fullmatch(line)
        if found and self.problem:
            gpus = device_list(found[3])
            nvml = device_list(found[4] or "") or gpus
            self.parsed.add(RasProcess(int(found[1]), found[2], gpus, nvml, self.problem.kind))
        return found is not None

    def _missing(self, line: str) -> bool:
        found = _MISSING.match(line)
        if found:
            for rank in found[1].replace(",", " ").split():
                if len(rank) < 10:
                    self.parsed.add(RasRank(*self._communicator(), int(rank), None, None, None, "", "missing", ""))
        return found is not None

    def _share(self, line: str) -> bool:
        found = _SHARE.fullmatch(line)
        if found:
            self.share = _in_common(found["status"], found["operation"], found["error"])
            self.parsed.add(RasShare(*self._communicator(), int(found["ranks"]), *self.share))
        return found is not None

    def _rank(self, line: str) -> bool:
        found = _RANK.fullmatch(line)
        if found:
            alone = found["status"] or found["did"] or found["error"]
            share = _in_common(found["status"], found["operation"], found["error"]) if alone else self.share
            gpu, nvml, pid = (int(found[name]) if found[name] else None for name in ("gpu", "nvml", "pid"))
            self.parsed.add(
                RasRank(
                    *self._communicator(),
                    int(found["rank"]),
                    gpu,
                    gpu if nvml is None else nvml,
                    pid,
                    found["node"] or "",
                    *share,
                )
            )
        return found is not None

    def _communicator(self) -> tuple[int | None, int | None, str]:
        problem = self.problem
        return (problem.group, problem.index, problem.hash) if problem else (None, None, "")


def _in_common(status: str | None, operation: str | None, error: str | None) -> tuple[str, str]:
    if status:
        return "status", status
    return ("error", error.strip()) if error else ("operations", operation or "0")


def parse_ras_text(text: str) -> Parsed[RasReading]:
    """Read a status, an excerpt of one, or the monitor's lines."""
    parsed = Parsed[RasReading]()
    report = _Report(parsed)
    for number, line in numbered(without_escapes(text)):
        report.line(number, line)
    report.close()
    return parsed


def _is_ras_text(head: str) -> bool:
    plain = without_escapes(head)
    return any(
        _GROUP_TABLE.match(line)
        or _COMMUNICATOR.fullmatch(line)
        or line.startswith("RAS Monitor Mode")
        or _COLLECTION.match(line)
        for _, line in numbered(plain)
    ) or ("] PEER_" in plain and any(read_event(line) for _, line in numbered(plain)))


RAS_TEXT = Tool(
    name="ncclras",
    recognizes=_is_ras_text,
    parse=parse_ras_text,
    file_names=("*ncclras*", "*nccl*ras*"),
)
