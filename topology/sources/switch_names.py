"""Ids of network switches: by their own name where it can be one, else by their GUID."""

from __future__ import annotations

import hashlib

from ...incident.ids import ComponentId

USABLE = "._-"
LONGEST = 48


def netswitch_id(name: str | None, guid: str | None = None) -> ComponentId:
    """`leaf-3` for `leaf-3`; `MF0-SB7700-MSB7700-U1` for `MF0;SB7700:MSB7700/U1`; `sw-<guid>` where nothing is left.

    Names that had to be changed get a piece of the GUID, so that no two switches become one.
    """
    told = (name or "").strip()
    plain = "".join(c if c.isascii() and (c.isalnum() or c in USABLE) else "-" for c in told)[:LONGEST].strip("-.")
    if not plain:
        return ComponentId(f"sw-{guid or 'unknown'}")
    if plain == told:
        return ComponentId(plain)
    mark = guid[-4:] if guid else hashlib.sha256(told.encode()).hexdigest()[:4]
    return ComponentId(f"{plain}-{mark}")
