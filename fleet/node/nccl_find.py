"""Which libnccl.so.2 this node has, of what version, and whether it can be loaded by us.

Runs on the node: Python 3.6+, standard library only.
"""

import json
import os
import select
import signal

import cuda
import nccl_binding
import nccl_library
import tree
import watch

TRY_LIMIT = 10.0  # seconds for loading one library on trial
LONGEST_ANSWER = 4096


def find(given, bench):
    """Say which libnccl.so.2 there are, and of those that may be loaded whether they can be."""
    for candidate in nccl_library.candidates(given):
        refusal = candidate.refusal(bench.driver().version())
        said = dict(candidate.facts(), refusal=refusal)
        if not refusal:
            said.update(tried(candidate, min(TRY_LIMIT, bench.end - watch.moment())))
        bench.emit(found=said)


def tried(candidate, patience):
    """Load a library in a process of its own: it may hang, and a process can have only one. -> what it says it is"""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        tree.die_with_parent(signal.SIGKILL)
        try:
            os.write(writing, json.dumps({"loads": nccl_binding.Library(candidate.real).version()}).encode())
        except cuda.Failed as failure:
            os.write(writing, json.dumps({"refusal": failure.report["text"]}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        answered = select.select([reading], [], [], max(0.1, patience))[0]
        said = os.read(reading, LONGEST_ANSWER) if answered else b""
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return json.loads(said.decode()) if said else {"refusal": "loading it did not end within %.0f s" % patience}
