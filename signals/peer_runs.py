"""Collective runs told apart by whether GPUs reached each other over PCIe or NVLink directly (P2P), and how they ended.

A run that fails with P2P and passes without it clears GPUs, driver and program alike: what is left is the way between.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..incident.ids import NodeId
from ..parsers.bandwidth.nccl_tests import (
    CollectiveFailure,
    CollectiveSummary,
    CollectiveTime,
    CollectiveUnanswered,
)
from ..parsers.nccl.log_channels import Channel
from ..parsers.nccl.log_messages import Setting
from .readings import Output, Readings

P2P_OFF = "NCCL_P2P_DISABLE"


class Ending(StrEnum):
    """How a run ended; `unknown` where the output does not show it."""

    PASSED = "passed"
    HUNG = "printed nothing"
    WRONG = "gave wrong values"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One run on one node."""

    output: Output
    is_direct: bool
    """Whether some channel within the node was P2P."""
    ending: Ending

    @property
    def is_bad(self) -> bool:
        """Whether it did not come through."""
        return self.ending in (Ending.HUNG, Ending.WRONG, Ending.FAILED)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A run with P2P that did not come through, and one without it that did."""

    bad: PeerRun
    good: PeerRun | None
    """None where no run without P2P was read, so that anything may be at fault."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """The outputs."""
        return (self.bad.output.id, self.good.output.id) if self.good else (self.bad.output.id,)

    @property
    def sentence(self) -> str:
        """What the runs show."""
        told = f"the run with P2P {self.bad.ending}"
        return f"{told}, the one without P2P passed" if self.good else told


def contrast(readings: Readings, node: NodeId) -> Contrast | None:
    """What the runs of a node show; None where none failed with P2P, one passed with it, or one failed without it."""
    runs = [run for output in readings.outputs if output.node == node and (run := _run(output))]
    direct, detour = [run for run in runs if run.is_direct], [run for run in runs if not run.is_direct]
    bad = next((run for run in direct if run.is_bad), None)
    good = next((run for run in detour if run.ending is Ending.PASSED), None)
    is_other = any(run.ending is Ending.PASSED for run in direct) or any(run.is_bad for run in detour)
    return None if bad is None or is_other else Contrast(bad, good)


def _run(output: Output) -> PeerRun | None:
    """None of an output that does not show how ranks reached each other."""
    local = {one.transport for one in output.readings if isinstance(one, Channel)} & {"P2P", "SHM"}
    switched_off = any(
        isinstance(one, Setting) and one.name == P2P_OFF and one.value not in ("", "0") for one in output.readings
    )
    if not local and not switched_off:
        return None
    return PeerRun(output, "P2P" in local, _ending(output))


def _ending(output: Output) -> Ending:
    times = [one for one in output.readings if isinstance(one, CollectiveTime)]
    sums = [one for one in output.readings if isinstance(one, CollectiveSummary)]
    if any(isinstance(one, CollectiveFailure) for one in output.readings):
        return Ending.FAILED
    if any(time.wrong for time in times) or any(total.out_of_bounds_ok is False for total in sums):
        return Ending.WRONG
    if any(isinstance(one, CollectiveUnanswered) for one in output.readings):
        return Ending.HUNG
    if times or any(total.out_of_bounds_ok for total in sums):
        return Ending.PASSED
    return Ending.UNKNOWN
