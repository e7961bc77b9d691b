"""One external tool, run as a child with its output passed on, and ended for certain with all that it started.

Arguments: `argv` (never a shell's), `gpus` (whose compute processes matter), `counters` (NICs whose error counters are
read at the edges), `rendezvous`. A `server` tells `{"listening": port}` when the tool listens on `port`, or when
`start_delay` seconds have passed, with the `address` of its node; a `client` waits for that, and appends the address to
its words, or `server` where the arguments say that.
Lines: head, out and err (text, in pieces), truncated, counters, exit.
Runs on the node: Python 3.6+, standard library only.
"""

import codecs
import ctypes
import json
import os
import re
import select
import signal
import socket
import subprocess

import cuda
import listening
import nccl_library
import nic_counters
import tool_words
import tree
import watch

MOST_OUTPUT = 1 << 20  # bytes of lines; what is above is read and dropped, and that is said
PIECE = 16384
TAIL = 400  # characters of each stream that are kept for its last words
GRACE, LAST = 0.3, 0.4  # seconds from TERM to KILL, and from KILL to giving up
START_DELAY = 2.0  # seconds in which a server listens, unless told otherwise
NAP = 0.05
ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:%-]{0,252}$")
SIDES = ("", "server", "client")
UNKNOWN_OPTION = ("unrecognized option", "invalid option")  # in the words of getopt


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.argv = arguments.get("argv")
        objection = tool_words.objection(self.argv)
        require(not objection, objection)
        self.nics = arguments.get("counters") or []
        require(
            isinstance(self.nics, list) and all(nic_counters.is_device(nic) for nic in self.nics),
            "counters are names of RDMA devices",
        )
        self.side = arguments.get("rendezvous", "")
        require(self.side in SIDES, "rendezvous is server or client")
        self.port, self.server = arguments.get("port", 0), arguments.get("server", "")
        require(type(self.port) is int and 0 <= self.port < 65536, "port is a TCP port")
        self.delay = arguments.get("start_delay", START_DELAY)
        require(type(self.delay) in (int, float) and 0 <= self.delay <= 60, "start_delay is a number from 0 to 60")
        require(self.server == "" or is_address(self.server), "server is an address")

    def meet(self, address):
        """As the client: go to the server where its own side says it is, unless the arguments said so."""
        found = self.server or address
        require(is_address(found), "the server's side gave no address")
        self.argv = self.argv + [found]


def is_address(text):
    """Whether a value is a host name or an IP address: it becomes a word of a command."""
    return isinstance(text, str) and ADDRESS.match(text) is not None


def require(fits, text):
    """Refuse arguments that do not fit."""
    if not fits:
        raise cuda.Failed("arguments", "BAD_TASK", text=text)


def run(arguments, bench):
    """Run one tool on the bench: an object that emits lines, and knows barrier, deadline and the other tasks."""
    plan = Plan(arguments)
    path = located(plan.argv[0])
    if plan.side == "server" and plan.port and listening.sockets(plan.port):
        raise cuda.Failed("port %d" % plan.port, "PORT_IN_USE", text="another process listens on it")
    if plan.side == "client":
        plan.meet(wait_for_server(bench))
    if plan.side == "server":
        bench.pass_barrier()  # its client can start only after it
    else:
        bench.barrier()
    before = nic_counters.read(plan.nics)
    bench.emit(head={"tool": path, "argv": plan.argv})
    status, last_words = watched(path, plan, bench)
    if before:
        bench.emit(counters=nic_counters.moved(before, nic_counters.read(plan.nics)))
    bench.emit(exit=status)
    if plan.side and status:
        raise failure(plan.argv[0], status, last_words)


def failure(name, status, said):
    """What a tool's end with a status means: one that does not know an option is an older one, or was built without."""
    if any(words in said for words in UNKNOWN_OPTION):
        text = "a %s that knows what it was asked, %s (package: %s)" % (name, said, tool_words.PACKAGES[name])
        return cuda.Failed(name, "MISSING", text=text)
    return cuda.Failed(name, "EXIT", text="it ended with status %d%s" % (status, said and ": " + said))


def located(name):
    """The path of a tool; raises Failed where it is missing, or where anybody could have written it."""
    watch.entering("look for " + name)
    path = tool_words.found(name)
    if not path:
        raise cuda.Failed("look for " + name, "MISSING", text="%s (package: %s)" % (name, tool_words.PACKAGES[name]))
    distrust = nccl_library.distrust(os.path.realpath(path))
    if distrust:
        raise cuda.Failed("look for " + name, "DISTRUSTED", text=distrust)
    return path


def wait_for_server(bench):
    """Wait until the server's side says that it listens. -> the address by which its node is reached"""
    while True:
        said = bench.told()
        if "listening" in said:
            return said.get("address", "")


def own_address():
    """The address by which this node was reached over SSH; its name where that leads to nobody else."""
    parts = os.environ.get("SSH_CONNECTION", "").split()
    address = parts[2] if len(parts) == 4 else ""
    near = not address or address.startswith("127.") or ":" in address  # perftest speaks IPv4 unless told
    return socket.gethostname() if near else address


def watched(path, plan, bench):
    """Run a tool to its end under watch, whatever ends it. -> exit status, negative for a signal; its last line"""
    tree.adopt()
    signal.signal(signal.SIGTERM, leave)
    tree.die_with_parent(signal.SIGTERM)  # KILL would leave no time to end what the tool has started
    try:
        ran = Run(path, plan, bench)
        return ran.to_its_end(), ran.last_words()
    finally:
        tree.end_below(GRACE, LAST)
        tree.die_with_parent(signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def leave(number, frame):
    """On TERM: end what the tool has started, then ourselves."""
    tree.end_below(GRACE, LAST)
    os._exit(0)


class Run(object):
    """A tool at work."""

    def __init__(self, path, plan, bench):
        self.plan, self.bench = plan, bench
        watch.entering("start " + plan.argv[0])
        try:
            self.process = subprocess.Popen(
                [path] + plan.argv[1:],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                preexec_fn=apart(ctypes.CDLL(None).prctl),
            )
        except OSError as error:
            raise cuda.Failed("start " + plan.argv[0], "NOT_STARTED", text=str(error.strerror)[:200])
        self.streams = {stream.fileno(): name for name, stream in self.outputs()}
        self.readers = {name: codecs.getincrementaldecoder("utf-8")("replace") for name, _ in self.outputs()}
        self.said, self.dropped = 0, 0
        self.tails = {name: "" for name, _ in self.outputs()}
        self.announce_at = watch.moment() + plan.delay if plan.side == "server" else None

    def outputs(self):
        """The two streams of the tool, named as the lines are."""
        return ("out", self.process.stdout), ("err", self.process.stderr)

    def to_its_end(self):
        """Pass output on until the tool has ended. -> its status; raises Failed when something else ends it"""
        watch.entering(self.plan.argv[0])
        while self.process.poll() is None:
            self.pass_on(NAP)
            self.bench.heed()
            self.announce()
            if watch.moment() > self.bench.end:
                raise cuda.Deadline(self.plan.argv[0], "LATE", text="it did not end in time and was killed")
        while self.streams and self.pass_on(0):  # what is left in the pipes; who else holds them open is not waited for
            pass
        for name in self.readers:
            self.say(name, b"", True)
        if self.dropped:
            self.bench.emit(truncated={"said": self.said, "dropped": self.dropped})
        return self.process.returncode

    def pass_on(self, seconds):
        """Move what there is to move, waiting a little for it. -> whether there was anything"""
        ready = select.select(list(self.streams), [], [], seconds)[0]
        for file in ready:
            data = os.read(file, PIECE)
            if data:
                self.say(self.streams[file], data)
            else:
                del self.streams[file]
        return bool(ready)

    def say(self, name, data, last=False):
        """One piece of output; nothing once the tool has said more than it may."""
        text = self.readers[name].decode(data, last)
        self.tails[name] = (self.tails[name] + text)[-TAIL:]
        size = len(json.dumps(text))
        if self.dropped or self.said + size > MOST_OUTPUT:  # no gaps: what is passed on is a beginning
            self.dropped += len(data)
        elif text:
            self.said += size
            self.bench.emit(**{name: text})

    def last_words(self):
        """The last line with a word in it, of stderr where there is one; empty where the tool said nothing.

        What follows on an unknown option is advice: then it is the line that names the option."""
        lines = [line.strip() for name in ("out", "err") for line in self.tails[name].splitlines()]
        lines = [line for line in lines if any(letter.isalnum() for letter in line)]
        unknown = [line for line in lines if any(words in line for words in UNKNOWN_OPTION)]
        return (unknown or lines or [""])[-1]

    def announce(self):
        """As a server: say once that the tool listens, or that it should by now."""
        if self.announce_at is None:
            return
        port = self.plan.port
        seen = bool(port and listening.sockets(port) & listening.held_by(tree.below(os.getpid())))
        if seen or watch.moment() > self.announce_at:
            self.announce_at = None
            self.bench.tell(listening=port, seen=seen, address=own_address())


def apart(prctl):
    """What the tool's process does first: a session of its own, the usual signals, an end with ours."""

    def begin():
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        prctl(tree.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    return begin
