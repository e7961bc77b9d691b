"""The IOMMU translates what PCIe peers ask of each other, or refuses it, where they ought to reach each other directly.

On bare metal GPUs need it off or passed through for direct access; in virtual machines it has to stand as it is.
Source: NVIDIA CUDA C++ Programming Guide, "IOMMU on Linux"; NCCL's troubleshooting guide, "PCI Access Control
Services".
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, host_id
from ..address_translation import Translation, faults, translations
from ..pci_tree import PciTree, pci_trees
from ..peer_access import redirects
from ..peer_runs import contrast
from ..scene import Scene
from ..slow_peers import slow_peers
from ..wording import quoted, times

RULE = "address_translation"
NEXT = (
    "Start the kernel with iommu=pt (or the IOMMU off in the BIOS, where no virtual machine needs it) and repeat the "
    "same test with P2P."
)


def address_translation(scene: Scene) -> Iterator[Finding]:
    """One finding for each node whose IOMMU stands between peers, and one for each peer that it refused something."""
    trees = {tree.node: tree for tree in pci_trees(scene.readings, scene.fabric)}
    for node in scene.readings.nodes:
        yield from _refused(scene, node, trees.get(node))
    for node, known in translations(scene.readings, scene.snapshot.nodes).items():
        if known.on and _talk_over_pcie(scene, node):
            tree = trees.get(node)
            if tree is None or redirects(scene.readings, tree) is None:
                yield from _translates(scene, node, known)


def _talk_over_pcie(scene: Scene, node: NodeId) -> bool:
    """Whether the node has two GPUs that no NVLink joins; unknown ways don't count."""
    gpus = scene.fabric.gpus(node)
    ways = (scene.fabric.closeness(gpus[0], other) for other in gpus[1:])
    return any(way is not None and not way.startswith("NV") for way in ways)


def _translates(scene: Scene, node: NodeId, known: Translation) -> Iterator[Finding]:
    runs, slow = contrast(scene.readings, node), slow_peers(scene.readings, node)
    words = quoted(", ".join(known.words))
    if runs:
        ids = runs.evidence
        what = f": {runs.sentence}"
    elif slow:
        ids = (slow.output.id,)
        what = f": with P2P copies run at {slow.slowest[0]:g} GB/s, without at {slow.slowest[1]:g}"
    else:
        return
    yield Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="pcie-p2p-path/iommu",
        severity=Severity.CRITICAL if runs and runs.good else Severity.WARNING,
        confidence=Confidence.POSSIBLE if slow or (runs and runs.good) else Confidence.UNKNOWN,
        title=f"the IOMMU translates between GPUs that reach each other over PCIe ({words}){what}",
        evidence=tuple(dict.fromkeys((*known.evidence, *ids))),
        argues_against=("ACS request redirect on the bridges between them would look the same: read ACSCtl of each",),
        next=NEXT,
        victims=scene.fabric.gpus(node),
        rule=RULE,
    )


def _refused(scene: Scene, node: NodeId, tree: PciTree | None) -> Iterator[Finding]:
    refused: dict[ComponentId, list[str]] = {}
    for fault, id_ in faults(scene.readings, node):
        part = scene.fabric.component_at(node, fault.pci) or (tree.part_at(fault.pci) if tree else None)
        if part is not None and part.kind in ("gpu", "nic"):
            refused.setdefault(part, []).append(id_)
    for part, ids in refused.items():
        failed = contrast(scene.readings, node)
        yield Finding(
            component=part,
            fru="configuration",
            fault_class="pcie-p2p-path/iommu",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY if failed and failed.good else Confidence.POSSIBLE,
            title=f"the IOMMU refused {times(len(ids))} what {part.within} asked for",
            evidence=tuple(dict.fromkeys((*ids, *(failed.evidence if failed else ())))),
            argues_against=("a driver or a program that gave the device a wrong address would look the same",),
            next=NEXT,
            rule=RULE,
        )
