"""What a task can ask of the probe worker: every name is a module beside this one with a function `run`.

Adding a program is adding its file and its name here; what it imports is sent with it.
Runs on the node: Python 3.6+, standard library only.
"""

import sys

NAMES = (
    "cuda_copy",
    "nccl",
    "tool",
    "fabric_state",
    "verify_copy",
    "memory_check",
    "burn",
)


def entry(name):
    """The function that runs a program: takes its arguments and the bench."""
    return sys.modules[name].run
