"""Where this node has a libnccl.so.2, and whether it may be loaded.

What a running process has mapped comes first: that is what the failing job uses. A file that anybody but root or the
user we run as could have written is named and never opened, let alone loaded: its code would run as us, often as root.
So it is with a file of a container, whose root may not be ours.
Runs on the node: Python 3.6+, standard library only.
"""

import glob
import mmap
import os
import re
import stat
import subprocess
import sys

import watch

NAME = "libnccl.so.2"
PACKAGE = "libnccl2"
MOST_CANDIDATES = 24
MOST_MAPS = 4 << 20  # bytes read of the list of what a process has mapped
TOOL_LIMIT = 5.0
BUILT = re.compile(rb"NCCL version (\d{1,2}\.\d{1,3}\.\d{1,3})\+cuda(\d{1,2}\.\d{1,2})")
IN_PREFIX = ("lib/python3*/site-packages/nvidia/nccl/lib/" + NAME, "lib/" + NAME)
COMMON = (
    "/usr/lib/*-linux-gnu/" + NAME,
    "/usr/lib64/" + NAME,
    "/usr/local/lib/" + NAME,
    "/usr/local/lib/python3*/dist-packages/nvidia/nccl/lib/" + NAME,
    "/usr/local/nccl*/lib*/" + NAME,
    "/usr/local/cuda*/lib64/" + NAME,
    "/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/*nccl*/lib/" + NAME,
    "/opt/*/lib/" + NAME,
    "/opt/*/" + IN_PREFIX[0],
    "/opt/*/envs/*/" + IN_PREFIX[0],
)


class Candidate(object):
    """A file that may be NCCL: what is known of it without loading it."""

    def __init__(self, path, how, container=0):
        self.path, self.how = path, how
        self.real = os.path.realpath(path)
        self.distrust = "inside a container, of pid %d" % container if container else distrust(self.real)
        self.version, self.cuda = ("", "") if self.distrust else built(self.real)

    def refusal(self, driver):
        """Why it can't be used with a driver of this CUDA version (13000 is 13.0); empty when it can."""
        if self.distrust:
            return self.distrust
        if driver and self.cuda and int(self.cuda.split(".")[0]) > driver // 1000:
            return "built for CUDA %s, the driver has %d.%d" % (self.cuda, driver // 1000, driver % 1000 // 10)
        return ""

    def facts(self):
        """What goes into the evidence."""
        return {"path": self.path, "real": self.real, "how": self.how, "version": self.version, "cuda": self.cuda}


def candidates(given=""):
    """Yield every libnccl.so.2 there is, best first, each file once; only `given` when there is one."""
    seen = set()
    for path, how, container in [(given, "given", 0)] if given else places():
        try:
            status = os.stat(path)
        except OSError:
            continue
        key = status.st_dev, status.st_ino
        if key in seen or not stat.S_ISREG(status.st_mode):
            continue
        seen.add(key)
        yield Candidate(path, how, container)
        if len(seen) == MOST_CANDIDATES:
            return


def places():
    """Yield (path, how it was found, pid of the container's process or 0), in the order of preference."""
    for found in mapped():
        yield found
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder.startswith("/"):
            yield os.path.join(folder, NAME), "LD_LIBRARY_PATH", 0
    for path in of_the_loader():
        yield path, "ldconfig", 0
    for prefix, how in prefixes():
        for pattern in IN_PREFIX:
            for path in sorted(glob.glob(os.path.join(glob.escape(prefix), pattern))):
                yield path, how, 0
    watch.entering("look for " + NAME)
    home = os.path.expanduser("~")
    for pattern in COMMON + tuple("%s/%s*/%s" % (glob.escape(home), dot, IN_PREFIX[0]) for dot in ("", ".")):
        for path in sorted(glob.glob(pattern)):
            yield path, "common path", 0


def mapped():
    """Yield what running processes have mapped."""
    for pid in readable_processes():
        watch.entering("read /proc/%d/maps" % pid)
        try:
            with open("/proc/%d/maps" % pid, "rb") as file:
                lines = file.read(MOST_MAPS).splitlines()
            ours = os.path.samefile("/proc/%d/root" % pid, "/")
        except OSError:
            continue
        fields = (line.split(None, 5) for line in lines if b"libnccl.so" in line)
        for path in sorted({os.fsdecode(parts[5]) for parts in fields if len(parts) == 6}):
            yield path if ours else "/proc/%d/root%s" % (pid, path), "mapped by pid %d" % pid, 0 if ours else pid


def readable_processes():
    """Yield pids but of those stuck in the kernel: who asks what such a process has mapped may be stuck with it."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as file:
                state = file.read(4096).rpartition(b")")[2].split()[:1]
        except OSError:
            continue
        if state and state != [b"D"]:
            yield int(name)


def of_the_loader():
    """What the dynamic loader would take."""
    watch.entering("ldconfig -p")
    try:
        said = subprocess.run(
            ["/sbin/ldconfig", "-p"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TOOL_LIMIT,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    lines = os.fsdecode(said).splitlines()
    return [line.split("=>")[1].strip() for line in lines if line.strip().startswith(NAME + " ") and "=>" in line]


def prefixes():
    """Yield (folder, whose) of Python environments: our own, and those of running pythons."""
    yield sys.prefix, "our own prefix"
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(name, "").startswith("/"):
            yield os.environ[name], name
    seen = set()
    for pid in readable_processes():
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                program = os.fsdecode(file.read(4096).split(b"\0")[0])
        except OSError:
            continue
        prefix = os.path.dirname(os.path.dirname(program))
        if program.startswith("/") and "python" in os.path.basename(program) and prefix not in seen:
            seen.add(prefix)
            yield prefix, "python of pid %d" % pid


def distrust(path):
    """Why a file must not be loaded by us; empty when root and we alone can have written it, its folders included.

    `path` holds no symbolic link. In a folder with the sticky bit others can't replace what is ours."""
    step = path
    while True:
        try:
            status = os.lstat(step)
        except OSError as error:
            return "%s: %s" % (step, error.strerror)
        if status.st_uid not in (0, os.getuid()):
            return "%s belongs to user %d" % (step, status.st_uid)
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if not sticky and writable_by_others(status):
            return "%s can be written by others" % step
        if step == "/":
            return ""
        step = os.path.dirname(step)


def writable_by_others(status):
    """Whether users other than root and us may write; a group of our own, numbered as we are, has no other members."""
    if status.st_mode & stat.S_IWOTH:
        return True
    private = status.st_gid == 0 or status.st_gid == os.getgid() == os.getuid()
    return bool(status.st_mode & stat.S_IWGRP) and not private


def built(path):
    """Which NCCL for which CUDA a trusted file is, by its own words. -> ("2.27.7", "12.9"), empty where it has none"""
    watch.entering("read " + NAME)
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            said = BUILT.search(content)
            return (said.group(1).decode(), said.group(2).decode()) if said else ("", "")
    except (OSError, ValueError):
        return "", ""
