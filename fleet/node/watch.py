"""What a supervisor and its children share: one clock, and a page that names the call a child is in.

Runs on the node: Python 3.6+, standard library only.
"""

import mmap
import time

PAGE_BYTES = 64
_page = mmap.mmap(-1, PAGE_BYTES)


def moment():
    """Seconds on a clock that all processes of the node share, so that a deadline means the same in each of them."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def new_page():
    """Memory that a process shares with the children it forks afterwards."""
    return mmap.mmap(-1, PAGE_BYTES)


def write_on(page):
    """Name the calls of this process on `page` from now on."""
    global _page
    _page = page


def entering(call):
    """Say which call this process is about to make; whoever waits for it reads that when the call does not return."""
    _page[:PAGE_BYTES] = call.encode()[:PAGE_BYTES].ljust(PAGE_BYTES, b"\0")


def written_on(page):
    """The call a process named last."""
    return page[:PAGE_BYTES].rstrip(b"\0").decode("utf-8", "replace")


def current_call():
    """The call this process named last."""
    return written_on(_page)
