"""NCCL's warnings: what failed and where, InfiniBand completions with their status, and the way an error took upwards.

Source: captures nccl/nccl-warn-ib-status12-vendor129, -by-subsystem-docs; NVIDIA/nccl src/transport/net_ib (the older
`vendor err 129 (Recv)`, the newer `vendor_err=129 ... hca mlx5_0`, of which there is no capture) and src/nccl.h.in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .log_line import FromProcess, LogLine

COMPLETION_STATUS: Mapping[int, str] = MappingProxyType(
    {
        1: "LOC_LEN_ERR",
        2: "LOC_QP_OP_ERR",
        4: "LOC_PROT_ERR",
        5: "WR_FLUSH_ERR",
        9: "REM_INV_REQ_ERR",
        10: "REM_ACCESS_ERR",
        11: "REM_OP_ERR",
        12: "RETRY_EXC_ERR",
        13: "RNR_RETRY_EXC_ERR",
        21: "GENERAL_ERR",
    }
)
"""ibv_wc_status of verbs: 12 is a peer or a path that did not answer, 5 the consequence of an earlier error."""
RESULTS: Mapping[int, str] = MappingProxyType(
    {
        1: "unhandled CUDA error",
        2: "system error",
        3: "internal error",
        4: "invalid argument",
        5: "invalid usage",
        6: "remote process error",
        7: "in progress",
    }
)
"""ncclResult_t."""


@dataclass(frozen=True, slots=True)
class NcclWarning(FromProcess):
    """A WARN line."""

    where: str
    """Source file and line, empty where not printed."""
    function: str
    text: str
    cuda_error: int | None
    """802: the fabric manager is not ready; None where no CUDA error is named."""


@dataclass(frozen=True, slots=True)
class IbCompletionError(FromProcess):
    """A work request of the InfiniBand transport ended in error."""

    where: str
    peer: str
    """Address of the other process on the network that NCCL was started over."""
    peer_port: int | None
    status: int
    vendor_error: int | None
    opcode: int | None
    """Not to be trusted on errors, where verbs leave it undefined."""
    length: int | None
    queue: str
    """`Send`, `Recv` or empty."""
    local_gid: str
    remote_gid: str
    hca: str
    """Empty in older versions."""

    @property
    def status_name(self) -> str:
        """As verbs call it, without IBV_WC_; empty for one that is not known."""
        return COMPLETION_STATUS.get(self.status, "")


@dataclass(frozen=True, slots=True)
class ErrorReturn(FromProcess):
    """`transport/net.cc:1302 -> 6`: a function passed an error on; the first of a run is nearest to the cause."""

    location: str
    result: int
    thread: str
    """`Progress Thread`, where printed."""

    @property
    def meaning(self) -> str:
        """Of the result; empty for one that is not known."""
        return RESULTS.get(self.result, "")


_COMPLETION = re.compile(
    r"NET/IB ?: Got completion from peer (?P<peer>[^\s<]{1,64})(?:<(?P<port>\d{1,5})>)?"
    r" with status=(?:[\w ]{1,60}\()?(?P<status>\d{1,5})\)?"
)
_VENDOR = re.compile(r"vendor[_ ]err[= ](\d{1,10})(?: \((\w{1,16})\))?")
_OPCODE = re.compile(r"opcode=(?:[\w ]{1,60}\()?(\d{1,10})")
_LENGTH = re.compile(r"\blen=(\d{1,12})")
_LOCAL_GID = re.compile(r"localGid ?([0-9a-fA-F:.]{2,45})")
_REMOTE_GID = re.compile(r"remoteGids? ?([0-9a-fA-F:.]{2,45})")
_HCA = re.compile(r"\bhca ([\w.\-]{1,40})")
_CUDA_ERROR = re.compile(r"(?i:cuda|cu) (?:error|failure) (\d{1,5})\b")
_RETURN = re.compile(r"([\w./\-]{1,120}:\d{1,6}) -> (\d{1,3})(?: \[([^\]]{1,60})\])?\s*")


def read_warning(line: LogLine) -> Iterator[NcclWarning | IbCompletionError]:
    """A warning as it stands, but for InfiniBand completions, which are taken apart."""
    found = _COMPLETION.match(line.text)
    if not found:
        cuda = _CUDA_ERROR.search(line.text)
        yield NcclWarning(*line.origin, line.where, line.function, line.text[:2000], int(cuda[1]) if cuda else None)
        return
    rest = line.text[found.end() :][:1000]
    vendor = _VENDOR.search(rest)
    yield IbCompletionError(
        *line.origin,
        line.where,
        found["peer"],
        int(found["port"]) if found["port"] else None,
        int(found["status"]),
        int(vendor[1]) if vendor else None,
        _number(_OPCODE, rest),
        _number(_LENGTH, rest),
        (vendor[2] or "") if vendor else "",
        _text(_LOCAL_GID, rest),
        _text(_REMOTE_GID, rest),
        _text(_HCA, rest),
    )


def read_return(line: LogLine) -> Iterator[ErrorReturn]:
    """Nothing where the line is about something else."""
    if found := _RETURN.fullmatch(line.text):
        yield ErrorReturn(*line.origin, found[1], int(found[2]), found[3] or "")


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None


def _text(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""
