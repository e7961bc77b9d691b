"""A child of the probe worker: keeps CUDA contexts warm and runs one task after another until its supervisor hangs up.

Orders come as JSON lines on file 0, answers go as JSON lines to file 1. After a failure the child ends: an error of the
driver may have spoilt its contexts, and the next task gets a fresh child.
Runs on the node: Python 3.6+, standard library only.
"""

import json
import os
import time

import cuda
import cuda_copy
import edge_counters
import watch

DONE, FAILED, BROKEN, LATE = "done", "failed", "broken", "deadline"


class Bench(object):
    """What a program finds when it runs: driver, devices and NVML of this process, a way to speak, the barrier."""

    def __init__(self, orders):
        self.orders = orders
        self.end = 0.0  # by watch.moment()
        self.opened = None
        self.devices = {}
        self.counters = None

    def driver(self):
        """The driver library, initialized once."""
        if self.opened is None:
            self.opened = cuda.Driver()
        return self.opened

    def device(self, bus):
        """A GPU with its context, made once."""
        if bus not in self.devices:
            self.devices[bus] = cuda.Device(self.driver(), bus)
        return self.devices[bus]

    def nvml(self):
        """NVML, opened once; None where it is missing."""
        if self.counters is None:
            try:
                self.counters = edge_counters.Nvml()
            except edge_counters.Missing:
                self.counters = False
        return self.counters or None

    def emit(self, **line):
        """Say a line."""
        unsent = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        while unsent:
            unsent = unsent[os.write(1, unsent) :]

    def barrier(self):
        """Wait until all tasks of the round are ready, so that their first windows start together."""
        self.emit(at="barrier")
        watch.entering("barrier")
        next(self.orders)


def orders_from(file):
    """JSON lines of a file descriptor until its end."""
    partial = b""
    while True:
        received = os.read(file, 65536)
        if not received:
            return
        whole, newline, partial = (partial + received).rpartition(b"\n")
        for line in (whole + newline).splitlines():
            yield json.loads(line.decode())


def open_driver(arguments, bench):
    """Load the driver and say what it is: what every first task would have to wait for."""
    bench.emit(driver=bench.driver().version(), devices=bench.driver().device_count())


def find_processes(arguments, bench):
    """Name processes that compute on the GPUs and are not ours."""
    nvml = bench.nvml()
    if nvml is None:
        bench.emit(unchecked="NVML is missing")
        return
    for bus in arguments["gpus"]:
        try:
            strangers = set(nvml.compute_processes(bus)) - set(arguments["ours"])
        except edge_counters.Missing as missing:
            bench.emit(unchecked=str(missing))
            continue
        for pid in sorted(strangers):
            bench.emit(computing={"gpu": bus, "pid": pid, "name": name_of(pid)})


def name_of(pid):
    """The command name of a process; empty where it is gone or hidden."""
    try:
        with open("/proc/%d/comm" % pid, "rb") as file:
            return file.read(64).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""


PROGRAMS = {"open_driver": open_driver, "find_processes": find_processes, "cuda_copy": cuda_copy.run}


def serve():
    """Run tasks as ordered. Never returns."""
    bench = Bench(orders_from(0))
    for order in bench.orders:
        if "program" in order and perform(order, bench) != DONE:
            break
    os._exit(0)


def perform(order, bench):
    """Run one task and say how it ended. -> status"""
    began, status = time.monotonic(), DONE
    bench.end = order["end"]
    watch.entering("start of " + order["program"])
    try:
        PROGRAMS[order["program"]](order["arguments"], bench)
    except cuda.Deadline as failure:
        status = LATE
        bench.emit(error=failure.report)
    except cuda.Failed as failure:
        status = FAILED
        bench.emit(error=failure.report)
    except Exception as error:  # the border of a program: whatever it is, the operator reads it
        status = BROKEN
        name = type(error).__name__
        bench.emit(error={"call": watch.current_call(), "name": name, "code": 0, "text": str(error)[:300]})
    bench.emit(end=status, seconds=round(time.monotonic() - began, 6))
    return status
