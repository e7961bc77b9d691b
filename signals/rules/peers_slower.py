"""Direct copies between GPUs run slower than those over host memory, and nothing read says why yet."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import gpu_id, host_id
from ..address_translation import translations
from ..pci_tree import pci_trees
from ..peer_access import redirects
from ..scene import Scene
from ..slow_peers import SlowPeers, slow_peers

RULE = "peers_slower"


def peers_slower(scene: Scene) -> Iterator[Finding]:
    """One finding for each node of which such a test was read, and whose bridges and IOMMU don't explain it."""
    for node in scene.readings.nodes:
        found = slow_peers(scene.readings, node)
        if found is not None and not _explained(scene, node):
            yield _finding(found)


def _explained(scene: Scene, node: str) -> bool:
    trees = (tree for tree in pci_trees(scene.readings, scene.fabric) if tree.node == node)
    if any(redirects(scene.readings, tree) for tree in trees):
        return True
    known = next((one for of, one in translations(scene.readings, scene.snapshot.nodes).items() if of == node), None)
    return known is not None and known.on


def _finding(found: SlowPeers) -> Finding:
    node = found.output.node
    gpus = sorted({index for pair in found.pairs for index in pair})
    direct, detour = found.slowest
    return Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="pcie-p2p-path",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=(
            f"P2P is slower than host memory for {len(found.pairs)} of {found.measured} pairs of GPUs: "
            f"{direct:g} GB/s with it, {detour:g} without"
        ),
        evidence=(found.output.id,),
        argues_against=(
            "ACS request redirect, an IOMMU that translates and a root complex that is slow between peers look alike",
        ),
        next="Read ACSCtl of all bridges (lspci -vvv as root) and the kernel's command line, and run the test again "
        "with ACS cleared.",
        victims=tuple(gpu_id(node, index) for index in gpus),
        rule=RULE,
    )
