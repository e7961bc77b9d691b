"""Runs one command on the node and ends it for certain: with its whole tree, whatever becomes of us.

Standard output carries JSON lines: B pid; O 1|2 base64 (a piece of stdout or stderr); Z why status left. The command
ends when it exits, when its deadline passes, when standard input ends or its lease runs out (`k` renews it, `q` quits).
Descendants that double-fork or start a session of their own come back to us (subreaper) and are ended too: TERM, a
second later KILL. The death of our parent must reach us as TERM: KILL would leave no time to end the others.
"""

import base64
import ctypes
import json
import os
import select
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PIECE = 65536
GRACE = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 2.0))
"""Signal -> seconds the tree gets to be gone."""


def say(*frame):
    """One line to the operator's side; where nobody reads any more it is lost."""
    try:
        data = json.dumps(frame, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        pass


def descendants():
    """(pid, state) of all living processes below this one."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        children.setdefault(int(parent), []).append((int(name), state))
    found = []
    parents = [os.getpid()]
    while parents:
        for pid, state in children.get(parents.pop(), []):
            parents.append(pid)
            if state not in "ZX":
                found.append((pid, state))
    return found


def reap():
    """Take the exit status of whatever ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:
        pass


def end_tree():
    """End all descendants; those that no signal reaches (stuck in the kernel) are given back."""
    for number, seconds in GRACE:
        until = time.monotonic() + seconds
        signalled = set()
        while time.monotonic() < until:
            left = descendants()
            if not left:
                return []
            for pid, _ in left:
                if pid not in signalled:
                    signalled.add(pid)
                    try:
                        os.kill(pid, number)
                    except OSError:
                        pass
            time.sleep(0.02)
            reap()
    return descendants()


class Run(object):
    """One command under watch."""

    def __init__(self, config):
        self.config = config
        self.left_to_send = config["most"]
        self.why = None
        self.lease_end = time.monotonic() + config["lease"]
        self.child = subprocess.Popen(
            config["argv"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=self._apart,
        )
        self.streams = {self.child.stdout.fileno(): 1, self.child.stderr.fileno(): 2}
        self.truncated = False

    def _apart(self):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def watch(self, asked_to_end):
        """Pass output on until something ends the command; why it ended."""
        deadline = time.monotonic() + self.config["deadline"]
        while self.why is None:
            self.serve()
            now = time.monotonic()
            if self.child.poll() is not None:
                self.drain()
                self.why = "exit"
            elif asked_to_end:
                self.why = "signal"
            elif now > deadline:
                self.why = "deadline"
            elif now > self.lease_end:
                self.why = "lease"
        return self.why

    def serve(self):
        """Move what there is to move."""
        ready = select.select([0] + list(self.streams), [], [], 0.05)[0]
        for descriptor in ready:
            if descriptor == 0:
                self.listen()
            else:
                self.pass_on(descriptor)

    def listen(self):
        """Obey the operator's side."""
        data = os.read(0, 4096)
        if not data or b"q" in data:
            self.why = "quit" if data else "eof"
        self.lease_end = time.monotonic() + self.config["lease"]

    def pass_on(self, descriptor):
        """Send one piece of output on; what is above the cap is read and dropped, and that is said."""
        data = os.read(descriptor, PIECE)
        if not data:
            del self.streams[descriptor]
            return False
        kept = data[: self.left_to_send]
        self.left_to_send -= len(kept)
        self.truncated = self.truncated or len(kept) < len(data)
        if kept:
            say("O", self.streams[descriptor], base64.b64encode(kept).decode())
        return True

    def drain(self):
        """Send what the ended command left in its pipes; a child that holds them open is not waited for."""
        while self.streams:
            ready = select.select(list(self.streams), [], [], 0)[0]
            if not ready:
                return
            for descriptor in ready:
                self.pass_on(descriptor)


def main(config):
    """Run the command of the configuration; does not return."""
    asked_to_end = []
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: asked_to_end.append(1))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        run = Run(config)
    except OSError as error:
        say("Z", "not started: %s" % error.strerror, None, [], False)
        os._exit(0)
    say("B", run.child.pid)
    why = run.watch(asked_to_end)
    status = run.child.poll()
    left = end_tree()
    say("Z", why, status, left, run.truncated)
    os._exit(0)
