"""How the two ranks of a simulated communicator find each other: by the port on loopback that its id names.

The maker of the id listens; the other rank sends the id's first 8 bytes and one line about itself, and is answered with
one line that says what both go by from now on. All nodes are on one machine, so loopback joins them. A connection that
begins with other bytes is passed over, as real NCCL does. No thread is needed: a step is made when the program looks.
"""

from __future__ import annotations

import select
import socket
import struct
from typing import TypeVar

import msgspec

from .beside import Beside

ID_BYTES, MAGIC_BYTES = 128, 8
HOST = "127.0.0.1"
LOOK = 0.005
"""Real seconds that a step waits for something to happen."""
ANSWER_WITHIN = 2.0
"""Real seconds within which one who has connected has to say all of it."""
LONGEST = 1 << 16

Copying = tuple[str, tuple[str, ...]]
"""Operation and ends of a copy."""


class Member(msgspec.Struct, frozen=True):
    """A rank as the other one needs to know it."""

    rank: int
    node: str
    gpu: str
    clock: float
    """The node's load clock."""
    only_nics: bool
    """Whether NVLink and host memory are forbidden to it."""
    beside: tuple[Copying, ...]
    """What else the node copies, ends as `sim1/gpu3`."""


class Agreed(msgspec.Struct, frozen=True):
    """What both ranks go by, so that both measure the same."""

    members: tuple[Member, Member]
    """By rank."""
    nonce: int
    at: float
    """True time of the beginning."""


Line = TypeVar("Line", Member, Agreed)


class Door:
    """Where the maker of an id listens; closed when its process ends."""

    def __init__(self, magic: bytes) -> None:
        self.magic = magic
        self._listening = socket.create_server((HOST, 0))
        self.port: int = self._listening.getsockname()[1]

    @property
    def id(self) -> bytes:
        """As NCCL lays it out: 8 random bytes, then the sockaddr of the listener, then nothing."""
        place = struct.pack("<H", socket.AF_INET) + struct.pack(">H", self.port) + socket.inet_aton(HOST)
        return (self.magic + place).ljust(ID_BYTES, b"\0")

    def meet(self, me: Member, nonce: int, at: float) -> Agreed | None:
        """Take in one who has come, the other rank or not; None while that has not come."""
        if not select.select([self._listening], [], [], LOOK)[0]:
            return None
        visitor, _ = self._listening.accept()
        with visitor:
            visitor.settimeout(ANSWER_WITHIN)
            try:
                if _exactly(visitor, MAGIC_BYTES) != self.magic:
                    return None
                agreed = Agreed((me, _heard(visitor, Member)), nonce, at)
                visitor.sendall(msgspec.json.encode(agreed) + b"\n")
            except (OSError, msgspec.DecodeError):
                return None
        return agreed

    def close(self) -> None:
        """Listen no more."""
        self._listening.close()


class Visit:
    """The other rank's way to the maker of the id."""

    def __init__(self, unique: bytes, me: Member) -> None:
        """Raises OSError where nobody listens."""
        (port,) = struct.unpack(">H", unique[MAGIC_BYTES + 2 : MAGIC_BYTES + 4])
        self._talk = socket.create_connection((HOST, port), ANSWER_WITHIN)
        self._talk.sendall(unique[:MAGIC_BYTES] + msgspec.json.encode(me) + b"\n")

    def meet(self) -> Agreed | None:
        """The answer, None while there is none; raises OSError or DecodeError where none will come."""
        if not select.select([self._talk], [], [], LOOK)[0]:
            return None
        try:
            return _heard(self._talk, Agreed)
        finally:
            self.close()

    def close(self) -> None:
        """Go away."""
        self._talk.close()


def copies_of_others(beside: Beside, node: str) -> tuple[Copying, ...]:
    """What other processes of a node copy, with its GPUs as `sim1/gpu3`."""
    return tuple(
        (operation, tuple(end if "/" in end else f"{node}/{end}" for end in ends))
        for operation, ends in sorted(beside.others())
    )


def _exactly(talk: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = talk.recv(size - len(data))
        if not piece:
            raise ConnectionError("the other side left")
        data += piece
    return data


def _heard(talk: socket.socket, kind: type[Line]) -> Line:
    data = b""
    while not data.endswith(b"\n"):
        piece = talk.recv(LONGEST)
        if not piece or len(data) > LONGEST:
            raise ConnectionError("the other side left")
        data += piece
    return msgspec.json.decode(data, type=kind)
