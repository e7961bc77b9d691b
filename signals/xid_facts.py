"""What the Xid and SXid tables say about a number, in the words of findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ..incident.codes import SXidCode, Table, XidCode, action_texts, sxid_code, xid_code
from ..incident.findings import Confidence, Severity


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """One number of a table."""

    code: int
    name: str
    component: str
    """`application`, `gpu-memory`, `nvlink`, ... as the tables name them."""
    severity: str
    action: str
    action_text: str
    meaning: str
    hardware: str
    """`no`, `unlikely`, `possible`, `likely`: whether hardware is at fault."""

    @property
    def in_a_sentence(self) -> str:
        """The first sentence of its meaning, or its name where the table has no meaning."""
        return self.meaning.partition(". ")[0].rstrip(".") or self.name

    @property
    def confidence(self) -> Confidence:
        """A log line steers and does not convict: likely at most, and only where hardware is all it can be."""
        return Confidence.LIKELY if self.hardware == "likely" else Confidence.POSSIBLE


FOLLOWERS = frozenset({45, 137, 145, 154})
"""Xids that other GPUs log because one failed: cleanup, peer faults, lost packets, the driver's summary."""
LOCAL_FOLLOWERS = FOLLOWERS | {43, 74, 119, 120}
"""The same within a node, where the switches see a lost GPU's links go and the driver still calls it."""
OFF_BUS = 79
RECOVERY_ACTION = 154

_CLASSES: Mapping[int, str] = {
    48: "gpu-memory/uncontained",
    63: "gpu-memory/row-remap-pending",
    64: "gpu-memory/row-remap-failure",
    80: "pcie-link/signal-integrity",
    92: "gpu-memory/hbm-degrading",
    94: "gpu-memory/contained",
    95: "gpu-memory/uncontained",
    119: "gpu-firmware/gsp-timeout",
    120: "gpu-firmware/gsp-timeout",
    172: "gpu-memory/sram",
}
_FAMILIES: Mapping[str, str] = {
    "application": "software",
    "gpu-memory": "gpu-memory",
    "gpu-core": "unknown",
    "nvlink": "nvlink-link",
    "nvswitch": "nvlink-fabric",
    "pcie-link": "pcie-link",
    "gsp-firmware": "gpu-firmware",
    "driver": "software/driver",
    "power": "power",
    "thermal": "gpu-throttle/thermal",
    "fabric-manager": "nvlink-fabric",
    "unknown": "unknown",
}


def xid_facts(code: int) -> CodeFacts:
    """What is known of an Xid; a number that the table lacks is unknown and worth a warning."""
    return _of_xid(code) or _unlisted(code, "Xid")


def sxid_facts(code: int) -> CodeFacts:
    """What is known of an SXid."""
    return _of_sxid(code) or _unlisted(code, "SXid")


def xid_class(facts: CodeFacts) -> str:
    """The class of findings an Xid belongs to."""
    return _CLASSES.get(facts.code) or _FAMILIES.get(facts.component, "unknown")


def sxid_class(facts: CodeFacts, is_fatal: bool) -> str:
    """The class of findings an SXid belongs to."""
    if facts.component == "nvlink":
        return "nvlink-link/fatal" if is_fatal else "nvlink-link/marginal"
    return "nvlink-fabric/switch-fatal" if is_fatal else "nvlink-fabric/switch-nonfatal"


def severity_of(facts: CodeFacts) -> Severity:
    """How bad: what only a program did is information, what takes a GPU or link away is critical."""
    if facts.component == "application" or facts.severity == "info":
        return Severity.INFO
    return Severity.CRITICAL if facts.severity == "fatal" else Severity.WARNING


@cache
def _of_xid(code: int) -> CodeFacts | None:
    row = xid_code(code)
    return _facts("xid", row, row.severity) if row else None


@cache
def _of_sxid(code: int) -> CodeFacts | None:
    row = sxid_code(code)
    return _facts("sxid", row, row.severity) if row else None


def _facts(kind: Table, row: XidCode | SXidCode, severity: str) -> CodeFacts:
    return CodeFacts(
        row.code,
        row.name,
        row.component,
        severity,
        row.action,
        action_texts(kind).get(row.action, row.action),
        row.meaning,
        row.hw_fault_likely,
    )


def _unlisted(code: int, kind: str) -> CodeFacts:
    return CodeFacts(
        code,
        f"{kind} that no table lists",
        "unknown",
        "warning",
        "contact_vendor",
        "Open a support case",
        "",
        "possible",
    )
