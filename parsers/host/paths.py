"""What `ls`, `cat` and `grep` show of files that tell something by being there: device files, peer memory clients.

A directory that is not there is told by the complaint. `/sys/kernel/mm/memory_peers` holds a folder for each module
through which NICs reach other devices' memory; nvidia-peermem and nv_peer_mem both call theirs `nv_mem`.
Source: coreutils ls.c; nvidia-peermem.c of NVIDIA's open kernel modules; MLNX_OFED's ib_core peer_mem.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool

MEMORY_PEERS = "/sys/kernel/mm/memory_peers"


@dataclass(frozen=True, slots=True)
class MissingPath:
    """A path that was asked for and is not there."""

    path: str


@dataclass(frozen=True, slots=True)
class DeviceFile:
    """A device file of a listing: `uverbs0`, `nvidia3`."""

    name: str


@dataclass(frozen=True, slots=True)
class MemoryPeer:
    """A module through which NICs reach the memory of other devices is loaded."""

    name: str
    """`nv_mem`, `nv_mem_nc`, `amdkfd`."""


PathReading = MissingPath | DeviceFile | MemoryPeer

_MISSING = re.compile(
    r"(?:ls|cat|grep|find|stat): (?:cannot (?:access|open|stat(?:x)?) )?['\u2018`]?(/\S{1,300}?)['\u2019]?: "
    r"No such file or directory\s*"
)
_DEVICE = re.compile(
    r"c[rwx-]{9}[.+@]?\s{1,8}\d{1,4}\s{1,8}\S{1,32}\s{1,8}\S{1,32}\s{1,8}\d{1,5},\s{1,8}\d{1,8}\s{1,8}.{5,40}\s"
    r"(?:/dev/(?:[\w.-]{1,40}/){0,2})?([\w.-]{1,64})\s*"
)
_DEVICE_PATH = re.compile(r"/dev/(?:infiniband/(\w{1,32})|(nvidia[\w-]{0,40}))\s*")
_PEER = re.compile(r"/sys/kernel/mm/memory_peers/(\w{1,32})(?:/?:?|/\w{1,32}:.{0,80})\s*")
_BARE_PEER = re.compile(r"(?:nv_mem(?:_nc)?|amdkfd|nvidia_peermem|nvidia-peermem)\s*")
_BESIDE = re.compile(
    r"total \d{1,12}\s*|[bdlps-][rwxstST-]{9}.{1,200}|/(?:sys|dev)/\S{1,200}:\s*|(?:version|num_\w{1,40}):.*"
)


def parse_paths(text: str) -> Parsed[PathReading]:
    """Read listings and complaints, line by line."""
    parsed = Parsed[PathReading]()
    seen: set[PathReading] = set()
    for number, line in numbered(without_escapes(text)):
        reading = _reading(line)
        if reading is not None and reading not in seen:
            seen.add(reading)
            parsed.add(reading)
        elif reading is None and line.strip() and not _BESIDE.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _reading(line: str) -> PathReading | None:
    if found := _MISSING.fullmatch(line):
        return MissingPath(found[1].rstrip("/"))
    if found := _DEVICE.fullmatch(line):
        return DeviceFile(found[1])
    if found := _DEVICE_PATH.fullmatch(line):
        return DeviceFile(found[1] or found[2])
    if found := _PEER.fullmatch(line):
        return MemoryPeer(found[1])
    return MemoryPeer(line.strip()) if _BARE_PEER.fullmatch(line) else None


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)][:200]
    read = [_reading(line) for line in lines]
    return any(read) and all(one or _BESIDE.fullmatch(line) for one, line in zip(read, lines, strict=True))


TOOL = Tool("ls", _recognizes, parse_paths, file_names=("*memory_peers*", "*memory-peers*", "*dev-infiniband*"))
