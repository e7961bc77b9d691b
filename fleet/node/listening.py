"""Whether a process listens on a TCP port, as the kernel's tables tell it.

Connecting would be the wrong way to find out: the servers of perftest take one connection and are done.
Runs on the node: Python 3.6+, standard library only.
"""

import os

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENS = "0A"  # TCP_LISTEN


def sockets(port):
    """Inodes of the sockets that listen on a port, of whatever process."""
    found = set()
    for table in TABLES:
        try:
            with open(table) as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        found.update(row[9] for row in rows if row[3] == LISTENS and int(row[1].rpartition(":")[2], 16) == port)
    return found


def held_by(pids):
    """Inodes of the sockets that processes hold; those of processes we may not look into are not among them."""
    found = set()
    for pid in pids:
        folder = "/proc/%d/fd" % pid
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(os.path.join(folder, name))
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[len("socket:[") : -1])
    return found
