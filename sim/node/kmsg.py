"""/dev/kmsg of a simulated node: one record a read, with later lines following.

It is a real descriptor, a packet socket: it can be selected, read blocking or not, passed on and closed. A thread feeds
it lines as they are written.
"""

from __future__ import annotations

import os
import socket
import threading
import time

from .machine import Machine

POLL = 0.2
PRIORITY = 4
_sleep = time.sleep
_wall = time.time

ROOM = 4 << 20
"""Bytes of records a reader may lag behind."""


def open_kernel_log(machine: Machine, flags: int) -> int:
    """A descriptor on the kernel log, at its oldest line."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
    feeder = _Feeder(machine, far)
    feeder.feed()
    threading.Thread(target=feeder.follow, daemon=True).start()
    descriptor = near.detach()
    os.set_blocking(descriptor, not flags & os.O_NONBLOCK)
    return descriptor


def skip_to_end(descriptor: int) -> None:
    """What seeking to the end of the kernel log does: the lines so far are taken as read."""
    with socket.socket(fileno=os.dup(descriptor)) as log:
        try:
            while log.recv(8192, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            return


def record(sequence: int, seconds: float, text: str) -> bytes:
    """One record: priority, number, microseconds since boot, flags; text."""
    return f"{PRIORITY},{sequence},{int(seconds * 1e6)},-;{text}\n".encode("utf-8", "replace")


class _Feeder:
    def __init__(self, machine: Machine, out: socket.socket) -> None:
        self._machine = machine
        self._out = out
        self._fed_to = machine.booted - 1.0
        self._sequence = 1000

    def feed(self) -> None:
        """Send the lines written since the last time."""
        self._machine.wait_for_ever_if_log_stuck()
        until = _wall()
        for seconds, text in self._machine.log(self._fed_to, until):
            self._sequence += 1
            self._out.send(record(self._sequence, seconds, text))
        self._fed_to = until

    def follow(self) -> None:
        """Feed until nobody reads any more."""
        try:
            while True:
                _sleep(POLL)
                self.feed()
        except OSError:
            self._out.close()
