"""What the shell collector of a node without Python says, to the same events: polled values, one vector a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ..incident.events import Event
from .decode import Decoder

MOST_VALUES = 20_000


class ShellDecoder:
    """Gathers tab-separated readings into frames and gives them to the decoder of the Python collector's frames."""

    def __init__(self, inner: Decoder) -> None:
        self._inner = inner
        self._round: dict[str, dict[tuple[str, str], str]] = {}
        self._fields: dict[str, tuple[tuple[str, str], ...]] = {}
        self._schemas: dict[str, str] = {}
        self._declared = 0
        self.wants_key = False
        """Never: every round is whole."""

    @property
    def greeting(self) -> Mapping[str, Any] | None:
        """The first frame."""
        return self._inner.greeting

    @property
    def samples(self) -> int:
        """Vectors so far."""
        return self._inner.samples

    @property
    def junk(self) -> int:
        """Lines not understood."""
        return self._inner.junk

    @property
    def last_junk(self) -> str:
        """The last of them."""
        return self._inner.last_junk

    @property
    def goodbye(self) -> str | None:
        """The shell says none."""
        return self._inner.goodbye

    def ask_clock(self, token: str) -> None:
        """The shell answers no clock."""

    def forget(self) -> list[Event]:
        """The collector ended."""
        return self._inner.forget()

    def feed(self, line: bytes) -> list[Event]:
        """The events of one line: those of a whole round at its tick."""
        if not line.startswith(b"P\t"):
            return self._inner.feed(line)
        match line.decode("utf-8", "replace").split("\t"):
            case ["P", "tick"]:
                return self._end_round()
            case ["P", "fact", key, value]:
                return self._inner.feed(orjson.dumps(["F", "node", [["", key, value]]]))
            case ["P", domain, part, name, value] if sum(map(len, self._round.values())) < MOST_VALUES:
                self._round.setdefault(domain, {})[part, name] = value
                return []
            case _:
                return self._inner.feed(line)

    def _end_round(self) -> list[Event]:
        """The vectors of the round; the `ib` one even when it is empty, as a sign of life."""
        events: list[Event] = []
        gathered, self._round = {"ib": {}, **self._round}, {}
        for domain, values in gathered.items():
            if self._fields.get(domain) != tuple(values):
                self._fields[domain] = tuple(values)
                self._declared += 1
                self._schemas[domain] = f"{domain}-sh-{self._declared}"
                groups = [[part, [name]] for part, name in values]
                events += self._inner.feed(orjson.dumps(["S", domain, self._schemas[domain], groups, {}]))
            frame = ["T", domain, self._schemas[domain], 0.0, "K", list(values.values())]
            events += self._inner.feed(orjson.dumps(frame))
        return events
