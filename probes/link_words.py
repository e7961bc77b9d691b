"""What the PCIe links above a GPU did while it copied, in words: an idle link tells nothing, a loaded one does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .answers import count, mappings

STATE = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s(?: PCIe)? x([0-9]{1,2})")
BUS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
MOST_STATES, MOST_LINKS = 6, 8


def links_in_words(foot: Mapping[str, Any]) -> str:
    """`its PCIe link ran at 32.0 GT/s x16`, and every link above it that is another or changed; empty where unread."""
    link = foot.get("link")
    own = _states(link)
    above = foot.get("above")
    others = mappings(above if isinstance(above, list | tuple) else ())[:MOST_LINKS]
    said = [_sentence("its PCIe link", own, _transitions(link))] if own else []
    for other in others:
        states, bus = _states(other), str(other.get("bus"))
        if states and BUS.fullmatch(bus) and states != own:
            said.append(_sentence(f"the link at {bus}", states, _transitions(other)))
    return "; ".join(said)


def _sentence(name: str, states: list[str], transitions: int) -> str:
    if transitions == 0 and len(states) == 1:
        return f"{name} ran at {states[0]} while loaded"
    times = "once" if transitions == 1 else f"{transitions} times"
    more = ", ..." if len(states) > MOST_STATES else ""
    return f"{name} changed {times} while loaded: {', '.join(states[:MOST_STATES])}{more}"


def _states(link: object) -> list[str]:
    """`32.0 GT/s x16` in the order of time; empty where any of it can't be read."""
    during = link.get("during") if isinstance(link, Mapping) else None
    if not isinstance(during, list | tuple):
        return []
    found = [STATE.fullmatch(state) if isinstance(state, str) else None for state in during]
    return [f"{state[1]} GT/s x{state[2]}" for state in found if state is not None] if all(found) else []


def _transitions(link: object) -> int:
    said = count(link.get("transitions")) if isinstance(link, Mapping) else None
    return 0 if said is None else said
