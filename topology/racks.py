"""NVLink domains wider than a node: the trays of an NVL72 rack, and the NVSwitches between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..incident.ids import ComponentId, NodeId, nvswitch_id
from ..incident.platforms import Platform
from .claims import Source
from .fabric import Fabric
from .lane_bundles import bundle_of_count
from .opinions import Opinions
from .shared_graph import Facts, connect, connect_all, put_part

NO_CLUSTER = frozenset("0-")
"""Of what the UUID of a node without a cluster is made."""


def domain_id(opinions: Opinions, gpus: Iterable[ComponentId], host: ComponentId) -> str | None:
    """`nvl-<first 8 digits of the cluster's UUID>-<clique>`, or as somebody names it; None for a node by itself."""
    if named := opinions.value(host, "domain"):
        return str(named)
    for gpu in gpus:
        cluster = str(opinions.value(gpu, "cluster_uuid") or "").lower()
        if cluster and not set(cluster) <= NO_CLUSTER:
            return f"nvl-{cluster[:8]}-{opinions.number(gpu, 'clique_id') or 0}"
    return None


def join_racks(whole: Fabric) -> None:
    """Wire the GPUs of every rack to the NVSwitches of its platform, one by one with the count the data sheet gives.

    Which lane ends at which chip is not told, so that the bundles are only counted. GPUs of which somebody says at what
    NVSwitch their lanes end stay as they are.
    """
    for domain, nodes in _domains(whole).items():
        platform = next((found for node in nodes if (found := whole.platform_of(node))), None)
        if platform is None or platform.switch_trays == 0:
            continue
        gpus = [gpu for node in nodes for gpu in whole.gpus(node) if not _has_switch(whole, gpu)]
        if gpus:
            add_switches(whole, domain, platform, gpus)


def add_switches(whole: Fabric, domain: str, platform: Platform, gpus: Sequence[ComponentId]) -> None:
    """The chips and trays of one rack, and a counted bundle from each GPU to each chip."""
    graph = whole.graph
    chips = [nvswitch_id(domain, number) for number in range(len(platform.switch_lanes))]
    per_tray = len(chips) // platform.switch_trays
    named: Facts = {"known": False, "inferred": True, "said": {"kind": Source.PLATFORM}}
    trays = [ComponentId(f"{domain}/switchtray{number}") for number in range(platform.switch_trays)]
    for tray in trays:
        put_part(graph, tray, {"kind": "switchtray", **named})
    for number, chip in enumerate(chips):
        put_part(graph, chip, {"kind": "nvswitch", "tray": number // per_tray, **named})
        connect(graph, chip, {trays[number // per_tray]: {"kind": "tray"}})
    bundles = {count: bundle_of_count(count, Source.PLATFORM) for count in set(platform.switch_lanes)}
    around = {chip: bundles[count] for chip, count in zip(chips, platform.switch_lanes, strict=True)}
    connect_all(graph, gpus, around)


def _domains(whole: Fabric) -> Mapping[str, list[NodeId]]:
    found: dict[str, list[NodeId]] = {}
    for node, domain in whole.domains.items():
        found.setdefault(domain, []).append(node)
    return found


def _has_switch(whole: Fabric, gpu: ComponentId) -> bool:
    return any(part.kind == "nvswitch" for part in whole.lane_counts(gpu))
