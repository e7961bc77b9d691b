"""The list of what needs a look: findings and silent nodes, worst first. On a small terminal it is all there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.strip import Strip

from ...incident.findings import Finding, Health
from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import Snapshot
from ...signals.health import judged
from ..theme import Ink, Mark, Role, mark_of
from .canvas import Canvas, clip, wrapped
from .words import age, label, plural


@dataclass(frozen=True)
class Problem:
    """One line of the list."""

    mark: Mark
    node: NodeId
    component: ComponentId
    where: str
    """The part within its node; empty for the node itself."""
    text: str
    next: str = ""


def problems_of(snapshot: Snapshot, node: NodeId | None = None) -> tuple[Problem, ...]:
    """What needs a look in the fleet, or on one node: failed, degraded, then unknown."""
    found = [_of_finding(finding) for finding in snapshot.findings if finding.is_fault]
    spoken_of = {problem.node for problem in found if problem.component == problem.node}
    found += [
        problem for silent in snapshot.nodes if silent not in spoken_of and (problem := _silence(snapshot, silent))
    ]
    chosen = [problem for problem in found if node is None or problem.node == node]
    return tuple(sorted(chosen, key=lambda problem: -problem.mark))


def _of_finding(finding: Finding) -> Problem:
    component = finding.component
    where = "" if "/" not in component else label(component)
    return Problem(mark_of(finding.severity), component.node, component, where, finding.title, finding.next)


def _silence(snapshot: Snapshot, node: NodeId) -> Problem | None:
    state = judged(snapshot, node)
    if state.health is not Health.UNKNOWN:
        return None
    view = snapshot.nodes[node]
    text = state.reason
    if view.since and view.reason:
        text += f" · for {age(snapshot.now - view.since)}"
    if view.last_heard:
        text += f" · showing the sample of {age(snapshot.now - view.last_heard)} ago"
    return Problem(Mark.UNKNOWN, node, node, "", text)


def draw_problems(
    problems: Sequence[Problem], nodes: int, width: int, height: int, ink: Ink, chosen: int | None = None
) -> list[Strip]:
    """A heading and the problems, each in as many rows as its sentence needs; what has no room is counted."""
    canvas = Canvas(width, height, ink)
    troubled = len({problem.node for problem in problems})
    heading = f"{troubled} of {plural(nodes, 'node')} need{'s' if troubled == 1 else ''} a look"
    if not problems:
        heading = f"nothing found on {plural(nodes, 'node')}"
    x = canvas.put(1, 0, (clip(heading, width - 2), ink(Role.TITLE, bold=True)))
    if problems and width >= 60:
        canvas.put(x + 3, 0, ("n/N next/previous  enter open", ink(Role.DIM)))
    put_problems(canvas, 1, height, problems, chosen, with_node=True)
    return canvas.strips()


def put_problems(
    canvas: Canvas, y: int, end: int, problems: Sequence[Problem], chosen: int | None, with_node: bool
) -> int:
    """Write problems from row y up to `end`; sentences are whole while there is room, else only the chosen one's.

    The list scrolls so that the chosen one is seen, and says how many have no room. Returns the row after it.
    """
    rows = [_rows(canvas.width, problem, with_node) for problem in problems]
    if sum(map(len, rows)) > end - y:
        rows = [row if number == chosen else _cut(row) for number, row in enumerate(rows)]
    first = _first_shown([len(row) for row in rows], chosen or 0, end - y)
    if first:
        canvas.right(y - 1, (f" {first} above ", canvas.ink(Role.DIM)))
    for number in range(first, len(problems)):
        left = len(problems) - number
        if y + len(rows[number]) > end - (1 if left > 1 else 0) and number > first:
            canvas.put(3, y, (f"… and {left} more", canvas.ink(Role.DIM)))
            return y + 1
        y = _put_problem(canvas, y, problems[number], rows[number][: max(1, end - y)], with_node, number == chosen)
    return y


def _cut(rows: list[str]) -> list[str]:
    return rows if len(rows) == 1 else [f"{rows[0]} …"]


def _first_shown(heights: Sequence[int], chosen: int, room: int) -> int:
    """The first problem to show, so that all up to the chosen one fit with a row to spare for the count of the rest."""
    first = 0
    while first < chosen and sum(heights[first : chosen + 1]) > room - 1:
        first += 1
    return first


def _name(problem: Problem, with_node: bool) -> str:
    node = problem.node if with_node or not problem.where else ""
    return " ".join(piece for piece in (node, problem.where) if piece)


def _indent(width: int, problem: Problem, with_node: bool) -> int:
    """Where the sentence begins: sentences line up behind names of the usual length."""
    return min(max(len(_name(problem, with_node)), 18 if with_node else 12) + 2, width // 2)


def _rows(width: int, problem: Problem, with_node: bool) -> list[str]:
    """The sentence in rows, with two cells to spare for a sign that it goes on."""
    return wrapped(problem.text, max(8, width - 6 - _indent(width, problem, with_node)))


def _put_problem(canvas: Canvas, y: int, problem: Problem, rows: Sequence[str], with_node: bool, chosen: bool) -> int:
    ink = canvas.ink
    name = _name(problem, with_node)
    indent = _indent(canvas.width, problem, with_node)
    style = ink(Role.SELECT, bold=True, fill=True) if chosen else ink.mark(problem.mark)
    canvas.put(1, y, (problem.mark.glyph, ink.mark(problem.mark)))
    canvas.put(3, y, (clip(name, indent - 1), style))
    for row in rows:
        canvas.put(3 + indent, y, row)
        y += 1
    return y
