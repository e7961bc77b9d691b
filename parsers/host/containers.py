"""`docker inspect` (podman's is alike): how a container was started, whole or some of its lines.

Source: Docker Engine API, ContainerInspect: HostConfig with ShmSize in bytes, IpcMode, Ulimits, Devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from ..parsed import Parsed
from ..plain import without_escapes
from ..tool import Tool

MOST_CONTAINERS = 1000
LONGEST = 1 << 20
"""Characters looked at of one container."""


@dataclass(frozen=True, slots=True)
class Container:
    """One container; None for what the text does not show."""

    name: str
    shm_bytes: int | None
    ipc_mode: str | None
    """`private`, `host`, ...: of `host` the node's own /dev/shm is used."""
    network_mode: str | None
    privileged: bool | None
    locked_memory: float | None
    """Bytes, infinite where unlimited; None where the container takes the daemon's default."""
    devices: tuple[str, ...] | None
    """Paths on the host; None where no list is shown."""
    capabilities: tuple[str, ...] | None


_SHM = re.compile(r'"ShmSize"\s{0,4}:\s{0,4}(\d{1,18})')
_IPC = re.compile(r'"IpcMode"\s{0,4}:\s{0,4}"([\w:.-]{0,80})"')
_NETWORK = re.compile(r'"NetworkMode"\s{0,4}:\s{0,4}"([\w:.-]{0,80})"')
_PRIVILEGED = re.compile(r'"Privileged"\s{0,4}:\s{0,4}(true|false)')
_LIMIT = re.compile(r'\{[^{}]{0,200}"Name"\s{0,4}:\s{0,4}"memlock"[^{}]{0,200}\}')
_SOFT = re.compile(r'"Soft"\s{0,4}:\s{0,4}(-?\d{1,20})')
_DEVICES = re.compile(r'"Devices"\s{0,4}:\s{0,4}(null|\[[^\]]{0,20000}\])')
_ON_HOST = re.compile(r'"PathOnHost"\s{0,4}:\s{0,4}"(/[^"]{1,200})"')
_CAPABILITIES = re.compile(r'"CapAdd"\s{0,4}:\s{0,4}(null|\[[^\]]{0,4000}\])')
_WORD = re.compile(r'"([A-Z_]{1,40})"')
_NAME = re.compile(r'"Name"\s{0,4}:\s{0,4}"/([\w.-]{1,120})"')
_BEGINS = re.compile(r'^\s{0,8}"Id"\s{0,4}:\s{0,4}"[0-9a-f]{64}"', re.MULTILINE)


def parse_containers(text: str) -> Parsed[Container]:
    """Read each container by the values that are shown of it."""
    parsed = Parsed[Container]()
    for piece in _pieces(without_escapes(text)):
        parsed.add(_container(piece))
    return parsed


def _pieces(text: str) -> Iterator[str]:
    starts = [found.start() for found in _BEGINS.finditer(text)][:MOST_CONTAINERS] or [0]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start : min(end, start + LONGEST)]


def _container(text: str) -> Container:
    limit = _LIMIT.search(text)
    soft = _SOFT.search(limit[0]) if limit else None
    devices, capabilities = _DEVICES.search(text), _CAPABILITIES.search(text)
    shm, privileged = _SHM.search(text), _PRIVILEGED.search(text)
    return Container(
        name=_text(_NAME, text) or "",
        shm_bytes=int(shm[1]) if shm else None,
        ipc_mode=_text(_IPC, text),
        network_mode=_text(_NETWORK, text),
        privileged=privileged[1] == "true" if privileged else None,
        locked_memory=None if soft is None else inf if int(soft[1]) < 0 else float(soft[1]),
        devices=tuple(_ON_HOST.findall(devices[1])) if devices else None,
        capabilities=tuple(_WORD.findall(capabilities[1])) if capabilities else None,
    )


def _text(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None


def _recognizes(head: str) -> bool:
    plain = without_escapes(head)
    return bool(_SHM.search(plain) or (_IPC.search(plain) and _NETWORK.search(plain)))


TOOL = Tool(
    "docker inspect", _recognizes, parse_containers, file_names=("*inspect*",), unconfirmed="Docker's API documentation"
)
