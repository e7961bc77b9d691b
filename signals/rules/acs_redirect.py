"""Access control (ACS) on bridges between PCIe peers sends their requests up to the root complex: slow, or a deadlock.

The driver still says that peers can reach each other. Bridges that lie on no way between peers are as they should be.
Source: PCI Express Base Specification 6.0, 6.12; NCCL's troubleshooting guide, "PCI Access Control Services".
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, bridge_id
from ..pci_tree import PciTree, pci_trees, short
from ..peer_access import Redirects, redirects
from ..peer_runs import Contrast, contrast
from ..scene import Scene
from ..slow_peers import SlowPeers, slow_peers
from ..wording import several

RULE = "acs_redirect"
MOST_NAMED = 8
"""Bridges that a title names; the command for all of them stands in `next`."""
NEEDED = "where virtual machines use these devices access control must stay on"


def acs_redirect(scene: Scene) -> Iterator[Finding]:
    """One finding for each node on which bridges between peers redirect requests."""
    for tree in pci_trees(scene.readings, scene.fabric):
        if found := redirects(scene.readings, tree):
            readings = scene.readings
            yield _finding(tree, found, contrast(readings, tree.node), slow_peers(readings, tree.node))


def _finding(tree: PciTree, found: Redirects, runs: Contrast | None, slow: SlowPeers | None) -> Finding:
    return Finding(
        component=bridge_id(tree.node, found.bridges[0]),
        fru="configuration",
        fault_class="pcie-p2p-path/acs",
        severity=Severity.CRITICAL if runs and runs.good else Severity.WARNING,
        confidence=_confidence(found, runs, slow),
        title=_title(found, runs, slow),
        evidence=(*found.evidence, *(runs.evidence if runs else ()), *((slow.output.id,) if slow else ())),
        argues_against=tuple(_against(found, runs, slow)),
        next=_next(found),
        victims=found.peers,
        rule=RULE,
    )


def _confidence(found: Redirects, runs: Contrast | None, slow: SlowPeers | None) -> Confidence:
    """Across root ports traffic goes up in any case: that alone is a lead."""
    if runs and runs.good:
        return Confidence.LIKELY
    return Confidence.POSSIBLE if found.inside or slow or runs else Confidence.UNKNOWN


def _title(found: Redirects, runs: Contrast | None, slow: SlowPeers | None) -> str:
    named = ", ".join(short(bridge) for bridge in found.bridges[:MOST_NAMED])
    more = len(found.bridges) - MOST_NAMED
    bridges = f"{named} and {several(more, 'more bridge')}" if more > 0 else named
    what = f"ACS request redirect is on at {bridges}, on the way between {_peers(found.peers)}"
    if runs:
        return f"{what}: {runs.sentence}"
    if slow:
        return f"{what}: with P2P copies run at {slow.slowest[0]:g} GB/s, without at {slow.slowest[1]:g}"
    return f"{what}: their requests go up to the root complex"


def _peers(peers: tuple[ComponentId, ...]) -> str:
    names = [part.within for part in peers]
    return " and ".join(names) if len(names) <= 2 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _against(found: Redirects, runs: Contrast | None, slow: SlowPeers | None) -> Iterator[str]:
    if slow and not runs:
        yield "an IOMMU that translates would look the same"
    elif runs and not runs.good:
        yield "no run without P2P was read: whatever else stops a run would look the same"
    elif not runs:
        yield "no run with and without P2P shows that it costs anything here"
    if not found.inside:
        yield "these devices share no bridge, so that their traffic crosses the root complex with or without it"
    yield NEEDED


def _next(found: Redirects) -> str:
    each = "; ".join(f"setpci -s {short(bridge)} ECAP_ACS+6.w=0000" for bridge in found.bridges)
    return (
        f"With no job running clear ACS on those bridges ({each}), repeat the run with P2P and a copy that is checked; "
        "if it passes, disable ACS in the BIOS or clear it at every boot."
    )
