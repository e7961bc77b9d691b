"""What judging costs with 64 nodes of 8 GPUs at 1 Hz: `python -m lanescope.benchmarks.judging`.

Share of one core that all rules take, a tick a second: on streamed readings, on these and what commands printed on
every node, and beside them the snapshots of the same ticks without any rule.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

from lanescope.incident.ids import NodeId
from lanescope.parsers.intake import read
from lanescope.signals.judge import judge
from lanescope.signals.readings import NOTHING_READ, Output, Readings
from lanescope.tests.tui.made_up import MadeUp, with_faults
from lanescope.topology.sources.facts import build_fabric

from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.judging"
NODES = 64
GPUS, LINKS = 8, 18
TICKS = 20
GOAL = 5.0


def figures() -> list[Figure]:
    """Per cent of one core."""
    made = with_faults(MadeUp(NODES, prefix="gpu-", first=0))
    fabric = build_fabric(made.snapshot().nodes.values())
    printed = Readings(tuple(_printed(list(made.snapshot().nodes))))
    alone = _per_tick(made, lambda: made.snapshot())
    streamed = _per_tick(made, lambda: judge(made.snapshot(), fabric, NOTHING_READ)) - alone
    both = _per_tick(made, lambda: judge(made.snapshot(), fabric, printed)) - alone
    return [
        Figure(f"snapshots without rules, {NODES} nodes at 1 Hz", 100 * alone, "% of a core", GOAL, COMMAND),
        Figure(f"all rules on streamed readings, {NODES} nodes at 1 Hz", 100 * streamed, "% of a core", GOAL, COMMAND),
        Figure("all rules, and outputs of every node beside", 100 * both, "% of a core", GOAL, COMMAND),
    ]


def _per_tick(made: MadeUp, work: Callable[[], object]) -> float:
    """Seconds of processor time, after two ticks that fill what is remembered."""
    spent = 0.0
    for number in range(TICKS + 2):
        made.tick()
        started = time.thread_time()
        work()
        spent += time.thread_time() - started if number >= 2 else 0.0
    return spent / TICKS


def _printed(nodes: list[NodeId]) -> Iterator[Output]:
    for node in nodes:
        for name, text in _texts():
            for section in read(name, io.BytesIO(text.encode())):
                assert section.tool is not None, name
                assert section.parsed is not None, name
                yield Output(f"J-{node}-{name}", node, section.tool.name, name, readings=tuple(section.parsed.readings))


def _texts() -> Iterator[tuple[str, str]]:
    heads = [f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-{gpu:08d})\n" for gpu in range(GPUS)]
    yield "nvlink -s", "".join(h + "".join(f"\t Link {at}: 26.562 GB/s\n" for at in range(LINKS)) for h in heads)
    errors = "".join(
        f"\t Link {at}: {name} Errors: 0\n" for at in range(LINKS) for name in ("Replay", "Recovery", "CRC")
    )
    yield "nvlink -e", "".join(head + errors for head in heads)
    yield (
        "lsmod",
        "Module                  Size  Used by\nnvidia_peermem         16384  0\nib_core               319488  0\n",
    )
    yield "cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro iommu=pt\n"


if __name__ == "__main__":
    print_table(figures())
