"""A fabric as a plain report: like nodes told once, then the network, contradictions, and what is not as expected."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from ClusterShell.NodeSet import NodeSet, NodeSetException

from ..incident.ids import ComponentId, NodeId
from .addresses import natural
from .components import LinkState
from .expected import Deviation
from .fabric import Fabric

WIDTH = 80
LABEL = 12
MOST_SWITCHES = 40
MOST_NOTES = 40


def text(
    fabric: Fabric, deviations: Sequence[Deviation], unused: Sequence[str] = (), remarks: Sequence[str] = ()
) -> str:
    """The whole report, at most WIDTH wide, without anything that a terminal could take for a command."""
    lines = [*_nodes(fabric), *_network(fabric)]
    lines += _section("contradictions", [f"{said.component}: {said.sentence}" for said in fabric.contradictions])
    faults = [one for one in deviations if one.standing.is_fault]
    others = [one for one in deviations if not one.standing.is_fault]
    lines += _section("not as expected", _alike(faults))
    lines += _section("differs, no fault", _alike(others))
    lines += _section("not used", unused)
    lines += _section("remarks", remarks)
    return "\n".join("".join(c if c.isprintable() else "\ufffd" for c in line) for line in lines) + "\n"


def _nodes(fabric: Fabric) -> list[str]:
    """A block for each kind of node, headed by the names of all that are alike."""
    alike: dict[tuple[str, ...], list[NodeId]] = {}
    for node in fabric.nodes:
        alike.setdefault(tuple(_node(fabric, node)), []).append(node)
    lines = []
    for block, nodes in alike.items():
        count = f"  ({len(nodes)} alike)" if len(nodes) > 1 else ""
        lines += [*_wrapped(f"{folded(nodes)}{count}", 0), *block, ""]
    return lines


def folded(names: Iterable[str]) -> str:
    """`gpu[001-064]`; names that are no host names one after the other."""
    known = [str(name) for name in names]
    try:
        return str(NodeSet.fromlist(known))
    except NodeSetException:
        return ", ".join(known)


def _node(fabric: Fabric, node: NodeId) -> list[str]:
    platform, rack = fabric.platform_of(node), fabric.rack_of(node)
    domain = fabric.domain_of(node)
    rows = [("platform", platform.title if platform else "not recognized")]
    if rack:
        rows.append(("rack", rack))
    if domain and domain != node:
        rows.append(("NVLink", f"domain {domain} of {len(fabric.domain_nodes(domain))} nodes"))
    rows += [("GPUs", models) for models in [_models(fabric, node)] if models]
    rows += [("NVLink", lanes) for lanes in _lanes(fabric, node)]
    rows += [("switches", switches) for switches in [_nvswitches(fabric, node)] if switches]
    rows += [("PCIe", line) for line in _pcie(fabric, node)]
    rows += [("NICs", line) for line in _nics(fabric, node)]
    rows += [("said by", ", ".join(sources)) for sources in [_sources(fabric, node)] if sources]
    return [line for label, value in rows for line in _row(label, value)]


def _models(fabric: Fabric, node: NodeId) -> str:
    models = Counter(str(fabric.facts(gpu).get("model", "of a model nobody tells")) for gpu in fabric.gpus(node))
    return ", ".join(f"{count} {model}" for model, count in models.items())


def _lanes(fabric: Fabric, node: NodeId) -> list[str]:
    """GPUs with equal NVLinks told once."""
    told: dict[str, list[ComponentId]] = {}
    for gpu in fabric.gpus(node):
        told.setdefault(_lanes_of(fabric, gpu), []).append(gpu)
    return [f"{_names(gpus)}: {lanes}" for lanes, gpus in told.items() if lanes]


def _lanes_of(fabric: Fabric, gpu: ComponentId) -> str:
    if not fabric.lane_count(gpu):
        return ""
    counts = dict(sorted(fabric.lane_counts(gpu).items(), key=lambda one: natural(one[0])))
    switches = [f"{count}" for part, count in counts.items() if part.kind == "nvswitch"]
    peers = [f"{count} to {part.within}" for part, count in counts.items() if part.kind == "gpu"]
    over = f" over {len(switches)} NVSwitches ({'+'.join(switches)})" if switches else ""
    to = f", {', '.join(peers)}" if peers else ""
    down = [lane for lane, state in fabric.lane_states(gpu).items() if state == "down"]
    lost = f"; link {', '.join(map(str, down))} down" if down else ""
    return f"{fabric.lane_count(gpu)} lanes{over}{to}{lost}"


def _nvswitches(fabric: Fabric, node: NodeId) -> str:
    """`4: nvswitch0 at 0000:83:00.0, ...`; those that were only concluded have no address."""
    switches = fabric.nvswitches(node)
    told = (f"{part.name} at {at}" if (at := fabric.bus_address(part)) else part.name for part in switches)
    return f"{len(switches)}: {', '.join(told)}" if switches else ""


def _nics(fabric: Fabric, node: NodeId) -> list[str]:
    """NICs of which one thing is told, told once: `mlx5_[0-7]: InfiniBand, 400 Gb/s, Active`."""
    told: dict[str, list[ComponentId]] = {}
    for nic in fabric.nics(node):
        told.setdefault(_port(fabric, nic), []).append(nic)
    return [f"{_names(nics)}: {port}" for port, nics in told.items() if port]


def _port(fabric: Fabric, nic: ComponentId) -> str:
    facts, rail = fabric.facts(nic), fabric.rail_of(nic)
    rate = facts.get("rate_gbps")
    words = (
        str(facts.get("link_layer") or ""),
        f"{rate:g} Gb/s" if isinstance(rate, int | float) else "",
        str(facts.get("state") or ""),
        f"rail {rail}" if rail is not None else "",
    )
    return ", ".join(filter(None, words))


def _pcie(fabric: Fabric, node: NodeId) -> list[str]:
    """A line for each PCIe switch with what hangs below it."""
    lines = []
    for group in fabric.groups(node):
        place = " ".join(filter(None, (f"numa{group.numa}" if group.numa is not None else "", _switch(group.id))))
        devices = ", ".join(_device(fabric, device) for device in group.devices)
        lines.append(f"{place}: {devices}" if place else devices)
    return lines


def _switch(switch: ComponentId | None) -> str:
    return "" if switch is None else f"below {switch.name}"


def _device(fabric: Fabric, device: ComponentId) -> str:
    link = fabric.link(device / "pcie")
    return f"{device.within}{_link(link)}" if link else device.within


def _link(link: LinkState) -> str:
    """` x16`, ` x8 of x16`, ` 32 GT/s x16`."""
    width = link.width if link.width is not None else link.max_width
    if width is None:
        return ""
    narrow = f" of x{link.max_width}" if link.max_width and width < link.max_width else ""
    speed = f" {link.max_speed:g} GT/s" if link.max_speed else ""
    return f"{speed} x{width}{narrow}"


def _sources(fabric: Fabric, node: NodeId) -> list[str]:
    """Who said anything about its GPUs, NICs and their links, the most trusted first."""
    devices = (*fabric.gpus(node), *fabric.nics(node))
    lanes = [lane for gpu in fabric.gpus(node)[:1] for lane in fabric.lanes(gpu)[:1]]
    links = [link for part in (*(device / "pcie" for device in devices), *lanes) if (link := fabric.link(part))]
    said = {source for device in devices for source in fabric.facts(device).get("said", {}).values()}
    said |= {source for link in links for source in link.said.values()}
    return [str(source) for source in sorted(said, key=lambda source: source.trust)]


def _network(fabric: Fabric) -> list[str]:
    switches = fabric.netswitches
    if not switches:
        return []
    plugged = Counter(leaf for nic in fabric.parts("nic") if (leaf := fabric.leaf_of(nic)))
    lines = ["network"]
    for switch in switches[:MOST_SWITCHES]:
        tier = str(fabric.facts(switch).get("tier", "switch"))
        uplinks = len(fabric.uplinks(switch))
        told = [_count(plugged[switch], "NIC"), _count(uplinks, "uplink")]
        lines += _row(tier, f"{switch}: {', '.join(filter(None, told)) or 'nothing plugged in'}")
    if len(switches) > MOST_SWITCHES:
        lines += _row("", f"and {len(switches) - MOST_SWITCHES} more: --json has all")
    return [*lines, ""]


def _count(number: int, word: str) -> str:
    return "" if not number else f"{number} {word}{'s' if number > 1 else ''}"


def _alike(deviations: Sequence[Deviation]) -> list[str]:
    """Parts that deviate alike told once."""
    told: dict[str, list[ComponentId]] = {}
    for one in deviations:
        told.setdefault(one.sentence, []).append(one.component)
    return [f"{_some(parts)}: {sentence}" for sentence, parts in told.items()]


def _some(parts: Sequence[ComponentId]) -> str:
    return _names(parts) if len(parts) < 9 else f"{parts[0]} and {len(parts) - 1} more"


def _names(parts: Sequence[ComponentId]) -> str:
    """`gpu0-7` of one node; whole ids of several."""
    if len({part.node for part in parts}) == 1 and all("/" in part for part in parts):
        return folded(part.within.replace("/", "_") for part in parts) if len(parts) > 1 else parts[0].within
    return ", ".join(parts)


def _section(title: str, notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    lines = [title]
    for note in notes[:MOST_NOTES]:
        lines += _wrapped(note, 2)
    if len(notes) > MOST_NOTES:
        lines.append(f"  and {len(notes) - MOST_NOTES} more: --json has all")
    return [*lines, ""]


def _row(label: str, value: str) -> list[str]:
    first, *rest = textwrap.wrap(value, WIDTH - LABEL, break_long_words=True) or [""]
    return [f"  {label:<{LABEL - 2}}{first}", *(" " * LABEL + line for line in rest)]


def _wrapped(note: str, indent: int) -> list[str]:
    return textwrap.wrap(
        note, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2), break_on_hyphens=False
    )
