"""Copies whose every byte is compared, and which part of the way is to blame when one is wrong.

Each round writes a pattern to the source, poisons the target, copies once (timed: one `w` a round), reads back and
compares. The pattern has an odd period and moves on with each round, so that stale or misplaced data never looks right.
After a mismatch `blame.py` finds out whose it is.
Lines: head, `w`, counters, one `verify`.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import time

import blame
import cuda
import cuda_copy
import differences
import edge_counters
import kernels
import placement

ENDS = {"h2d": 1, "d2h": 1, "p2p": 2}  # operation: how many GPUs it takes
BYTES = 64 << 20
POISON, POISON_BYTE = 0xDEADBEEF, 0xA5
STEP = 64  # words by which the pattern moves on with a round


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.op = arguments.get("op")
        if not isinstance(self.op, str) or self.op not in ENDS:
            raise cuda.Failed("arguments", "BAD_TASK", text="there is no such op")
        self.gpus = cuda_copy.buses(arguments, ENDS[self.op])
        self.bytes = int(cuda_copy.number(arguments, "bytes", BYTES, 4096, 1 << 30)) // 4 * 4
        self.rounds = int(cuda_copy.number(arguments, "rounds", 16, 1, 1024))
        self.seed = int(cuda_copy.number(arguments, "seed", 1, 0, 0xFFFFFFFF))


class Ground(object):
    """The buffers of one run: what is wanted, what was read back, and the memory of the GPUs."""

    def __init__(self, plan, devices, scratch, end):
        self.plan, self.driver, self.scratch, self.end = plan, scratch.driver, scratch, end
        self.source, self.target = devices[0], devices[-1]
        self.period = kernels.Pattern("verify", plan.seed, period=kernels.PERIOD)
        self.places = plan.rounds * STEP * kernels.WORD_BYTES
        self.wanted = scratch.pinned_memory(self.source, plan.bytes + self.places)
        self.got = scratch.pinned_memory(self.target, plan.bytes)
        repeat(self.wanted, plan.bytes + self.places, self.period.one_period())
        self.streams = {device: scratch.stream(device) for device in set(devices)}
        self.watches = {device: cuda.Stopwatch(scratch, device, self.streams[device], end) for device in set(devices)}
        self.memory = {device: scratch.device_memory(device, plan.bytes) for device in set(devices)}
        self.path = self.open_way(devices)
        self.round = 0
        self.want = self.wanted

    def open_way(self, devices):
        """Let two GPUs reach each other. -> which way the copies go"""
        if self.plan.op != "p2p":
            return "pinned host memory"
        source, target = devices
        if not target.reaches(source):
            return "staged through host memory"
        source.open_to(target)
        target.open_to(source)
        return "peer"

    def begin(self, number):
        """Move the pattern on to a round."""
        self.round = number
        self.want = self.wanted + number * STEP * kernels.WORD_BYTES

    def pattern(self):
        """The pattern of this round as kernels know it."""
        start = self.round * STEP % kernels.PERIOD
        return kernels.Pattern("verify", self.plan.seed, kernels.MIXED, start, kernels.PERIOD)

    def timed(self, device, what, issue):
        """Run one transfer on a device's stream. -> milliseconds"""
        device.use()
        return self.watches[device].time("%s, round %d" % (what, self.round), issue)

    def write(self, device):
        """The wanted bytes from host memory to a GPU. -> milliseconds"""
        copy, memory = self.driver.cuMemcpyHtoDAsync_v2, self.memory[device]
        return self.timed(device, "write", lambda: copy(memory, self.want, self.plan.bytes, self.streams[device]))

    def read(self, device):
        """A GPU's memory to host memory that held something else. -> milliseconds"""
        ctypes.memset(self.got, POISON_BYTE, self.plan.bytes)
        copy, memory = self.driver.cuMemcpyDtoHAsync_v2, self.memory[device]
        return self.timed(device, "read back", lambda: copy(self.got, memory, self.plan.bytes, self.streams[device]))

    def poison(self, device):
        """Fill a GPU's memory with what no pattern holds."""
        fill, memory = self.driver.cuMemsetD32Async, self.memory[device]
        words = self.plan.bytes // kernels.WORD_BYTES
        self.timed(device, "poison", lambda: fill(memory, POISON, words, self.streams[device]))

    def pass_on(self):
        """The source's memory to the target's. -> milliseconds"""
        source, target, copy = self.source, self.target, self.driver.cuMemcpyPeerAsync
        ends = (self.memory[target], target.context, self.memory[source], source.context)
        return self.timed(source, "copy", lambda: copy(*(ends + (self.plan.bytes, self.streams[source]))))

    def differences(self):
        """How what was read back differs from what is wanted."""
        return differences.Differences(self.want, self.got, self.plan.bytes)


def repeat(place, size, period):
    """Fill host memory with a period, doubling what stands already."""
    ctypes.memmove(place, period, min(size, len(period)))
    done = min(size, len(period))
    while done < size:
        more = min(done, size - done)
        ctypes.memmove(place + done, place, more)
        done += more


def run(arguments, bench):
    """Run one task on the bench."""
    plan = Plan(arguments)
    driver = bench.driver()
    devices = [bench.device(bus) for bus in plan.gpus]
    place = placement.run_beside(plan.gpus[0])
    with cuda.Scratch(driver) as scratch:
        ground = Ground(plan, devices, scratch, bench.end)
        head = {"op": plan.op, "bytes": plan.bytes, "rounds": plan.rounds, "driver": driver.version()}
        facts = [device.facts() for device in devices]
        bench.emit(head=dict(head, devices=facts, place=place, path=ground.path))
        before = cuda_copy.counters(bench, plan)
        bench.barrier()
        verdict = rounds(ground, bench)
        after = cuda_copy.counters(bench, plan)
        if before and after:
            bench.emit(counters=edge_counters.moved(before, after))
        bench.emit(verify=verdict)


def rounds(ground, bench):
    """Copy and compare, round by round; the first that is wrong is looked into, and is the last. -> what was found"""
    began = time.monotonic()
    for number in range(ground.plan.rounds):
        ground.begin(number)
        at = time.monotonic()
        ms = COPIES[ground.plan.op](ground)
        rate = ground.plan.bytes / max(ms, 1e-4) * 1e-6
        bench.emit(w=number, gbps=round(rate, 3), ms=round(ms, 4), t=round((at - began) * 1e3, 3))
        wrong = ground.differences()
        if wrong:
            verdict = dict(wrong.report(), blame=blame.BLAME[ground.plan.op](ground, wrong))
            return dict(verdict, bytes=(number + 1) * ground.plan.bytes, round=number, seed=ground.plan.seed)
    clean = {"wrong_bytes": 0, "flipped": 0, "bits": "0" * 16, "stride": 0, "first": [], "blame": ""}
    return dict(clean, bytes=ground.plan.rounds * ground.plan.bytes, seed=ground.plan.seed)


def copy_h2d(ground):
    """Host to GPU, read back. -> milliseconds of the copy"""
    ground.poison(ground.target)
    ms = ground.write(ground.target)
    ground.read(ground.target)
    return ms


def copy_d2h(ground):
    """GPU to host: the reading back is the copy. -> its milliseconds"""
    ground.poison(ground.source)
    ground.write(ground.source)
    return ground.read(ground.source)


def copy_p2p(ground):
    """GPU to GPU, read back from the second. -> milliseconds of the copy"""
    ground.poison(ground.target)
    ground.write(ground.source)
    ms = ground.pass_on()
    ground.read(ground.target)
    return ms


COPIES = {"h2d": copy_h2d, "d2h": copy_d2h, "p2p": copy_p2p}
