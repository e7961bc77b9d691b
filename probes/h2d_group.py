"""Pinned host memory to several GPUs at once: what a switch's uplink, a root port, a socket carries in all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, host_copy_path
from .answers import first_of, mappings
from .copies import FEWEST_WINDOWS, PROGRAM, copy_tasks, measured_by, moves_of, rates_of
from .h2d import METRIC
from .link_words import links_in_words
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Targets
from .together import summed_shares


class HostToDeviceGroup:
    """Bandwidth bisection: two groups alike carry alike, and GPUs under one uplink share what it carries."""

    name = "h2d_group"
    title = "Host to several GPUs at once"
    aim = Aim.GROUP
    measure = Measure.BANDWIDTH
    searches = False
    seconds = 0.6
    disturbs = Disturbs.GPU | Disturbs.PCIE | Disturbs.HOST_MEMORY
    needs = (CUDA,)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """GPUs below one PCIe switch, one root port, one socket, and all of the node, the small groups first."""
        gpus = [gpu for gpu in fabric.gpus(node) if fabric.bus_address(gpu)]
        return tuple(dict.fromkeys(group for group in _groups(fabric, gpus) if len(group) > 1))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The PCIe links above each GPU with the share of all bytes that crosses them, and the sockets' memory."""
        return summed_shares([host_copy_path(fabric, gpu) for gpu in targets])

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The PCIe link of each GPU."""
        return tuple(gpu / "pcie" for gpu in targets)

    def cost(self, targets: Targets) -> str:
        """`loads 4 GPUs of gpu-017, their PCIe links and host memory for 0.6 s`."""
        return (
            f"loads {len(targets)} GPUs of {targets[0].node}, their PCIe links and host memory for {self.seconds:.1f} s"
        )

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `cuda_copy` for each GPU, their first windows started together."""
        return tuple((trial.node, task) for task in copy_tasks(trial, "h2d", fabric))

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Windows of the sum: those that all GPUs can use, and the replays of each GPU's link."""
        lines = [mappings(output.lines) for output in outputs]
        rates = [rates_of(each)[0] for each in lines]
        common = sorted(set.intersection(*map(set, rates))) if rates else []
        if len(common) < FEWEST_WINDOWS or len(rates) < len(trial.targets):
            raise Unparsable(
                f"{trial.id} on {trial.node} gave {len(common)} windows that all {len(trial.targets)} GPUs can use, "
                f"and {FEWEST_WINDOWS} are needed; run it again on a quieter node"
            )
        windows = tuple(sum(each[window] for each in rates) for window in common)
        counted = self.counted(fabric, trial.targets)
        moves = moves_of([line for each in lines for line in each], trial, fabric, counted)
        seen = len(set().union(*rates))
        said = measured_by(PROGRAM, lines[0], len(common), 0, seen - len(common))
        return Measured(windows, moves, said, detail=_detail(trial, rates, common, lines))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What one link carries, GB/s, where all GPUs hang below one root port; NaN for a group that shares less: how
        much host memory gives to several nobody has measured."""
        platform = fabric.platform_of(targets[0].node)
        roots = {fabric.chain(gpu)[-1:] for gpu in targets}
        if platform is None or METRIC not in platform.expect or len(roots) != 1 or () in roots:
            return math.nan
        return platform.expect[METRIC].value


def _groups(fabric: Fabric, gpus: list[ComponentId]) -> Iterator[Targets]:
    yield from _by([fabric.switch_above(gpu) for gpu in gpus], gpus)
    yield from _by([next(iter(fabric.chain(gpu)[-1:]), None) for gpu in gpus], gpus)
    yield from _by([fabric.numa_of(gpu) for gpu in gpus], gpus)
    yield tuple(gpus)


def _by(above: Sequence[ComponentId | None], gpus: Sequence[ComponentId]) -> Iterator[Targets]:
    """GPUs that have the same part above them; those of which it is not known are in no group."""
    groups: dict[ComponentId, list[ComponentId]] = {}
    for part, gpu in zip(above, gpus, strict=True):
        if part is not None:
            groups.setdefault(part, []).append(gpu)
    yield from map(tuple, groups.values())


def _detail(
    trial: Trial, rates: Sequence[dict[int, float]], common: Sequence[int], lines: Sequence[Sequence[Mapping[str, Any]]]
) -> str:
    """What each GPU had of it, and the links that did not stand still."""
    medians = [sorted(each[window] for window in common)[len(common) // 2] for each in rates]
    shares = ", ".join(f"{gpu.name} {rate:.1f}" for gpu, rate in zip(trial.targets, medians, strict=True))
    links = [
        f"{gpu.name}: {said}"
        for gpu, each in zip(trial.targets, lines, strict=True)
        if "changed" in (said := links_in_words(first_of(each, "foot")))
    ]
    return "; ".join([f"GB/s by GPU: {shares}", *links])
