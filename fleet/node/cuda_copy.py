"""Copies between host and GPU or between two GPUs, timed on the device in sub-windows, with the counters at the edges.

Lines: head, warm, one `w` a window, counters, foot. A window is event, M copies, event on one stream; two windows are
queued ahead, so that the copy engine never waits for Python. `late` says when it did: such a window measures us.
Runs on the node: Python 3.6+, standard library only.
"""

import re
import time

import cuda
import edge_counters
import placement

DEVICES = {"h2d": 1, "d2h": 1, "p2p": 2}  # operation: how many GPUs it takes
AHEAD = 2
MOST_COPIES = 512  # a window; the driver's queue holds about 1024 operations
SHORTEST_COPY_MS = 1e-3
BUS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.op = arguments.get("op")
        self.gpus = arguments.get("gpus")
        if self.op not in DEVICES or not isinstance(self.gpus, list) or len(self.gpus) != DEVICES[self.op]:
            raise cuda.Failed("arguments", "BAD_TASK", text="op and gpus do not fit each other")
        if not all(isinstance(bus, str) and BUS.match(bus) for bus in self.gpus):
            raise cuda.Failed("arguments", "BAD_TASK", text="gpus are PCI bus addresses")
        self.windows = int(number(arguments, "windows", 16, 1, 1024))
        self.window_ms = number(arguments, "window_ms", 30.0, 0.1, 1000.0)
        self.warm_ms = number(arguments, "warm_ms", 40.0, 0.0, 1000.0)
        self.bytes = int(number(arguments, "bytes", 64 << 20, 4096, 1 << 30))


def number(arguments, name, default, least, most):
    """A number between two bounds."""
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise cuda.Failed("arguments", "BAD_TASK", text="%s is a number from %g to %g" % (name, least, most))
    return value


class Copy(object):
    """One copy of the plan's bytes on a stream of the first GPU, ready to be enqueued again and again."""

    def __init__(self, plan, devices, scratch):
        self.driver, self.what = scratch.driver, plan.op
        self.device = devices[0]
        self.stream = scratch.stream(self.device)
        if plan.op == "p2p":
            self.issue, self.path = peer_copy(devices, plan.bytes, self.stream, scratch)
        else:
            self.issue, self.path = host_copy(plan.op, devices[0], plan.bytes, self.stream, scratch)
        self.device.use()

    def enqueue(self, before, copies, after):
        """`copies` copies between two events."""
        self.driver.cuEventRecord(before, self.stream)
        for _ in range(copies):
            self.issue()
        self.driver.cuEventRecord(after, self.stream)


def host_copy(op, device, size, stream, scratch):
    """-> a function that enqueues one copy between host and GPU, and which way the copies go"""
    host, memory, driver = scratch.pinned_memory(device, size), scratch.device_memory(device, size), scratch.driver
    if op == "h2d":
        return (lambda: driver.cuMemcpyHtoDAsync_v2(memory, host, size, stream)), "pinned host memory"
    return (lambda: driver.cuMemcpyDtoHAsync_v2(host, memory, size, stream)), "pinned host memory"


def peer_copy(devices, size, stream, scratch):
    """-> a function that enqueues one copy between two GPUs, and which way the copies go

    The stream is the source's, so its copy engine pushes. Without peer access the driver stages through the host."""
    source, target = devices
    direct = target.reaches(source)
    if direct:
        source.open_to(target)
        target.open_to(source)
    origin, memory = scratch.device_memory(source, size), scratch.device_memory(target, size)
    copy = scratch.driver.cuMemcpyPeerAsync
    path = "peer" if direct else "staged through host memory"
    return (lambda: copy(memory, target.context, origin, source.context, size, stream)), path


def run(arguments, bench):
    """Run one task on the bench: an object that keeps the devices, emits lines, and knows barrier and deadline."""
    plan = Plan(arguments)
    began = time.monotonic()
    driver = bench.driver()
    devices = [bench.device(bus) for bus in plan.gpus]
    place = placement.run_beside(plan.gpus[0])
    with cuda.Scratch(driver) as scratch:
        copy = Copy(plan, devices, scratch)
        bench.emit(
            head={
                "op": plan.op,
                "bytes": plan.bytes,
                "windows": plan.windows,
                "driver": driver.version(),
                "devices": [device.facts() for device in devices],
                "place": place,
                "path": copy.path,
                "start_s": round(time.monotonic() - began, 3),
            }
        )
        before = counters(bench, plan)  # the warm-up is load as well
        copies = warm_up(copy, plan, bench, scratch)
        bench.barrier()
        foot = measure(copy, copies, plan, bench, scratch)
        after = counters(bench, plan)
        if before and after:
            bench.emit(counters=edge_counters.moved(before, after))
        bench.emit(foot=foot)


def counters(bench, plan):
    """The error counters of what the copies load: the NVLinks of two GPUs, or the PCIe link of one."""
    nvml = bench.nvml()
    if nvml is None:
        return {}
    read = nvml.lane_errors if plan.op == "p2p" else nvml.pcie_replays
    found = {}
    for bus in plan.gpus:
        try:
            found.update(read(bus))
        except edge_counters.Missing:
            pass  # this GPU has no such counter: it is absent from the lines
    return found


def warm_up(copy, plan, bench, scratch):
    """Wake clocks and links with copies that nobody reports. -> copies that fill a window"""
    before, after = scratch.event(copy.device), scratch.event(copy.device)

    def milliseconds_of_one(copies):
        copy.enqueue(before, copies, after)
        cuda.wait_for(copy.driver, after, bench.end, copy.what + " warm-up")
        return max(cuda.milliseconds(copy.driver, before, after) / copies, SHORTEST_COPY_MS)

    milliseconds_of_one(1)
    one = milliseconds_of_one(2)
    one = milliseconds_of_one(at_most(plan.warm_ms / one))
    copies = at_most(plan.window_ms / one)
    bench.emit(warm={"copies_per_window": copies, "copy_ms": round(one, 4)})
    return copies


def at_most(copies):
    """A number of copies the queue can hold, at least one."""
    return max(1, min(MOST_COPIES, int(round(copies))))


def measure(copy, copies, plan, bench, scratch):
    """Time the windows and emit a line for each. -> the foot: what they say together"""
    driver = copy.driver
    edges = [(scratch.event(copy.device), scratch.event(copy.device)) for _ in range(plan.windows)]
    late, rates, links = set(), [], set()
    began = time.monotonic()
    for turn in range(plan.windows + AHEAD):
        if turn < plan.windows:
            if turn and cuda.is_over(driver, edges[turn - 1][1], copy.what):
                late.add(turn)  # the engine ran dry before we came
            copy.enqueue(edges[turn][0], copies, edges[turn][1])
        window = turn - AHEAD
        if window >= 0:
            cuda.wait_for(driver, edges[window][1], bench.end, "%s window %d" % (copy.what, window))
            line = timing(driver, edges, window)
            rates.append(copies * plan.bytes / line["ms"] * 1e-6)
            bench.emit(gbps=round(rates[-1], 3), **dict(line, late=1) if window in late else line)
            if plan.op != "p2p":
                links.add(placement.link(plan.gpus[0]))
    foot = summary(rates)
    foot["late"] = len(late)
    foot["events_ms"] = round(cuda.milliseconds(driver, edges[0][0], edges[-1][1]), 3)
    foot["host_ms"] = round((time.monotonic() - began) * 1e3, 3)
    if links:
        foot["link"] = {"bus": plan.gpus[0], "during": sorted(links - {""})}
    return foot


def timing(driver, edges, window):
    """When a window ran by the device's clock: its length, its start after the first window's, the gap before it."""
    start, end = edges[window]
    line = {
        "w": window,
        "ms": round(cuda.milliseconds(driver, start, end), 4),
        "t": round(cuda.milliseconds(driver, edges[0][0], start), 3),
    }
    if window:
        line["gap_ms"] = round(cuda.milliseconds(driver, edges[window - 1][1], start), 4)
    return line


def summary(rates):
    """Median, extremes and spread (scaled median absolute deviation, percent of the median)."""
    ranked = sorted(rates)
    middle = ranked[len(ranked) // 2]
    spread = sorted(abs(rate - middle) for rate in rates)[len(rates) // 2]
    return {
        "median": round(middle, 3),
        "min": round(ranked[0], 3),
        "max": round(ranked[-1], 3),
        "mad_pct": round(100 * 1.4826 * spread / middle, 2),
        "windows": len(rates),
    }
