"""What the text of an Xid line says in figures, by the Xid's number.

Source: captures kernel-log/*; the Xid 74 register words as NVSentinel and gpud document them; for 154 the NVIDIA Xid
catalog's own wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class NvLink5Event:
    """Xid 144 to 150: `NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 ...)`."""

    unit: str
    """`NETIR_LINK_EVT`, `RLW_SRC_TRACK`, ... as printed."""
    severity: str
    """`fatal` or `nonfatal`."""
    cross_contained: int
    """The digit after `XC`."""
    injected: bool
    """`i1`: somebody tested; no fault."""
    words: tuple[int, ...]
    """intrInfo, errorStatus, errorDebugData."""


@dataclass(frozen=True, slots=True)
class LinkRegisters:
    """Xid 74: `NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, ...)`."""

    registers: tuple[int, ...]
    """Registers 1 to 7 in the order printed."""


@dataclass(frozen=True, slots=True)
class RecoveryChange:
    """Xid 154: `GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)`."""

    before: int | None
    """None where the line has words only."""
    before_text: str
    after: int | None
    after_text: str


@dataclass(frozen=True, slots=True)
class EccUnits:
    """Xid 140: how many uncorrectable errors each unit counted; all may be zero."""

    dram: int
    ltc: int
    mmu: int
    pcie: int


@dataclass(frozen=True, slots=True)
class DoubleBit:
    """Xid 48: where in the memory the double-bit error is."""

    address: int
    partition: int | None
    subpartition: int | None


@dataclass(frozen=True, slots=True)
class RowRemap:
    """Xid 63 and 64: a row of the memory that is to be remapped."""

    address: int | None
    needs_reset: bool
    """True where the line asks for a reset to activate it."""


@dataclass(frozen=True, slots=True)
class Containment:
    """Xid 94 and 95: an uncorrectable error that did or did not stay with one program."""

    contained: bool
    unit: str
    """`SM (0x1)`, `LTC TAG (0x2,0x0)`."""
    reset: bool
    """`RST: Yes`."""
    deferred_reset: bool
    """`D-RST: Yes`."""


@dataclass(frozen=True, slots=True)
class SmException:
    """Xid 13: where on the GPU an exception was; the same place in several jobs speaks for the GPU."""

    gpc: int
    tpc: int
    sm: int
    what: str


@dataclass(frozen=True, slots=True)
class MmuFault:
    """Xid 31: an access to memory that is not mapped."""

    engine: str
    client: str
    address: int
    fault: str
    access: str


@dataclass(frozen=True, slots=True)
class GspTimeout:
    """Xid 119: the GPU's own processor left a call unanswered."""

    seconds: int
    gpu: int
    """The driver's own number of the GPU, which need not be nvidia-smi's index."""
    function: int
    function_name: str


@dataclass(frozen=True, slots=True)
class ChannelError:
    """Xid 43, 45, 109 and others: the channel, and the error in words where there are some."""

    channel: int
    error: str


XidDetail: TypeAlias = (
    NvLink5Event
    | LinkRegisters
    | RecoveryChange
    | EccUnits
    | DoubleBit
    | RowRemap
    | Containment
    | SmException
    | MmuFault
    | GspTimeout
    | ChannelError
)

_HEX = r"0x[0-9a-fA-F]{1,16}"
_NVLINK5 = re.compile(
    r"(\w[\w/ ]{0,38}?\w)\s{1,8}(?:Link )?(Non-?fatal|Fatal)\s{1,8}XC(\d)\s{1,8}i(\d)\s{1,8}Link -?\d{1,3}\s{0,8}"
    rf"\(({_HEX}(?:\s{_HEX}){{0,9}})\s?\)",
    re.IGNORECASE,
)
_REGISTERS = re.compile(rf"link \d{{1,3}}\s?\(({_HEX}(?:,\s?{_HEX}){{0,9}})\)")
_ACTION = r"(?:0x([0-9a-fA-F]{1,4}) )?\(?([A-Za-z][A-Za-z0-9 ]{0,40}?)\)?"
_RECOVERY = re.compile(rf"recovery action changed from {_ACTION} to {_ACTION}$")
_ECC_UNITS = re.compile(r"DRAM:(\d{1,9}), LTC:(\d{1,9}), MMU:(\d{1,9}), PCIE:(\d{1,9})")
_DOUBLE_BIT = re.compile(rf"physAddr ({_HEX})(?: partition (\d{{1,4}}), subpartition (\d{{1,4}}))?")
_ROW = re.compile(rf"Row Remapper: (?:New row(?: \(({_HEX})\))?)?")
_CONTAINED = re.compile(r"(Contained|Uncontained): ([^.]{1,64})\. RST: (Yes|No), D-RST: (Yes|No)")
_SM = re.compile(r"Exception on \(GPC (\d{1,3}), TPC (\d{1,3}), SM (\d{1,3})\): (.{1,80})")
_MMU = re.compile(
    r"MMU Fault: ENGINE (\w{1,32}) (\w{1,32}) faulted @ 0x([0-9a-fA-F]{1,8})_([0-9a-fA-F]{1,8})\. "
    r"Fault is of type (\w{1,40}) (\w{1,40})"
)
_GSP = re.compile(
    r"Timeout after (\d{1,4})s of waiting for RPC response from GPU(\d{1,3}) GSP! "
    r"Expected function (\d{1,6}) \((\w{1,48})\)"
)
_CHANNEL = re.compile(r"Ch ([0-9a-fA-F]{8})\b(?:, errorString ([^,]{1,64}))?")


def detail_of(code: int, text: str) -> XidDetail | None:
    """What the text of an Xid says; None where the number or the form is not known."""
    read = _READERS.get(code, _channel)
    return read(text)


def _nvlink5(text: str) -> NvLink5Event | None:
    found = _NVLINK5.match(text)
    if not found:
        return None
    return NvLink5Event(
        unit=found[1].strip(),
        severity=found[2].lower().replace("-", ""),
        cross_contained=int(found[3]),
        injected=found[4] != "0",
        words=tuple(int(word, 16) for word in found[5].split()),
    )


def _registers(text: str) -> LinkRegisters | None:
    found = _REGISTERS.search(text)
    return LinkRegisters(tuple(int(word, 16) for word in found[1].split(","))) if found else None


def _recovery(text: str) -> RecoveryChange | None:
    found = _RECOVERY.search(text)
    if not found:
        return None
    before, after = (int(number, 16) if number else None for number in (found[1], found[3]))
    return RecoveryChange(before, found[2].strip(), after, found[4].strip())


def _ecc_units(text: str) -> EccUnits | None:
    found = _ECC_UNITS.search(text)
    return EccUnits(*(int(count) for count in found.groups())) if found else None


def _double_bit(text: str) -> DoubleBit | None:
    found = _DOUBLE_BIT.search(text)
    return DoubleBit(int(found[1], 16), _int(found[2]), _int(found[3])) if found else None


def _row_remap(text: str) -> RowRemap | None:
    found = _ROW.search(text)
    return RowRemap(int(found[1], 16) if found[1] else None, "reset gpu to activate" in text) if found else None


def _containment(text: str) -> Containment | None:
    found = _CONTAINED.search(text)
    return Containment(found[1] == "Contained", found[2], found[3] == "Yes", found[4] == "Yes") if found else None


def _sm(text: str) -> SmException | None:
    found = _SM.search(text)
    return SmException(int(found[1]), int(found[2]), int(found[3]), found[4].strip()) if found else None


def _mmu(text: str) -> MmuFault | None:
    found = _MMU.search(text)
    if not found:
        return None
    return MmuFault(found[1], found[2], int(found[3] + found[4].zfill(8), 16), found[5], found[6])


def _gsp(text: str) -> GspTimeout | None:
    found = _GSP.search(text)
    return GspTimeout(int(found[1]), int(found[2]), int(found[3]), found[4]) if found else None


def _channel(text: str) -> ChannelError | None:
    found = _CHANNEL.match(text)
    return ChannelError(int(found[1], 16), (found[2] or "").strip()) if found else None


def _int(text: str | None) -> int | None:
    return int(text) if text else None


_READERS: Mapping[int, Callable[[str], XidDetail | None]] = {
    13: _sm,
    31: _mmu,
    48: _double_bit,
    63: _row_remap,
    64: _row_remap,
    74: _registers,
    94: _containment,
    95: _containment,
    119: _gsp,
    140: _ecc_units,
    154: _recovery,
    **dict.fromkeys(range(144, 151), _nvlink5),
}
