"""The collector's supervisor: one worker process a hang domain, one line of JSON a frame on standard output.

    H {pid, run, time, protocol}            hello, first of all            F source [[component, key, value], ...]
    S domain schema groups scales           what the vectors mean          T domain schema time K|D values
    L source line time                      a line of the log              O command text     output of a tool, verbatim
    X domain seconds state wchan            a worker is stuck              R domain           it goes on
    E domain what text                      a domain can't be read         C token time       answer to `k token`
    Q reason                                good-bye

Standard input: `k <token>` renews the lease, `K` asks for key frames, `p <seconds>` sets the period, `q` quits. The end
of standard input, a lease that runs out or the death of the parent ends everything: nothing stays on the node.
"""

import ctypes
import json
import os
import platform
import select
import signal
import sys
import time

import kmsg
import nvml
import sysfs
import wiring
from workers import Orders, Unreadable, Voice, die_with_parent, stream

PROTOCOL = 1
PR_SET_CHILD_SUBREAPER = 36
UNREADABLE = 3
"""Exit status of a worker that found nothing it can read."""
RETRY_UNREADABLE = 30.0
RESPAWNS = 3
RESPAWN_WINDOW = 600.0
BACKLOG = 262144
"""Bytes held for a reader that is behind; above it the workers have to wait."""
PIECE = 262144
LEAVING = 0.5
"""Seconds that the last words and the workers get at the end."""


def read_nvml(voice, orders):
    """The GPUs and their lanes."""
    stream("nvml", nvml.NvmlReader(orders.period), voice, orders)


def read_ib(voice, orders):
    """The RDMA devices."""
    stream("ib", sysfs.InfinibandReader(), voice, orders)


def read_pci(voice, orders):
    """The PCIe links."""
    stream("pci", sysfs.PciReader(), voice, orders)


DOMAINS = (("nvml", read_nvml), ("ib", read_ib), ("pci", read_pci), ("kmsg", kmsg.follow), ("wiring", wiring.tell))
TICKING = ("nvml", "ib", "pci")


class Worker(object):
    """One worker process as its supervisor sees it."""

    def __init__(self, domain, work):
        self.domain = domain
        self.work = work
        self.pid = None
        self.pipe = None
        self.orders = None
        self.rest = b""
        self.heard = 0.0
        self.hung_said = None
        self.deaths = []
        self.start_at = 0.0

    def start(self, period, others):
        """Fork it. The child closes what belongs to its siblings and to the channel."""
        reading, self_write = os.pipe()
        self_read, orders = os.pipe()
        supervisor = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(reading)
                os.close(orders)
                status = self._be(supervisor, self_write, Orders(self_read, period), others)
            finally:
                os._exit(status)
        os.close(self_write)
        os.close(self_read)
        os.set_blocking(orders, False)
        self.pid, self.pipe, self.orders, self.rest = pid, reading, orders, b""
        self.heard, self.hung_said, self.start_at = time.monotonic(), None, None

    def _be(self, supervisor, out, orders, others):
        die_with_parent(signal.SIGKILL)
        if os.getppid() != supervisor:
            return 0
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        for other in others:
            other.close()
        voice = Voice(out)
        try:
            self.work(voice, orders)
        except Unreadable as error:
            voice.say("E", self.domain, "unreadable", str(error)[:500])
            return UNREADABLE
        except Exception as error:
            voice.say("E", self.domain, "defect", "%s: %s" % (type(error).__name__, str(error)[:500]))
            return 1
        return 0

    def close(self):
        """Close the supervisor's ends of the pipes."""
        for descriptor in (self.pipe, self.orders):
            if descriptor is not None:
                os.close(descriptor)
        self.pipe = self.orders = None

    def order(self, text):
        """Ask something of the worker; one that does not listen misses it."""
        if self.orders is not None:
            try:
                os.write(self.orders, text.encode() + b"\n")
            except OSError:
                pass

    def may_start_again(self, now):
        """Whether it died seldom enough to be started anew."""
        self.deaths = [death for death in self.deaths if now - death < RESPAWN_WINDOW] + [now]
        return len(self.deaths) <= RESPAWNS


class Supervisor(object):
    """Holds the channel, the lease and the workers."""

    def __init__(self, config):
        self.config = config
        self.period = config["period"]
        self.workers = [Worker(domain, work) for domain, work in DOMAINS]
        self.pending = b""
        self.heard = b""
        self.lease_end = time.monotonic() + config["lease"]
        self.why = None
        self.blocked = 0.0

    def run(self):
        """Serve until something ends it."""
        self.say("H", {"pid": os.getpid(), "run": self.config["run"], "time": time.time(), "protocol": PROTOCOL})
        self.say("F", "node", node_facts())
        while self.why is None:
            self.start_due()
            self.serve(0.2)
            self.look_after()
        self.leave()

    def say(self, *frame):
        """Put a frame of our own on the way."""
        self.pending += json.dumps(frame, separators=(",", ":")).encode() + b"\n"

    def start_due(self):
        """Start the workers whose time has come."""
        now = time.monotonic()
        for worker in self.workers:
            if worker.pid is None and worker.start_at is not None and now >= worker.start_at:
                worker.start(self.period, [other for other in self.workers if other is not worker])

    def serve(self, seconds):
        """Wait for the channel and the workers, and move what there is to move."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(1, select.POLLOUT if self.pending else 0)
        by_pipe = {}
        if len(self.pending) < BACKLOG:
            by_pipe = {worker.pipe: worker for worker in self.workers if worker.pipe is not None}
        else:
            self.blocked = time.monotonic()
        for pipe in by_pipe:
            poll.register(pipe, select.POLLIN)
        for descriptor, event in poll.poll(int(seconds * 1000)):
            if descriptor == 0:
                self.listen()
            elif descriptor == 1:
                self.write() if event & select.POLLOUT else self.end("closed")
            else:
                self.take(by_pipe[descriptor])

    def listen(self):
        """Obey the operator's side."""
        try:
            data = os.read(0, 4096)
        except BlockingIOError:
            return
        if not data:
            self.end("eof")
        *lines, self.heard = (self.heard + data).split(b"\n")
        self.heard = self.heard[-256:]
        for line in lines:
            self.obey(line.decode("ascii", "replace").split())

    def obey(self, words):
        """One order."""
        if not words:
            return
        if words[0] == "q":
            self.end("quit")
        elif words[0] == "k":
            self.lease_end = time.monotonic() + self.config["lease"]
            self.say("C", words[1] if len(words) > 1 else "", time.time())
        elif words[0] in ("K", "p"):
            if words[0] == "p":
                self.period = min(max(float(words[1]), 0.2), 60.0)
            for worker in self.workers:
                worker.order(" ".join(words))

    def write(self):
        """Write what the channel takes now."""
        try:
            self.pending = self.pending[os.write(1, self.pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self.end("closed")

    def take(self, worker):
        """Pass on whole lines of a worker."""
        data = os.read(worker.pipe, PIECE)
        if not data:
            worker.close()
            return
        worker.heard = time.monotonic()
        if worker.hung_said is not None:
            worker.hung_said = None
            self.say("R", worker.domain)
        lines, newline, worker.rest = (worker.rest + data).rpartition(b"\n")
        self.pending += lines + newline

    def look_after(self):
        """Notice workers that ended or are stuck, and the end of the lease."""
        now = time.monotonic()
        if now > self.lease_end:
            self.end("lease")
        for worker in self.workers:
            if worker.pid is not None and worker.pipe is None:
                self.bury(worker, now)
            elif worker.pid is not None and worker.domain in TICKING:
                self.watch(worker, now)

    def bury(self, worker, now):
        """Take the exit status of a worker whose pipe has closed, and decide whether it starts anew."""
        pid, status = os.waitpid(worker.pid, os.WNOHANG)
        if pid == 0:
            return
        worker.pid = None
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            worker.start_at = None
        elif os.WIFEXITED(status) and os.WEXITSTATUS(status) == UNREADABLE:
            worker.start_at = now + RETRY_UNREADABLE
        elif worker.may_start_again(now):
            worker.start_at = now + 1.0
            self.say("E", worker.domain, "died", "%s, started anew" % how_it_ended(status))
        else:
            worker.start_at = None
            self.say("E", worker.domain, "given up", "%s too often, not started again" % how_it_ended(status))

    def watch(self, worker, now):
        """Report a worker that has said nothing for three ticks; again after each 10 seconds."""
        silent = now - max(worker.heard, self.blocked)
        if silent < max(3 * self.period, 3.0):
            return
        if worker.hung_said is None or now - worker.hung_said >= 10:
            worker.hung_said = now
            state = process_text(worker.pid, "stat").rpartition(")")[2].split()
            wchan = process_text(worker.pid, "wchan")
            self.say("X", worker.domain, round(silent, 1), state[0] if state else "?", wchan)

    def end(self, why):
        """Leave after this turn."""
        self.why = self.why or why

    def leave(self):
        """Say good-bye and end the workers; one that is stuck in the kernel dies when the kernel lets it go."""
        self.say("Q", self.why)
        for worker in self.workers:
            if worker.pid is not None:
                try:
                    os.kill(worker.pid, signal.SIGKILL)
                except OSError:
                    pass
        until = time.monotonic() + LEAVING
        while self.pending and self.why != "closed" and time.monotonic() < until:
            if select.select([], [1], [], 0.1)[1]:
                self.write()
        os._exit(0)


def how_it_ended(status):
    """A worker's end in words."""
    if os.WIFSIGNALED(status):
        return "its worker was killed by signal %d" % os.WTERMSIG(status)
    return "its worker ended with status %d" % os.WEXITSTATUS(status)


def process_text(pid, name):
    """A file of /proc/PID."""
    try:
        with open("/proc/%d/%s" % (pid, name)) as file:
            return file.read(4096).strip()
    except OSError:
        return ""


def node_facts():
    """What the node is, from places that can't hang."""
    kernel = os.uname()
    facts = [
        ["", "hostname", kernel.nodename],
        ["", "kernel", kernel.release],
        ["", "python", platform.python_version()],
        ["", "collector", "python3 " + platform.python_version()],
    ]
    try:
        facts.append(["", "boot_time", round(kmsg.boot_moment(), 1)])
        with open("/proc/cmdline") as file:
            facts.append(["", "kernel_cmdline", file.read(4096).strip()])
    except (OSError, ValueError):
        pass
    return facts


def main(config):
    """Run the collector; does not return."""
    die_with_parent(signal.SIGKILL)
    if os.getpid() != os.getpgrp():
        os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.set_blocking(1, False)
    try:
        Supervisor(config).run()
    except Exception as error:
        sys.stderr.write("collector: %s: %s\n" % (type(error).__name__, error))
        raise
