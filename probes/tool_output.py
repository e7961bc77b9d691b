"""What the node program `tool` says of a tool it ran: the tool's own words, its exit status, NIC counters at the edges.

The answer comes from a node: any value may be missing or of the wrong kind, and such a line is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..incident.errors import NotTested, Unparsable
from ..incident.events import Trial
from ..incident.findings import CounterMove
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from .answers import first_of, mappings, number, word
from .probe import Need

PROGRAM = "tool"
LONGEST_WORD = 64
SHOWN = 200
"""Characters of a tool's last words in a sentence."""
MOST_MOVES = 256
UNKNOWN_OPTION = ("unrecognized option", "invalid option", "unknown option", "Invalid Command")
"""How tools answer words that their version, or their build, does not know."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """One run of a tool."""

    path: str
    """Where the tool is on the node."""
    out: str
    err: str
    status: int | None
    """None where the run did not come to its end; negative for a signal."""
    dropped: int
    """Bytes of output that were too many to pass on."""
    rows: tuple[Mapping[str, Any], ...]
    """Of NIC counters, as the node gave them."""

    @property
    def last_words(self) -> str:
        """The last line that the tool wrote, on stderr where there is one: printable and short."""
        lines = [line.strip() for text in (self.err, self.out) for line in text.splitlines()[::-1] if _says(line)]
        return "".join(letter for letter in lines[0] if letter.isprintable())[:SHOWN] if lines else ""


def tool_task(trial: Trial, argv: Sequence[str], need: Need, gpus: Sequence[str]) -> Task:
    """A run of a tool alone. `gpus`: bus addresses of those on which nobody may compute meanwhile."""
    return Task(trial.id, PROGRAM, {"argv": list(argv), "package": need.package, "gpus": list(gpus)})


def addresses(fabric: Fabric, node: NodeId) -> list[str]:
    """Bus addresses of all GPUs of a node that have one."""
    return [address for gpu in fabric.gpus(node) if (address := fabric.bus_address(gpu)) is not None]


def tool_output(output: TaskOutput) -> ToolOutput:
    """Put the lines of a run together again."""
    lines = mappings(output.lines)
    path, dropped = first_of(lines, "head").get("tool"), 0
    status: int | None = None
    rows: list[Mapping[str, Any]] = []
    for line in lines:
        if type(line.get("exit")) is int:
            status = line["exit"]
        if isinstance(line.get("counters"), list | tuple):
            rows += mappings(line["counters"])
        if isinstance(line.get("truncated"), Mapping) and type(line["truncated"].get("dropped")) is int:
            dropped = line["truncated"]["dropped"]
    text = {name: "".join(_texts(lines, name)) for name in ("out", "err")}
    return ToolOutput(path if isinstance(path, str) else "", text["out"], text["err"], status, dropped, tuple(rows))


def check_words(ran: ToolOutput, trial: Trial, tool: str, why: str = "") -> None:
    """Raise NotTested when the tool does not know an option; `why`: what then has to be said of its build."""
    said = f"{ran.err}\n{ran.out}"
    if any(words in said for words in UNKNOWN_OPTION):
        raise NotTested(f"{trial.node}: {tool} there does not know what it was asked: {ran.last_words}{why}")


def no_result(ran: ToolOutput, trial: Trial, tool: str) -> Unparsable:
    """The error of a run that printed no result, with the tool's last words."""
    how = "did not end" if ran.status is None else f"ended with status {ran.status}"
    said = f"; its last words: {ran.last_words}" if ran.last_words else "; it said nothing"
    return Unparsable(f"{trial.id}: {tool} on {trial.node} {how} and gave no result{said}")


def nic_moves(ran: Sequence[tuple[NodeId, ToolOutput]], counted: Sequence[ComponentId]) -> tuple[CounterMove, ...]:
    """Counters of the NICs that the trial loaded, each once; whatever else a node names is not ours."""
    found: dict[tuple[ComponentId, str], CounterMove] = {}
    for node, output in ran:
        for row in output.rows:
            move = _move(node, row)
            if move is not None and move.component in counted and len(found) < MOST_MOVES:
                found.setdefault((move.component, move.counter), move)
    return tuple(found.values())


def _move(node: NodeId, row: Mapping[str, Any]) -> CounterMove | None:
    nic, name = _word(row.get("nic")), _word(row.get("name"))
    before, after = number(row.get("before")), number(row.get("after"))
    if not nic or not name or not (before >= 0 and after >= 0):
        return None
    return CounterMove(component=node / nic, counter=name, before=before, after=after)


def _texts(lines: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    return (line[name] for line in lines if isinstance(line.get(name), str))


def _says(line: str) -> bool:
    """Whether a line holds a word and is no rule or banner."""
    return any(letter.isalnum() for letter in line)


def _word(value: object) -> str:
    return word(value, LONGEST_WORD, but=" /")
