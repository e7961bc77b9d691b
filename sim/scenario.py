"""Scenarios: a simulated world as declared in TOML, read strictly: every complaint says where and what.

platform = "h100_hgx"      # of layouts.toml
nodes = 8                  # a count (sim1, sim2, …) or a list of names
seed = 1
speed = 4.0                # how much faster than real time probes run

[world]                    # what isn't perfect: surroundings.py; all optional
[network]                  # what the nodes are plugged into: wiring.py; all optional
[[fault]]                  # what is wrong: faults.py; one table a fault
[[fault.log]]              # its kernel log lines; without any, the usual ones; `log = []`: none
[[sick]]                   # nodes that can't be used, or not wholly: Sickness below
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..incident.errors import InputError
from ..incident.platforms import Platform, platform, platform_names
from .fault_tables import Site, read_fault
from .faults import Expectation, Fault
from .hardware import Hardware
from .network import Network, is_of_network
from .surroundings import Surroundings as Surroundings
from .surroundings import read_surroundings
from .table import Table
from .wiring import Wiring, read_wiring

MOST_NODES = 512

SICKNESSES = ("refuses", "no-python", "hangs", "silent", "busy")


@dataclass(frozen=True, slots=True)
class Sickness:
    """What keeps a node from being used: table [[sick]]."""

    node: str
    how: str
    """`refuses`: no log-in. `no-python`: nothing runs the collector. `hangs`: reads of `domain` don't return. `silent`:
    the network swallows everything. `busy`: a job computes on all its GPUs."""
    domain: str = "nvml"
    """Hang domain, for `hangs`."""
    since: float = 0.0
    """Seconds after the world began."""


@dataclass(frozen=True)
class Scenario:
    """A whole simulated world, declared."""

    name: str
    platform: Platform
    nodes: tuple[str, ...]
    seed: int = 1
    speed: float = 1.0
    world: Surroundings = field(default_factory=Surroundings)
    faults: tuple[Fault, ...] = ()
    sick: tuple[Sickness, ...] = ()
    wiring: Wiring = field(default_factory=Wiring)

    @property
    def expected(self) -> tuple[Expectation, ...]:
        """What a good diagnosis names; nothing else."""
        return tuple(fault.expect for fault in self.faults if fault.expect is not None)

    def hardware(self, node: str) -> Hardware:
        """The parts of one node."""
        return self.network.node(node)

    @cached_property
    def network(self) -> Network:
        """What all nodes are plugged into."""
        wiring = self.wiring.for_nodes(len(self.nodes))
        nodes = tuple(
            Hardware(self.seed, node, index, self.platform, self.world.storage_nics)
            for index, node in enumerate(self.nodes)
        )
        return Network(nodes, wiring.nodes_per_leaf, wiring.spines, wiring.routing)


def load_scenario(path: str | Path) -> Scenario:
    """The scenario of a TOML file; raises InputError that names file, table and key."""
    path = Path(path)
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no TOML: {error}") from error
    return read_scenario(Table(str(path), "", values), path.stem)


def read_scenario(table: Table, name: str) -> Scenario:
    """The scenario of a parsed file."""
    kind = platform(table.text("platform", "h100_hgx", platform_names()))
    nodes = _nodes(table)
    seed = table.integer("seed", 0, 2**31, 1)
    speed = table.between("speed", 0.1, 1000.0, 1.0)
    world = read_surroundings(table.subtable("world"))
    wiring = read_wiring(table.subtable("network"), len(nodes))
    plain = Scenario(name, kind, nodes, seed, speed, world, wiring=wiring)
    site = Site(kind, nodes, plain.hardware, plain.network)
    faults = tuple(read_fault(row, site) for row in table.subtables("fault"))
    sick = tuple(_sickness(row, nodes) for row in table.subtables("sick"))
    table.done()
    return replace(plain, faults=faults, sick=sick)


def check(path: str | Path) -> str:
    """What a scenario declares, line by line; raises InputError where it is wrong."""
    scenario = load_scenario(path)
    lines = [
        f"{scenario.name}: {len(scenario.nodes)} nodes of {scenario.platform.title}, seed {scenario.seed}",
        f"probes run {scenario.speed:g} times faster than real time",
        scenario.world.in_words(),
    ]
    if len(scenario.nodes) > 1:
        lines.append(scenario.wiring.in_words())
    if scenario.world.storage_nics:
        lines.append("by design: the second port of each storage NIC is empty and switched off")
    for number, fault in enumerate(scenario.faults, 1):
        lines.append(f"fault {number}: {fault.in_words()}")
        expected = fault.expect
        told = f"{expected.fault_class} at {expected.component}, by {expected.how}" if expected else "nothing"
        lines.append(f"  to be named: {told}")
    lines += [f"sick: {row.node} {row.how}{' in ' + row.domain if row.how == 'hangs' else ''}" for row in scenario.sick]
    if not scenario.expected:
        lines.append("nothing may be named")
    return "\n".join(lines)


def _nodes(table: Table) -> tuple[str, ...]:
    expected = f"a count from 1 to {MOST_NODES}, or a list of different names (letters, digits, - and .)"
    value = table.raw("nodes", 8, expected)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_NODES:
        return tuple(f"sim{number}" for number in range(1, value + 1))
    fits = (
        isinstance(value, list)
        and 1 <= len(value) <= MOST_NODES
        and all(isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}", name) for name in value)
    )
    if not fits or len(set(value)) != len(value):
        table.refuse("nodes", expected, value)
    for name in value:
        if is_of_network(name):
            table.refuse("nodes", "names that are none of the network's", name)
    return tuple(value)


def _sickness(table: Table, nodes: tuple[str, ...]) -> Sickness:
    node, how = table.text("node", among=nodes), table.text("how", among=SICKNESSES)
    domain = table.text("domain", "nvml", ("nvml", "ib", "pci", "kmsg")) if how == "hangs" else "nvml"
    sick = Sickness(node, how, domain, table.between("from", 0.0, 1e9, 0.0))
    table.done()
    return sick
