"""What an Xid, an SXid, a counter or a line of a log means, what to do, and who says otherwise.

`explain("xid 79")`, `explain("sxid 20009")`, `explain("symbol_error")`, `explain("[171167.6] NVRM: Xid (PCI:...")`.
"""

from __future__ import annotations

from ..incident import nvlink5, xid74
from ..incident.errors import InputError
from ..parsers.logs.fabric_manager import parse_fabric_manager_log
from ..parsers.logs.system_log import SystemLine, parse_system_log
from .explain_codes import tell_sxid, tell_xid
from .explain_counter import find_counter, tell_counter
from .explain_line import tell_line
from .page import Page
from .wording import quoted, several

MOST_LINES = 20
"""Lines of a paste that are explained."""
FIRST_SXID = 10_000
"""Numbers from here on are SXids, where only a number is given."""


def explain(text: str) -> str:
    """A readable explanation of `xid 79`, `sxid 20009`, a counter's name, or lines of a log.

    Raises InputError with what can be explained where it is none of these.
    """
    page = Page()
    asked = _code(text)
    if asked:
        _tell_code(page, *asked)
        return page.text()
    if counter := find_counter(text.strip()):
        tell_counter(page, counter)
        return page.text()
    if lines := _lines(text):
        for line in lines[:MOST_LINES]:
            tell_line(page, line)
        if len(lines) > MOST_LINES:
            page.heading(f"{several(len(lines) - MOST_LINES, 'more line')} not explained")
        return page.text()
    raise InputError(
        f"can't explain {quoted(text, 60)!r}: give an Xid (`xid 79`), an SXid (`sxid 20009`), a counter's name "
        "(`symbol_error`), or a line of the kernel's or the fabric manager's log"
    )


def _code(text: str) -> tuple[str, int] | None:
    """`Xid 79`, `SXID:20009`, `xid79`, `79` -> kind and number."""
    word = "".join(letter for letter in text.strip().lower() if letter not in " :#=")
    kind = next((kind for kind in ("sxid", "xid") if word.startswith(kind)), "")
    digits = word.removeprefix(kind)
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 6:
        return None
    return kind or ("sxid" if int(digits) >= FIRST_SXID else "xid"), int(digits)


def _tell_code(page: Page, kind: str, code: int) -> None:
    if kind == "sxid":
        tell_sxid(page, code)
        return
    tell_xid(page, code)
    if code == xid74.CODE or code in nvlink5.CODES:
        page.row("registers", "The whole line says more: give it with its register words.")


def _lines(text: str) -> list[SystemLine]:
    return list(parse_system_log(text).readings) or list(parse_fabric_manager_log(text).readings)
