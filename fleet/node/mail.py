"""What a child of the probe worker is sent: orders of its supervisor, and what other tasks of the trial tell.

Runs on the node: Python 3.6+, standard library only.
"""

import collections
import json
import os
import select

import watch

PARTNER_FAILED = "partner_failed"


class Mail(object):
    """JSON lines of a file descriptor, sorted by what they are for."""

    def __init__(self, file):
        self.file, self.partial = file, b""
        self.orders, self.messages = collections.deque(), collections.deque()

    def order(self, heed=None):
        """The next order, waiting for it; `heed` is called whenever something else came."""
        while not self.orders:
            self.take_in(None)
            if heed is not None:
                heed()
        return self.orders.popleft()

    def message(self, end):
        """What another task told next, waiting for it; None at `end`, by watch.moment()."""
        while not self.messages:
            left = end - watch.moment()
            if left <= 0:
                return None
            self.take_in(left)
        return self.messages.popleft()

    def partner_failed(self):
        """Why another task of the trial failed, as far as it is known by now; empty while all stand."""
        self.take_in(0)
        return next((why_failed(message) for message in self.messages if why_failed(message)), "")

    def take_in(self, seconds):
        """Read what comes within some seconds (None: wait for it). At its end nobody needs this process any more."""
        if not select.select([self.file], [], [], seconds)[0]:
            return
        received = os.read(self.file, 65536)
        if not received:
            os._exit(0)
        whole, newline, self.partial = (self.partial + received).rpartition(b"\n")
        for line in (whole + newline).splitlines():
            self.sort(json.loads(line.decode()))

    def sort(self, line):
        """Put a line where it is looked for. With a new task, what was meant for the last one is void."""
        if "told" in line:
            if isinstance(line["told"], dict):
                self.messages.append(line["told"])
            return
        if "program" in line:
            self.orders.clear()
            self.messages.clear()
        self.orders.append(line)


def why_failed(message):
    """The sentence in the news that a partner failed; empty for any other message."""
    return str(message.get(PARTNER_FAILED) or "")
