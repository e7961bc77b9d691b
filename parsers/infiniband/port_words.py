"""What all these tools say of a port, in one form: its states, its rate, its GUID.

States are given in the words of ibstat: `Active`, `LinkUp`, ...; a word that none of them knows stays as printed.
Source: rdma-core ibstat.c and libibmad/dump.c; kernel drivers/infiniband/core/sysfs.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DOWN = "Down"
_STATES = {
    "nop": "NoChange",
    "nochange": "NoChange",
    "down": DOWN,
    "init": "Initializing",
    "initialize": "Initializing",
    "initializing": "Initializing",
    "armed": "Armed",
    "active": "Active",
    "activedefer": "ActiveDefer",
    "actdefer": "ActiveDefer",
}
_PHYS_STATES = {
    "nostatechange": "NoChange",
    "nochange": "NoChange",
    "sleep": "Sleep",
    "polling": "Polling",
    "disabled": "Disabled",
    "portconfigurationtraining": "PortConfigurationTraining",
    "linkup": "LinkUp",
    "linkerrorrecovery": "LinkErrorRecovery",
    "phytest": "PhyTest",
}
_NUMBERED = re.compile(r"\s{0,8}\d{1,2}\s{0,2}:\s{0,4}")
_NOISE = re.compile(r"[\s_-]{1,4}")
_RATE = re.compile(
    r"\s{0,8}(\d{1,6}(?:\.\d{1,5})?)\s{0,2}Gb/sec(?:\s{1,4}\((\d{1,2})X(?:\s{1,2}([A-Z0-9]{3,6}))?\))?\s{0,8}",
    re.IGNORECASE,
)
_GUID = re.compile(r"(?:0x)?([0-9a-f]{1,16})|([0-9a-f]{4}(?::[0-9a-f]{4}){3})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PortRate:
    """`400 Gb/sec (4X NDR)`."""

    gbps: float
    """Of all lanes together."""
    width: int | None = None
    """Lanes."""
    speed: str | None = None
    """`SDR` to `XDR`."""


def port_state(text: str) -> str | None:
    """`Active`, `4: ACTIVE`, `Initialize` -> `Active`, `Active`, `Initializing`; None for `???` and nothing."""
    return _word(text, _STATES)


def phys_state(text: str) -> str | None:
    """`LinkUp`, `5: LinkUp` -> `LinkUp`."""
    return _word(text, _PHYS_STATES)


def port_rate(text: str) -> PortRate | None:
    """The `rate` file of a port; None for anything else."""
    found = _RATE.fullmatch(text)
    if not found:
        return None
    return PortRate(float(found[1]), int(found[2]) if found[2] else None, found[3].upper() if found[3] else None)


def guid(text: str) -> str | None:
    """`0x2c903006e29b0`, `0002:c903:006e:29b0` -> `0002c903006e29b0`; None for all zeros and what is none."""
    found = _GUID.fullmatch(text.strip())
    if not found:
        return None
    digits = (found[1] or found[2].replace(":", "")).lower().rjust(16, "0")
    return digits if digits.strip("0") else None


def means_no_rate(state: str | None, physical: str | None) -> bool:
    """True of a port that is down: width and speed that are printed beside it mean nothing then (C14-24.2.1)."""
    return state == DOWN or physical in ("Polling", "Disabled", "Sleep")


def _word(text: str, known: dict[str, str]) -> str | None:
    begun = _NUMBERED.match(text)
    word = (text[begun.end() :] if begun else text).strip()[:60]
    if not any(character.isalpha() for character in word) or word.lower() == "unknown":
        return None
    return known.get(_NOISE.sub("", word).lower(), word)
