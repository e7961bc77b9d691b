"""What all workers share: how they speak, how they wait, and how they admit that there is nothing to read.

A worker reads one hang domain of the node. It owns none of the SSH channel's file descriptors: one that is stuck in
the kernel can't keep the channel open.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import time

import deltas

KEY_EVERY = 300
"""Ticks between two key frames: the transport loses nothing, so they are for readers that start late."""

PR_SET_PDEATHSIG = 1


class Unreadable(Exception):
    """This part of the node can't be read at all; the text says why."""


def die_with_parent(signal_number):
    """Have the kernel signal this process when its parent dies."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def start_tool(argv):
    """Start a tool of the node that ends with this process; only its standard output is read. Raises OSError."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: die_with_parent(signal.SIGKILL),
    )


class Voice(object):
    """Writes frames to the supervisor, one JSON array a line."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def say(self, *frame):
        """Send one frame; blocks while the supervisor is behind, which is what bounds memory."""
        data = json.dumps(frame, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self.descriptor, data) :]


class Orders(object):
    """What the supervisor asks of a worker while it waits: `K` for a key frame, `p <seconds>` for another period."""

    def __init__(self, descriptor, period):
        self.descriptor = descriptor
        self.period = period
        self.key_wanted = False

    def wait(self, deadline):
        """Sleep until `deadline` (monotonic), taking orders meanwhile."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if select.select([self.descriptor], [], [], left)[0]:
                self.take(os.read(self.descriptor, 4096))

    def take(self, data):
        """Obey the orders in `data`; the supervisor's end closing ends the worker."""
        if not data:
            os._exit(0)
        for order in data.decode("ascii", "replace").split("\n"):
            if order == "K":
                self.key_wanted = True
            elif order.startswith("p "):
                self.period = float(order[2:])


def stream(domain, reader, voice, orders):
    """Read at each tick for ever.

    `reader` has schema() -> ([[component, [names]], ...], {name: scale}), facts(), changed() and read() -> values.
    """
    schemas = 0
    frames = None
    tick = time.monotonic()
    while True:
        if frames is None or reader.changed():
            schemas += 1
            groups, scales = reader.schema()
            voice.say("F", domain, reader.facts())
            voice.say("S", domain, "%s-%d" % (domain, schemas), groups, scales)
            frames = deltas.Deltas(KEY_EVERY)
        if orders.key_wanted:
            orders.key_wanted = False
            frames.want_key()
        values = reader.read()
        voice.say("T", domain, "%s-%d" % (domain, schemas), round(time.time(), 3), *frames.frame(values))
        tick = max(tick + orders.period, time.monotonic())
        orders.wait(tick)
