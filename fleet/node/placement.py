"""What sysfs says about where a PCI device sits, and running beside it.

Runs on the node: Python 3.6+, standard library only.
"""

import os
import re
import time

DEVICES = "/sys/bus/pci/devices"
BUS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")
MOST_LINKS = 8  # of one device up to its root port
MOST_STATES = 32  # that one link tells
LOOK_EVERY = 0.01  # seconds: a look is an access to the device's configuration space

ALLOWED = os.sched_getaffinity(0)  # as we were started; a task on another socket starts from here again


def attribute(bus, name):
    """One sysfs attribute of a PCI device; None where it is missing or unreadable."""
    try:
        with open("%s/%s/%s" % (DEVICES, bus, name)) as file:
            return file.read(4096).strip()
    except (OSError, ValueError):
        return None


def link(bus):
    """Speed and width of the PCIe link above a device at this moment, `32.0 GT/s PCIe x16`; empty where unreadable."""
    speed, width = attribute(bus, "current_link_speed"), attribute(bus, "current_link_width")
    return "%s x%s" % (speed, width) if speed and width else ""


def links_above(bus):
    """A device and the bridges above it, nearest first: each has a link of its own."""
    parts = os.path.realpath("%s/%s" % (DEVICES, bus)).split("/")
    bridges = [part for part in parts[:-1] if BUS.match(part)]
    return ([bus] + bridges[::-1])[:MOST_LINKS]


class LinkWatch(object):
    """The PCIe links above a device, looked at again and again while they are loaded.

    An idle link sleeps at its lowest speed, so that only what it does under load tells anything."""

    def __init__(self, bus):
        self.links = [LinkStates(each) for each in links_above(bus)]
        self.next = 0.0

    def look(self):
        """See how the links are now."""
        self.next = time.monotonic() + LOOK_EVERY
        for each in self.links:
            each.take(link(each.bus))

    def look_now_and_then(self):
        """The same, for those who call it as often as they can."""
        if time.monotonic() >= self.next:
            self.look()

    def report(self):
        """-> `link`: the device's own; `above`: those of the bridges; what can't be read is absent"""
        reports = [each.report() for each in self.links if each.states]
        own = [report for report in reports if report["bus"] == self.links[0].bus]
        above = [report for report in reports if report["bus"] != self.links[0].bus]
        return dict([("link", own[0])] if own else [], **({"above": above} if above else {}))


class LinkStates(object):
    """What one link was in the order of time."""

    def __init__(self, bus):
        self.bus, self.states, self.last, self.transitions = bus, [], "", 0

    def take(self, state):
        """Note a state; empty where it could not be read."""
        if not state or state == self.last:
            return
        self.transitions += 1 if self.last else 0
        self.last = state
        if len(self.states) < MOST_STATES:
            self.states.append(state)

    def report(self):
        """Its states in order, and how often they changed: also past those that are listed."""
        return {"bus": self.bus, "during": self.states, "transitions": self.transitions}


def cores(text):
    """A kernel CPU list. `0-3,8` -> {0, 1, 2, 3, 8}"""
    found = set()
    for part in (text or "").split(","):
        span = re.match(r"(\d+)(?:-(\d+))?$", part.strip())
        if span:
            found.update(range(int(span.group(1)), int(span.group(2) or span.group(1)) + 1))
    return found


def run_beside(bus):
    """Move to the cores beside a device, so that pinned pages are first touched on its NUMA node.

    -> what was done, or why not."""
    local = cores(attribute(bus, "local_cpulist"))
    if not local:
        return {"pinned": False, "why": "no local_cpulist"}
    if not local & ALLOWED:
        return {"pinned": False, "why": "none of the cores we may use is beside the device"}
    try:
        os.sched_setaffinity(0, local & ALLOWED)
    except OSError as error:
        return {"pinned": False, "why": error.strerror}
    return {"pinned": True, "cores": len(local & ALLOWED)}
