"""`lspci -t`: the buses as a tree."""

from __future__ import annotations

from collections.abc import Iterator

from .pci_devices import BRIDGE, PciDevice, buses_below


def tree_lines(devices: list[PciDevice]) -> list[str]:
    """The tree of all devices, line by line."""
    roots = sorted({_root(device) for device in devices})
    lines: list[str] = []
    for at, bus in enumerate(roots):
        start = "-" if at == 0 else " "
        knot = "+" if at < len(roots) - 1 else "\\"
        top = [device for device in devices if not device.above and _root(device) == bus]
        lines += _bus(devices, top, f"{start}{knot}-[0000:{bus:02x}]-")
    return lines


def _root(device: PciDevice) -> int:
    return int((device.above[0] if device.above else device.address)[5:7], 16)


def _bus(devices: list[PciDevice], on_it: list[PciDevice], line: str) -> Iterator[str]:
    """Lines of one bus; `line` is what stands to its left."""
    for at, device in enumerate(on_it):
        last = at == len(on_it) - 1
        knot = "--" if len(on_it) == 1 else "\\-" if last else "+-"
        yield from _device(devices, device, line + knot)
        line = "".join("|" if sign in "+|" else " " for sign in line)


def _device(devices: list[PciDevice], device: PciDevice, line: str) -> Iterator[str]:
    line += device.address[8:]
    if device.kind != BRIDGE:
        yield line
        return
    first, last = buses_below(devices, device.address)
    line += f"-[{first:02x}]-" if first == last else f"-[{first:02x}-{last:02x}]-"
    yield from _bus(devices, [other for other in devices if other.above[-1:] == (device.address,)], line + "-")
