"""What a task of NCCL is asked for, checked: who takes part, what is moved, and which transports may carry it.

Runs on the node: Python 3.6+, standard library only.
"""

import re

import cuda
import cuda_copy

ONE_WAY, BOTH_WAYS, ALL_REDUCE, ALL_TO_ALL = "sendrecv", "sendrecv2", "allreduce", "alltoall"
MOST_RANKS = 1024
NIC = re.compile(r"[A-Za-z][\w.\-]{0,30}(?::\d{1,2})?$")
WORD = re.compile(r"[\w.\-^=,:]{1,60}$")
FILE = re.compile(r"/[^\0\n]{1,400}$")
OFF = {  # transport: settings that turn it off; where it may be used, NCCL decides
    "P2P": {"NCCL_P2P_DISABLE": "1", "NCCL_PXN_DISABLE": "1", "NCCL_MNNVL_ENABLE": "0"},
    "SHM": {"NCCL_SHM_DISABLE": "1"},
    "NVLS": {"NCCL_NVLS_ENABLE": "0"},
}


class Plan(object):
    """The arguments, checked."""

    def __init__(self, arguments):
        self.op, self.gpus = arguments.get("op"), arguments.get("gpus")
        if self.op not in (ONE_WAY, BOTH_WAYS, ALL_REDUCE, ALL_TO_ALL):
            raise bad("op is sendrecv, sendrecv2, allreduce, alltoall or find")
        if not isinstance(self.gpus, list) or len(self.gpus) != 1 or not is_bus(self.gpus[0]):
            raise bad("gpus is one PCI bus address: each rank is a task of its own")
        self.ranks = int(cuda_copy.number(arguments, "ranks", 2, 2, MOST_RANKS))
        self.rank = int(cuda_copy.number(arguments, "rank0", 0, 0, self.ranks - 1))
        if self.op in (ONE_WAY, BOTH_WAYS) and self.ranks != 2:
            raise bad("%s is between two ranks" % self.op)
        self.windows = int(cuda_copy.number(arguments, "windows", 16, 1, 1024))
        self.window_ms = cuda_copy.number(arguments, "window_ms", 30.0, 0.1, 1000.0)
        self.warm_ms = cuda_copy.number(arguments, "warm_ms", 40.0, 0.0, 1000.0)
        least = 4096 * self.ranks
        self.bytes = int(cuda_copy.number(arguments, "bytes", 64 << 20, least, 4 << 30)) // least * least
        self.nics = names(arguments, "nics")
        self.hca = names(arguments, "hca")
        self.wanted = library_wanted(arguments)
        self.transports = arguments.get("transports", {})
        self.settings = settings(arguments, self.transports, self.hca)

    def moved(self):
        """Bytes that one operation moves over the slowest link of a rank, as nccl-tests count bus bandwidth."""
        share = {ALL_REDUCE: 2.0 * (self.ranks - 1) / self.ranks, ALL_TO_ALL: float(self.ranks - 1) / self.ranks}
        return self.bytes * share.get(self.op, 1.0)


def bad(text):
    """An argument that is none."""
    return cuda.Failed("arguments", "BAD_TASK", text=text)


def is_bus(value):
    """Whether a value is a PCI bus address."""
    return isinstance(value, str) and bool(cuda_copy.BUS.match(value))


def library_wanted(arguments):
    """The file to load; empty where we are to look for one."""
    return word(arguments, "library", FILE)


def names(arguments, name):
    """A list of NICs; empty where there is none."""
    value = arguments.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) and NIC.match(each) for each in value):
        raise bad("%s is a list of NICs by name" % name)
    return value


def word(arguments, name, pattern=WORD):
    """A word; empty where there is none."""
    value = arguments.get(name) or ""
    if value and not (isinstance(value, str) and pattern.match(value)):
        raise bad("%s is not a word NCCL could take" % name)
    return value


def settings(arguments, transports, hca):
    """NCCL's settings for this task. -> {name: value, or None where it must not be set}"""
    if not isinstance(transports, dict) or set(transports) - set(OFF) - {"NET"}:
        raise bad("transports are P2P, SHM, NVLS and NET")
    found = {"NCCL_RAS_ENABLE": "0"}  # its port may be the job's
    for name, off in OFF.items():
        if name in transports:
            found.update({key: None if transports[name] else value for key, value in off.items()})
    named = {"NCCL_NET": word(transports, "NET"), "NCCL_SOCKET_IFNAME": word(arguments, "interface")}
    named["NCCL_IB_HCA"] = "=" + ",".join(hca) if hca else ""
    for name, key in (("NCCL_IB_GID_INDEX", "gid_index"), ("NCCL_IB_TC", "traffic_class")):
        if key in arguments:
            named[name] = "%d" % cuda_copy.number(arguments, key, 0, 0, 255)
    found.update({name: value for name, value in named.items() if value})
    return found
