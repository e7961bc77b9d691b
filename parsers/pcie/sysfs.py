"""Files of /sys: one short text each, read to a float; NaN where the file says nothing that can be used.

Source: kernel `drivers/infiniband/core/sysfs.c`, `drivers/pci/pci-sysfs.c`, `drivers/pci/pcie/aer.c`.
"""

from __future__ import annotations

import re

NAN = float("nan")

_LEADING_NUMBER = re.compile(r"\s*(-?\d{1,25}(?:\.\d{1,9})?)(?![\w.])")
_STATE = re.compile(r"\s*(\d{1,2})\s*:\s*[A-Za-z]")
_RATE = re.compile(r"\s*(\d{1,6}(?:\.\d{1,3})?)\s*Gb/sec\b", re.IGNORECASE)
_SPEED = re.compile(r"\s*(\d{1,3}(?:\.\d)?)\s*GT/s\b")
_AER_TOTAL = re.compile(r"^TOTAL_ERR_(?:COR|NONFATAL|FATAL)\s+(\d{1,20})\s*$", re.MULTILINE)
_AER_ROW = re.compile(r"^\w+\s+(\d{1,20})\s*$", re.MULTILINE)

_WIDTHS = frozenset({0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 32.0})


def number(text: str) -> float:
    """A plain number (`17`); NaN for anything else, `N/A` and an empty file included."""
    found = _LEADING_NUMBER.match(text)
    return float(found[1]) if found and not text[found.end() :].strip() else NAN


def port_state(text: str) -> float:
    """`4: ACTIVE` -> 4 (1 down, 2 init, 3 armed, 4 active, 5 active but deferred)."""
    return _state(text, 5)


def phys_state(text: str) -> float:
    """`5: LinkUp` -> 5 (1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 error recovery)."""
    return _state(text, 7)


def rate_gbps(text: str) -> float:
    """`400 Gb/sec (4X NDR)` -> 400."""
    found = _RATE.match(text)
    return float(found[1]) if found else NAN


def speed_gts(text: str) -> float:
    """`32.0 GT/s PCIe` -> 32; `Unknown` (a device that no longer answers) -> NaN."""
    found = _SPEED.match(text)
    return float(found[1]) if found else NAN


def link_width(text: str) -> float:
    """`16` -> 16 lanes; a value no link can have (63 and 255 are read from a device that is gone) -> NaN."""
    width = number(text)
    return width if width in _WIDTHS else NAN


def aer_total(text: str) -> float:
    """The total of an `aer_dev_*` file: its TOTAL_ line, or the sum of its rows on kernels that print none."""
    if total := _AER_TOTAL.search(text):
        return float(total[1])
    rows = _AER_ROW.findall(text)
    return float(sum(int(row) for row in rows)) if rows else number(text)


def _state(text: str, highest: int) -> float:
    found = _STATE.match(text)
    state = float(found[1]) if found else number(text)
    return state if 0 <= state <= highest else NAN
