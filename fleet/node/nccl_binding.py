"""libnccl through ctypes: a library that raises, and a communicator that can neither block nor be used too early.

Signatures are those that nccl.h of 2.18 to 2.32 agree on. The communicator is non-blocking: any call may answer "in
progress", and until it has settled neither the communicator may be used nor an event be recorded behind its operation,
for another thread launches that. Source: NVIDIA/nccl src/nccl.h.in, src/init.cc, src/group.cc.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import threading
import time

import cuda
import nccl_library
import watch

SUCCESS, IN_PROGRESS = 0, 7
RESULTS = (
    "ncclSuccess",
    "ncclUnhandledCudaError",
    "ncclSystemError",
    "ncclInternalError",
    "ncclInvalidArgument",
    "ncclInvalidUsage",
    "ncclRemoteError",
    "ncclInProgress",
    "ncclTimeout",
)
INT8, FLOAT32, SUM = 0, 7, 0  # ncclDataType_t, ncclRedOp_t
ID_BYTES = 128
EAGER_LOOKS = 50  # at a state that mostly changes within microseconds; a sleep would take longer
NAP_FIRST, NAP_LONGEST = 2e-5, 2e-3


class UniqueId(ctypes.Structure):
    """ncclUniqueId: passed by value. Bytes, not chars: ctypes would stop reading those at a zero."""

    _fields_ = [("bytes", ctypes.c_ubyte * ID_BYTES)]


class Config(ctypes.Structure):
    """The head of ncclConfig_t as 2.14 had it; a newer library keeps its defaults for all that followed."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("blocking", ctypes.c_int),
    ]


HEAD_BYTES = 20  # without the padding behind `blocking`
MAGIC, HEAD_VERSION = 0xCAFEBEEF, 21400
PARAMETERS = dict(cuda.PARAMETERS, u=UniqueId)
SIGNATURES = {  # symbol: its parameters; all return ncclResult_t
    "ncclGetVersion": "p",
    "ncclGetUniqueId": "p",
    "ncclCommInitRankConfig": "piuip",
    "ncclCommGetAsyncError": "pp",
    "ncclCommFinalize": "p",
    "ncclCommDestroy": "p",
    "ncclCommAbort": "p",
    "ncclGroupStart": "",
    "ncclGroupEnd": "",
    "ncclSend": "dsiipp",
    "ncclRecv": "dsiipp",
    "ncclAllReduce": "ddsiipp",
}


class Library(object):
    """A libnccl.so.2 in this process. It reads its environment once: that must stand before."""

    def __init__(self, path):
        self.functions = {}
        watch.entering("dlopen " + nccl_library.NAME)
        try:
            self.shared = ctypes.CDLL(path)
        except OSError as error:
            raise cuda.Failed("dlopen", "NOT_LOADED", text=str(error)[:200])

    def bound(self, symbol):
        """The library's own function with its signature set."""
        if symbol not in self.functions:
            try:
                function = getattr(self.shared, symbol)
            except AttributeError:
                raise cuda.Failed("dlsym", "NCCL_TOO_OLD", text="this NCCL has no " + symbol)
            function.argtypes = [PARAMETERS[kind] for kind in SIGNATURES[symbol]]
            function.restype = ctypes.c_int
            self.functions[symbol] = function
        return self.functions[symbol]

    def call(self, symbol, *arguments):
        """Call an entry point; raises Failed for any result but success and in progress."""
        function = self.bound(symbol)
        watch.entering(symbol)
        result = function(*arguments)
        if result not in (SUCCESS, IN_PROGRESS):
            raise self.failed(symbol, result)

    def failed(self, call, result):
        """A result as NCCL names it, with its last words. Its numbers are not CUDA's: none goes along."""
        name = RESULTS[result] if 0 <= result < len(RESULTS) else "ncclResult_%d" % result
        try:
            last = self.shared.ncclGetLastError
            last.argtypes, last.restype = [ctypes.c_void_p], ctypes.c_char_p
            text = last(None) or b""
        except AttributeError:
            text = b""
        return cuda.Failed(call, name, text=text.decode("utf-8", "replace").strip()[:300])

    def version(self):
        """`2.27.7`."""
        number = ctypes.c_int()
        self.call("ncclGetVersion", ctypes.byref(number))
        return "%d.%d.%d" % (number.value // 10000, number.value % 10000 // 100, number.value % 100)

    def new_id(self):
        """An id for a communicator. -> 128 bytes; this process listens for the ranks from now on and must live on"""
        unique = UniqueId()
        self.call("ncclGetUniqueId", ctypes.byref(unique))
        return bytes(bytearray(unique.bytes))


def load(given, driver, version=""):
    """Load the best library that may be loaded, of a wanted version where there is one. -> Library, its Candidate

    Raises Failed MISSING with what was found and why it was not taken."""
    refused = []
    for candidate in in_order(given, driver, version, refused):
        try:
            return Library(candidate.real), candidate
        except cuda.Failed as failure:
            refused.append("%s: %s" % (candidate.path, failure.report["text"]))
    text = "%s (package: %s)" % (nccl_library.NAME, nccl_library.PACKAGE)
    raise cuda.Failed("find", "MISSING", text=text + "; not taken: " * bool(refused) + "; ".join(refused)[:400])


def in_order(given, driver, version, refused):
    """Yield candidates that may be loaded, those of the wanted version first; `refused` gets why the rest may not."""
    others = []
    for candidate in nccl_library.candidates(given):
        why = candidate.refusal(driver)
        if why:
            refused.append("%s: %s" % (candidate.path, why))
        elif version and candidate.version != version:
            others.append(candidate)
        else:
            yield candidate
    for candidate in others:
        yield candidate


class Communicator(object):
    """This process's rank among all of them. Every wait has an end, and `heed` may raise in it."""

    def __init__(self, library, heed):
        self.nccl, self.heed = library, heed
        self.handle = ctypes.c_void_p()

    def join(self, unique, rank, ranks, end):
        """Become a rank, on the GPU whose context is current; `unique` are the 128 bytes of rank 0."""
        config = Config(HEAD_BYTES, MAGIC, HEAD_VERSION, 0)
        identity = UniqueId.from_buffer_copy(unique)
        name = "ncclCommInitRankConfig"
        self.nccl.call(name, ctypes.byref(self.handle), ranks, identity, rank, ctypes.byref(config))
        self.settle(name, end)

    def settle(self, what, end):
        """Wait until the communicator can be used again, and what was enqueued is on its stream."""
        look = self.nccl.bound("ncclCommGetAsyncError")
        state, looks, nap = ctypes.c_int(), 0, NAP_FIRST
        watch.entering(what)
        while True:
            result = look(self.handle, ctypes.byref(state))
            if result or state.value not in (SUCCESS, IN_PROGRESS):
                raise self.nccl.failed(what, result or state.value)
            if state.value == SUCCESS:
                return
            if watch.moment() > end:
                text = "NCCL still waits: a rank is missing, a firewall is between them, or a path is dead"
                raise cuda.Deadline(what, "LATE", text=text)
            looks += 1
            if looks > EAGER_LOOKS:
                self.heed()
                time.sleep(nap)
                nap = min(nap * 2, NAP_LONGEST)

    def all_reduce(self, source, target, count, stream, end):
        """Enqueue the sum of `count` floats over all ranks."""
        name = "ncclAllReduce"
        self.nccl.call(name, source, target, count, FLOAT32, SUM, self.handle, stream)
        self.settle(name, end)

    def exchange(self, sends, receives, stream, end):
        """Enqueue sends and receives, each (pointer, bytes, rank), that go on together."""
        self.nccl.call("ncclGroupStart")
        for pointer, size, rank in sends:
            self.nccl.call("ncclSend", pointer, size, INT8, rank, self.handle, stream)
        for pointer, size, rank in receives:
            self.nccl.call("ncclRecv", pointer, size, INT8, rank, self.handle, stream)
        self.nccl.call("ncclGroupEnd")
        self.settle("ncclGroupEnd", end)

    def close(self, end):
        """Part from the others in peace. -> "done", or where it hangs"""
        self.nccl.call("ncclCommFinalize", self.handle)
        self.settle("ncclCommFinalize", end)
        return self.within("ncclCommDestroy", end)

    def abort(self, end):
        """Part from the others whatever they do. -> "done", "hung" or "no communicator" """
        return self.within("ncclCommAbort", end) if self.handle else "no communicator"

    def within(self, symbol, end):
        """Make a call that may never return, in a thread that is left behind then: the process ends with the task."""
        function = self.nccl.bound(symbol)
        thread = threading.Thread(target=function, args=(self.handle,))
        thread.daemon = True
        watch.entering(symbol)
        thread.start()
        thread.join(max(0.1, end - watch.moment()))
        return "hung" if thread.is_alive() else "done"
