"""Error and traffic counters of an InfiniBand port, under the names of the kernel, and how wide each of them is.

All counters of PortCounters stop at their largest value; a counter that stands there is read as `at least`.
Source: rdma-core libibmad/fields.c for names and widths; old names from OFED 1.x; kernel sysfs.c.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...incident.counter_facts import widths
from ..parsed import Count

CLASSIC = "PortCounters"
EXTENDED = "PortCountersExtended"

_KERNEL_NAMES = {
    "SymbolErrorCounter": "symbol_error",
    "LinkErrorRecoveryCounter": "link_error_recovery",
    "LinkDownedCounter": "link_downed",
    "PortRcvErrors": "port_rcv_errors",
    "PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors",
    "PortRcvSwitchRelayErrors": "port_rcv_switch_relay_errors",
    "PortXmitDiscards": "port_xmit_discards",
    "PortXmitConstraintErrors": "port_xmit_constraint_errors",
    "PortRcvConstraintErrors": "port_rcv_constraint_errors",
    "LocalLinkIntegrityErrors": "local_link_integrity_errors",
    "ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors",
    "VL15Dropped": "VL15_dropped",
    "PortXmitData": "port_xmit_data",
    "PortRcvData": "port_rcv_data",
    "PortXmitPkts": "port_xmit_packets",
    "PortRcvPkts": "port_rcv_packets",
    "PortXmitWait": "port_xmit_wait",
    "PortUnicastXmitPkts": "unicast_xmit_packets",
    "PortUnicastRcvPkts": "unicast_rcv_packets",
    "PortMulticastXmitPkts": "multicast_xmit_packets",
    "PortMulticastRcvPkts": "multicast_rcv_packets",
    "SymbolErrors": "symbol_error",
    "LinkRecovers": "link_error_recovery",
    "LinkDowned": "link_downed",
    "RcvErrors": "port_rcv_errors",
    "RcvRemotePhysErrors": "port_rcv_remote_physical_errors",
    "RcvSwRelayErrors": "port_rcv_switch_relay_errors",
    "XmtDiscards": "port_xmit_discards",
    "XmtConstraintErrors": "port_xmit_constraint_errors",
    "RcvConstraintErrors": "port_rcv_constraint_errors",
    "LinkIntegrityErrors": "local_link_integrity_errors",
    "ExcBufOverrunErrors": "excessive_buffer_overrun_errors",
    "XmtData": "port_xmit_data",
    "RcvData": "port_rcv_data",
    "XmtPkts": "port_xmit_packets",
    "RcvPkts": "port_rcv_packets",
    "XmtWait": "port_xmit_wait",
}
_BITS = {
    "QP1Dropped": 16,
    "PortLocalPhysicalErrors": 16,
    "PortMalformedPktErrors": 16,
    "PortBufferOverrunErrors": 16,
    "PortDLIDMappingErrors": 16,
    "PortVLMappingErrors": 16,
    "PortLoopingErrors": 16,
    "PortInactiveDiscards": 16,
    "PortNeighborMTUDiscards": 16,
    "PortSwLifetimeLimitDiscards": 16,
    "PortSwHOQLifetimeLimitDiscards": 16,
}
"""Of counters that the kernel has no file for."""
_TRAFFIC = frozenset({"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"})
"""32 bits in PortCounters; the kernel's files take the 64 bits of PortCountersExtended where there are any."""


@dataclass(frozen=True, slots=True)
class PortCounter:
    """One counter of one port, since it was last cleared."""

    name: str
    """As the kernel names its file (`symbol_error`); as printed where the kernel has none."""
    count: Count
    """`port_xmit_data` and `port_rcv_data` count words of 4 bytes, `port_xmit_wait` ticks without credits."""
    port: int | None
    """None: all ports of the node together."""
    attribute: str
    """Where it comes from: `PortCounters`, `PortCountersExtended`, `PortRcvErrorDetails`, `hw_counters`, ...; empty
    where the output does not tell."""
    device: str | None = None
    """`mlx5_0`."""
    lid: int | None = None
    guid: str | None = None
    """Of the port, or of the switch; 16 hex digits."""
    node_name: str | None = None


def kernel_name(printed: str) -> str:
    """`SymbolErrorCounter`, `SymbolErrors` -> `symbol_error`."""
    return _KERNEL_NAMES.get(printed, printed)


def saturating(name: str, value: int, attribute: str = CLASSIC) -> Count:
    """The value of a counter, which at the ceiling of its width is `at least`."""
    return Count(value, at_least=value == (1 << _bits(name, attribute)) - 1)


def _bits(name: str, attribute: str) -> int:
    if attribute == EXTENDED:
        return 64
    if width := widths().get(name):
        return width.bits
    return _BITS.get(name) or (32 if name in _TRAFFIC and attribute != "counters" else 64)
