"""NCCL's debug log of this process: kept in memory, read once, said in a few facts.

Source: NVIDIA/nccl src/debug.cc; the lines are those of the captures that parsers/nccl/log.py reads.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import os
import re
import tempfile

MOST_BYTES = 4 << 20
MOST_FACTS = 16
VIA = re.compile(r" via ([A-Z0-9]{2,12}(?:/[A-Za-z0-9_()]{1,24}){0,4})")
DEVICES = re.compile(r"NET/[\w -]{1,40}? ?: Using (\[[^\n]{1,4000})")
DEVICE = re.compile(r"\[(\d{1,4})\]([\w.\-]{1,40}):")
NET = re.compile(r"NET/\w{1,40}/(\d{1,4})(?:/|\(|$)")
NETWORK = re.compile(r"Using network (\S[^\n]{0,60})")
MULTICAST = re.compile(r"NVLS multicast support is (not )?available")
NVLS_CHANNELS = re.compile(r"(\d{1,5}) nvls channels")
SETTING = re.compile(r"NCCL INFO (NCCL_\w{1,60}) set (?:by environment )?to ([^\n]{0,60})")
WARNING = re.compile(r"NCCL WARN ([^\n]{1,200})")
OURS = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_RAS_ENABLE")


class Log(object):
    """A file without a name that NCCL writes to: it is gone with the process, however that ends."""

    def __init__(self):
        self.file = nameless_file()

    def environment(self):
        """What NCCL must find in its environment to write there."""
        return {
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,P2P,GRAPH",
            "NCCL_DEBUG_FILE": "/proc/self/fd/%d" % self.file,
        }

    def text(self):
        """What was written so far, as much of it as is ever looked at."""
        return os.pread(self.file, MOST_BYTES, 0).decode("utf-8", "replace")


def nameless_file():
    """A file in memory, on a disk where the C library is too old for that. -> its descriptor"""
    try:
        file = ctypes.CDLL(None).memfd_create(b"lanescope-nccl", 0)
    except AttributeError:
        file = -1
    if file >= 0:
        return file
    with tempfile.TemporaryFile() as unlinked:
        return os.dup(unlinked.fileno())


def facts(text):
    """How the ranks are joined, by what NCCL wrote."""
    ways = {}
    for found in VIA.finditer(text):
        ways[found.group(1)] = ways.get(found.group(1), 0) + 1
    return {
        "via": dict(sorted(ways.items(), key=lambda way: -way[1])[:MOST_FACTS]),
        "network": first(NETWORK, text),
        "nics": nics(text, ways),
        "nvls": nvls(text),
        "settings": settings(text),
        "warnings": warnings(text),
    }


def nics(text, ways):
    """The NICs that are used, by name."""
    listed = DEVICES.search(text)
    names = dict(DEVICE.findall(listed.group(1))) if listed else {}
    used = {found.group(1) for found in (NET.search(way) for way in ways) if found}
    return sorted({names[number] for number in used if number in names})


def nvls(text):
    """Whether NVSwitches reduce for us: "used", "available", "not available"; None where NCCL does not say."""
    channels = NVLS_CHANNELS.search(text)
    if channels and int(channels.group(1)):
        return "used"
    support = MULTICAST.search(text)
    if support is None:
        return None
    return "not available" if support.group(1) else "available"


def settings(text):
    """NCCL's settings that were found in the environment or a configuration file, but for those of the log."""
    found = dict(SETTING.findall(text))
    return {name: found[name].rstrip(".") for name in sorted(found) if name not in OURS}


def warnings(text):
    """NCCL's warnings, each once."""
    return list(dict.fromkeys(WARNING.findall(text)))[:MOST_FACTS]


def first(pattern, text):
    """What a pattern finds first; None where it finds nothing."""
    found = pattern.search(text)
    return found.group(1).strip() if found else None
