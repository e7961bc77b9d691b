"""Scenarios: a simulated world as declared in TOML, read strictly: every complaint says where and what.

platform = "h100_hgx"      # of layouts.toml
nodes = 8                  # a count (sim1, sim2, …) or a list of names
seed = 1
speed = 4.0                # how much faster than real time probes run

[world]                    # what isn't perfect: Surroundings below; all optional
[[fault]]                  # what is wrong: faults.py; one table a fault
[[fault.log]]              # its kernel log lines; without any, the usual ones; `log = []`: none
[[sick]]                   # nodes that can't be used, or not wholly: Sickness below
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from ..incident.errors import InputError
from ..incident.platforms import Platform, platform, platform_names
from .fault_tables import Site, read_fault
from .faults import Expectation, Fault
from .hardware import Hardware
from .table import Table

MOST_NODES = 512

SICKNESSES = ("refuses", "no-python", "hangs", "silent", "busy")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is not perfect in a healthy world: table [world]."""

    noise: float = 0.04
    """Standard deviation of log bandwidth, window by window."""
    path_bias: float = 0.01
    """Standard deviation of log bandwidth, path by path: the same in every trial of it."""
    outliers: float = 0.003
    """Share of windows that are low for no reason."""
    outlier_windows: float = 1.0
    """Mean windows in a row that are low for no reason."""
    herrings: float = 0.02
    """Share of lanes, PCIe links and NICs with error counters left over from the past."""
    herring_rate: float = 0.2
    """Steps per minute of the fourth of those that still moves, loaded or not."""
    background: float = 1e-4
    """Replays per second of a healthy lane under load."""
    tenants: float = 0.1
    """Share of time a NIC carries somebody else's traffic."""
    clock_skew: float = 0.05
    """Standard deviation of the nodes' clocks against the true time, seconds."""
    storage_nics: bool = False
    """Every node has a two-port Ethernet NIC for storage too, its second port empty and switched off by design."""

    def in_words(self) -> str:
        """One line for people."""
        return (
            f"noise {self.noise:.1%}, path bias {self.path_bias:.1%}, outliers {self.outliers:.2%}, "
            f"red herrings {self.herrings:.1%}, tenants {self.tenants:.0%}, clocks {self.clock_skew:g} s apart"
        )


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

    @property
    def expected(self) -> tuple[Expectation, ...]:
        """What a good diagnosis names; nothing else."""
        return tuple(fault.expect for fault in self.faults if fault.expect is not None)

    def hardware(self, node: str) -> Hardware:
        """The parts of one node."""
        return Hardware(self.seed, node, self.nodes.index(node), self.platform, self.world.storage_nics)


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
    world = _surroundings(table.subtable("world"))
    plain = Scenario(name, kind, nodes, seed, speed, world)
    site = Site(kind, nodes, plain.hardware)
    faults = tuple(read_fault(row, site) for row in table.subtables("fault"))
    sick = tuple(_sickness(row, nodes) for row in table.subtables("sick"))
    table.done()
    return Scenario(name, kind, nodes, seed, speed, world, faults, sick)


def check(path: str | Path) -> str:
    """What a scenario declares, line by line; raises InputError where it is wrong."""
    scenario = load_scenario(path)
    lines = [
        f"{scenario.name}: {len(scenario.nodes)} nodes of {scenario.platform.title}, seed {scenario.seed}",
        f"probes run {scenario.speed:g} times faster than real time",
        scenario.world.in_words(),
    ]
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
    return tuple(value)


def _surroundings(table: Table) -> Surroundings:
    usual = Surroundings()
    world = Surroundings(
        noise=table.between("noise", 0.0, 0.5, usual.noise),
        path_bias=table.between("path_bias", 0.0, 0.5, usual.path_bias),
        outliers=table.between("outliers", 0.0, 0.5, usual.outliers),
        outlier_windows=table.between("outlier_windows", 1.0, 64.0, usual.outlier_windows),
        herrings=table.between("herrings", 0.0, 1.0, usual.herrings),
        herring_rate=table.between("herring_rate", 0.0, 600.0, usual.herring_rate),
        background=table.between("background", 0.0, 10.0, usual.background),
        tenants=table.between("tenants", 0.0, 0.95, usual.tenants),
        clock_skew=table.between("clock_skew", 0.0, 3600.0, usual.clock_skew),
        storage_nics=table.flag("storage_nics", usual.storage_nics),
    )
    table.done()
    return world


def _sickness(table: Table, nodes: tuple[str, ...]) -> Sickness:
    node, how = table.text("node", among=nodes), table.text("how", among=SICKNESSES)
    domain = table.text("domain", "nvml", ("nvml", "ib", "pci", "kmsg")) if how == "hangs" else "nvml"
    sick = Sickness(node, how, domain, table.between("from", 0.0, 1e9, 0.0))
    table.done()
    return sick
