"""A pattern check of a GPU's free memory: kernels write all of it, then read all of it and locate what is wrong.

All is written before any is read, so that refresh and neighbouring rows have their chance and no cache holds it. Places
are offsets in what the driver gave us: no physical address is known. With ECC on only that is wrong which ECC does not
correct; its counters and those of replaced rows are read at the edges.
Lines: head, one `w` a pass (GB/s), counters, one `memory`.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import time

import cuda
import cuda_copy
import edge_counters
import kernels
import placement
import watch

PATTERNS = {  # name: the pattern of one chunk
    "zeros": lambda seed: kernels.Pattern("zeros", 0, kernels.CONSTANT),
    "ones": lambda seed: kernels.Pattern("ones", 0xFFFFFFFF, kernels.CONSTANT),
    "fives": lambda seed: kernels.Pattern("fives", 0x55555555, kernels.CONSTANT),
    "tens": lambda seed: kernels.Pattern("tens", 0xAAAAAAAA, kernels.CONSTANT),
    "mixed": lambda seed: kernels.Pattern("mixed", seed, kernels.MIXED),
}
ORDER = ("mixed", "fives", "tens", "zeros", "ones")  # what tells most goes first: time may run out
CHUNK = 1 << 30
SMALLEST_CHUNK = 1 << 20
RESERVE = 256 << 20  # bytes of free memory that stay free whatever the share: the driver's own
BLOCKS_OF_ONE = 16  # of a multiprocessor
MOST_LISTED = 32
LATER = 2.0  # seconds before the deadline by which to be done


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.gpus = cuda_copy.buses(arguments, 1)
        self.share = cuda_copy.number(arguments, "share", 0.9, 0.001, 1.0)
        self.seconds = cuda_copy.number(arguments, "seconds", 20.0, 0.1, 600.0)
        self.most_bytes = int(cuda_copy.number(arguments, "bytes", 1 << 44, SMALLEST_CHUNK, 1 << 44))
        names = arguments.get("patterns", list(ORDER))
        if not isinstance(names, list) or not names or not all(name in PATTERNS for name in names):
            raise cuda.Failed("arguments", "BAD_TASK", text="patterns are among " + ", ".join(ORDER))
        self.patterns = names
        self.seed = int(cuda_copy.number(arguments, "seed", 1, 0, 0xFFFFFFFF))


class Walker(object):
    """The kernels on one GPU, and the memory they walk over."""

    def __init__(self, device, scratch, end):
        self.driver, self.device, self.scratch = scratch.driver, device, scratch
        self.kernels = scratch.kernels(device, kernels.MEMORY)
        self.stream = scratch.stream(device)
        self.stopwatch = cuda.Stopwatch(scratch, device, self.stream, end)
        self.blocks = device.multiprocessors() * BLOCKS_OF_ONE
        self.size = ctypes.sizeof(kernels.Report)
        self.report = scratch.device_memory(device, self.size)
        self.host = scratch.pinned_memory(device, self.size)

    def fill(self, base, size, pattern):
        """Write a pattern. -> milliseconds"""
        values = pattern.arguments(base, size // kernels.WORD_BYTES)
        return self.stopwatch.time("fill", lambda: self.launch("fill", values))

    def check(self, base, size, pattern):
        """Read it and compare. -> milliseconds, what was found (kernels.Report)"""
        self.driver.cuMemsetD32Async(self.report, 0, self.size // kernels.WORD_BYTES, self.stream)
        values = pattern.arguments(base, size // kernels.WORD_BYTES) + [ctypes.c_uint64(self.report)]
        ms = self.stopwatch.time("check", lambda: self.launch("check", values))
        copy = self.driver.cuMemcpyDtoHAsync_v2
        self.stopwatch.time("check report", lambda: copy(self.host, self.report, self.size, self.stream))
        return ms, kernels.Report.from_buffer_copy(ctypes.string_at(self.host, self.size))

    def launch(self, name, values):
        """Enqueue one walk."""
        self.kernels.launch(name, self.stream, self.blocks, kernels.THREADS, values)


class Findings(object):
    """What was wrong so far."""

    def __init__(self):
        self.passes, self.words, self.bits, self.rows, self.again = 0, 0, 0, [], 0

    def take(self, report, chunk, pattern):
        """Add what one walk over one chunk found."""
        self.words += report.count
        self.bits |= report.bits
        rows = sorted((row.index, row.expected, row.got) for row in report.rows[: min(report.count, kernels.LISTED)])
        for index, expected, got in rows[: MOST_LISTED - len(self.rows)]:
            row = {"chunk": chunk, "offset": index * kernels.WORD_BYTES, "pattern": pattern}
            self.rows.append(dict(row, expected="%08x" % expected, got="%08x" % got))


def run(arguments, bench):
    """Run one task on the bench."""
    plan = Plan(arguments)
    driver = bench.driver()
    device = bench.device(plan.gpus[0])
    placement.run_beside(plan.gpus[0])
    with cuda.Scratch(driver) as scratch:
        free, total = device.memory()
        walker = Walker(device, scratch, bench.end)
        chunks = take_memory(plan, device, scratch, free)
        covered = sum(size for _, size in chunks)
        head = {"op": "memory_check", "driver": driver.version(), "devices": [device.facts()], "place": "virtual"}
        bench.emit(head=dict(head, free=free, total=total, covered=covered))
        bench.barrier()
        before = counters(bench, plan.gpus[0])
        memory = walk(walker, chunks, plan, bench)
        after = counters(bench, plan.gpus[0])
        if before and after:
            bench.emit(counters=edge_counters.moved(before, after))
        bench.emit(memory=dict(memory, free=free, total=total, covered=covered))


def take_memory(plan, device, scratch, free):
    """Allocate the share of the free memory that is to be checked. -> [(base, bytes)]"""
    left = min(int(free * plan.share), free - RESERVE if free > 4 * RESERVE else free, plan.most_bytes)
    chunks, size = [], CHUNK
    while left >= SMALLEST_CHUNK and size >= SMALLEST_CHUNK:
        wanted = min(size, left) // SMALLEST_CHUNK * SMALLEST_CHUNK
        try:
            chunks.append((scratch.device_memory(device, wanted), wanted))
            left -= wanted
        except cuda.Failed as failure:
            if failure.report["code"] != cuda.OUT_OF_MEMORY:
                raise
            size //= 4  # what is free need not be free in one piece
    if not chunks:
        raise cuda.Failed("cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY", cuda.OUT_OF_MEMORY, "no free memory to check")
    return chunks


def counters(bench, bus):
    """ECC errors and replaced rows as NVML counts them; empty without it."""
    nvml = bench.nvml()
    return nvml.memory_errors(bus) if nvml is not None else {}


def walk(walker, chunks, plan, bench):
    """All patterns over all chunks, while there is time. -> what was found"""
    until = min(watch.moment() + plan.seconds, bench.end - LATER)
    found, done, longest = Findings(), [], 0.0
    began = time.monotonic()
    for name in plan.patterns:
        if done and watch.moment() + longest > until:
            break
        at = time.monotonic()
        patterns = [PATTERNS[name](plan.seed + number * 0x3779B1) for number in range(len(chunks))]
        one_pass(walker, chunks, patterns, found, bench, began)
        done.append(name)
        longest = max(longest, time.monotonic() - at)
    return {
        "patterns": done,
        "left_out": [name for name in plan.patterns if name not in done],
        "wrong_words": found.words,
        "wrong_again": found.again,
        "bits": "%08x" % found.bits,
        "first": found.rows,
        "seconds": round(time.monotonic() - began, 3),
    }


def one_pass(walker, chunks, patterns, found, bench, began):
    """One pattern: write everything, read everything; what is wrong is read again, as its reader may be wrong too."""
    size = sum(size for _, size in chunks)
    for step in ("fill", "check"):
        at, ms = time.monotonic(), 0.0
        for number, (base, bytes_of_it) in enumerate(chunks):
            if step == "fill":
                ms += walker.fill(base, bytes_of_it, patterns[number])
                continue
            taken, report = walker.check(base, bytes_of_it, patterns[number])
            ms += taken
            if report.count:
                found.take(report, number, patterns[number].name)
                found.again += walker.check(base, bytes_of_it, patterns[number])[1].count
        line = {"w": found.passes, "gbps": round(size / max(ms, 1e-3) * 1e-6, 1), "ms": round(ms, 3)}
        bench.emit(step=step, pattern=patterns[0].name, t=round((at - began) * 1e3, 1), **line)
        found.passes += 1
