"""What the matrices of `nvidia-smi topo` have in common: a line of headings, and lines that begin with a device.

Columns are separated by tabs, or by spaces where somebody pasted it; long headings may have run together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WIDEST = 512
"""Columns read at most."""
CELL = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV(\d{1,3})")
PEER_CELL = re.compile(r"X|OK|CNS|GNS|TNS|NS|DR|U")

_GPU = re.compile(r"(?:GPU\d{1,3})+")
_DEVICE = re.compile(r"[A-Za-z][\w.-]{1,31}")
_FUSED = re.compile(r"(?:(?:GPU|NIC)\d{1,3}|mlx5_\d{1,3}(?=mlx5_|$)){2,}")
_ONE = re.compile(r"(?:GPU|NIC)\d{1,3}|mlx5_\d{1,3}")
_AFFINITIES = (("cpus", "CPU Affinity"), ("numa", "NUMA Affinity"), ("gpu_numa", "GPU NUMA ID"))
_FIRST_AFFINITY = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID")


@dataclass(frozen=True, slots=True)
class Heading:
    """The headings of a matrix."""

    words: tuple[tuple[str, ...], ...]
    """The devices that each word names: more than one where headings ran together."""
    affinities: tuple[str, ...] = ()
    """Which of `cpus`, `numa` and `gpu_numa` stand to the right of the devices."""

    @property
    def devices(self) -> tuple[str, ...]:
        """All of them, from left to right."""
        return tuple(device for word in self.words for device in word)


def heading_of(line: str) -> Heading | None:
    """The headings that a line holds; None where it is none."""
    at = _FIRST_AFFINITY.search(line)
    words = (line[: at.start()] if at else line).split()
    if not words or not _GPU.fullmatch(words[0]) or not all(_is_device(word) for word in words):
        return None
    tail = line[at.start() :] if at else ""
    return Heading(
        tuple(tuple(_ONE.findall(word)) if _FUSED.fullmatch(word) else (word,) for word in words[:WIDEST]),
        tuple(name for name, words_of in _AFFINITIES if words_of in tail),
    )


def _is_device(word: str) -> bool:
    if CELL.fullmatch(word) or PEER_CELL.fullmatch(word):
        return False
    return bool(_DEVICE.fullmatch(word) or _FUSED.fullmatch(word[: 8 * WIDEST]))
