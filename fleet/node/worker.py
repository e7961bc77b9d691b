"""The warm probe worker of a node: a supervisor that never touches CUDA, and children that hold contexts and run tasks.

It holds the node's lock while it lives. Orders come as JSON lines on stdin: `{"run": [{"id", "program", "arguments"}],
"deadline": seconds, "force": bool}`, `{"told": {"task", "message"}}` for a task of the run, `{"keep": 1}` every few
seconds, `{"quit": 1}`. It answers `busy` or `ready` first, then for each run `computing` (and no tasks) or the lines of
the tasks, each with its `task` (`tell` among them: what the task tells its partners), and `over` at the end. End of
input, a lease without orders, or a signal end it and every child. A call that does not return is named at the deadline.
Runs on the node: Python 3.6+, standard library only.
"""

import errno
import json
import os
import select
import signal
import socket
import struct

import bench
import crew
import programs
import tree
import watch

LOCK = "\0lanescope-probe"  # abstract: gone with the process, nothing left behind
LEASE = 6.0  # seconds without an order
LAUNCH_LIMIT, CHECK_LIMIT = 20.0, 5.0
LONGEST_ORDER = 1 << 20
MOST_EARLY = 256  # messages kept for tasks that have not begun
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)


class Ended(Exception):
    """Time to go; str() says why."""


class Held(Exception):
    """Somebody else holds the node's lock."""

    def __init__(self, pid, uid):
        Exception.__init__(self, pid, uid)
        self.report = {"pid": pid, "uid": uid, "name": bench.name_of(pid)}


def take_lock():
    """Bind the node's lock. -> its socket; raises Held with who has it"""
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(LOCK)
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise Held(*holder())
    lock.listen(4)
    lock.setblocking(False)
    return lock


def holder():
    """Who listens on the lock. -> pid, uid; (0, -1) when it does not say"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(1.0)
        try:
            peer.connect(LOCK)
            credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return 0, -1
    pid, uid, _ = struct.unpack("3i", credentials)
    return pid, uid


def say(**line):
    """Write a line to the operator."""
    unsent = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    try:
        while unsent:
            unsent = unsent[os.write(1, unsent) :]
    except BrokenPipeError:
        raise Ended("nobody reads")


class Supervisor(object):
    """Reads orders, deals tasks to children, relays what they say."""

    def __init__(self, lock):
        self.lock = lock
        self.crew = crew.Crew([lock.fileno()])
        self.partial, self.orders = b"", []
        self.early = []  # (task, message) for tasks that have not begun

    def serve(self):
        """Run orders until something ends us; raises Ended."""
        self.renew()
        self.launch()
        while True:
            while not self.orders:
                self.step()
            order = self.orders.pop(0)
            if self.may_run(order):
                self.run(order)
            say(over=1)

    def launch(self):
        """Start the first child, so that the cost of starting is paid and known before the first task."""
        said = self.ask("open_driver", {}, LAUNCH_LIMIT)
        say(ready=os.getpid(), launch_s=said.get("seconds", 0.0), **{k: v for k, v in said.items() if k != "seconds"})

    def may_run(self, order):
        """Refuse while others compute on the GPUs, unless told not to look."""
        if order.get("force"):
            return True
        gpus = sorted({bus for task in order["run"] for bus in task["arguments"].get("gpus", [])})
        if not gpus:
            return True
        said = self.ask("find_processes", {"gpus": gpus, "ours": self.crew.pids()}, CHECK_LIMIT)
        for answer in ("computing", "unchecked", "error"):
            if answer in said:
                say(**{answer: said[answer]})
        return "computing" not in said and "error" not in said

    def ask(self, program, arguments, limit):
        """Run one of our own programs. -> all it said"""
        said = {}
        job = crew.Job(program, program, arguments, watch.moment() + limit)
        self.finish([job], lambda job, line: said.update(line))
        said.pop("end", None)
        said.pop("task", None)
        return said

    def run(self, order):
        """Run the tasks of an order at once; one whose program is not here is refused."""
        end = watch.moment() + float(order["deadline"])
        known = [task for task in order["run"] if task["program"] in programs.NAMES]
        for task in order["run"]:
            if task not in known:
                report = {"call": "start", "name": "NO_PROGRAM", "code": 0, "text": str(task["program"])[:64]}
                say(task=task["id"], error=report)
                say(task=task["id"], end="refused", seconds=0.0)
        jobs = [crew.Job(task["id"], task["program"], task["arguments"], end) for task in known]
        self.finish(jobs, lambda job, line: say(task=job.name, **line))

    def finish(self, jobs, hear):
        """Deal jobs to children and wait until all have ended, whatever becomes of the children."""
        self.crew.deal(jobs, hear)
        early, self.early = self.early, []
        for name, message in early:
            self.tell(name, message)
        while not all(job.ended for job in jobs):
            self.step()

    def step(self):
        """Wait a little for orders and answers, take them in, and look at the clock."""
        readable = select.select([0, self.lock] + self.crew.files(), [], [], 0.05)[0]
        for file in readable:
            if file == 0:
                self.read_orders()
            elif file is self.lock:
                self.answer_at_lock()
            else:
                self.crew.read(file)
        self.crew.look_after()

    def answer_at_lock(self):
        """Somebody asks who holds the lock: the kernel has told them, so hang up."""
        try:
            self.lock.accept()[0].close()
        except OSError:
            pass  # they have gone already

    def read_orders(self):
        """Take in what came on stdin."""
        received = os.read(0, 65536)
        if not received:
            raise Ended("end of input")
        self.renew()
        whole, _, self.partial = (self.partial + received).rpartition(b"\n")
        if len(self.partial) > LONGEST_ORDER:
            raise Ended("an order without end")
        for line in whole.splitlines():
            self.take(json.loads(line.decode()))

    def take(self, order):
        """Act on an order, or put it in line."""
        if "quit" in order:
            raise Ended("told to quit")
        if "keep" in order:
            say(kept=order["keep"])
        if "run" in order:
            self.orders.append(order)
            self.early = []
        if "told" in order:
            self.tell(order["told"]["task"], order["told"]["message"])

    def tell(self, name, message):
        """Pass a message to a task, or keep it for one that is still to begin."""
        if not self.crew.tell(name, message) and len(self.early) < MOST_EARLY:
            self.early.append((name, message))

    def renew(self):
        """Begin the lease anew. An alarm, so that it holds even while we are stuck in a write nobody reads."""
        signal.setitimer(signal.ITIMER_REAL, LEASE)


def stop(number, frame):
    """On any signal to end: leave through `main`, which ends the children."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Ended("the lease ran out" if number == signal.SIGALRM else "signal %d" % number)


def main():
    """Hold the lock, serve, and leave nothing behind."""
    for each in SIGNALS:
        signal.signal(each, stop)
    supervisor = None
    tree.adopt()
    try:
        supervisor = Supervisor(take_lock())
        supervisor.serve()
    except Held as held:
        say(busy=held.report)
    except Ended as ended:
        why = str(ended)
        left = supervisor.crew.end() if supervisor else []
        if select.select([], [1], [], 0)[1]:
            say(bye=why, left=left)
    finally:
        if supervisor:
            supervisor.crew.end()
    os._exit(0)
