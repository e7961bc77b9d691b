"""Ending what a process of ours has started, whatever became of it: children, their children, and orphans of both.

A process that calls `adopt` inherits the orphans below it, so that one that double-forked or began a session of its
own is still found. Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import os
import signal
import time

import watch

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def adopt():
    """Make this process the parent of all orphans below it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number):
    """Have this process sent a signal when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def processes():
    """All processes of the node. -> {pid: (parent, state)}"""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    state, parent = file.read(4096).rpartition(b")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            found[int(name)] = int(parent), state.decode()
    return found


def below(pid):
    """Pids of the living processes that descend from one."""
    children = {}
    states = processes()
    for child, (parent, _) in states.items():
        children.setdefault(parent, []).append(child)
    found, parents = [], [pid]
    while parents:
        born = children.get(parents.pop(), [])
        parents += born
        found += [child for child in born if states[child][1] not in "ZX"]
    return found


def end_below(grace, last):
    """End all that descends from this process: TERM, after `grace` seconds KILL, given up `last` seconds later.

    -> pids of those that no signal reaches"""
    began, termed = watch.moment(), set()
    while True:
        left = below(os.getpid())
        late = watch.moment() - began
        if not left or late > grace + last:
            reap()
            return left
        for pid in left:
            if late > grace:
                send(pid, signal.SIGKILL)
            elif pid not in termed:
                termed.add(pid)
                send(pid, signal.SIGTERM)
        time.sleep(0.01)
        reap()


def reap():
    """Take the exit status of whatever ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:
        pass


def send(pid, number):
    """Signal a process that may be gone."""
    try:
        os.kill(pid, number)
    except OSError:
        pass
