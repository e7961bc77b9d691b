"""What the screens cost with 64 nodes of 8 GPUs: `python -m lanescope.benchmarks.tui`.

A draw is the view taken from a snapshot and all its strips, best of a few at 120x36. Key to paint and bytes are taken
from the app in a pseudo-terminal of 120x36, fed with 64 made-up nodes at 1 Hz.
"""

from __future__ import annotations

import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

from lanescope.incident.ids import NodeId
from lanescope.incident.snapshot import Snapshot
from lanescope.tests.tui.made_up import MadeUp, rounds_on, with_faults
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.facts import build_fabric

from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.tui"
NODES = 64
WIDTH, HEIGHT = 120, 36
KEYS = 30


def figures() -> list[Figure]:
    """Draws first, then the app in a terminal."""
    return [*_draws(), *_in_a_terminal()]


def _fleet() -> MadeUp:
    return with_faults(MadeUp(NODES, prefix="gpu-", first=0))


def _draws() -> list[Figure]:
    made = rounds_on(_fleet(), "gpu-002", [(0.1, 0.1, 0.5), (0.7, 0.1, 0.1)])
    fabric = build_fabric(made.snapshot().nodes.values())
    made.snapshot()
    return [
        Figure(
            f"draw of {name}, {NODES} nodes", _best(lambda draw=draw: draw(made.snapshot(), fabric)), "ms", 16, COMMAND
        )
        for name, draw in _views().items()
    ]


def _best(work: Callable[[], object], times: int = 7) -> float:
    """Milliseconds of processor time of the quickest of some runs."""
    spent = []
    for _ in range(times):
        started = time.thread_time()
        work()
        spent.append(1000 * (time.thread_time() - started))
    return min(spent)


def _views() -> dict[str, Callable[[Snapshot, Fabric], object]]:
    from lanescope.tui.draw.counters import draw_counters
    from lanescope.tui.draw.counters_view import counter_table
    from lanescope.tui.draw.detail_view import cursor_on, detail_of
    from lanescope.tui.draw.events import draw_events
    from lanescope.tui.draw.events_view import event_lines
    from lanescope.tui.draw.fleet import draw_fleet
    from lanescope.tui.draw.fleet_view import Metric, fleet_view
    from lanescope.tui.draw.node import draw_node
    from lanescope.tui.draw.node_view import node_picture
    from lanescope.tui.draw.suspects import draw_suspects
    from lanescope.tui.draw.suspects_view import suspects_view
    from lanescope.tui.theme import Ink

    ink, size = Ink(), (WIDTH, HEIGHT - 3)

    def node(snapshot: Snapshot, fabric: Fabric) -> object:
        picture = node_picture(snapshot, fabric, NodeId("gpu-002"))
        cursor = cursor_on(picture, picture.problems[0].component)
        return draw_node(picture, detail_of(snapshot, fabric, picture, cursor), *size, ink, cursor)

    return {
        "fleet": lambda snapshot, fabric: draw_fleet(fleet_view(snapshot, fabric), *size, ink, 17),
        "fleet by errors": lambda s, fabric: draw_fleet(fleet_view(s, fabric, Metric.ERRORS), *size, ink, 17),
        "node": node,
        "counters": lambda snapshot, _: draw_counters(counter_table(snapshot), *size, ink, 0, 0, True),
        "events": lambda snapshot, _: draw_events(event_lines(snapshot), *size, ink, 0),
        "suspects": lambda snapshot, fabric: draw_suspects(suspects_view(snapshot, fabric, None), *size, ink),
    }


def _in_a_terminal() -> Iterator[Figure]:
    """The app as a person has it."""
    controller, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
    child = subprocess.Popen(
        [sys.executable, "-m", "lanescope.benchmarks.tui", "--app"],
        stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    try:
        select.select([controller], [], [], 60.0)
        _read(controller, 5.0)
        waits = sorted(_key_to_paint(controller, key) for key in (b"\x1b[B", b"\x1b[A") * (KEYS // 2))
        yield Figure("key to paint, median", statistics.median(waits), "ms", 50, COMMAND)
        yield Figure("key to paint, 95 of 100", waits[int(len(waits) * 0.95)], "ms", 50, COMMAND)
        yield Figure("bytes a second, live, fleet", _read(controller, 5.0) / 5.0, "B/s", 6144, COMMAND)
        os.write(controller, b" ")
        _read(controller, 3.0, until_quiet=1.5)
        yield Figure("bytes in 5 s, frozen", _read(controller, 5.0), "B", 0, COMMAND)
    finally:
        child.terminate()
        child.wait(timeout=10)
        os.close(controller)


def _read(controller: int, seconds: float, until_quiet: float | None = None) -> int:
    """Bytes that come within some seconds, or until nothing came for a while."""
    count, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([controller], [], [], left if until_quiet is None else min(left, until_quiet))
        if ready:
            count += len(os.read(controller, 65536))
        elif until_quiet is not None:
            break
    return count


def _key_to_paint(controller: int, key: bytes) -> float:
    """Milliseconds from a key to the first byte after it, with the tick's own paint out of the way."""
    _read(controller, 0.35, until_quiet=0.15)
    started = time.perf_counter()
    os.write(controller, key)
    select.select([controller], [], [], 5.0)
    return 1000 * (time.perf_counter() - started)


def _run_app() -> None:
    """What runs in the pseudo-terminal: 64 nodes whose values come in every second."""
    from lanescope.tests.tui.made_up_session import MadeUpSession
    from lanescope.tui.app import LanescopeApp

    made = _fleet()
    app = LanescopeApp(MadeUpSession(made, Path(tempfile.gettempdir())))
    app.call_later(lambda: app.set_interval(1.0, made.tick))
    app.run(mouse=False)


if __name__ == "__main__":
    if "--app" in sys.argv:
        _run_app()
    else:
        print_table(figures())
