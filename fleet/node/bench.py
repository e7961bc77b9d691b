"""A child of the probe worker: keeps CUDA contexts warm and runs one task after another until its supervisor hangs up.

Orders come as JSON lines on file 0, answers go as JSON lines to file 1. After a failure the child ends: an error of the
driver may have spoilt its contexts, and the next task gets a fresh child.
Runs on the node: Python 3.6+, standard library only.
"""

import json
import os
import time

import cuda
import edge_counters
import mail
import programs
import watch

DONE, FAILED, BROKEN, LATE = "done", "failed", "broken", "deadline"
SPENT = "spent"  # the task went well, and its process can't take another
LARGEST_MESSAGE = 16384  # bytes


class Bench(object):
    """What a program finds when it runs: driver, devices and NVML of this process, a way to speak, the barrier."""

    def __init__(self, mail):
        self.mail = mail
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

    def pass_barrier(self):
        """Be ready for the round without waiting for it."""
        self.emit(at="barrier")

    def barrier(self):
        """Wait until all tasks of the round are ready, so that their first windows start together."""
        self.pass_barrier()
        watch.entering("barrier")
        self.mail.order(self.heed)

    def tell(self, **message):
        """Send a message to the other tasks of this trial, on whatever nodes they run."""
        size = len(json.dumps(message))
        if size > LARGEST_MESSAGE:
            raise cuda.Failed("tell", "BAD_TASK", text="a message of %d bytes" % size)
        self.emit(tell=message)

    def told(self):
        """The next message of another task of this trial, waiting for it.

        Raises Failed with name PARTNER when one of them failed, Deadline when nothing comes before the end."""
        watch.entering("wait for the other tasks")
        message = self.mail.message(self.end)
        if message is None:
            raise cuda.Deadline("wait for the other tasks", "NOT_TOLD", text="no word came from them in time")
        self.part_with(mail.why_failed(message))
        return message

    def heed(self):
        """Raise Failed with name PARTNER when another task of this trial has failed; never waits."""
        self.part_with(self.mail.partner_failed())

    def part_with(self, why):
        """Give up where there is a reason to."""
        if why:
            raise cuda.Failed("wait for the other tasks", "PARTNER", text=why)


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


OWN = {"open_driver": open_driver, "find_processes": find_processes}


def serve():
    """Run tasks as ordered. Never returns."""
    bench = Bench(mail.Mail(0))
    while True:
        order = bench.mail.order()
        if "program" in order and perform(order, bench) != DONE:
            os._exit(0)


def perform(order, bench):
    """Run one task and say how it ended. -> status"""
    began, status = time.monotonic(), DONE
    bench.end = order["end"]
    watch.entering("start of " + order["program"])
    try:
        run = OWN.get(order["program"]) or programs.entry(order["program"])
        run(order["arguments"], bench)
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
