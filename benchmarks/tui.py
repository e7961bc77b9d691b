"""What the screens cost with 64 nodes of 8 GPUs: `python -m lanescope.benchmarks.tui`.

A draw is the view taken from a snapshot and all its strips, best of a few at 120x36. Key to paint and bytes are taken
from `lanescope connect` in a pseudo-terminal of 120x36: 64 replayed nodes (replay.py) under load, over SSH, at 1 Hz.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lanescope.incident.events import VerdictReached
from lanescope.incident.ids import NodeId
from lanescope.incident.snapshot import Snapshot
from lanescope.tests.tui.made_up import MadeUp, rounds_on, verdict_on, with_faults
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.facts import build_fabric

from .busy import Motion, Node, record_nodes
from .figure import Figure, print_table
from .replay import replayed_fleet
from .terminal import HEIGHT, WIDTH, Terminal, terminal

COMMAND = "python -m lanescope.benchmarks.tui"
NODES = 64
KEYS = 60
UP, DOWN = b"\x1b[A", b"\x1b[B"
SETTLING = 6.0
"""Seconds after all nodes are up in which nothing is measured: facts still come in."""
SPELL = 5.0


def figures() -> list[Figure]:
    """Draws first, then the app in a terminal."""
    return [*_draws(), *_in_a_terminal(*record_nodes(Motion.LOADED, Motion.STILL))]


def _fleet() -> MadeUp:
    return with_faults(MadeUp(NODES, prefix="gpu-", first=0))


def _draws() -> list[Figure]:
    made = rounds_on(_fleet(), "gpu-002", [(0.1, 0.1, 0.5), (0.7, 0.1, 0.1)])
    fabric = build_fabric(made.snapshot().nodes.values())
    verdict = verdict_on(made, "gpu-002")
    assert isinstance(verdict, VerdictReached)
    return [
        Figure(
            f"draw of {name}, {NODES} nodes", _best(lambda draw=draw: draw(made.snapshot(), fabric)), "ms", 16, COMMAND
        )
        for name, draw in _views(verdict).items()
    ]


def _best(work: Callable[[], object], times: int = 7) -> float:
    """Milliseconds of processor time of the quickest of some runs."""
    spent = []
    for _ in range(times):
        started = time.thread_time()
        work()
        spent.append(1000 * (time.thread_time() - started))
    return min(spent)


def _views(verdict: VerdictReached) -> dict[str, Callable[[Snapshot, Fabric], object]]:
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
    from lanescope.tui.draw.verdict import draw_verdict
    from lanescope.tui.theme import Ink

    ink, size = Ink(), (WIDTH, HEIGHT - 3)

    def node(snapshot: Snapshot, fabric: Fabric) -> object:
        picture = node_picture(snapshot, fabric, NodeId("gpu-002"))
        cursor = cursor_on(picture, picture.problems[0].component)
        return draw_node(picture, detail_of(snapshot, fabric, picture, cursor), *size, ink, cursor)

    def verdict_page(snapshot: Snapshot, fabric: Fabric) -> object:
        return draw_verdict(suspects_view(replace(snapshot, verdict=verdict), fabric, None), *size, ink)

    return {
        "fleet": lambda snapshot, fabric: draw_fleet(fleet_view(snapshot, fabric), *size, ink, 17),
        "fleet by errors": lambda s, fabric: draw_fleet(fleet_view(s, fabric, Metric.ERRORS), *size, ink, 17),
        "node": node,
        "counters": lambda snapshot, _: draw_counters(counter_table(snapshot), *size, ink, 0, 0, True),
        "events": lambda snapshot, _: draw_events(event_lines(snapshot), *size, ink, 0),
        "suspects": lambda snapshot, fabric: draw_suspects(suspects_view(snapshot, fabric, None), *size, ink),
        "verdict": verdict_page,
    }


def _in_a_terminal(loaded: Node, still: Node) -> Iterator[Figure]:
    """`lanescope connect` as a person has it: with the values of all nodes live, then with none of them changing."""
    fleet = f"{NODES} nodes live"
    with replayed_fleet(loaded, NODES) as (folder, names), _connected(folder, names) as screen:
        screen.key_to_paint(DOWN)  # selects the first node: from there on every key moves
        waits = sorted(screen.key_to_paint(key) for key in (DOWN, UP) * (KEYS // 2))
        yield Figure(f"key to paint, {fleet}, median", statistics.median(waits), "ms", 50, COMMAND)
        yield Figure(f"key to paint, {fleet}, 95 of 100", waits[int(len(waits) * 0.95)], "ms", 50, COMMAND)
        yield Figure(f"painted a second, {fleet}", screen.read(SPELL) / SPELL, "B", 6144, COMMAND)
        screen.press(b" ")
        screen.read(3.0, until_quiet=1.5)
        yield Figure(f"painted in {SPELL:g} s, frozen", screen.read(SPELL), "B", 0, COMMAND)
    with replayed_fleet(still, NODES) as (folder, names), _connected(folder, names) as screen:
        yield Figure("painted a second, live, nothing changing", screen.read(SPELL) / SPELL, "B", 200, COMMAND)


@contextlib.contextmanager
def _connected(folder: Path, names: Sequence[str]) -> Iterator[Terminal]:
    """The fleet on screen, settled."""
    with tempfile.TemporaryDirectory() as cases:
        with terminal(["connect", "-F", str(folder / "ssh_config"), "--cases", cases, *names]) as screen:
            screen.wait_for(f"{len(names)}/{len(names)} up", 60.0)
            screen.read(SETTLING)
            yield screen


if __name__ == "__main__":
    print_table(figures())
