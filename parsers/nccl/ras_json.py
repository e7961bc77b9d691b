"""NCCL's RAS service in JSON: `ncclras -f json` (2.28.7 and later) and the monitor's events (`-m`, 2.29 and later).

A status is one object, a monitor prints one an event. Ranks that did not answer are listed apart: silent is not dead.
Source: captures nccl/ras-json-missing-rank, nccl/ras-monitor-peer-dead; NVIDIA/nccl src/ras/client_support.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..json_document import as_dict, as_float, as_list, as_text
from ..json_stream import json_objects
from ..parsed import Parsed
from ..tool import Tool
from .ras_event import RasEvent


@dataclass(frozen=True, slots=True)
class RasSnapshot:
    """When and by what the job was asked."""

    nccl_version: str
    cuda_runtime: int | None
    cuda_driver: int | None
    timestamp: str
    communicators: int | None
    collection_s: float | None
    timeouts: int | None
    """Communication timeouts among the RAS threads while collecting."""


@dataclass(frozen=True, slots=True)
class RasCommunicator:
    """A communicator and how many of its ranks answered."""

    hash: str
    """16 hex digits, as the text form prints it."""
    secondary_hash: str
    size: int | None
    ranks: int | None
    missing_ranks: int | None


@dataclass(frozen=True, slots=True)
class RasReportedRank:
    """A rank that answered."""

    hash: str
    """Of its communicator."""
    rank: int
    host: str
    pid: int | None
    cuda_dev: int | None
    nvml_dev: int | None
    init_state: int | None
    """ncclResult_t: 0 is initialized, 7 in progress, anything else an error."""
    async_error: int | None
    finalize_called: bool | None
    destroyed: bool | None
    aborted: bool | None
    collectives: Mapping[str, int] = field(default_factory=dict)
    """Collectives started, by kind: a rank behind its peers did not call."""


@dataclass(frozen=True, slots=True)
class RasMissingRank:
    """A rank that did not answer."""

    hash: str
    rank: int
    host: str
    pid: int | None
    cuda_dev: int | None
    nvml_dev: int | None
    unresponsive: bool | None
    considered_dead: bool | None
    """True after a minute without an answer, for good."""


RasJsonReading: TypeAlias = RasSnapshot | RasCommunicator | RasReportedRank | RasMissingRank | RasEvent


def parse_ras_json(text: str) -> Parsed[RasJsonReading]:
    """Read statuses and events; objects of another kind are noted as unread."""
    parsed = Parsed[RasJsonReading]()
    for line, document in json_objects(text, parsed):
        if isinstance(document.get("communicators"), list):
            parsed.add(_snapshot(document))
            for communicator in document["communicators"]:
                for reading in _communicator(as_dict(communicator)):
                    parsed.add(reading)
        elif isinstance(document.get("event"), str):
            parsed.add(_event(document))
        else:
            parsed.cannot_read(line, ", ".join(document)[:300], "holds neither communicators nor an event")
    return parsed


def _snapshot(document: Mapping[str, Any]) -> RasSnapshot:
    ras = as_dict(document.get("ras"))
    return RasSnapshot(
        as_text(document.get("nccl_version")),
        _integer(document, "cuda_runtime_version"),
        _integer(document, "cuda_driver_version"),
        as_text(document.get("timestamp")),
        _integer(document, "communicators_count"),
        as_float(ras.get("collection_time_sec")),
        _integer(ras, "timeouts_count"),
    )


def _communicator(document: Mapping[str, Any]) -> Iterator[RasJsonReading]:
    digits = as_text(document.get("hash")).lower().removeprefix("0x")[:32].rjust(16, "0")
    yield RasCommunicator(
        digits,
        as_text(document.get("secondary_hash")),
        _integer(document, "size"),
        _integer(document, "ranks_count"),
        _integer(document, "missing_ranks_count"),
    )
    for entry in map(as_dict, as_list(document.get("ranks"))):
        if (rank := _integer(entry, "rank")) is not None:
            yield _reported(digits, rank, entry)
    for entry in map(as_dict, as_list(document.get("missing_ranks"))):
        if (rank := _integer(entry, "rank")) is not None:
            status = as_dict(entry.get("status"))
            silent, dead = _flag(status, "unresponsive"), _flag(status, "considered_dead")
            yield RasMissingRank(digits, rank, *_place(entry), silent, dead)


def _place(entry: Mapping[str, Any]) -> tuple[str, int | None, int | None, int | None]:
    """Host, process, CUDA and NVML device."""
    return as_text(entry.get("host")), _integer(entry, "pid"), _integer(entry, "cuda_dev"), _integer(entry, "nvml_dev")


def _reported(communicator: str, rank: int, entry: Mapping[str, Any]) -> RasReportedRank:
    status = as_dict(entry.get("status"))
    return RasReportedRank(
        communicator,
        rank,
        *_place(entry),
        init_state=_integer(status, "init_state"),
        async_error=_integer(status, "async_error"),
        finalize_called=_flag(status, "finalize_called"),
        destroyed=_flag(status, "destroy_flag"),
        aborted=_flag(status, "abort_flag"),
        collectives=_collectives(entry),
    )


def _collectives(entry: Mapping[str, Any]) -> dict[str, int]:
    counts = as_dict(entry.get("collective_counts"))
    return {name[:40]: count for name in counts if (count := _integer(counts, name)) is not None}


def _event(document: Mapping[str, Any]) -> RasEvent:
    peer = as_dict(document.get("peer"))
    return RasEvent(
        as_text(document.get("timestamp")),
        as_text(document.get("group")),
        as_text(document.get("event")),
        as_text(peer.get("host")),
        _integer(peer, "pid"),
        _integers(peer.get("cuda_devs")),
        _integers(peer.get("nvml_devs")),
        as_text(document.get("details")),
    )


def _integer(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _integers(value: Any) -> tuple[int, ...]:
    return tuple(one for one in as_list(value)[:64] if isinstance(one, int) and not isinstance(one, bool))


def _flag(document: Mapping[str, Any], name: str) -> bool | None:
    value = document.get(name)
    return value if isinstance(value, bool) else None


def _is_ras_json(head: str) -> bool:
    status = '"communicators"' in head and ('"nccl_version"' in head or '"missing_ranks' in head)
    return status or ('"event"' in head and '"peer"' in head and '"cuda_devs"' in head)


RAS_JSON = Tool(
    name="ncclras -f json",
    recognizes=_is_ras_json,
    parse=parse_ras_json,
    file_names=("*ncclras*.json", "nccl*ras*.json"),
)
