"""`lspci`: the list, -nn, -D, -s, -d, -v to -vvv, and -t."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..machine import Machine
from .lspci_tree import tree_lines
from .pci_devices import BRIDGE, PciDevice, buses_below, pci_devices

UNCORRECTABLE = "DLP- SDES- TLP- FCP- CmpltTO{} CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-"


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print the devices."""
    letters = {letter for word in arguments if word.startswith("-") for letter in word[1:]}
    devices = pci_devices(machine)
    if "t" in letters:
        for line in tree_lines(devices):
            print(line)
        return 0
    verbose = any(word.startswith("-") and "v" in word for word in arguments)
    slot, ids = _value(arguments, "-s"), _value(arguments, "-d")
    for device in devices:
        if not _wanted(device, slot, ids):
            continue
        print(_title(machine, device, "n" in letters, "D" in letters))
        if verbose:
            for line in _details(machine, devices, device):
                print(f"\t{line}")
            print()
    return 0


def _value(arguments: list[str], option: str) -> str:
    for at, word in enumerate(arguments):
        if word.startswith(option):
            return word[len(option) :] or "".join(arguments[at + 1 : at + 2])
    return ""


def _wanted(device: PciDevice, slot: str, ids: str) -> bool:
    vendor, _, model = ids.lower().partition(":")
    fits = (not vendor or device.ids.startswith(vendor)) and device.ids.endswith(model.partition(":")[0])
    return fits and (not slot or slot.lower() in (device.address, device.short))


def _gone(machine: Machine, device: PciDevice) -> bool:
    return bool(device.part) and machine.reading(device.part, "nvml_error") > 0


def _title(machine: Machine, device: PciDevice, numbers: bool, domain: bool) -> str:
    words, code = device.kind
    where = device.address if domain else device.short
    kind = f"{words} [{code}]" if numbers else words
    model = device.model
    if model.endswith(" Device") and not numbers:
        model += f" {device.ids.partition(':')[2]}"
    if numbers:
        model += f" [{device.ids}]"
    revision = "ff" if _gone(machine, device) else device.revision
    return f"{where} {kind}: {model}" + (f" (rev {revision})" if revision else "")


def _details(machine: Machine, devices: list[PciDevice], device: PciDevice) -> Iterator[str]:
    if _gone(machine, device):
        yield "!!! Unknown header type 7f"
        return
    if device.kind != BRIDGE:
        yield f"Subsystem: {' '.join(device.model.split()[:2])} Device {device.ids[-4:]}"
    yield "Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+"
    yield f"NUMA node: {device.numa}"
    if device.kind == BRIDGE:
        first, last = buses_below(devices, device.address)
        yield f"Bus: primary={device.bus:02x}, secondary={first:02x}, subordinate={last:02x}, sec-latency=0"
    if device.link:
        yield from _express(machine, device)
        yield from _errors(machine, device)
    yield f"Kernel driver in use: {device.driver}"


def _express(machine: Machine, device: PciDevice) -> Iterator[str]:
    facts = machine.facts[device.link]
    speed, width = machine.reading(device.link, "speed_gts"), machine.reading(device.link, "current_width")
    best, widest = float(facts["max_speed_gts"]), int(facts["max_width"])
    if math.isnan(speed) or math.isnan(width):
        return
    yield f"Capabilities: [60] Express (v2) {device.port}, MSI 00"
    yield f"\tLnkCap:\tPort #0, Speed {best:g}GT/s, Width x{widest}, ASPM not supported"
    yield (
        f"\tLnkSta:\tSpeed {speed:g}GT/s ({'ok' if speed >= best else 'downgraded'}), "
        f"Width x{width:.0f} ({'ok' if width >= widest else 'downgraded'})"
    )
    yield "\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-"


def _errors(machine: Machine, device: PciDevice) -> Iterator[str]:
    correctable, nonfatal = (machine.reading(device.link, name) for name in ("aer_correctable", "aer_nonfatal"))
    yield "Capabilities: [100 v1] Advanced Error Reporting"
    yield "\tUESta:\t" + UNCORRECTABLE.format("+" if nonfatal > 0 else "-")
    yield f"\tCESta:\tRxErr- BadTLP{'+' if correctable > 0 else '-'} BadDLLP- Rollover- Timeout- AdvNonFatalErr-"
