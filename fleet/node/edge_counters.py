"""NVML through ctypes: the error counters read at a trial's edges, and which processes compute on a GPU.

No pynvml here: a trial needs five entry points. Where NVML is missing or refuses, a counter is absent, never 0.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes

import watch

LANES = 18  # NVML_NVLINK_MAX_LINKS
LANE_FIELDS = (  # NVML_FI_DEV_NVLINK_ERROR_DL_*; scopeId is the link
    (161, "replay_errors"),
    (162, "recovery_errors"),
    (163, "crc_errors"),
)
INSUFFICIENT_SIZE = 7
ECC_KINDS = ((0, "ecc_corrected"), (1, "ecc_uncorrected"))  # nvmlMemoryErrorType_t
VOLATILE = 0  # nvmlEccCounterType_t: since the driver was loaded
REMAPPED = ("remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failure")


class Value(ctypes.Union):
    """nvmlValue_t."""

    _fields_ = [
        ("double", ctypes.c_double),
        ("unsigned", ctypes.c_uint),
        ("unsigned_long", ctypes.c_ulong),
        ("unsigned_long_long", ctypes.c_ulonglong),
        ("long_long", ctypes.c_longlong),
        ("signed", ctypes.c_int),
        ("unsigned_short", ctypes.c_ushort),
    ]


MEMBERS = tuple(name for name, _ in Value._fields_)  # in the order of nvmlValueType_t


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t."""

    _fields_ = [
        ("fieldId", ctypes.c_uint),
        ("scopeId", ctypes.c_uint),
        ("timestamp", ctypes.c_int64),
        ("latencyUsec", ctypes.c_int64),
        ("valueType", ctypes.c_uint),
        ("nvmlReturn", ctypes.c_uint),
        ("value", Value),
    ]


class ProcessInfo(ctypes.Structure):
    """nvmlProcessInfo_t, third version."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
    ]


class Missing(Exception):
    """NVML is not there or does not answer; str() says why."""


class Nvml(object):
    """The NVML of this process."""

    def __init__(self):
        watch.entering("dlopen libnvidia-ml.so.1")
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            raise Missing(str(error)[:200])
        self.handles = {}
        self.call("nvmlInit_v2")

    def call(self, symbol, *arguments):
        """Call an entry point; raises Missing for what it lacks and for any result but success."""
        result = self.attempt(symbol, *arguments)
        if result:
            raise Missing("%s returned %d" % (symbol, result))

    def attempt(self, symbol, *arguments):
        """Call an entry point. -> nvmlReturn_t"""
        try:
            function = getattr(self.library, symbol)
        except AttributeError:
            raise Missing("no %s" % symbol)
        watch.entering(symbol)
        return function(*arguments)

    def handle(self, bus):
        """The device at a PCI bus address."""
        if bus not in self.handles:
            handle = ctypes.c_void_p()
            self.call("nvmlDeviceGetHandleByPciBusId_v2", ctypes.c_char_p(bus.encode()), ctypes.byref(handle))
            self.handles[bus] = handle
        return self.handles[bus]

    def lane_errors(self, bus):
        """Error counters of all lanes of a GPU. -> {(bus, lane, name): count}"""
        asked = [(field, lane, name) for lane in range(LANES) for field, name in LANE_FIELDS]
        values = (FieldValue * len(asked))()
        for value, (field, lane, _) in zip(values, asked):  # noqa: B905
            value.fieldId, value.scopeId = field, lane
        self.call("nvmlDeviceGetFieldValues", self.handle(bus), ctypes.c_int(len(asked)), ctypes.byref(values))
        return {
            (bus, lane, name): int(getattr(value.value, MEMBERS[value.valueType]))
            for value, (_, lane, name) in zip(values, asked)  # noqa: B905
            if value.nvmlReturn == 0 and value.valueType < len(MEMBERS)
        }

    def pcie_replays(self, bus):
        """Replay counter of a GPU's PCIe link. -> {(bus, None, "replays"): count}"""
        count = ctypes.c_uint()
        self.call("nvmlDeviceGetPcieReplayCounter", self.handle(bus), ctypes.byref(count))
        return {(bus, None, "replays"): count.value}

    def memory_errors(self, bus):
        """ECC errors and replaced rows of a GPU's memory. -> {(bus, None, name): count}; what it lacks is absent"""
        found = {}
        for kind, name in ECC_KINDS:
            count = ctypes.c_ulonglong()
            arguments = (ctypes.c_int(kind), ctypes.c_int(VOLATILE), ctypes.byref(count))
            if self.answers("nvmlDeviceGetTotalEccErrors", bus, *arguments):
                found[bus, None, name] = count.value
        rows = [ctypes.c_uint() for _ in REMAPPED]
        if self.answers("nvmlDeviceGetRemappedRows", bus, *[ctypes.byref(row) for row in rows]):
            found.update({(bus, None, name): row.value for name, row in zip(REMAPPED, rows)})  # noqa: B905
        return found

    def answers(self, symbol, bus, *arguments):
        """Ask a GPU something. -> whether it answered; it may lack what was asked for"""
        try:
            self.call(symbol, self.handle(bus), *arguments)
        except Missing:
            return False
        return True

    def number(self, symbol, bus, *arguments):
        """A number that an entry point gives by its last argument; None where the GPU does not answer."""
        value = ctypes.c_ulonglong()  # whole, where the library writes the lower half only
        return value.value if self.answers(symbol, bus, *(arguments + (ctypes.byref(value),))) else None

    def compute_processes(self, bus):
        """Pids of the processes with a compute context on a GPU."""
        symbol, handle, count = "nvmlDeviceGetComputeRunningProcesses_v3", self.handle(bus), ctypes.c_uint(0)
        result = self.attempt(symbol, handle, ctypes.byref(count), None)
        if result == 0:
            return []
        if result != INSUFFICIENT_SIZE:
            raise Missing("%s returned %d" % (symbol, result))
        count = ctypes.c_uint(count.value * 2 + 8)  # some may have started since
        found = (ProcessInfo * count.value)()
        self.call(symbol, handle, ctypes.byref(count), found)
        return [process.pid for process in found[: count.value]]


def moved(before, after):
    """Counters read at both edges, as the lines of the protocol have them."""
    return [
        {"gpu": bus, "lane": lane, "name": name, "before": count, "after": after[bus, lane, name]}
        for (bus, lane, name), count in before.items()
        if (bus, lane, name) in after
    ]
