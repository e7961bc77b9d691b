"""What a node program's error line means, as one sentence and the code of an error class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..incident.errors import Deadline, Denied, Hung, NotTested, ProbeError

LONGEST = 200

CUDA_SENTENCES: Mapping[int, str] = {
    2: "the GPU has no free memory for it",
    46: "the GPU is in exclusive mode, or MIG is on",
    100: "the driver sees no GPU; look at the kernel log for one that fell off the bus",
    101: "the driver knows no GPU at that bus address; it may be hidden, in MIG mode, or off the bus",
    214: "an ECC error that could not be corrected; look at the remap counters and the kernel log",
    217: "the GPUs can't reach each other directly",
    220: "an NVLink error that could not be corrected; look at the lanes' counters and the kernel log",
    304: "the node's user may not use the device files",
    719: "the GPU failed while it worked; look at the kernel log",
    800: "the driver does not permit it to this user",
    802: "the fabric manager is not up; look at `systemctl status nvidia-fabricmanager`",
    803: "the driver's kernel module and libraries are of different versions; the node needs a reboot or reload",
}
"""CUresult -> what to tell the operator."""

NOT_PERMITTED = (304, 800)

NAMED_SENTENCES: Mapping[str, str] = {
    "NO_LIBCUDA": "libcuda.so.1 can't be loaded: is the NVIDIA driver installed?",
    "NO_SYMBOL": "the driver is too old",
    "DEADLINE": "the copies were handed to the GPU and did not complete in time",
    "HUNG": "the call did not return",
    "DIED": "the process ended in this call",
    "STUCK": "earlier probes on this node hang in the kernel; it needs a reboot",
    "BAD_TASK": "the probe was asked for something it can't do",
    "NO_PROGRAM": "the probe worker has no such program",
}

MISSING, PARTNER = "MISSING", "PARTNER"
"""Error names of a program that lacks something on its node, and of one whose partner in a trial failed."""

CLASSES: Mapping[str, type[Exception]] = {
    "HUNG": Hung,
    "STUCK": Hung,
    "DEADLINE": Deadline,
    "NOT_TOLD": Deadline,
    "LATE": Deadline,
    "DISTRUSTED": Denied,
    MISSING: NotTested,
}


def sentence_of(error: Mapping[str, Any]) -> tuple[str, str]:
    """One sentence and an error code for an `error` line; any value in it may be missing or of the wrong kind."""
    name, call = _words(error.get("name")) or "an unnamed error", _words(error.get("call")) or "a call"
    code = error.get("code")
    number = code if type(code) is int else 0
    meaning = CUDA_SENTENCES.get(number) or NAMED_SENTENCES.get(name) or _words(error.get("text"))
    sentence = f"{call} failed with {name}" + (f": {meaning}" if meaning else "")
    if name == MISSING:
        sentence = f"not tested: {_words(error.get('text')) or 'the node lacks something and does not say what'}"
    elif name == "DISTRUSTED":
        sentence = f"not run, for others could have written it: {_words(error.get('text'))}"
    elif name == PARTNER:
        sentence = _words(error.get("text")) or "a partner of this probe failed"
    elif name == "HUNG":
        state, where = _words(error.get("state")), _words(error.get("wchan"))
        sentence = f"{call} did not return" + (f" (process state {state}, in {where})" if state and where else "")
    if number in NOT_PERMITTED:
        return sentence, Denied.code
    return sentence, getattr(CLASSES.get(name, ProbeError), "code", ProbeError.code)


def held_by(holder: object) -> str:
    """Who holds a node's lock: `pid 4711 (python3) of user 1000`."""
    said: Mapping[str, Any] = holder if isinstance(holder, Mapping) else {}
    pid, uid, name = said.get("pid"), said.get("uid"), _words(said.get("name"))
    if type(pid) is not int or type(uid) is not int or pid <= 0:
        return "a process that does not say who it is"
    return f"pid {pid}" + (f" ({name})" if name else "") + f" of user {uid}"


def computing_on(process: object) -> str:
    """A process on a GPU: `pid 4711 (python3) on 0000:19:00.0`."""
    said: Mapping[str, Any] = process if isinstance(process, Mapping) else {}
    name, gpu = _words(said.get("name")), _words(said.get("gpu"))
    pid = said.get("pid")
    return f"pid {pid if type(pid) is int else '?'}" + (f" ({name})" if name else "") + (f" on {gpu}" if gpu else "")


def _words(value: object) -> str:
    """Text of a node, short and without control characters."""
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in value if letter.isprintable())[:LONGEST]
