"""How long everything may take between the operator and a node. The figures are measured: see ARCHITECTURE.md."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """All times in seconds, all sizes in bytes."""

    period: float = 1.0
    """Between two samples of a hang domain."""
    lease: float = 20.0
    """A collector that hears nothing for so long ends itself."""
    lease_every: float = 5.0
    connect_timeout: float = 10.0
    keepalive: float = 1.0
    keepalive_count: int = 3
    """A dead peer is found after keepalive x (count + 1)."""
    start_timeout: float = 15.0
    """From the channel's opening to the collector's first word."""
    stale_ticks: int = 3
    silent_limit: float = 12.0
    """A collector that is stale for so long is started anew over a new connection."""
    backoff: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 30.0)
    jitter: float = 0.3
    steady: float = 60.0
    """Life after which the backoff starts from its beginning."""
    connecting_at_once: int = 32
    connecting_per_bastion: int = 8
    """Below sshd's MaxStartups of 10."""
    collector_window: int = 256 * 1024
    program_window: int = MIB
    longest_line: int = MIB
    command_output: int = 8 * MIB
    commands_per_node: int = 4
    """Below sshd's MaxSessions of 10, with the collector and the probe worker beside."""
    closing: float = 0.5
    """What nodes get to end by themselves when we leave."""
