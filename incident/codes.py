"""What the field knows of Xid and SXid numbers: meaning, part, severity, what to do, and who says otherwise.

Typed from `facts/xid.toml` and `facts/sxid.toml`; a row that lacks a field, has one too many or a word that is not in
the vocabulary makes loading fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import msgspec

from .facts import table

Part: TypeAlias = Literal[
    "application",
    "gpu-memory",
    "gpu-core",
    "nvlink",
    "nvswitch",
    "pcie-link",
    "gsp-firmware",
    "driver",
    "power",
    "thermal",
    "fabric-manager",
    "unknown",
]
Hardware: TypeAlias = Literal["no", "unlikely", "possible", "likely"]
"""Whether hardware is at fault, where nothing but the number is known."""
Table: TypeAlias = Literal["xid", "sxid"]
Cited: TypeAlias = Literal["xid", "sxid", "counters", "widths"]


class Disagreement(msgspec.Struct, frozen=True):
    """What one source says of a number, in that source's own words."""

    source: str
    says: str


class Gpud(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What gpud does on an Xid."""

    event: Literal["Info", "Warning", "Fatal"]
    actions: tuple[str, ...]


class XidCode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One Xid."""

    code: int
    name: str
    mnemonic: str
    """The driver's own name."""
    component: Part
    also: tuple[Part, ...] = ()
    """Other parts that may be behind it."""
    subcomponent: str = ""
    severity: Literal["info", "warning", "error", "fatal"]
    hw_fault_likely: Hardware
    action: str
    """A word of `action_texts("xid")`: what to do at once."""
    investigate: str
    """What to do when it comes again."""
    meaning: str
    applies_to: tuple[Literal["A100", "H100", "B100", "GB200"], ...] = ()
    unused_on_current_parts: bool = False
    triggers_xid154: bool | None = None
    disagreement: str = ""
    """How the sources differ, in a sentence; empty where they agree or only one speaks."""
    sources: tuple[str, ...] = msgspec.field(name="source")

    nvidia_immediate: str = ""
    nvidia_investigate: str = ""
    older_nvidia_causes: tuple[str, ...] = ()
    gpud: Gpud | None = None
    gcm_non_critical: bool = False
    aws_severity: str = ""
    dcgm_subsystem: str = ""
    dcgm_health: str = ""
    aznhc_fails_node: bool = False
    crusoe: str = ""

    @property
    def statements(self) -> tuple[Disagreement, ...]:
        """What each source says, whether they differ or not."""
        causes = ", ".join(self.older_nvidia_causes)
        catalog = [word for word in (self.nvidia_immediate, self.nvidia_investigate) if word]
        dcgm = [word for word in (self.dcgm_subsystem, self.dcgm_health) if word]
        said = {
            "nvidia_catalog": ", then ".join(catalog),
            "older NVIDIA documents": f"causes: {causes}" if causes else "",
            "gpud": f"{self.gpud.event}: {', '.join(self.gpud.actions) or 'no action'}" if self.gpud else "",
            "gcm": "not critical" if self.gcm_non_critical else "",
            "aws": self.aws_severity,
            "dcgm": ", ".join(dcgm),
            "aznhc": "fails the node" if self.aznhc_fails_node else "",
            "crusoe": self.crusoe,
        }
        return tuple(Disagreement(source, says) for source, says in said.items() if says)

    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Who says what, where the sources differ; nothing where they agree."""
        return self.statements if self.disagreement else ()


Raised: TypeAlias = Literal["fatal", "nonfatal", "fatal_if_contained", "not_raised"]


class SXidCode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One SXid, the error number of an NVSwitch."""

    code: int
    name: str
    component: Part
    severity: Literal["fatal", "nonfatal", "fatal_if_contained"]
    hw_fault_likely: Hardware
    action: str
    """A word of `action_texts("sxid")`."""
    meaning: str
    driver_a100: Raised
    driver_h100: Raised
    fm_guide: str
    nvsentinel: str
    note: str = ""
    sources: tuple[str, ...] = msgspec.field(name="source")

    @property
    def statements(self) -> tuple[Disagreement, ...]:
        """What each source says, whether they differ or not."""
        said = {
            "driver, A100 switches": self.driver_a100,
            "driver, H100 switches": self.driver_h100,
            "fm_guide": self.fm_guide,
            "nvsentinel": self.nvsentinel,
        }
        silent = ("not_raised", "not_listed")
        return tuple(Disagreement(source, says) for source, says in said.items() if says not in silent)

    @property
    def disagreement(self) -> str:
        """How the sources differ, in a sentence; empty where they agree."""
        return _sxid_disagreements().get(self.code, "")

    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Who says what, where the sources differ; nothing where they agree."""
        return self.statements if self.disagreement else ()


class RecoveryAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the driver asks for in an Xid 154 (NVML field 230)."""

    code: int
    text: str
    action: str
    meaning: str
    source: str


class Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When several lines together say more than each alone."""

    xids: tuple[int, ...]
    when: str
    then: str
    """A word of `action_texts("xid")`."""
    component: Part
    source: str


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the leading two digits of an SXid say, for numbers that no table lists."""

    prefix: int
    description: str
    component: Part
    source: str


def xid_code(code: int) -> XidCode | None:
    """What is known of an Xid; None for a number that the table lacks."""
    return xid_codes().get(code)


def sxid_code(code: int) -> SXidCode | None:
    """What is known of an SXid; None for a number that the table lacks."""
    return sxid_codes().get(code)


@cache
def xid_codes() -> Mapping[int, XidCode]:
    """All Xids by number."""
    rows = msgspec.convert(table("xid")["xid"], list[XidCode])
    return MappingProxyType({row.code: row for row in rows})


@cache
def sxid_codes() -> Mapping[int, SXidCode]:
    """All SXids by number."""
    rows = msgspec.convert(table("sxid")["sxid"], list[SXidCode])
    return MappingProxyType({row.code: row for row in rows})


@cache
def recovery_actions() -> Mapping[int, RecoveryAction]:
    """The actions an Xid 154 may name, by number."""
    rows = msgspec.convert(table("xid")["xid154"], list[RecoveryAction])
    return MappingProxyType({row.code: row for row in rows})


@cache
def patterns() -> tuple[Pattern, ...]:
    """Combinations of Xids that mean more than each alone."""
    return tuple(msgspec.convert(table("xid")["pattern"], list[Pattern]))


@cache
def families() -> Mapping[int, Family]:
    """Families of SXids by the number's thousands."""
    rows = msgspec.convert(table("sxid")["family"], list[Family])
    return MappingProxyType({row.prefix: row for row in rows})


@cache
def action_texts(kind: Table) -> Mapping[str, str]:
    """What to do in a sentence, by the word that the rows use."""
    actions: dict[str, Any] = table(kind)["meta"]["actions"]
    return MappingProxyType({word: str(text) for word, text in actions.items() if word != "source"})


@cache
def severity_texts() -> Mapping[str, str]:
    """What the severities of Xids mean."""
    scale: dict[str, str] = table("xid")["meta"]["severity_scale"]
    return MappingProxyType(scale)


def cite(kind: Cited, source: str) -> str:
    """A source in full: rows use short names, some with a remark behind them, or name a source in full themselves."""
    name, blank, remark = source.partition(" ")
    return citations(kind).get(name, name) + blank + remark


@cache
def citations(kind: Cited) -> Mapping[str, str]:
    """Sources in full by the short name that rows use."""
    sources: dict[str, str] = table(kind)["sources"]
    return MappingProxyType(sources)


@cache
def _sxid_disagreements() -> Mapping[int, str]:
    items: list[str] = table("sxid")["disagreements"]["items"]
    return MappingProxyType({code: item for item in items for code in _numbers(item) if code in sxid_codes()})


def _numbers(text: str) -> list[int]:
    words = "".join(letter if letter.isdigit() else " " for letter in text).split()
    return [int(word) for word in words]
