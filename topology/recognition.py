"""What platform a node is: by the model of its GPUs, how many they are, and which of them share a PCIe switch."""

from __future__ import annotations

from collections.abc import Mapping

from ..incident.ids import ComponentId, NodeId, gpu_id
from ..incident.platforms import Platform, all_platforms
from .fabric import Fabric


def recognize(fabric: Fabric, node: NodeId) -> Platform | None:
    """The platform of this GPU model whose GPUs share PCIe switches in the same way; else the first of that model."""
    gpus = fabric.gpus(node)
    model = next((str(name) for gpu in gpus if (name := fabric.facts(gpu).get("model"))), "")
    if not model:
        return None
    fitting = [known for known in all_platforms() if known.is_model(model) and known.gpus_most >= len(gpus)]
    if any(_is_wired_to_another(fabric, gpu) for gpu in gpus):
        fitting = [known for known in fitting if not known.switch_lanes]
    together = {gpu: fabric.switch_above(gpu) for gpu in gpus}
    return next((known for known in fitting if _same_groups(together, known, node)), fitting[0] if fitting else None)


def _is_wired_to_another(fabric: Fabric, gpu: ComponentId) -> bool:
    return any(part.kind == "gpu" for part in fabric.lane_counts(gpu))


def _same_groups(together: Mapping[ComponentId, ComponentId | None], known: Platform, node: NodeId) -> bool:
    """Whether the GPUs whose switch is known share switches as the platform's do."""
    switches = [
        {together[gpu] for part in group.gpus if (gpu := gpu_id(node, part.index)) in together}
        for group in known.groups
    ]
    seen = [next(iter(found)) for found in switches if len(found) == 1]
    return all(len(found) <= 1 for found in switches) and len(seen) == len(set(seen))
