"""What stands behind a node's NVLink fabric: fabric manager, its version beside the driver's, NVLS multicast."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..incident.errors import NotTested, Unparsable
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId, host_id
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path, is_switched
from .probe import Aim, Disturbs, Measure, Measured, Targets

PROGRAM = "fabric_state"
LONGEST = 160
NOT_HERE = ("missing", "not applicable")


class FabricState:
    """Looks, and makes a multicast object over all GPUs for a moment; moves no data."""

    name = "fabric_state"
    title = "Fabric manager, its version, NVLS multicast"
    aim = Aim.NODE
    measure = Measure.CHECK
    searches = False
    seconds = 2.0
    disturbs = Disturbs.NOTHING
    needs = ()

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """The node, where its GPUs reach each other through NVSwitches: others have no such thing."""
        switched = any(is_switched(fabric, gpu) for gpu in fabric.gpus(node))
        return ((host_id(node),),) if switched or fabric.nvswitches(node) else ()

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The fabric manager, the NVSwitches and the GPUs: they must agree with each other."""
        node = targets[0].node
        manager = node / "service/fabricmanager"
        parts = (*fabric.gpus(node), *fabric.nvswitches(node), manager, host_id(node))
        return tuple(Crossing(part, 1.0) for part in parts)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Nothing."""
        return ()

    def cost(self, targets: Targets) -> str:
        """`asks gpu-017 for its fabric manager and makes a multicast object on its GPUs for a moment`."""
        return f"asks {targets[0].node} for its fabric manager and makes a multicast object on its GPUs for a moment"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `fabric_state`."""
        return ((trial.node, Task(trial.id, PROGRAM, {})),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Good, or what is wrong. Raises NotTested for a node without NVSwitches and fabric manager."""
        state = _mapping(
            next((line for line in outputs[0].lines if isinstance(line, Mapping) and "state" in line), {}), "state"
        )
        if not state:
            raise Unparsable(f"{trial.id}: {trial.node} did not say how its fabric stands")
        manager, multicast = _mapping(state, "fabric_manager"), _mapping(state, "multicast")
        if manager.get("is") == "not applicable" and multicast.get("is") != "yes":
            raise NotTested(f"{trial.node}: not applicable: {_word(manager, 'why') or 'it has no NVSwitch'}")
        driver = _word(_mapping(state, "driver"), "version")
        found = [_of_manager(manager, driver), _of_multicast(multicast)]
        wrong = [said for is_wrong, said in found if is_wrong]
        detail = "; ".join(wrong or [said for _, said in found if said])
        by = f"{PROGRAM}, driver {driver}" if driver else PROGRAM
        return Measured((), (), by, check="wrong" if wrong else "good", detail=f"{detail[:1].upper()}{detail[1:]}.")

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: it measures nothing."""
        return math.nan


def _of_manager(manager: Mapping[str, Any], driver: str) -> tuple[bool, str]:
    """Whether something is wrong with it, and what there is to say."""
    how, version, why = _word(manager, "is"), _word(manager, "version"), _word(manager, "why")
    if how == "not applicable":
        return False, f"no fabric manager is needed here ({why})" if why else "no fabric manager is needed here"
    if how == "missing":
        return True, "no fabric manager is installed, and without it the NVSwitches carry nothing: " + why
    if how != "yes":
        return True, f"the fabric manager does not run: {why or 'no reason given'}"
    if version and driver and version != driver:
        return True, f"the fabric manager is of version {version} and the driver of {driver}; they must be the same"
    if not version:
        return False, "the fabric manager runs; its version is not known"
    return False, f"the fabric manager {version} runs and fits the driver"


def _of_multicast(multicast: Mapping[str, Any]) -> tuple[bool, str]:
    """The same of NVLS: GPUs before Hopper have none, and that is no fault."""
    how, made, why = _word(multicast, "is"), _word(multicast, "object"), _word(multicast, "why")
    supports = multicast.get("gpus")
    answers = list(supports.values()) if isinstance(supports, Mapping) else []
    if made == "yes":
        return False, "an NVLS multicast object over all GPUs can be made"
    if made == "failed" or how == "failed":
        return True, f"no NVLS multicast object can be made: {why or 'no reason given'}"
    if any(answers) and not all(answers):
        return True, f"{answers.count(False)} of {len(answers)} GPUs have no NVLS multicast and the others have it"
    if how in NOT_HERE or made in NOT_HERE:
        return False, f"NVLS multicast was not tested ({why})" if why else "these GPUs have no NVLS multicast"
    return False, "NVLS multicast was not tested"


def _mapping(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, Mapping) else {}


def _word(holder: Mapping[str, Any], key: str) -> str:
    """Printable text of a node, short; empty for anything else."""
    value = holder.get(key)
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in value if letter.isprintable())[:LONGEST]
