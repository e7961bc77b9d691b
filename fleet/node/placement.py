"""What sysfs says about where a PCI device sits, and running beside it.

Runs on the node: Python 3.6+, standard library only.
"""

import os
import re

ALLOWED = os.sched_getaffinity(0)  # as we were started; a task on another socket starts from here again


def attribute(bus, name):
    """One sysfs attribute of a PCI device; None where it is missing or unreadable."""
    try:
        with open("/sys/bus/pci/devices/%s/%s" % (bus, name)) as file:
            return file.read(4096).strip()
    except (OSError, ValueError):
        return None


def link(bus):
    """Speed and width of the PCIe link above a device at this moment, `32.0 GT/s PCIe x16`; empty where unreadable."""
    speed, width = attribute(bus, "current_link_speed"), attribute(bus, "current_link_width")
    return "%s x%s" % (speed, width) if speed and width else ""


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
