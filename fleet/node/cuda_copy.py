"""Copies between host and GPU or between two GPUs, timed on the device in sub-windows, with the counters at the edges.

Lines: head, warm, one `w` a window, counters, foot. A window is event, M copies, event on one stream; two windows are
queued ahead, so that the copy engine never waits for Python. `late` says when it did: such a window measures us.
`bidir` copies both ways at once on two streams that begin each window together; its rate is the sum, `each` has both.
Runs on the node: Python 3.6+, standard library only.
"""

import time

import cuda
import edge_counters
import placement

FLOWS = {"h2d": ("h2d",), "d2h": ("d2h",), "bidir": ("h2d", "d2h"), "p2p": ("p2p",)}
DEVICES = {"h2d": 1, "d2h": 1, "bidir": 1, "p2p": 2}  # operation: how many GPUs it takes
AHEAD = 2
MOST_COPIES = 512  # a window; the driver's queue holds about 1024 operations
SHORTEST_COPY_MS = 1e-3
BUS = placement.BUS


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.op = arguments.get("op")
        if not isinstance(self.op, str) or self.op not in DEVICES:
            raise cuda.Failed("arguments", "BAD_TASK", text="there is no such op")
        self.gpus = buses(arguments, DEVICES[self.op])
        self.windows = int(number(arguments, "windows", 16, 1, 1024))
        self.window_ms = number(arguments, "window_ms", 30.0, 0.1, 1000.0)
        self.warm_ms = number(arguments, "warm_ms", 40.0, 0.0, 1000.0)
        self.bytes = int(number(arguments, "bytes", 64 << 20, 4096, 1 << 30))


def buses(arguments, count):
    """The PCI bus addresses of so many GPUs."""
    found = arguments.get("gpus")
    if not isinstance(found, list) or len(found) != count:
        raise cuda.Failed("arguments", "BAD_TASK", text="op and gpus do not fit each other")
    if not all(isinstance(bus, str) and BUS.match(bus) for bus in found):
        raise cuda.Failed("arguments", "BAD_TASK", text="gpus are PCI bus addresses")
    return found


def number(arguments, name, default, least, most):
    """A number between two bounds."""
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise cuda.Failed("arguments", "BAD_TASK", text="%s is a number from %g to %g" % (name, least, most))
    return value


class Flow(object):
    """One copy of the plan's bytes on a stream of the first GPU, ready to be enqueued again and again."""

    def __init__(self, op, plan, devices, scratch):
        self.driver, self.op = scratch.driver, op
        self.device = devices[0]
        self.stream = scratch.stream(self.device)
        if op == "p2p":
            self.issue, self.path = peer_copy(devices, plan.bytes, self.stream, scratch)
        else:
            self.issue, self.path = host_copy(op, devices[0], plan.bytes, self.stream, scratch)
        self.device.use()

    def enqueue(self, edges, copies, behind=()):
        """`copies` copies between two events, not before those of `behind` are over."""
        for event in behind:
            self.driver.cuStreamWaitEvent(self.stream, event, 0)
        self.driver.cuEventRecord(edges[0], self.stream)
        for _ in range(copies):
            self.issue()
        self.driver.cuEventRecord(edges[1], self.stream)

    def edges(self, scratch):
        """Events for the beginning and the end of a window."""
        return scratch.event(self.device), scratch.event(self.device)

    def milliseconds(self, edges):
        """How long the copies between two events took."""
        return cuda.milliseconds(self.driver, *edges)


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
        flows = [Flow(op, plan, devices, scratch) for op in FLOWS[plan.op]]
        bench.emit(
            head={
                "op": plan.op,
                "bytes": plan.bytes,
                "windows": plan.windows,
                "driver": driver.version(),
                "devices": [device.facts() for device in devices],
                "place": place,
                "path": flows[0].path,
                "start_s": round(time.monotonic() - began, 3),
            }
        )
        before = counters(bench, plan)  # the warm-up is load as well
        copies = warm_up(flows, plan, bench, scratch)
        bench.barrier()
        foot = measure(flows, copies, plan, bench, scratch)
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


def warm_up(flows, plan, bench, scratch):
    """Wake clocks and links with copies that nobody reports. -> for each flow the copies that fill a window"""
    edges = [flow.edges(scratch) for flow in flows]

    def milliseconds_of_one(copies):
        for flow, ends, count in zip(flows, edges, copies):  # noqa: B905
            flow.enqueue(ends, count)
        for flow, ends in zip(flows, edges):  # noqa: B905
            cuda.wait_for(flow.driver, ends[1], bench.end, flow.op + " warm-up")
        taken = zip(flows, edges, copies)  # noqa: B905
        return [max(flow.milliseconds(ends) / count, SHORTEST_COPY_MS) for flow, ends, count in taken]

    milliseconds_of_one([1] * len(flows))
    ones = milliseconds_of_one([2] * len(flows))
    ones = milliseconds_of_one([at_most(plan.warm_ms / one) for one in ones])
    copies = [at_most(plan.window_ms / one) for one in ones]
    bench.emit(warm={"copies_per_window": sum(copies), "copy_ms": round(sum(ones) / len(ones), 4)})
    return copies


def at_most(copies):
    """A number of copies the queue can hold, at least one."""
    return max(1, min(MOST_COPIES, int(round(copies))))


def measure(flows, copies, plan, bench, scratch):
    """Time the windows and emit a line for each. -> the foot: what they say together"""
    driver, host_link = flows[0].driver, placement.LinkWatch(plan.gpus[0]) if plan.op != "p2p" else None
    edges = [[flow.edges(scratch) for flow in flows] for _ in range(plan.windows)]
    late, rates = set(), []
    began = time.monotonic()
    for turn in range(plan.windows + AHEAD):
        if turn < plan.windows:
            if turn and all(cuda.is_over(driver, end, plan.op) for _, end in edges[turn - 1]):
                late.add(turn)  # the engine ran dry before we came
            enqueue_together(flows, copies, edges, turn)
        window = turn - AHEAD
        if window >= 0:
            await_window(edges[window], window, plan, bench, driver, host_link)
            line = timing(driver, [each[0] for each in edges], window)
            each = [
                count * plan.bytes / flow.milliseconds(ends) * 1e-6
                for flow, ends, count in zip(flows, edges[window], copies)  # noqa: B905
            ]
            rates.append(sum(each))
            if len(flows) > 1:
                line["each"] = {flow.op: round(rate, 3) for flow, rate in zip(flows, each)}  # noqa: B905
            bench.emit(gbps=round(rates[-1], 3), **dict(line, late=1) if window in late else line)
    foot = summary(rates)
    foot["late"] = len(late)
    foot["events_ms"] = round(cuda.milliseconds(driver, edges[0][0][0], edges[-1][0][1]), 3)
    foot["host_ms"] = round((time.monotonic() - began) * 1e3, 3)
    foot.update(host_link.report() if host_link else {})
    return foot


def enqueue_together(flows, copies, edges, turn):
    """One window of all flows. None begins before the others have ended theirs of the window before, so that no window
    has one direction to itself."""
    for number, flow in enumerate(flows):
        others = [end for other, (_, end) in enumerate(edges[turn - 1]) if other != number] if turn else []
        flow.enqueue(edges[turn][number], copies[number], others)


def await_window(edges, window, plan, bench, driver, host_link):
    """Wait until a window is over in all flows, and look at the PCIe links meanwhile: at least once."""
    for _, end in edges:
        meanwhile = host_link.look_now_and_then if host_link else None
        cuda.wait_for(driver, end, bench.end, "%s window %d" % (plan.op, window), meanwhile)
    if host_link:
        host_link.look()


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
