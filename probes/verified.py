"""Reading what the node program `verify_copy` answers: were all bytes right, and which part of the way is to blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.ids import ComponentId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from .answers import count, digits, first_of, mappings
from .copies import bus_of, measured_by, moves_of, rates_of
from .probe import Measured

PROGRAM = "verify_copy"
BYTES, ROUNDS = 64 << 20, 16
SECONDS = 1.5
"""Writing, comparing and reading back take longer than the copies."""
BLAMED: Mapping[str, str] = {
    "copy": "the copy itself changed the data: {target} holds something else than {source}",
    "read-back": "{target} holds the right data, and the way from there to the host changes it",
    "target memory": "the memory of {target} does not keep what is written there",
    "source memory": "the memory of {source} does not keep what is written there",
    "write to the source": "the way from the host to {source} changed the data before the copy",
}
UNTOLD = "which part of the way changed the data can't be told"


def verify_task(trial: Trial, op: str, fabric: Fabric) -> Task:
    """The task that copies and compares; raises ProbeError for a GPU without a known bus address."""
    addresses = [bus_of(fabric, target) for target in trial.targets]
    return Task(trial.id, PROGRAM, {"op": op, "gpus": addresses, "bytes": BYTES, "rounds": ROUNDS})


def read_verified(output: TaskOutput, trial: Trial, fabric: Fabric, counted: Sequence[ComponentId]) -> Measured:
    """Good or wrong, GB/s of each copy, counter moves; raises Unparsable without a verdict of the program."""
    lines = mappings(output.lines)
    verdict = first_of(lines, "verify")
    compared, wrong = count(verdict.get("bytes")), count(verdict.get("wrong_bytes"))
    if not compared or wrong is None or wrong > compared:
        raise Unparsable(f"{trial.id} on {trial.node} does not say how many bytes it compared; run it again")
    rates, late, bad = rates_of(lines)
    return Measured(
        tuple(rates[window] for window in sorted(rates)),
        moves_of(lines, trial, fabric, counted),
        measured_by(PROGRAM, lines, len(rates), late, bad),
        "wrong" if wrong else "good",
        _wrong_in_words(verdict, wrong, trial)
        if wrong
        else f"{_size(compared)} were compared and every byte was right",
    )


def _wrong_in_words(verdict: Mapping[str, Any], wrong: int, trial: Trial) -> str:
    """`256 bytes are wrong: the copy itself changed the data: GPU5 holds ...; first at offset ...`."""
    blame = verdict.get("blame")
    names = [target.name.upper() for target in trial.targets]
    ends = {"source": names[0] if len(names) > 1 else "host memory", "target": names[-1]}
    because = BLAMED.get(blame, UNTOLD) if isinstance(blame, str) else UNTOLD
    said = f"{wrong} {'byte is' if wrong == 1 else 'bytes are'} wrong: {because.format(**ends)}"
    rows = verdict.get("first")
    places = [count(row.get("offset")) for row in mappings(rows if isinstance(rows, list | tuple) else ())]
    if places and places[0] is not None:
        said += f"; first at offset {places[0]}"
    if bits := digits(verdict.get("bits"), 16):
        said += f", bits {bits} of 8 bytes"
    if (stride := count(verdict.get("stride"))) and wrong > 1:
        said += f", places multiples of {stride} bytes apart"
    return said


def _size(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
