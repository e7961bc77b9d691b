"""libcuda through ctypes: entry points that raise, devices with their primary context kept, memory freed in order.

The symbols are those of the driver ABI that CUDA 11.8, 12.9 and 13.0 agree on: `_v2` where the unsuffixed symbol is the
32-bit ABI of CUDA 3.1, and none of those whose signature changed (contexts are retained, never created).
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import os
import time

import watch

PARAMETERS = {
    "i": ctypes.c_int,
    "I": ctypes.c_uint,
    "s": ctypes.c_size_t,
    "d": ctypes.c_uint64,  # CUdeviceptr
    "p": ctypes.c_void_p,  # any pointer or handle
    "c": ctypes.c_char_p,
}
SIGNATURES = {  # symbol: its parameters; all return CUresult
    "cuInit": "I",
    "cuDriverGetVersion": "p",
    "cuGetErrorName": "ip",
    "cuGetErrorString": "ip",
    "cuDeviceGetCount": "p",
    "cuDeviceGetByPCIBusId": "pc",
    "cuDeviceGetName": "pii",
    "cuDeviceGetUuid_v2": "pi",
    "cuDeviceGetUuid": "pi",
    "cuDeviceCanAccessPeer": "pii",
    "cuDeviceGetAttribute": "pii",
    "cuDevicePrimaryCtxRetain": "pi",
    "cuCtxSetCurrent": "p",
    "cuCtxEnablePeerAccess": "pI",
    "cuMemGetInfo_v2": "pp",
    "cuMemAlloc_v2": "ps",
    "cuMemFree_v2": "d",
    "cuMemHostAlloc": "psI",
    "cuMemFreeHost": "p",
    "cuMemcpyHtoDAsync_v2": "dpsp",
    "cuMemcpyDtoHAsync_v2": "pdsp",
    "cuMemcpyPeerAsync": "dpdpsp",
    "cuMemsetD32Async": "dIsp",
    "cuStreamCreate": "pI",
    "cuStreamWaitEvent": "ppI",
    "cuStreamDestroy_v2": "p",
    "cuEventCreate": "pI",
    "cuEventRecord": "pp",
    "cuEventQuery": "p",
    "cuEventElapsedTime": "ppp",
    "cuEventDestroy_v2": "p",
    "cuModuleLoadDataEx": "ppIpp",
    "cuModuleGetFunction": "ppc",
    "cuModuleUnload": "p",
    "cuLaunchKernel": "pIIIIIIIppp",
}
OUT_OF_MEMORY, NOT_READY = 2, 600
PEER_ACCESS_ALREADY_ENABLED = 704
PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE: pinned for all contexts
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
ERROR_LOG, ERROR_LOG_BYTES = 5, 6  # CU_JIT_ERROR_LOG_BUFFER and its size
POLL_FIRST, POLL_LONGEST = 2e-5, 5e-4


class Failed(Exception):
    """A call did not do what it was called for. `report` is what the operator gets: call, name, code, text."""

    def __init__(self, call, name, code=0, text=""):
        Exception.__init__(self, "%s: %s" % (call, name))
        self.report = {"call": call, "name": name, "code": code, "text": text}


class Deadline(Failed):
    """Work was enqueued and did not complete in time. Nothing it uses may be freed: that would wait for it."""


class Driver(object):
    """The driver library; its entry points are attributes that raise Failed for any result but success."""

    def __init__(self):
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        self.functions = {}
        watch.entering("dlopen libcuda.so.1")
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Failed("dlopen", "NO_LIBCUDA", text=str(error)[:200])
        self.cuInit(0)

    def __getattr__(self, symbol):
        """Bind a symbol when it is first used: an old driver lacks only what is asked of it."""
        function = self.bound(symbol)

        def call(*arguments):
            watch.entering(symbol)
            result = function(*arguments)
            if result:
                raise self.failed(symbol, result)

        setattr(self, symbol, call)
        return call

    def bound(self, symbol):
        """The library's own function with its signature set: without one, ctypes cuts pointers to 32 bits."""
        if symbol not in self.functions:
            try:
                function = getattr(self.library, symbol)
            except AttributeError:
                raise Failed("dlsym", "NO_SYMBOL", text=symbol)
            function.argtypes = [PARAMETERS[kind] for kind in SIGNATURES[symbol]]
            function.restype = ctypes.c_int
            self.functions[symbol] = function
        return self.functions[symbol]

    def failed(self, call, result):
        """A result as the driver itself names it."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self.bound("cuGetErrorName")(result, ctypes.byref(name))
        self.bound("cuGetErrorString")(result, ctypes.byref(text))
        named = (name.value or b"CUDA_ERROR_%d" % result).decode("utf-8", "replace")
        return Failed(call, named, result, (text.value or b"").decode("utf-8", "replace")[:200])

    def version(self):
        """The CUDA version the driver speaks: 13000 is 13.0."""
        number = ctypes.c_int()
        self.cuDriverGetVersion(ctypes.byref(number))
        return number.value

    def device_count(self):
        """How many GPUs the driver shows to this process."""
        number = ctypes.c_int()
        self.cuDeviceGetCount(ctypes.byref(number))
        return number.value


class Device(object):
    """One GPU, its primary context retained for as long as this process lives."""

    def __init__(self, driver, bus):
        self.driver, self.bus = driver, bus
        number = ctypes.c_int()
        driver.cuDeviceGetByPCIBusId(ctypes.byref(number), bus.encode())
        self.number = number.value
        self.context = ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), self.number)

    def use(self):
        """Make its context the one that calls of this thread work in."""
        self.driver.cuCtxSetCurrent(self.context)

    def facts(self):
        """What identifies it in the evidence: bus address, name, uuid."""
        name = ctypes.create_string_buffer(96)
        self.driver.cuDeviceGetName(name, 96, self.number)
        return {"bus": self.bus, "name": name.value.decode("utf-8", "replace"), "uuid": self.uuid()}

    def uuid(self):
        """Its uuid, of the MIG instance where there is one (the `_v2` symbol came with CUDA 11.4)."""
        raw = (ctypes.c_ubyte * 16)()
        try:
            self.driver.cuDeviceGetUuid_v2(raw, self.number)
        except Failed as failure:
            if failure.report["name"] != "NO_SYMBOL":
                raise
            self.driver.cuDeviceGetUuid(raw, self.number)
        digits = bytes(bytearray(raw)).hex()
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def multiprocessors(self):
        """How many it has."""
        number = ctypes.c_int()
        self.driver.cuDeviceGetAttribute(ctypes.byref(number), MULTIPROCESSORS, self.number)
        return number.value

    def memory(self):
        """Bytes of its memory that are free, and all that it has."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.use()
        self.driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def reaches(self, peer):
        """True when this GPU can address the memory of `peer` directly."""
        answer = ctypes.c_int()
        self.driver.cuDeviceCanAccessPeer(ctypes.byref(answer), self.number, peer.number)
        return bool(answer.value)

    def open_to(self, peer):
        """Let this GPU address the memory of `peer`."""
        self.use()
        try:
            self.driver.cuCtxEnablePeerAccess(peer.context, 0)
        except Failed as failure:
            if failure.report["code"] != PEER_ACCESS_ALREADY_ENABLED:
                raise


class Scratch(object):
    """What one task allocates, freed in reverse order; contexts outlive it."""

    def __init__(self, driver):
        self.driver, self.undo = driver, []

    def __enter__(self):
        return self

    def __exit__(self, kind, failure, trace):
        if kind is not None and issubclass(kind, Deadline):
            return
        while self.undo:
            try:
                self.undo.pop()()
            except Failed:
                pass  # the context is spoilt; what failed first is being reported

    def device_memory(self, device, size):
        """-> device pointer (int) to `size` bytes on `device`."""
        pointer = ctypes.c_uint64()
        device.use()
        self.driver.cuMemAlloc_v2(ctypes.byref(pointer), size)
        self.undo.append(lambda: (device.use(), self.driver.cuMemFree_v2(pointer.value)))
        return pointer.value

    def pinned_memory(self, device, size):
        """-> host pointer (int) to `size` pinned bytes, on the NUMA node this process runs on."""
        pointer = ctypes.c_void_p()
        device.use()
        self.driver.cuMemHostAlloc(ctypes.byref(pointer), size, PORTABLE)
        self.undo.append(lambda: self.driver.cuMemFreeHost(pointer.value))
        return pointer.value

    def stream(self, device):
        """A stream whose copies are pushed by the copy engines of `device`."""
        stream = ctypes.c_void_p()
        device.use()
        self.driver.cuStreamCreate(ctypes.byref(stream), NON_BLOCKING)
        self.undo.append(lambda: self.driver.cuStreamDestroy_v2(stream))
        return stream

    def event(self, device):
        """An event that can be recorded on the streams of `device`."""
        event = ctypes.c_void_p()
        device.use()
        self.driver.cuEventCreate(ctypes.byref(event), 0)
        self.undo.append(lambda: self.driver.cuEventDestroy_v2(event))
        return event

    def kernels(self, device, text):
        """The kernels of a PTX text, translated for `device`."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(2048)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))  # a size stands in a pointer's place
        device.use()
        try:
            self.driver.cuModuleLoadDataEx(ctypes.byref(module), text.encode(), 2, options, values)
        except Failed as failure:
            failure.report["text"] += ": " + log.value.decode("utf-8", "replace")[:150]
            raise
        self.undo.append(lambda: (device.use(), self.driver.cuModuleUnload(module)))
        return Kernels(self.driver, device, module)


class Kernels(object):
    """The entry points of one module."""

    def __init__(self, driver, device, module):
        self.driver, self.device, self.module = driver, device, module
        self.functions = {}

    def launch(self, name, stream, blocks, threads, values):
        """Enqueue a kernel; `values` are its parameters as ctypes numbers of their exact sizes."""
        self.device.use()
        if name not in self.functions:
            function = ctypes.c_void_p()
            self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode())
            self.functions[name] = function
        places = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self.driver.cuLaunchKernel(self.functions[name], blocks, 1, 1, threads, 1, 1, 0, stream, places, None)


class Stopwatch(object):
    """Two events around what is enqueued on a stream of one device."""

    def __init__(self, scratch, device, stream, end):
        self.driver, self.stream, self.end = scratch.driver, stream, end
        self.before, self.after = scratch.event(device), scratch.event(device)

    def time(self, what, issue):
        """Enqueue by calling `issue`, and wait until it is done. -> milliseconds"""
        self.driver.cuEventRecord(self.before, self.stream)
        issue()
        self.driver.cuEventRecord(self.after, self.stream)
        wait_for(self.driver, self.after, self.end, what)
        return milliseconds(self.driver, self.before, self.after)


def is_over(driver, event, what):
    """Whether the work before `event` has completed; raises Failed when it failed."""
    watch.entering("cuEventQuery")
    result = driver.bound("cuEventQuery")(event)
    if result not in (0, NOT_READY):
        raise driver.failed(what, result)
    return result == 0


def wait_for(driver, event, end, what, meanwhile=None):
    """Poll until `event` is over and never block: a copy that never completes must leave us able to say so.

    `meanwhile` is called between two looks."""
    nap = POLL_FIRST
    while not is_over(driver, event, what):
        if watch.moment() > end:
            raise Deadline(what, "DEADLINE", text="enqueued, not completed")
        if meanwhile is not None:
            meanwhile()
        time.sleep(nap)
        nap = min(nap * 1.5, POLL_LONGEST)


def milliseconds(driver, first, second):
    """Time between two events that are over."""
    span = ctypes.c_float()
    driver.cuEventElapsedTime(ctypes.byref(span), first, second)
    return span.value
