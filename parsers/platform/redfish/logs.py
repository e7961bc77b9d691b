"""Logs of a BMC: the service, the list of entries, an entry."""

from __future__ import annotations

from collections.abc import Iterator

from ...json_document import as_list, as_text
from ...value import number_of
from .readings import RedfishLog, RedfishLogEntry, RedfishLogService, RedfishReading
from .values import Resource, below, flag, name_of, objects, path_of, text


def log_service(resource: Resource) -> Iterator[RedfishReading]:
    """The log itself; NVIDIA tells its latest entry, and one of the beginning of 1970 where there is none."""
    nvidia = below(resource, "Oem", "Nvidia")
    if (text(nvidia, "LatestEntryTimeStamp") or "").startswith("1970-01-01T00:00:00"):
        nvidia = {}
    yield RedfishLogService(
        path=path_of(resource),
        name=name_of(resource),
        latest_entry=text(nvidia, "LatestEntryID"),
        latest_moment=text(nvidia, "LatestEntryTimeStamp"),
        when_full=text(resource, "OverWritePolicy"),
    )


def log(resource: Resource) -> Iterator[RedfishReading]:
    """All entries, below the list that they are in."""
    members = objects(resource, "Members")
    yield RedfishLog(path_of(resource), name_of(resource), len(members))
    for member in members:
        yield from log_entry(member)


def log_entry(resource: Resource) -> Iterator[RedfishReading]:
    """One entry; one about a threshold names sensor, value and threshold as its arguments."""
    arguments = tuple(as_text(one) for one in as_list(resource.get("MessageArgs"))[:16])
    message_id = text(resource, "MessageId")
    crossed = arguments if message_id and "SensorThreshold" in message_id and len(arguments) == 3 else ()
    yield RedfishLogEntry(
        path=path_of(resource),
        number=text(resource, "Id") or "",
        moment=text(resource, "Created"),
        severity=text(resource, "Severity"),
        entry_type=text(resource, "EntryType"),
        message=text(resource, "Message") or "",
        message_id=message_id,
        arguments=arguments,
        resolved=flag(resource, "Resolved"),
        sensor=crossed[0] if crossed else None,
        value=number_of(crossed[1]) if crossed else None,
        threshold=number_of(crossed[2]) if crossed else None,
    )
