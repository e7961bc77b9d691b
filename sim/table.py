"""Strict reading of a TOML table: every complaint names file, table, key, what was expected and what was found."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..incident.errors import InputError

_REQUIRED: Any = object()


class Table:
    """One table of a scenario file. Keys are taken out one by one; `done` refuses what is left."""

    def __init__(self, file: str, name: str, values: Mapping[str, Any]) -> None:
        self.file = file
        self.name = name
        self._values = dict(values)
        self._known: list[str] = []

    def has(self, key: str) -> bool:
        """Whether the file says anything about `key`."""
        return key in self._values

    def knows(self, key: str) -> None:
        """A key that may stand here, for the complaint about one that may not."""
        self._known.append(key)

    def text(self, key: str, default: str = _REQUIRED, among: Sequence[str] = ()) -> str:
        """A string, one of `among` where that is given."""
        value = self._take(key, default, "a string" if not among else f"one of {', '.join(among)}")
        if not isinstance(value, str) or (among and value not in among and value is not default):
            self.refuse(key, f"one of {', '.join(among)}" if among else "a string", value)
        return value

    def number(self, key: str, default: float = _REQUIRED, expected: str = "a number") -> float:
        """A number; the caller checks its range."""
        value = self._take(key, default, expected)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(key, expected, value)
        return float(value)

    def between(self, key: str, low: float, high: float, default: float = _REQUIRED) -> float:
        """A number in [low, high]."""
        expected = f"a number from {low:g} to {high:g}"
        value = self.number(key, default, expected)
        if not low <= value <= high:
            self.refuse(key, expected, value)
        return value

    def integer(self, key: str, low: int, high: int, default: int = _REQUIRED) -> int:
        """A whole number in [low, high]."""
        expected = f"a whole number from {low} to {high}"
        value = self._take(key, default, expected)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.refuse(key, expected, value)
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._take(key, default, "true or false")
        if not isinstance(value, bool):
            self.refuse(key, "true or false", value)
        return value

    def raw(self, key: str, default: Any = _REQUIRED, expected: str = "a value") -> Any:
        """The value as it stands; the caller checks it."""
        return self._take(key, default, expected)

    def subtable(self, key: str) -> Table:
        """The table `key`; an empty one where the file has none."""
        value = self._take(key, {}, f"a table [{key}]")
        if not isinstance(value, dict):
            self.refuse(key, f"a table [{key}]", value)
        return Table(self.file, f"{self.name} {key}" if self.name else f"[{key}]", value)

    def subtables(self, key: str, name: str = "") -> tuple[Table, ...]:
        """The tables `[[key]]`, in order, named by their place: `[[fault]] 2`."""
        value = self._take(key, [], f"tables [[{key}]]")
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            self.refuse(key, f"tables [[{key}]]", value)
        title = name or f"[[{key}]]"
        return tuple(Table(self.file, f"{title} {number}", row) for number, row in enumerate(value, 1))

    def done(self) -> None:
        """Refuse a key that nobody asked for."""
        for key in self._values:
            close = difflib.get_close_matches(key, self._known, 1)
            hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(sorted(self._known))}"
            raise InputError(f"{self.place}: unknown key {key}{hint}")

    def refuse(self, key: str, expected: str, found: object) -> NoReturn:
        """Raise the complaint about one key."""
        raise InputError(f"{self.place}: {key}: expected {expected}, found {found!r}")

    @property
    def place(self) -> str:
        """File and table, as complaints begin."""
        return f"{self.file}: {self.name}" if self.name else self.file

    def _take(self, key: str, default: Any, expected: str) -> Any:
        self._known.append(key)
        if key in self._values:
            return self._values.pop(key)
        if default is _REQUIRED:
            raise InputError(f"{self.place}: {key} is missing; expected {expected}")
        return default
