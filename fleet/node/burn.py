"""Load on a GPU's cores with arithmetic whose result is known, and what the GPU's power, heat and clocks do meanwhile.

`kinds` run one after the other, `seconds` all together: `fma` (single precision), `integer`, `wmma` (tensor cores).
All warps compute the same, so that what most of them end with first is right (of `integer` it is known beforehand);
every later result is compared on the device, and wrong ones are counted by warp and by multiprocessor.
Lines: head, one `w` a window (TFLOP/s), `look` (at most 200 a kind), one `burn` a kind.
Runs on the node: Python 3.6+, standard library only.
"""

import collections
import ctypes
import hashlib
import time

import cuda
import cuda_copy
import kernels
import placement
import vitals
import watch

TURNS = {"fma": 2000, "integer": 2000, "wmma": 2000}
WINDOW_MS = 100.0
AHEAD = 2
MOST_LAUNCHES = 256  # in a window
MOST_WINDOWS = 4096
MOST_LISTED = 16
LATER = 2.0  # seconds after the load for saying what it showed


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.gpus = cuda_copy.buses(arguments, 1)
        kinds = arguments.get("kinds", ["fma"])
        if not isinstance(kinds, list) or not kinds or not all(kind in TURNS for kind in kinds):
            raise cuda.Failed("arguments", "BAD_TASK", text="kinds are among fma, integer, wmma")
        self.kinds = kinds
        self.seconds = cuda_copy.number(arguments, "seconds", 10.0, 0.05, 300.0)
        self.window_ms = cuda_copy.number(arguments, "window_ms", WINDOW_MS, 1.0, 1000.0)
        self.turns = int(cuda_copy.number(arguments, "turns", 0, 0, 1 << 20))


class Load(object):
    """One kernel on one GPU, and the results that its launches leave on the device."""

    def __init__(self, kind, turns, device, scratch):
        self.kind, self.turns = kind, turns or TURNS[kind]
        self.driver, self.device, self.scratch = scratch.driver, device, scratch
        self.kernels = scratch.kernels(device, kernels.LOADS[kind])
        self.stream = scratch.stream(device)
        self.blocks = device.multiprocessors() * kernels.BLOCKS[kind]
        self.threads = self.blocks * kernels.THREADS
        self.warps = self.threads // kernels.WARP
        self.out = scratch.device_memory(device, self.threads * kernels.WORD_BYTES)
        self.reference = scratch.device_memory(device, kernels.WARP * kernels.WORD_BYTES)
        self.by_warp = scratch.device_memory(device, self.warps * kernels.WORD_BYTES)
        self.by_sm = scratch.device_memory(device, kernels.SMS * kernels.WORD_BYTES)
        self.flop = float(self.threads) * self.turns * kernels.TURN_FLOP[kind]
        device.use()
        for memory, words in ((self.by_warp, self.warps), (self.by_sm, kernels.SMS)):
            self.driver.cuMemsetD32Async(memory, 0, words, self.stream)

    def launch(self, reference):
        """Enqueue the kernel once; without a reference (0) its results are kept in `out`."""
        places = [ctypes.c_uint64(place) for place in (self.out, reference, self.by_warp, self.by_sm)]
        values = places + [ctypes.c_uint32(self.turns)]
        self.kernels.launch(self.kind, self.stream, self.blocks, kernels.THREADS, values)

    def enqueue(self, edges, launches):
        """A window of launches that are compared."""
        self.device.use()
        self.driver.cuEventRecord(edges[0], self.stream)
        for _ in range(launches):
            self.launch(self.reference)
        self.driver.cuEventRecord(edges[1], self.stream)

    def words(self, memory, count, stopwatch, what):
        """Numbers that stand in the device's memory."""
        host = self.scratch.pinned_memory(self.device, count * kernels.WORD_BYTES)
        copy = self.driver.cuMemcpyDtoHAsync_v2
        stopwatch.time(what, lambda: copy(host, memory, count * kernels.WORD_BYTES, self.stream))
        return list((ctypes.c_uint32 * count).from_address(host))

    def set_reference(self, words, stopwatch):
        """Put on the device what every warp has to end with."""
        host = self.scratch.pinned_memory(self.device, kernels.WARP * kernels.WORD_BYTES)
        (ctypes.c_uint32 * kernels.WARP).from_address(host)[:] = words
        copy = self.driver.cuMemcpyHtoDAsync_v2
        size = kernels.WARP * kernels.WORD_BYTES
        stopwatch.time(self.kind + " reference", lambda: copy(self.reference, host, size, self.stream))


def run(arguments, bench):
    """Run one task on the bench."""
    plan = Plan(arguments)
    driver = bench.driver()
    device = bench.device(plan.gpus[0])
    placement.run_beside(plan.gpus[0])
    bench.emit(head={"op": "burn", "kinds": plan.kinds, "driver": driver.version(), "devices": [device.facts()]})
    bench.barrier()
    for kind in plan.kinds:
        with cuda.Scratch(driver) as scratch:
            bench.emit(burn=load(Load(kind, plan.turns, device, scratch), plan, bench, scratch))


def load(work, plan, bench, scratch):
    """Keep one kernel running for its share of the time. -> what it showed"""
    stopwatch = cuda.Stopwatch(scratch, work.device, work.stream, bench.end)
    right, wrong = learn(work, stopwatch)
    work.set_reference(right, stopwatch)
    one = max(stopwatch.time(work.kind, lambda: work.launch(work.reference)), 1e-3)
    launches = max(1, min(MOST_LAUNCHES, int(round(plan.window_ms / one))))
    seconds = plan.seconds / len(plan.kinds)
    health = vitals.Vitals(bench.nvml(), plan.gpus[0], seconds, bench.emit)
    rates = repeat(work, launches, min(time.monotonic() + seconds, latest(bench)), bench, scratch, health)
    wrong.update(nonzero(work.words(work.by_warp, work.warps, stopwatch, work.kind + " results")))
    sms = collections.Counter(nonzero(work.words(work.by_sm, kernels.SMS, stopwatch, work.kind + " results")))
    return {
        "kind": work.kind,
        "turns": work.turns,
        "launches": 2 + launches * len(rates),
        "warps": work.warps,
        "wrong_warps": len(wrong),
        "wrong_results": sum(wrong.values()),
        "first": [
            {"block": warp * kernels.WARP // kernels.THREADS, "warp": warp} for warp in sorted(wrong)[:MOST_LISTED]
        ],
        "wrong_sms": len(sms),
        "sms": [{"sm": sm, "wrong": count} for sm, count in sms.most_common(MOST_LISTED)],
        "digest": digest(right),
        "known": work.kind == "integer",
        "tflops": cuda_copy.summary(rates),
        "vitals": health.summary(),
    }


def nonzero(counts):
    """Where something was counted. -> {place: count}"""
    return {place: count for place, count in enumerate(counts) if count}


def latest(bench):
    """When the load has to stop, by time.monotonic(), for its answer to be in time."""
    return time.monotonic() + bench.end - watch.moment() - LATER


def learn(work, stopwatch):
    """What a warp has to end with: it is known, or what most warps end with. -> 32 words, {warp: wrong results}"""
    stopwatch.time(work.kind + " first results", lambda: work.launch(0))
    words = work.words(work.out, work.threads, stopwatch, work.kind + " first results")
    results = [tuple(words[at : at + kernels.WARP]) for at in range(0, work.threads, kernels.WARP)]
    if work.kind == "integer":
        right = tuple(kernels.integer_results(work.turns))
    else:
        right = collections.Counter(results).most_common(1)[0][0]
    wrong = collections.Counter()
    for warp, result in enumerate(results):
        if result != right:
            wrong[warp] = sum(one != other for one, other in zip(result, right))  # noqa: B905
    return right, wrong


def digest(words):
    """A short name of a result: GPUs of one kind whose names differ compute differently."""
    return hashlib.sha256(b"".join(word.to_bytes(4, "little") for word in words)).hexdigest()[:16]


def repeat(work, launches, until, bench, scratch, health):
    """Windows of launches until it is time, emitted as they end. -> TFLOP/s of each"""
    driver, rates, queued = work.driver, [], collections.deque()
    spare = [(scratch.event(work.device), scratch.event(work.device)) for _ in range(AHEAD + 1)]
    began = time.monotonic()
    while True:
        while spare and may_begin(len(rates) + len(queued), until):
            queued.append(spare.pop())
            work.enqueue(queued[-1], launches)
        if not queued:
            return rates
        edges = queued.popleft()
        what = "%s window %d" % (work.kind, len(rates))
        cuda.wait_for(driver, edges[1], bench.end, what, health.look_now_and_then)
        ms = max(cuda.milliseconds(driver, *edges), 1e-3)
        spare.append(edges)
        rates.append(launches * work.flop / ms * 1e-9)
        line = {"w": len(rates) - 1, "tflops": round(rates[-1], 3), "ms": round(ms, 3)}
        bench.emit(kind=work.kind, t=round((time.monotonic() - began) * 1e3, 1), **line)


def may_begin(windows, until):
    """Whether another window begins after so many: one does in any case."""
    return windows == 0 or (windows < MOST_WINDOWS and time.monotonic() < until)
