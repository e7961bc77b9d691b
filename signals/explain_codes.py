"""An Xid or SXid explained from the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..incident.codes import (
    Disagreement,
    SXidCode,
    Table,
    XidCode,
    action_texts,
    cite,
    families,
    patterns,
    recovery_actions,
    severity_texts,
    sxid_code,
    xid_code,
)
from .page import Page
from .xid_facts import RECOVERY_ACTION

SXID_SEVERITIES: Mapping[str, str] = {
    "fatal": "fatal",
    "nonfatal": "non-fatal",
    "fatal_if_contained": "fatal where the port has containment enabled, otherwise only counted",
}


def tell_xid(page: Page, code: int) -> None:
    """All that is known of an Xid."""
    row = xid_code(code)
    if row is None:
        page.heading(f"Xid {code}: no table lists it")
        page.row("act", "Keep the line and the log around it, and open a support case.")
        return
    page.heading(f"Xid {code}: {row.name}")
    page.row("driver name", row.mnemonic)
    page.row("meaning", row.meaning)
    page.row("part", f"{row.component}{_also(row)}")
    page.row("severity", f"{row.severity}: {severity_texts()[row.severity]}")
    page.row("hardware", row.hw_fault_likely)
    page.row("seen on", ", ".join(row.applies_to))
    page.row("act", action("xid", row.action))
    if row.investigate != row.action:
        page.row("if it stays", action("xid", row.investigate))
    _tell_kin(page, code)
    tell_sources(page, "xid", row.disagreement, row.statements, row.sources)


def tell_sxid(page: Page, code: int) -> None:
    """All that is known of an SXid."""
    row = sxid_code(code)
    if row is None:
        _tell_family(page, code)
        return
    page.heading(f"SXid {code}: {row.name}")
    page.row("meaning", row.meaning)
    page.row("part", row.component)
    page.row("severity", f"{SXID_SEVERITIES[row.severity]}; the word on the line stands over the table")
    page.row("hardware", row.hw_fault_likely)
    page.row("act", action("sxid", row.action))
    page.row("note", row.note)
    tell_sources(page, "sxid", row.disagreement, row.statements, row.sources)


def action(kind: Table, word: str) -> str:
    """What to do in a sentence, with the word the tables use for it."""
    return f"{action_texts(kind).get(word, word)} ({word})"


def tell_sources(
    page: Page, kind: Table, disagreement: str, statements: Iterable[Disagreement], sources: Iterable[str]
) -> None:
    """Who says what, and where it is written."""
    page.row("they differ", disagreement)
    page.rows("who says", (f"{one.source}: {one.says}" for one in statements))
    page.rows("sources", (cite(kind, source) for source in sources))


def _also(row: XidCode) -> str:
    return f"; may also be {', '.join(row.also)}" if row.also else ""


def _tell_kin(page: Page, code: int) -> None:
    """What the number alone does not say: combinations, and what an Xid 154 may ask for."""
    page.rows("when", (f"{one.when}: {action('xid', one.then)}" for one in patterns() if code in one.xids))
    if code == RECOVERY_ACTION:
        known = recovery_actions().values()
        page.rows("actions", (f"{one.code} {one.text}: {one.meaning}. {action('xid', one.action)}" for one in known))


def _tell_family(page: Page, code: int) -> None:
    family = families().get(code // 1000)
    page.heading(f"SXid {code}: no table lists it")
    if family:
        page.row("family", f"{family.description} ({family.component})")
    page.row("act", "Collect the logs of this switch and look for a stronger event close by.")


def severity_on_line(said: str, row: SXidCode | None) -> str:
    """The severity a line states, or the table's where it states none."""
    return SXID_SEVERITIES.get(said or (row.severity if row else ""), "not known")
