"""Which part of a copy's way changed its data, found out after a mismatch.

A GPU can compute the pattern too, and compares its own memory: that tells wrong data from wrong reading. Where no
kernel runs, reading again, reading the source, and writing the target from the host must do.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes

import cuda
import kernels
import memory_check

COPY, READ_BACK, TARGET = "copy", "read-back", "target memory"
SOURCE, WRITE = "source memory", "write to the source"


def looked_at_by(ground, device, scratch):
    """How many words of a GPU's memory are not the pattern, as it counts them itself; None where no kernel runs."""
    try:
        walker = memory_check.Walker(device, scratch, ground.end)
    except cuda.Failed as failure:
        if isinstance(failure, cuda.Deadline):
            raise
        return None
    return walker.check(ground.memory[device], ground.plan.bytes, ground.pattern())[1].count


def keeps_by_itself(ground, device, scratch):
    """Whether a GPU's memory keeps what the GPU writes there: the pattern, and all its bits the other way round."""
    walker = memory_check.Walker(device, scratch, ground.end)
    for mode, seed in ((kernels.MIXED, ground.plan.seed), (kernels.CONSTANT, 0), (kernels.CONSTANT, 0xFFFFFFFF)):
        pattern = kernels.Pattern("blame", seed, mode)
        walker.fill(ground.memory[device], ground.plan.bytes, pattern)
        if walker.check(ground.memory[device], ground.plan.bytes, pattern)[1].count:
            return False
    return True


def blame_h2d(ground, wrong):
    """Which of copy, memory and reading back is wrong; empty where that can't be told."""
    device = ground.target
    ground.read(device)
    if not ground.differences():
        return READ_BACK
    with cuda.Scratch(ground.driver) as scratch:
        count = looked_at_by(ground, device, scratch)
        if count is None:
            return ""  # writing the target from the host is what is in question
        if not count:
            return READ_BACK
        return COPY if keeps_by_itself(ground, device, scratch) else TARGET


def blame_d2h(ground, wrong):
    """Which of source, host memory and copy is wrong; empty where that can't be told."""
    device = ground.source
    ctypes.memmove(ground.got, ground.want, ground.plan.bytes)
    if ground.differences():
        return TARGET
    with cuda.Scratch(ground.driver) as scratch:
        count = looked_at_by(ground, device, scratch)
        if count is None:
            ground.read(device)
            return "" if ground.differences() else COPY
        if not count:
            return COPY
        return WRITE if keeps_by_itself(ground, device, scratch) else SOURCE


def blame_p2p(ground, wrong):
    """Which of source, copy, target and reading back is wrong."""
    source, target = ground.source, ground.target
    ground.read(target)
    if not ground.differences():
        return READ_BACK
    with cuda.Scratch(ground.driver) as scratch:
        count = looked_at_by(ground, target, scratch)
        if count is None:
            return blame_from_host(ground, wrong)
        if not count:
            return READ_BACK
        if looked_at_by(ground, source, scratch):
            return WRITE if keeps_by_itself(ground, source, scratch) else SOURCE
        return COPY if keeps_by_itself(ground, target, scratch) else TARGET


def blame_from_host(ground, wrong):
    """The same without kernels: a way from and to the host that is itself wrong can't be told from the memory there."""
    source, target = ground.source, ground.target
    ground.read(target)
    same = ground.differences().same_places(wrong)
    ground.read(source)
    source_wrong = bool(ground.differences())
    ground.write(target)
    ground.read(target)
    if ground.differences():
        return TARGET if same else READ_BACK
    return SOURCE if source_wrong else COPY if same else READ_BACK


BLAME = {"h2d": blame_h2d, "d2h": blame_d2h, "p2p": blame_p2p}
