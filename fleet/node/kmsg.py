"""The `kmsg` domain: lines of the kernel log that speak of GPUs, NVSwitches, PCIe links and NICs, as they come.

Reading /dev/kmsg takes a right that many accounts lack; then `dmesg` and the journal are tried, and if neither speaks
the reason is said.
"""

import errno
import os
import select
import time

from workers import Unreadable, start_tool

KERNEL_LOG = "/dev/kmsg"
TELLING = (
    "NVRM",
    "Xid",
    "nvidia",
    "nvlink",
    "NVLink",
    "mlx5",
    "infiniband",
    "AER",
    "PCIe Bus Error",
    "pcieport",
    "pciehp",
    "DMAR",
    "Machine check",
    "Hardware Error",
    "EDAC",
    "Out of memory",
    "fallen off",
)
BURST = 500
"""Lines taken at once; a node that logs faster is cut short, and how much is said."""
FOLLOWERS = (
    ("dmesg", ["dmesg", "--follow"]),
    ("journal", ["journalctl", "-k", "-f", "-n", "500", "-o", "short-iso-precise", "--no-pager"]),
)


def boot_moment():
    """When the node started by its own clock, seconds since the epoch."""
    with open("/proc/uptime") as file:
        return time.time() - float(file.read().split()[0])


def tells(line):
    """Whether a line is about something we watch."""
    return any(word in line for word in TELLING)


def stamp_of(line, boot):
    """When a record of /dev/kmsg was written: its third field counts microseconds since the start of the node."""
    head = line.partition(";")[0].split(",")
    return round(boot + int(head[2]) / 1e6, 3) if len(head) > 2 and head[2].isdigit() else None


class Told(object):
    """Passes telling lines on, at most BURST a second."""

    def __init__(self, voice, source):
        self.voice = voice
        self.source = source
        self.second = 0
        self.said = 0
        self.dropped = 0

    def take(self, line, stamp):
        """Pass on one line where it tells something."""
        if not line or line[0] == " " or not tells(line):
            return
        second = int(time.monotonic())
        if second != self.second:
            self.report()
            self.second, self.said = second, 0
        self.said += 1
        if self.said > BURST:
            self.dropped += 1
        else:
            self.voice.say("L", self.source, line[:4096], stamp)

    def report(self):
        """Say how many lines were left out."""
        if self.dropped:
            text = "lanescope: %d lines of the kernel log left out, more than %d came in a second" % (
                self.dropped,
                BURST,
            )
            self.voice.say("L", self.source, text, None)
            self.dropped = 0


def follow(voice, orders):
    """Pass the kernel log on for ever."""
    try:
        descriptor = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        follow_command(voice, orders, error.strerror)
        return
    told = Told(voice, "kmsg")
    boot = boot_moment()
    while True:
        try:
            data = os.read(descriptor, 8192)
        except OSError as error:
            if error.errno == errno.EPIPE:  # records were overwritten before they were read
                continue
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise Unreadable("%s: %s" % (KERNEL_LOG, error.strerror))
            wait_for(descriptor, orders)
            told.report()
            continue
        if not data:
            orders.wait(time.monotonic() + 1)
        for line in data.decode("utf-8", "replace").split("\n"):
            told.take(line, stamp_of(line, boot))


def follow_command(voice, orders, why):
    """Pass on what the first command that speaks says of the kernel log."""
    for source, argv in FOLLOWERS:
        try:
            child = start_tool(argv)
        except OSError:
            continue
        told = Told(voice, source)
        rest = b""
        while True:
            wait_for(child.stdout.fileno(), orders)
            data = os.read(child.stdout.fileno(), 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                told.take(line.decode("utf-8", "replace"), None)
            told.report()
        child.wait()
    raise Unreadable(
        "the kernel log can't be read by this account (%s: %s; dmesg and journalctl say nothing)" % (KERNEL_LOG, why)
    )


def wait_for(descriptor, orders):
    """Wait until there is something to read, taking orders meanwhile."""
    while True:
        ready = select.select([descriptor, orders.descriptor], [], [])[0]
        if orders.descriptor in ready:
            orders.take(os.read(orders.descriptor, 4096))
        if descriptor in ready:
            return
