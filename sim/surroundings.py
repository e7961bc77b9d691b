"""What is not perfect in a healthy world: table [world] of a scenario."""

from __future__ import annotations

from dataclasses import dataclass

from .table import Table


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All optional."""

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
    net_tenants: float = 0.0
    """Share of time an uplink or leaf carries somebody else's traffic, seconds at a time."""
    net_tenants_take: float = 0.3
    """Share of its bandwidth that those take while they are there."""
    duty_drift: float = 0.0
    """Seconds after which an intermittent fault's duty changes: as declared, doubled, as declared, halved. 0: never."""
    clock_skew: float = 0.05
    """Standard deviation of the nodes' clocks against the true time, seconds."""
    nccl: bool = False
    """Nodes have a libnccl.so.2, as those have on which jobs run without containers."""
    storage_nics: bool = False
    """Every node has a two-port Ethernet NIC for storage too, its second port empty and switched off by design."""

    def in_words(self) -> str:
        """One line for people."""
        said = [f"noise {self.noise:.1%}", f"path bias {self.path_bias:.1%}", f"outliers {self.outliers:.2%}"]
        if self.outlier_windows > 1:
            said[-1] += f", {self.outlier_windows:g} windows at a time"
        said += [f"red herrings {self.herrings:.1%}", f"tenants {self.tenants:.0%}"]
        if self.net_tenants:
            said.append(f"uplinks and leaves {self.net_tenants:.0%} of the time {self.net_tenants_take:.0%} busy")
        if self.duty_drift:
            said.append(f"duties change every {self.duty_drift:g} s")
        return ", ".join([*said, f"clocks {self.clock_skew:g} s apart"])


def read_surroundings(table: Table) -> Surroundings:
    """The table [world]; raises InputError that names the key."""
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
        net_tenants=table.between("net_tenants", 0.0, 0.95, usual.net_tenants),
        net_tenants_take=table.between("net_tenants_take", 0.0, 0.95, usual.net_tenants_take),
        duty_drift=_drift(table, usual.duty_drift),
        clock_skew=table.between("clock_skew", 0.0, 3600.0, usual.clock_skew),
        nccl=table.flag("nccl", usual.nccl),
        storage_nics=table.flag("storage_nics", usual.storage_nics),
    )
    table.done()
    return world


def _drift(table: Table, usual: float) -> float:
    expected = "0, or seconds from 1 to 86400"
    drift = table.number("duty_drift", usual, expected)
    if drift and not 1.0 <= drift <= 86400.0:
        table.refuse("duty_drift", expected, drift)
    return drift
