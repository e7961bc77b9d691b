"""Numbers, times and parts in the words the screens use."""

from __future__ import annotations

import time
from functools import lru_cache

from ...incident.ids import ComponentId
from ...signals.wording import is_dayless

SINCE_BOOT = 1e9
"""Seconds since the epoch (2001) before which a time is no date."""


def clock(moment: float) -> str:
    """Time of day on the operator's clock; `6781741s` of a stamp that counts from a boot; blank of none."""
    if not moment:
        return "        "
    if is_dayless(moment):
        return time.strftime("%H:%M:%S", time.gmtime(moment))
    if 0 < moment < SINCE_BOOT:
        return f"{moment:.0f}s"
    return time.strftime("%H:%M:%S", time.localtime(moment))


def age(seconds: float) -> str:
    """How long ago, in one unit."""
    seconds = max(0.0, seconds)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def whole(value: float) -> str:
    """A count with its thousands apart; `?` where it is missing."""
    return "?" if value != value else f"{value:,.0f}".replace(",", " ")


def short(value: float) -> str:
    """A positive number in at most four characters: 0.3, 12, 999, 1.2k, 34M."""
    if value != value:
        return "?"
    if value >= 100_000:
        return (
            f"{value / 1e6:.1f}M" if value < 9.95e6 else f"{value / 1e6:.0f}M" if value < 1e9 else f"{value / 1e9:.0f}G"
        )
    if value >= 1000:
        return f"{value / 1000:.1f}k" if value < 9950 else f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 or value == int(value) else f"{value:.1f}" if value >= 0.05 else "0.1"


def rate(value: float) -> str:
    """A rate as it stands on a drawing: `+12/s`; empty where nothing moves."""
    return "" if not value > 0 else f"+{short(value)}/s"


def rate_or_missing(value: float) -> str:
    """A rate in a table: `+12/s`, `+0/s` where nothing moves, `?` where it is missing."""
    return "?" if value != value else rate(value) or "+0/s"


def per_cent(share: float) -> str:
    """A share; belief close to certain keeps the digit that matters."""
    percent = share * 100
    if 99 <= percent < 99.95:
        return f"{percent:.1f} %"
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1f} %" if percent >= 0.05 else "<0.1 %"


def seconds(value: float) -> str:
    """A duration that somebody waits for."""
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s" if value < 100 else f"{value / 60:.0f} min"


def label(component: ComponentId) -> str:
    """A part as drawn within its node: `GPU3`, `GPU3 lane 7`, `NVSW2`, `mlx5_4 PCIe`; the node is said elsewhere."""
    pieces = component.within.split("/")
    match pieces:
        case [gpu] if gpu.startswith("gpu") and gpu[3:].isdigit():
            return gpu.upper()
        case [gpu, lane] if lane.startswith("nvlink"):
            return f"{gpu.upper()} lane {lane[6:]}"
        case [_, "pcie"]:
            return f"{label(component.parent)} PCIe"
        case [gpu, "hbm"]:
            return f"{gpu.upper()} memory"
        case [switch] if switch.startswith("nvswitch"):
            return f"NVSW{switch[8:]}"
        case [switch, port] if switch.startswith("nvswitch"):
            return f"NVSW{switch[8:]} port {port.removeprefix('port')}"
        case ["pcie", address]:
            return f"PCIe {address.removeprefix('0000:')}"
        case ["service", name]:
            return name
        case [socket] if socket.startswith("numa"):
            return f"NUMA {socket[4:]}"
        case _:
            return component.within


def place(component: ComponentId) -> str:
    """A part with its node before it: `sim3 GPU3 lane 7`; a cable by its two ends."""
    if component.kind in ("cable", "uplink"):
        return component.within
    return str(component) if "/" not in component else f"{component.node} {label(component)}"


_SPOKEN = ("gpu", "hbm", "nvlink", "pcie", "bridge", "nvswitch", "port", "numa", "nic", "host")
_AROUND = "()[]'\",;:.!?"


@lru_cache(4096)
def spoken(sentence: str) -> str:
    """A sentence of ours with its component ids named as on the drawings: `sim3/gpu5/nvlink7` as `sim3 GPU5 lane 7`."""
    return " ".join(_spoken_word(word) for word in sentence.split(" "))


def _spoken_word(word: str) -> str:
    id_ = word.strip(_AROUND)
    before, _, after = word.partition(id_) if id_ else (word, "", "")
    return f"{before}{_name_of(id_)}{after}"


def _name_of(word: str) -> str:
    """What a word names, if it is an id, with its node before it or without; else the word."""
    first = word.partition("/")[0]
    bare = ComponentId(f"node/{word}")
    if first[-1:].isdigit() and ComponentId(f"node/{first}").kind in ("gpu", "nvswitch", "numa", "nic"):
        return label(bare) if bare.kind in _SPOKEN else word
    id_ = ComponentId(word)
    names_a_part = id_.kind in ("nic", "host") or (id_.kind in _SPOKEN and label(id_) != id_.within)
    return place(id_) if "/" in word and first and names_a_part else word


def plural(count: int, noun: str) -> str:
    """`1 node`, `3 nodes`, `2 classes`, `1 768 parts`."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "x", "ch")) else "s"
    return f"{whole(count)} {noun}{ending}"
