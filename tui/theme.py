"""Palettes by role, measured for four kinds of sight (tests/tui/test_palette.py), and the ink made of them.

A drawing names roles, never colours. Severity is said by glyph, word and colour together; belief by amber alone, so
that nobody reads a guess as a finding.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache

from rich.style import Style

from ..incident.findings import Health, Severity


class Role(StrEnum):
    """What a piece of text is, for the palette to colour."""

    TEXT = "text"
    DIM = "dim"
    FAINT = "faint"
    """Rules and bars only, never text (2.3:1)."""
    TITLE = "title"
    OK = "ok"
    UNKNOWN = "unknown"
    WARN = "warn"
    FAIL = "fail"
    SELECT = "select"
    KEY = "key"
    LIVE = "live"


class Mark(IntEnum):
    """Severity as drawn, ordered so that the worst of the parts is the mark of the whole."""

    ABSENT = 0
    """Not applicable or not tested: this board has no such thing, or nobody asked."""
    OK = 1
    UNKNOWN = 2
    WARN = 3
    FAIL = 4

    @property
    def role(self) -> Role:
        """Its colour."""
        return _ROLES[self]

    @property
    def glyph(self) -> str:
        """Its sign, which alone must tell it from the others."""
        return "-·?▲×"[self]

    @property
    def is_loud(self) -> bool:
        """Whether it deserves a fill; unknown does not: absence of news must not outshout bad news."""
        return self >= Mark.WARN


_ROLES = {
    Mark.ABSENT: Role.DIM,
    Mark.OK: Role.OK,
    Mark.UNKNOWN: Role.UNKNOWN,
    Mark.WARN: Role.WARN,
    Mark.FAIL: Role.FAIL,
}
_OF_HEALTH = {
    Health.OK: Mark.OK,
    Health.DEGRADED: Mark.WARN,
    Health.FAILED: Mark.FAIL,
    Health.UNKNOWN: Mark.UNKNOWN,
    Health.NOT_APPLICABLE: Mark.ABSENT,
    Health.NOT_TESTED: Mark.ABSENT,
}
_OF_SEVERITY = {Severity.INFO: Mark.OK, Severity.WARNING: Mark.WARN, Severity.CRITICAL: Mark.FAIL}


def mark_of(state: Health | Severity) -> Mark:
    """How a health or a severity is drawn."""
    return _OF_HEALTH[state] if isinstance(state, Health) else _OF_SEVERITY[state]


@dataclass(frozen=True)
class Palette:
    """Colours by role."""

    name: str
    ground: str
    bar: str
    """Behind the header and footer lines."""
    panel: str
    """Behind dialogs."""
    roles: dict[Role, str]
    heat: tuple[str, ...]
    """Belief from nothing to certain: eight steps, monotone in lightness."""
    is_dark: bool = True


DARK = Palette(
    "dark",
    ground="#14181d",
    bar="#1f2933",
    panel="#1a2027",
    roles={
        Role.TEXT: "#d8dee9",
        Role.DIM: "#8a95a1",
        Role.FAINT: "#4a5560",
        Role.TITLE: "#ffffff",
        Role.OK: "#8494a0",
        Role.UNKNOWN: "#f2f2f2",
        Role.WARN: "#ffc20a",
        Role.FAIL: "#ff5a36",
        Role.SELECT: "#3aa0ff",
        Role.KEY: "#ffa62b",
        Role.LIVE: "#56b4e9",
    },
    heat=("#14181d", "#232628", "#37332a", "#524528", "#755e22", "#9d7c1a", "#c99b12", "#ffc20a"),
)
LIGHT = Palette(
    "light",
    ground="#f7f7f4",
    bar="#e3e6e8",
    panel="#eeefec",
    roles={
        Role.TEXT: "#20262c",
        Role.DIM: "#5b646c",
        Role.FAINT: "#aab2b8",
        Role.TITLE: "#000000",
        Role.OK: "#696e7c",
        Role.UNKNOWN: "#000000",
        Role.WARN: "#a16200",
        Role.FAIL: "#9f1630",
        Role.SELECT: "#355eff",
        Role.KEY: "#8a4b00",
        Role.LIVE: "#0b5cad",
    },
    heat=("#f7f7f4", "#f3ecdc", "#eddfc0", "#e4cc98", "#d8b46b", "#c8963c", "#b57a18", "#a16200"),
    is_dark=False,
)
MONO = Palette(
    "mono",
    ground="#121212",
    bar="#2a2a2a",
    panel="#1c1c1c",
    roles={
        Role.TEXT: "#d0d0d0",
        Role.DIM: "#909090",
        Role.FAINT: "#505050",
        Role.TITLE: "#ffffff",
        Role.OK: "#808080",
        Role.UNKNOWN: "#a8a8a8",
        Role.WARN: "#d4d4d4",
        Role.FAIL: "#ffffff",
        Role.SELECT: "#bcbcbc",
        Role.KEY: "#e0e0e0",
        Role.LIVE: "#c0c0c0",
    },
    heat=("#121212", "#242424", "#363636", "#505050", "#707070", "#949494", "#bcbcbc", "#f0f0f0"),
)
"""For NO_COLOR: severity rises with lightness, because greyed hues would rank `failed` below `unknown`."""

PALETTES = {palette.name: palette for palette in (DARK, LIGHT, MONO)}

HEAT_STEPS = (0.001, 0.005, 0.02, 0.08, 0.25, 0.5, 0.8)
"""Where belief takes the next colour: on a linear scale only the top cell would show."""


class Ink:
    """What a drawing is given to draw with: styles by role, and whether glyphs have to be ASCII."""

    def __init__(self, palette: Palette = DARK, ascii_only: bool = False) -> None:
        self.palette = palette
        self.ascii_only = ascii_only
        self._styles: dict[tuple[Role, bool, bool, bool], Style] = {}
        self._heat: dict[int, Style] = {}

    def __call__(self, role: Role = Role.TEXT, bold: bool = False, fill: bool = False, bar: bool = False) -> Style:
        """The role's colour on the ground (or the bar); `fill` puts the ground's colour on the role's."""
        key = (role, bold, fill, bar)
        if key not in self._styles:
            colour, ground = self.palette.roles[role], self.palette.bar if bar else self.palette.ground
            self._styles[key] = (
                Style(color=ground, bgcolor=colour, bold=bold)
                if fill
                else Style(color=colour, bgcolor=ground, bold=bold)
            )
        return self._styles[key]

    def mark(self, mark: Mark, fill: bool = False) -> Style:
        """A severity's style: bold, and filled where asked, as soon as it is trouble."""
        return self(mark.role, bold=mark >= Mark.UNKNOWN, fill=fill and mark.is_loud)

    def heat(self, share: float) -> Style:
        """The ground for a belief of 0..1, with ink that can be read on it."""
        level = bisect_right(HEAT_STEPS, share)
        if level not in self._heat:
            ground = self.palette.heat[level]
            self._heat[level] = Style(color=readable_on(ground), bgcolor=ground, bold=level >= 4)
        return self._heat[level]


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2)."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@cache
def readable_on(ground: str) -> str:
    """Black or white, whichever reads better on it."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, ground))
