"""How the two sides of a perftest run find each other and agree on what they do, over TCP on loopback."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import asdict, dataclass

HOST = "127.0.0.1"
CLIENT_WITHIN, SERVER_WITHIN = 60.0, 5.0
"""Seconds that a server waits for its client, and a client for a server that does not listen yet."""
LONGEST = 4096
NAP = 0.05


@dataclass(frozen=True)
class Side:
    """One side as the other one needs to know it."""

    node: str
    nic: str
    gpu: str
    """Whose memory is used; empty for host memory."""
    clock: float
    """The node's load clock."""


@dataclass(frozen=True)
class Plan:
    """What both sides time: the same for both, so that both print the same."""

    nonce: int
    at: float
    """True time."""


def answered(port: int, me: Side) -> tuple[Side, Plan]:
    """As the server: wait for a client. -> the client, the plan; raises OSError where none comes"""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(1)
        listening.settimeout(CLIENT_WITHIN)
        peer, _ = listening.accept()
    with peer:
        peer.settimeout(CLIENT_WITHIN)
        said = _hear(peer)
        _say(peer, {"side": asdict(me)})
    return Side(**said["side"]), Plan(**said["plan"])


def asked(port: int, me: Side, nonce: int, at: float) -> tuple[Side, Plan]:
    """As the client: reach the server. -> the server, the plan; raises OSError where it does not listen"""
    plan = Plan(nonce, at)
    with _reached(port) as peer:
        _say(peer, {"side": asdict(me), "plan": asdict(plan)})
        return Side(**_hear(peer)["side"]), plan


def _reached(port: int) -> socket.socket:
    until = time.monotonic() + SERVER_WITHIN
    while True:
        try:
            return socket.create_connection((HOST, port), CLIENT_WITHIN)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(NAP)


def _say(peer: socket.socket, what: dict[str, dict[str, object]]) -> None:
    peer.sendall(json.dumps(what).encode() + b"\n")


def _hear(peer: socket.socket) -> dict[str, dict[str, object]]:
    data = b""
    while not data.endswith(b"\n"):
        piece = peer.recv(LONGEST)
        if not piece or len(data) > LONGEST:
            raise ConnectionError("the other side left")
        data += piece
    found: dict[str, dict[str, object]] = json.loads(data)
    return found
