"""Reads the `[[fault]]` tables of a scenario, strictly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..incident.findings import check_words
from ..incident.ids import ComponentId
from ..incident.platforms import Platform
from .faults import COUNTERS_OF, Counter, Expectation, Fault, Line, diagnosis, kinds_of, part_kind, parts_with_faults
from .hardware import Hardware
from .loglines import unknown_words, usual_lines
from .network import Network, is_of_network
from .table import Table

STANDS_SINCE = -3600.0
"""When a fault that is on all the time began, unless the scenario says: an hour before the world."""


@dataclass(frozen=True)
class Site:
    """What a fault can be about: the nodes and their parts, and the network between them."""

    platform: Platform
    nodes: tuple[str, ...]
    hardware: Callable[[str], Hardware]
    """Parts of a node, by its name."""
    network: Network


def read_fault(table: Table, site: Site) -> Fault:
    """One fault; raises InputError that names the key."""
    component = _component(table, "component", site)
    if part_kind(component) not in parts_with_faults():
        table.refuse("component", f"a part of kind {', '.join(parts_with_faults())}", str(component))
    kind = table.text("kind", among=kinds_of(part_kind(component)))
    width, generation = _left_of_link(table, component, site.platform)
    slowdown = _slowdown(table, component, kind, _share_left(site.platform, width, generation))
    duty, burst, when = _rhythm(table, kind)
    since = table.between("from", -1e7, 1e9, 0.0 if kind == "intermittent" else STANDS_SINCE)
    fault = Fault(
        component=component,
        kind=kind,
        duty=duty,
        burst=burst,
        when=when,
        slowdown=slowdown,
        share=table.text("share", "stripe", ("stripe", "gate")),
        width=width,
        generation=generation,
        counters=_counters(table, component),
        log=_log(table, component, kind, site),
        since=since,
        until=table.between("until", since, 1e9) if table.has("until") else math.inf,
        expect=_expectation(
            table, component, diagnosis(component, kind, bool(width), bool(generation), 0.0 < slowdown < 1.0)
        ),
    )
    table.done()
    _refuse_far_victims(table, fault)
    return fault


def _component(table: Table, key: str, site: Site, default: str = "") -> ComponentId:
    """A part of one of the nodes that the platform really has, or of the network."""
    text = table.text(key, default) if default else table.text(key)
    component = ComponentId(text)
    if is_of_network(text) or (component.node not in site.nodes and text.startswith(("leaf-", "spine-"))):
        if not site.network.has(text):
            hint = "; a port is told as its cable" if "/port" in text else ""
            table.refuse(key, f"a part that this network has ({site.network.like(text)}{hint})", text)
        return component
    if component.node not in site.nodes:
        table.refuse(key, f"a part of one of {_some(site.nodes)}, as {site.nodes[0]}/gpu3/nvlink7", text)
    if component.within not in _parts(site.hardware(component.node)):
        hint = _parts_like(component.within, site.platform)
        table.refuse(key, f"a part that a {site.platform.key} node has ({hint})", text)
    return component


def _parts(hardware: Hardware) -> set[str]:
    memories = {f"{gpu.name}/hbm" for gpu in hardware.gpus}
    sockets = {f"numa{gpu.numa}" for gpu in hardware.gpus}
    return set(hardware.facts) | memories | sockets | {"host"}


def _parts_like(within: str, platform: Platform) -> str:
    """What there is of the same sort."""
    lanes = f"nvlink0 to nvlink{platform.lanes_per_gpu - 1}"
    if within.startswith("gpu"):
        return f"gpu0 to gpu{platform.gpus - 1}; below each hbm, pcie, {lanes}"
    if within.startswith("mlx"):
        return f"{', '.join(name for name in platform.device_names() if name.startswith('mlx'))}; below each pcie"
    if within.startswith("nvswitch"):
        return f"nvswitch0 to nvswitch{len(platform.nvswitches) - 1}"
    return "such as gpu3, gpu3/nvlink7, gpu3/pcie, nvswitch1, mlx5_0/pcie, pcie/0000:15:01.0, numa0, host"


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:3])}, … {names[-1]}"


def _rhythm(table: Table, kind: str) -> tuple[float, float, str]:
    """Duty, burst and clock; only an intermittent fault has them."""
    if kind != "intermittent":
        for key in ("duty", "burst", "when"):
            if table.has(key):
                table.refuse(key, f"nothing: a fault of kind {kind} is on all the time", table.raw(key))
        return 1.0, math.inf, "always"
    expected = "a number between 0 and 1, both excluded"
    duty = table.number("duty", expected=expected)
    if not 0 < duty < 1:
        table.refuse("duty", expected, duty)
    return duty, table.between("burst", 0.001, 1e6), table.text("when", "load", ("load", "always"))


def _left_of_link(table: Table, component: ComponentId, platform: Platform) -> tuple[int, int]:
    """Width and generation that a PCIe link is left with; 0 where it keeps its own."""
    given = {key: table.has(key) for key in ("width", "generation")}
    if component.kind not in ("pcie", "bridge"):
        for key in given:
            if given[key]:
                table.refuse(key, "nothing: only PCIe links have it", table.raw(key))
        return 0, 0
    widths = [width for width in (1, 2, 4, 8) if width < platform.pcie_width]
    width = table.integer("width", widths[0], widths[-1]) if given["width"] else 0
    if width and width not in widths:
        table.refuse("width", f"one of {', '.join(map(str, widths))}", width)
    generation = table.integer("generation", 1, platform.pcie_generation - 1) if given["generation"] else 0
    return width, generation


def _share_left(platform: Platform, width: int, generation: int) -> float:
    """Share of its bandwidth that a link of this width and generation has left; each generation doubles it."""
    lanes = width / platform.pcie_width if width else 1.0
    return lanes * 2.0 ** (generation - platform.pcie_generation if generation else 0)


def _slowdown(table: Table, component: ComponentId, kind: str, left: float) -> float:
    """Share of the part's traffic lost: declared, or what is left of a PCIe link says it; what is gone loses all."""
    if kind == "hard":
        if table.has("slowdown"):
            table.refuse("slowdown", "nothing: a hard fault loses everything", table.raw("slowdown"))
        return 1.0
    expected = "a number above 0, at most 1"
    if left < 1.0:
        slowdown = table.number("slowdown", 1.0 - left, expected)
    elif component.kind == "nic" and kind == "intermittent":
        slowdown = table.number("slowdown", 1.0, expected)  # its port goes down
    elif component.kind in ("nic", "hbm") or component.parent.kind == "nic":
        return table.between("slowdown", 0.0, 1.0, 0.0)
    else:
        slowdown = table.number("slowdown", expected=expected)
    if not 0 < slowdown <= 1:
        table.refuse("slowdown", expected, slowdown)
    return slowdown


def _counters(table: Table, component: ComponentId) -> dict[str, Counter]:
    """`recovery_errors = 40` (steps per second while on) or `recovery_errors = { rate = 40, trials = 0.85 }`."""
    rows = table.subtable("counters")
    found = {}
    for name in COUNTERS_OF.get(part_kind(component), ()):
        if name == "replays" and component.parent.kind == "nic":
            continue  # only NVML tells replays, so only a GPU's link has them
        if not rows.has(name):
            rows.knows(name)
            continue
        value = rows.raw(name)
        if isinstance(value, dict):
            row = Table(table.file, f"{table.name} counters.{name}", value)
            found[name] = Counter(row.between("rate", 0.0, 1e6, 0.0), row.between("trials", 0.0, 1.0, 1.0))
            row.done()
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e6:
            found[name] = Counter(float(value), 1.0)
        else:
            rows.refuse(name, "steps per second while on, or { rate = …, trials = … }", value)
    rows.done()
    return found


def _log(table: Table, component: ComponentId, kind: str, site: Site) -> tuple[Line, ...]:
    if not table.has("log"):
        table.knows("log")
        return _usual_lines(component, kind, site)
    return tuple(_line(row, component, site) for row in table.subtables("log", f"{table.name} log"))


def _usual_lines(component: ComponentId, kind: str, site: Site) -> tuple[Line, ...]:
    """Of a part of the network that is gone the NICs that lose their link tell."""
    if not is_of_network(component):
        return usual_lines(component, kind, site.platform)
    if kind != "hard":
        return ()
    nics = [ComponentId(f"{node.node}/{nic.name}") for node, nic in site.network.nics_at(component)]
    return tuple(line for nic in nics for line in usual_lines(nic, "hard", site.platform))


def _line(table: Table, component: ComponentId, site: Site) -> Line:
    text = table.text("text")
    for word in unknown_words(text):
        table.refuse("text", "of words in braces only those that loglines.py lists", "{" + word + "}")
    line = Line(
        text=text,
        on=_writer(table, component, site),
        after=table.between("after", 0.0, 1e6, 0.0),
        share=table.between("share", 0.0, 1.0, 1.0),
    )
    table.done()
    return line


def _writer(table: Table, component: ComponentId, site: Site) -> ComponentId:
    """The part of a node that a line speaks of."""
    default = "" if is_of_network(component) else str(component)
    writer = _component(table, "on", site, default)
    if is_of_network(writer):
        expected = f"a part of a node, as {site.nodes[0]}/mlx5_0: the network writes no kernel log"
        table.refuse("on", expected, str(writer))
    return writer


def _expectation(table: Table, component: ComponentId, usual: tuple[str, str]) -> Expectation | None:
    """What to name: as declared, or as usual for such a fault; `expect = ""`: it can't be found."""
    fault_class = table.text("expect", usual[0])
    how = table.text("how", usual[1], ("finding", "localize"))
    if not fault_class:
        return None
    try:
        check_words(fault_class, "none")
    except ValueError:
        table.refuse("expect", "a class of classes.toml, as nvlink-link/marginal", fault_class)
    return Expectation(component, fault_class, how)


def _refuse_far_victims(table: Table, fault: Fault) -> None:
    """A fault that only load brings on writes where the load is: of the network's only a cable has one place for it."""
    where = fault.component.node if fault.part_kind == "cable" else fault.node
    for line in fault.log:
        if fault.under_load and line.on.node != where:
            place = f"lines on parts of {where}, as the fault comes with load there" if where else "no lines"
            table.refuse("log", place, str(line.on))
