"""The evidence dialog: what goes into the bundle, then where it lies and how to check it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.strip import Strip

from ...incident.snapshot import Snapshot
from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip, wrapped
from .words import plural, seconds, whole

CHECK = "Check it: lanescope verify BUNDLE, or unzip it and run sha256sum -c manifest-sha256.txt. It is not signed."


@dataclass(frozen=True)
class BundleView:
    """Where the export stands."""

    state: str
    """`asking`, `writing`, `written` or `failed`."""
    path: str
    """Where it will lie, or lies."""
    contents: tuple[tuple[str, str], ...]
    root: str = ""
    error: str = ""
    stage: str = ""
    """What the export does now."""
    waited: float = 0.0


def contents_of(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """What is recorded so far, as (count, what)."""
    samples = sum(len(series.samples) for view in snapshot.nodes.values() for series in view.series.values())
    logs = sum(len(view.logs) for view in snapshot.nodes.values())
    silent = [node for node in snapshot.nodes if snapshot.is_stale(node)]
    rows = [
        (whole(snapshot.seq), "events in the journal and the recording, in order"),
        (whole(samples), f"samples still in memory, earlier ones in the recording; {plural(logs, 'log line')}"),
        (whole(len(snapshot.commands)), "outputs of commands, verbatim"),
        (whole(len(snapshot.findings)), "findings, each with the events it stands on"),
        (
            whole(len(snapshot.trials)),
            f"trials of {plural(len(snapshot.rounds), 'round')}, {plural(len(snapshot.beliefs), 'belief')}",
        ),
        ("1" if snapshot.verdict else "0", "verdict" if snapshot.verdict else "verdict: nobody has localized yet"),
    ]
    if silent:
        rows.append(
            (
                f"{len(silent)}",
                f"silent now, with what was seen of them: {', '.join(silent[:6])}{' …' if len(silent) > 6 else ''}",
            )
        )
    return tuple(rows)


def bundle_rows(view: BundleView, width: int) -> int:
    """Rows the dialog wants: it keeps them from the question to the end."""
    longest = max(len(view.contents) + len(wrapped(view.path, width - 2)), 3 + len(wrapped(CHECK, width - 2)) + 3)
    return 1 + longest + 2


def draw_bundle(view: BundleView, width: int, height: int, ink: Ink) -> list[Strip]:
    """The dialog in one of its four states."""
    canvas = Canvas(width, height, ink)
    titles = {
        "asking": "Write the evidence bundle?",
        "writing": f"Writing the bundle … {seconds(view.waited)}" + (f" · {view.stage}" if view.stage else ""),
        "written": "The bundle is written",
        "failed": "The bundle could not be written",
    }
    canvas.put(
        1, 0, (clip(titles[view.state], width - 2), ink(Role.FAIL if view.state == "failed" else Role.TITLE, bold=True))
    )
    y, end = 1, height - 2
    if view.error:
        y = canvas.wrap(1, y, view.error, width - 2, ink.mark(Mark.FAIL), limit=max(1, end - y))
    y = canvas.wrap(1, y, view.path, width - 2, ink(bold=True), limit=max(1, end - y))
    if view.state == "written":
        y = canvas.wrap(1, y, f"id {view.root}", width - 2, ink(Role.DIM), limit=max(1, end - y))
        canvas.wrap(1, y + 1, CHECK, width - 2, limit=max(0, end - y - 1))
    else:
        for count, what in view.contents[: max(0, end - y)]:
            canvas.put(1, y, (f"{count:>7}", ink(bold=True)), clip(f" {what}", width - 9))
            y += 1
    ways = {"asking": (("y", "write it"), ("esc", "no")), "writing": (("esc", "close; the writing goes on"),)}
    keys = ways.get(view.state, (("esc", "close"),))
    x = 1
    for key, label in keys:
        x = canvas.put(x, height - 1, (key, ink(Role.KEY, bold=True)), f" {label}") + 3
    return canvas.strips()
