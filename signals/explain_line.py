"""A line of a log explained: what it says in figures, then what the tables say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..incident import nvlink5, xid74
from ..incident.codes import cite, recovery_actions, sxid_code
from ..incident.counter_facts import LogSignature, log_signatures
from ..parsers.logs.fabric_manager import FabricManagerLine, SwitchError
from ..parsers.logs.kernel_log import OffBus
from ..parsers.logs.nic_events import Carrier, NicCommand, NicHealth, NicModule, NicPower, TransmitTimeout
from ..parsers.logs.pcie_events import PcieContained, PcieError, PcieLimited, PcieReported
from ..parsers.logs.sxid import SXid
from ..parsers.logs.system_log import SystemLine
from ..parsers.logs.xid import Xid
from ..parsers.logs.xid_details import LinkRegisters, NvLink5Event, RecoveryChange
from .explain_codes import action, severity_on_line, tell_sxid, tell_xid
from .page import Page
from .xid_facts import OFF_BUS


def tell_line(page: Page, line: SystemLine) -> None:
    """What one line says and means."""
    reading = line.reading
    if isinstance(reading, Xid):
        _tell_xid(page, line.host, reading)
    elif isinstance(reading, SXid):
        _tell_sxid(page, line.host, reading)
    elif isinstance(reading, SwitchError):
        page.heading(f"The fabric manager saw an error of the NVSwitch at {reading.pci}{_on(line.host)}")
        page.row("port", str(reading.port))
        page.row("severity", "fatal" if reading.fatal else "non-fatal")
        tell_sxid(page, reading.code)
    elif isinstance(reading, OffBus):
        page.heading(f"The GPU at {reading.pci} fell off the bus{_on(line.host)}; this line has no Xid, and means 79")
        tell_xid(page, OFF_BUS)
    else:
        _tell_other(page, line)


def _on(host: str) -> str:
    return f" on {host}" if host else ""


def _tell_xid(page: Page, host: str, xid: Xid) -> None:
    page.heading(f"Xid {xid.code} of the GPU at {xid.pci}{_on(host)}")
    if xid.mig_instance is not None:
        page.row("MIG", f"GPU instance {xid.mig_instance}")
    if xid.link is not None:
        page.row("NVLink", str(xid.link))
    if xid.process or xid.pid is not None:
        page.row("noticed by", f"{xid.process or 'a process'} (pid {xid.pid}), which is seldom the one to blame")
    if xid.cause is not None:
        page.row("follows", f"Xid {xid.cause}, by the driver's own word: look for that line first")
    page.row("says", xid.text)
    match xid.detail:
        case NvLink5Event():
            _tell_nvlink5(page, xid.code, xid.detail)
        case LinkRegisters():
            _tell_registers(page, xid.detail)
        case RecoveryChange():
            _tell_recovery(page, xid.detail)
    tell_xid(page, xid.code)


def _tell_nvlink5(page: Page, code: int, event: NvLink5Event) -> None:
    page.row("unit", f"{event.unit}, {event.severity}, XC{event.cross_contained}")
    if event.injected:
        page.row("injected", "Somebody injected this error: it is a test, not a fault.")
    found = nvlink5.decode(code, event.unit, event.words)
    if not found:
        page.row("sub-code", "No row of the decoding sheet fits these words: treat it as not expected.")
    for one in found:
        row = one.row
        page.row("sub-code", f"{row.unit} status {row.error_status or 'any'}: {row.severity} ({one.layout})")
        page.row("fault of", row.domain)
        page.row("down because", f"{row.down_reason} ({row.down_side})" if row.down_reason else "")
        page.row("act", action("xid", one.action))
        page.row("if it stays", action("xid", row.investigate))
        page.row("also here", ", ".join(row.local_effect))
        page.row("at peers", ", ".join(row.remote_effect))
        page.row("note", row.note)


def _tell_registers(page: Page, registers: LinkRegisters) -> None:
    found = xid74.decode(registers.registers)
    if not found:
        page.row("registers", "All are zero: the line says no more than that the link failed.")
    for one in found:
        bits = ", ".join(str(bit) for bit in one.bits)
        page.row("registers", f"register {one.row.register} bit {bits}: {one.row.meaning} ({one.row.component})")
        page.row("hardware", one.row.hw_fault_likely)
        page.row("act", action("xid", one.row.action))
        page.row("repeats", one.row.repeat_rule)


def _tell_recovery(page: Page, change: RecoveryChange) -> None:
    known = recovery_actions().get(change.after) if change.after is not None else None
    page.row("wanted", f"{change.after_text} (before: {change.before_text})")
    if known:
        page.row("act", f"{known.meaning}. {action('xid', known.action)}")


def _tell_sxid(page: Page, host: str, sxid: SXid) -> None:
    port = "" if sxid.link is None else f", port {sxid.link}"
    page.heading(f"SXid {sxid.code} of nvswitch{sxid.switch} at {sxid.pci}{port}{_on(host)}")
    if sxid.continues:
        page.row("says", "Registers of the event in the line before it; severity and port stand there.")
    else:
        page.row("severity", severity_on_line(sxid.severity, sxid_code(sxid.code)))
    page.row("says", sxid.text)
    tell_sxid(page, sxid.code)


def _tell_other(page: Page, line: SystemLine) -> None:
    reading = line.reading
    of = "the fabric manager" if isinstance(line, FabricManagerLine) else "the kernel"
    page.heading(f"{line.kind} of {of}'s log{_on(line.host)}")
    for name in reading.__dataclass_fields__:
        value = getattr(reading, name)
        page.row(name, "" if value is None else str(value))
    for signature in _signatures(reading):
        page.row("meaning", signature.meaning)
        page.row("severity", signature.severity)
        page.row("part", ", ".join(signature.component))
        page.rows("sources", (cite("counters", source) for source in signature.sources))


def _signatures(reading: object) -> Iterator[LogSignature]:
    """Rows of the table of log lines that a reading belongs to."""
    for fits, match in _KNOWN:
        if fits(reading):
            yield log_signatures()[match]


_KNOWN: tuple[tuple[Callable[[object], bool], str], ...] = (
    (lambda one: isinstance(one, NicPower), "mlx5: insufficient power on the PCIe slot (27W)"),
    (
        lambda one: isinstance(one, NicModule) and one.reason == "High Temperature",
        "mlx5: Port module event, High Temperature",
    ),
    (
        lambda one: isinstance(one, NicModule) and one.state == "Cable unplugged",
        "mlx5: Port module event, Cable unplugged",
    ),
    (
        lambda one: isinstance(one, NicCommand) and one.timed_out,
        "mlx5: timeout. Will cause a leak of a command resource",
    ),
    (
        lambda one: isinstance(one, NicCommand) and not one.timed_out and one.command == "ACCESS_REG",
        "mlx5: ACCESS_REG failed",
    ),
    (
        lambda one: isinstance(one, NicHealth) and "miss count" in one.text,
        "mlx5: device's health compromised - reached miss count",
    ),
    (
        lambda one: isinstance(one, NicHealth) and "unrecoverable" in one.text,
        "mlx5: unrecoverable hardware error",
    ),
    (lambda one: isinstance(one, TransmitTimeout), "NETDEV WATCHDOG transmit queue timed out"),
    (lambda one: isinstance(one, Carrier) and not one.gained, "lost carrier repeatedly"),
    (
        lambda one: isinstance(one, PcieError | PcieReported) and one.severity == "corrected",
        "pcieport: AER: Corrected error received",
    ),
    (
        lambda one: (
            isinstance(one, PcieContained) or (isinstance(one, PcieError | PcieReported) and one.severity == "fatal")
        ),
        "pcieport: AER: Uncorrected (Fatal) error received, or DPC: containment event",
    ),
    (
        lambda one: isinstance(one, PcieLimited) and one.width < one.capable_width,
        "available PCIe bandwidth, limited by ... x8 link",
    ),
)
