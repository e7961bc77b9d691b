"""Abstract Unix sockets belong to the whole machine: here their names carry a mark, so that nodes don't meet."""

from __future__ import annotations

import hashlib
import socket
from typing import Any


def install(node: str) -> None:
    """Let `bind` and `connect` of abstract names reach only sockets of `node`, a text that no other node has."""
    mark = hashlib.sha256(node.encode()).hexdigest()[:16]
    bind, connect, connect_ex = socket.socket.bind, socket.socket.connect, socket.socket.connect_ex
    changes: dict[str, Any] = {
        "bind": lambda self, address: bind(self, _marked(address, mark)),
        "connect": lambda self, address: connect(self, _marked(address, mark)),
        "connect_ex": lambda self, address: connect_ex(self, _marked(address, mark)),
    }
    for name, replacement in changes.items():
        setattr(socket.socket, name, replacement)


def _marked(address: Any, mark: str) -> Any:
    if isinstance(address, bytes) and address.startswith(b"\0"):
        return address + mark.encode()
    if isinstance(address, str) and address.startswith("\0"):
        return address + mark
    return address
