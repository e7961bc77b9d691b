"""Glyphs and their ASCII twins: drawings use the first, terminals without them get the second."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

SPARKS = "▁▂▃▄▅▆▇█"
_TWINS = {
    "·": ".", "▲": "!", "×": "X", "●": "*", "■": "#", "□": "o", "◆": "*", "›": ">", "→": ">", "←": "<", "↔": "=",
    "↑": "^", "↓": "v", "…": "~", "°": " ", "━": "=", "╸": "-", "─": "-", "│": "|", "░": ".", "█": "#", "≤": "<",
    "≥": ">", "−": "-", "±": "~", "▁": "_", "▂": "_", "▃": "-", "▄": "-", "▅": "=", "▆": "=", "▇": "#",
    "╶": "-", "╴": "-", "╺": "=", "╷": "|", "╵": "|",
}  # fmt: skip


def _box_twins() -> dict[str, str]:
    """Every joint of box lines is a plus."""
    return {chr(code): "+" for code in range(0x2500, 0x2580) if chr(code) not in _TWINS}


_TABLE = str.maketrans(_box_twins() | _TWINS)


def to_ascii(text: str) -> str:
    """The text with each glyph replaced by its twin, cell for cell; what has no twin becomes `_`."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else "_" for char in text.translate(_TABLE))


@lru_cache(8192)
def visible(text: str) -> str:
    """Untrusted text with control, formatting and combining characters shown as escapes, so that it can't act."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char == " " or (char.isprintable() and not unicodedata.category(char).startswith(("M", "C", "Z"))):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def spark(values: list[float] | tuple[float, ...], width: int, high: float | None = None) -> str:
    """The last `width` values as block characters on a base of zero; one character is one sample, never averaged.

    A missing sample (NaN) is a blank.
    """
    tail = values[-width:]
    known = [value for value in tail if value == value]
    top = high if high is not None else max(known, default=0.0)
    return "".join(_spark(value, top) for value in tail).rjust(width)


def _spark(value: float, top: float) -> str:
    if value != value:
        return " "
    if top <= 0 or value <= 0:
        return SPARKS[0]
    return SPARKS[max(1, min(7, int(value / top * 7.999)))]
