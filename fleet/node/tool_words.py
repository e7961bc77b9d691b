"""The external tools that may be run, where they are looked for, and which of their words only look or measure.

Tools that only measure take any option; those that can also change a node take the options listed here alone.
Runs on the node: Python 3.6+, standard library only.
"""

import os
import re

PACKAGES = {  # tool: the package it comes in
    "ib_write_bw": "perftest",
    "ib_read_bw": "perftest",
    "ib_send_bw": "perftest",
    "ib_write_lat": "perftest",
    "ib_read_lat": "perftest",
    "nvbandwidth": "nvbandwidth",
    "all_reduce_perf": "nccl-tests",
    "sendrecv_perf": "nccl-tests",
    "alltoall_perf": "nccl-tests",
    "dcgmi": "datacenter-gpu-manager",
    "nvidia-smi": "nvidia-utils",
    "systemctl": "systemd",
}
PLACES = (
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/usr/local/cuda/bin",
    "/usr/local/cuda/extras/demo_suite",
    "/opt/nccl-tests/build",
    "/opt/nccl_tests/build",
    "/usr/local/nccl-tests/build",
    "/opt/nvbandwidth",
    "/opt/perftest/bin",
)
LOOKING = {  # tool: first word: options that may follow
    "nvidia-smi": {
        "-L": (),
        "-q": ("-i", "-d", "-x"),
        "topo": ("-m", "-mp", "-p", "-i", "-p2p", "-c", "-n", "-nvme"),
        "nvlink": (
            "-s",
            "-c",
            "-e",
            "-i",
            "-l",
            "-p",
            "--status",
            "--capabilities",
            "--errorcounters",
            "--id",
            "--link",
        ),
        "--query-gpu": ("--format", "--id", "-i"),
    },
    "dcgmi": {
        "-v": (),
        "--version": (),
        "discovery": ("-l", "-c", "-i", "-v"),
        "topo": ("-g", "-j", "-i", "--gpuid", "--group", "--json"),
        "nvlink": ("-s", "-e", "-g", "-j", "--link-status", "--errors", "--gpuid", "--json"),
        "diag": ("-r", "-i", "-j", "-p", "-v", "-g", "--run", "--json", "--parameters", "--verbose", "--iterations"),
        "health": ("-c", "-g", "-j", "--check", "--group", "--json"),
    },
}
VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,:;=-]*$")
ONLY = {"systemctl": [["is-active", "nvidia-fabricmanager"]]}  # tool: all that may follow it
WRITING = ("--out_json_", "--output_", "-J")  # beginnings of the options with which a measuring tool writes a file
MOST_WORDS, LONGEST_WORD = 64, 512


def objection(argv):
    """Why a command may not be run; empty when it may."""
    if not isinstance(argv, list) or not 1 <= len(argv) <= MOST_WORDS:
        return "argv is a list of 1 to %d words" % MOST_WORDS
    if not all(isinstance(word, str) and len(word) <= LONGEST_WORD and word.isprintable() for word in argv):
        return "argv holds a word that is none"
    if argv[0] not in PACKAGES:
        return "%s is no tool that may be run" % argv[0]
    if not only_looks(argv[0], argv[1:]):
        return "%s may not be run with these words: they could change the node" % argv[0]
    return ""


def only_looks(tool, words):
    """Whether a tool with these words looks or measures, and neither changes the node nor writes to its disk."""
    if tool in ONLY:
        return words in ONLY[tool]
    if tool not in LOOKING:
        return not any(word.startswith(WRITING) for word in words)
    first = words[0].partition("=")[0] if words else ""
    return first in LOOKING[tool] and all(follows(word, LOOKING[tool][first]) for word in words[1:])


def follows(word, options):
    """Whether a word is one of some options, or a value of one."""
    return word in options or word.partition("=")[0] in options or VALUE.match(word) is not None


def found(tool):
    """Where a tool is: in PATH, or in one of the usual places; empty when it is not there."""
    for folder in [each for each in os.environ.get("PATH", "").split(":") if each.startswith("/")] + list(PLACES):
        path = os.path.join(folder, tool)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""
