"""Lists that say at which PCI address a GPU or NIC sits: paths of /sys, or a name beside an address.

`readlink -f /sys/class/infiniband/mlx5_*/device` prints paths that name all bridges and no device; `ls -l
/sys/class/infiniband` prints both; site scripts print `GPU#4 mlx5_6 0000:9c:00.0`, a GPU and the NIC of its rail.
Source: kernel drivers/pci/pci-sysfs.c for the paths; imbue-ai/cluster-health for the list of rails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class DevicePlace:
    """One device at its address."""

    address: str
    name: str = ""
    """Of the NIC at the address: `mlx5_6`; empty where the line names none, or a GPU sits there."""
    gpu: int | None = None
    """The GPU at the address, or, beside a NIC's name, the GPU that uses this NIC."""
    bridges: tuple[str, ...] = ()
    """Above it, from the root port down; empty where the line holds no path."""


_BDF = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_NIC = r"(?:mlx[45]_|bnxt_re|irdma|efa_|rdmap|ibp|roce|ibs)\w{1,24}"
_PATH = re.compile(
    rf"(?:(?P<before>{_NIC})[ :]{{1,4}}|[ld][rwx-]{{9}}.{{0,120}} (?:\S{{0,64}}/)?(?P<link>{_NIC}) -> )?"
    rf"(?:/sys|(?:\.\./){{1,8}})(?:/?devices)/pci[0-9a-f]{{4,8}}:[0-9a-f]{{2}}"
    rf"(?P<hops>(?:/{_BDF}){{1,16}})(?:/infiniband/(?P<after>{_NIC}))?"
)
_PAIR = re.compile(
    rf"(?:GPU ?#?(?P<gpu>\d{{1,3}})[ :,]{{1,4}})?(?P<name>{_NIC})[ :,>=-]{{1,8}}(?P<nic>{_BDF})"
    rf"|GPU ?#?(?P<alone>\d{{1,3}})[ :,>=-]{{1,8}}(?P<at>{_BDF})"
)


def parse_device_places(text: str) -> Parsed[DevicePlace]:
    """Read the list, a device a line."""
    parsed = Parsed[DevicePlace]()
    for number, line in numbered(without_escapes(text)):
        if place := _place(line):
            parsed.add(place)
        elif line.strip() and not prompt_of(line) and not line.startswith("total "):
            parsed.cannot_read(number, line)
    return parsed


def _place(line: str) -> DevicePlace | None:
    text = line[:2048].strip()
    if path := _PATH.fullmatch(text):
        *bridges, device = [bus_address(hop) or "" for hop in path["hops"].lstrip("/").split("/")]
        return DevicePlace(device, path["before"] or path["link"] or path["after"] or "", bridges=tuple(bridges))
    if pair := _PAIR.fullmatch(text):
        gpu = pair["gpu"] or pair["alone"]
        address = bus_address(pair["nic"] or pair["at"])
        return DevicePlace(address, pair["name"] or "", int(gpu) if gpu else None) if address else None
    return None


def _recognizes(head: str) -> bool:
    """True of a text that holds little else than such lines."""
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip()]
    places = sum(_place(line) is not None for line in lines)
    return places > 0 and 2 * places >= len(lines)


TOOL = Tool("PCI addresses of devices", _recognizes, parse_device_places, file_names=("*hca*map*", "*gpu*map*"))
