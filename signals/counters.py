"""Which fields are error counters, what they are called on screens, what they mean and which kind of fault they show.

Meanings come from `counters.toml`; what is here is only the way from our field names to its rows, and when a rise is
worth telling anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..incident.counter_facts import CounterFacts, counters


@dataclass(frozen=True, slots=True)
class ErrorCounter:
    """A counter that a healthy part seldom moves."""

    name: str
    plain: str
    """What it is called when read out: `recovery errors`."""
    row: str
    """Id of its row in counters.toml."""
    fault_class: str = ""
    """What a rise is a sign of; empty for counters that say nothing by themselves."""
    bursts: int = 2
    """Separate bursts within the window before it is told; one storm counts once."""
    per_minute: float = 0.0
    """Mean rate below which a rise is ordinary."""

    @property
    def facts(self) -> CounterFacts:
        """Its row, with limits and sources."""
        return counters()[self.row]

    @property
    def meaning(self) -> str:
        """One line of what it counts."""
        return self.facts.meaning

    @property
    def unit(self) -> str:
        """`events`, `errors`, `packets`, ..."""
        return self.facts.unit

    @property
    def blames(self) -> tuple[str, ...]:
        """Kinds of parts it speaks about, as counters.toml words them."""
        return self.facts.component


_ALL = (
    ErrorCounter("recovery_errors", "recovery errors", "NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY", "nvlink-link/marginal"),
    ErrorCounter("replay_errors", "replay errors", "NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY", "nvlink-link/marginal"),
    ErrorCounter(
        "crc_errors", "CRC errors", "NVML_FI_DEV_NVLINK_ERROR_DL_CRC", "nvlink-link/marginal", bursts=3, per_minute=6.0
    ),
    ErrorCounter("ecc_uncorrected", "uncorrectable ECC errors", "NVML_FI_DEV_ECC_DBE_VOL_TOTAL"),
    ErrorCounter(
        "ecc_corrected",
        "corrected ECC errors",
        "NVML_FI_DEV_ECC_SBE_VOL_TOTAL",
        "gpu-memory/hbm-degrading",
        bursts=3,
        per_minute=20.0,
    ),
    ErrorCounter("remapped_correctable", "rows remapped after corrected errors", "NVML_FI_DEV_REMAPPED_COR"),
    ErrorCounter("remapped_uncorrectable", "rows remapped after uncorrectable errors", "NVML_FI_DEV_REMAPPED_UNC"),
    ErrorCounter("aer_fatal", "fatal PCIe errors", "aer_dev_fatal", "pcie-link/signal-integrity", bursts=1),
    ErrorCounter("aer_nonfatal", "non-fatal PCIe errors", "aer_dev_nonfatal", "pcie-link/signal-integrity", bursts=1),
    ErrorCounter(
        "replays", "PCIe replays", "NVML_FI_DEV_PCIE_REPLAY_COUNTER", "pcie-link/signal-integrity", per_minute=30.7
    ),
    ErrorCounter(
        "aer_correctable", "corrected PCIe errors", "aer_dev_correctable", "pcie-link/signal-integrity", per_minute=32.0
    ),
    ErrorCounter("link_downed", "link-down events", "link_downed", "net-link/flap", bursts=1),
    ErrorCounter("symbol_error", "symbol errors", "symbol_error", "net-link/ber"),
    ErrorCounter("link_error_recovery", "link recoveries", "link_error_recovery", "net-link/ber"),
    ErrorCounter("local_link_integrity_errors", "link integrity errors", "local_link_integrity_errors", "net-link/ber"),
    ErrorCounter("port_rcv_errors", "receive errors", "port_rcv_errors", "net-link/ber"),
    ErrorCounter("port_xmit_discards", "discarded packets", "port_xmit_discards", "net-fabric/congestion", bursts=3),
    ErrorCounter("port_rcv_remote_physical_errors", "errors from an earlier hop", "port_rcv_remote_physical_errors"),
    ErrorCounter("port_rcv_switch_relay_errors", "relay errors", "port_rcv_switch_relay_errors"),
    ErrorCounter("port_xmit_constraint_errors", "send constraint errors", "port_xmit_constraint_errors"),
    ErrorCounter("port_rcv_constraint_errors", "receive constraint errors", "port_rcv_constraint_errors"),
    ErrorCounter("excessive_buffer_overrun_errors", "buffer overruns", "excessive_buffer_overrun_errors"),
    ErrorCounter("VL15_dropped", "management packets dropped", "VL15_dropped"),
    ErrorCounter("local_ack_timeout_err", "acknowledge timeouts", "local_ack_timeout_err"),
    ErrorCounter("rnr_nak_retry_err", "receiver-not-ready retries used up", "rnr_nak_retry_err"),
    ErrorCounter("out_of_sequence", "packets out of order", "out_of_sequence"),
    ErrorCounter("packet_seq_err", "packet sequence errors", "packet_seq_err"),
    ErrorCounter("rx_icrc_encapsulated", "end-to-end checksum errors", "rx_icrc_encapsulated", "net-link/ber"),
)

ERROR_COUNTERS: Mapping[str, ErrorCounter] = {counter.name: counter for counter in _ALL}
"""By field name, the gravest of each kind of part first."""


def is_error_counter(name: str) -> bool:
    """True for a field that counts errors; False for throughput, states, temperatures."""
    return name in ERROR_COUNTERS


def plain_name(name: str) -> str:
    """What a field is called on screens; the field's own name with spaces where it is no error counter."""
    counter = ERROR_COUNTERS.get(name)
    return counter.plain if counter else name.replace("_", " ")
