"""Patterns written over one GPU's free memory and read back by the GPU itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, path
from .answers import count, digits, first_of, mappings
from .copies import bus_of, measured_by, moves_of, rates_of
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Targets, addressed_gpus, parts_in_words

PROGRAM = "memory_check"
SHARE = 0.9
LIMIT = 15.0
"""Seconds after which no further pattern is begun."""
LISTED = 3
WORD = 4


class MemoryCheck:
    """What ECC does not catch, as mismatches; what it does catch, as its counters at the edges."""

    name = "memory_check"
    title = "GPU memory patterns"
    aim = Aim.GPU
    measure = Measure.CHECK
    searches = False
    seconds = 20.0
    disturbs = Disturbs.GPU
    needs = (CUDA,)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Each GPU whose bus address is known."""
        return tuple((gpu,) for gpu in addressed_gpus(fabric, node))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The GPU and its memory: nothing crosses a link but the report."""
        return path(fabric, targets[0] / "hbm", targets[0] / "hbm")

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The memory of the GPU."""
        return tuple(gpu / "hbm" for gpu in targets)

    def cost(self, targets: Targets) -> str:
        """`fills 90 % of the free memory of GPU3 of gpu-017 for up to 20 s`."""
        share = f"{100 * SHARE:.0f} % of the free memory of {parts_in_words(targets)}"
        return f"fills {share} for up to {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `memory_check`, the GPU by bus address."""
        arguments = {"gpus": [bus_of(fabric, trial.targets[0])], "share": SHARE, "seconds": LIMIT}
        return ((trial.node, Task(trial.id, PROGRAM, arguments)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Good or wrong and where, GB/s of each pass over the memory, ECC and remap counters."""
        lines = mappings(outputs[0].lines)
        memory = first_of(lines, "memory")
        wrong, covered, total = (count(memory.get(key)) for key in ("wrong_words", "covered", "total"))
        patterns = _names(memory.get("patterns"))
        if wrong is None or not covered or not total or covered > total or not patterns:
            raise Unparsable(f"{trial.id} on {trial.node} does not say how much memory it checked; run it again")
        rates, late, bad = rates_of(lines)
        checked = f"{covered / (1 << 30):.1f} GiB ({100 * covered / total:.0f} % of all) held {len(patterns)} patterns"
        left_out = len(_names(memory.get("left_out")))
        said = f"{_wrong_in_words(memory, wrong)}; {checked}" if wrong else f"{checked} and lost no bit"
        return Measured(
            tuple(rates[window] for window in sorted(rates)),
            moves_of(lines, trial, fabric, self.counted(fabric, trial.targets)),
            measured_by(PROGRAM, lines, len(rates), late, bad),
            "wrong" if wrong else "good",
            said + (f"; {left_out} left out for want of time" if left_out else ""),
        )

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: the memory keeps its patterns or does not."""
        return math.nan


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)][:16] if isinstance(value, list | tuple) else []


def _wrong_in_words(memory: Mapping[str, Any], wrong: int) -> str:
    """How many words, whether they stay wrong, which bits, where."""
    said = f"{wrong} {'word' if wrong == 1 else 'words'} of {WORD} bytes read back wrong"
    again = count(memory.get("wrong_again"))
    if again is not None:
        said += (
            ", and right when read again: it is the reading" if again == 0 else f", {min(again, wrong)} of them twice"
        )
    if bits := digits(memory.get("bits"), 8):
        said += f"; bits {bits}"
    rows = memory.get("first")
    places = dict.fromkeys(
        f"{offset} of chunk {chunk}"
        for row in mappings(rows if isinstance(rows, list | tuple) else ())
        if (offset := count(row.get("offset"))) is not None and (chunk := count(row.get("chunk"))) is not None
    )
    if places:
        more = ", ..." if len(places) > LISTED else ""
        said += f"; at offset {', '.join(list(places)[:LISTED])}{more}"
    return said
