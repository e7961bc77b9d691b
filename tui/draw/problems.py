"""The list of what needs a look: findings and silent nodes, worst first. On a small terminal it is all there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from textual.strip import Strip

from ...incident.events import NodeState
from ...incident.findings import Finding, Health, Verdict
from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import NodeView, Snapshot
from ...signals.health import judged
from ..theme import Ink, Mark, Role, mark_of
from .canvas import Canvas, clip, wrapped
from .words import age, label, per_cent, plural, spoken

ALIGNED_FROM = 60
"""Cells from which there is room for a column of names."""
_ON_ITS_WAY = (NodeState.IDLE, NodeState.CONNECTING, NodeState.STARTING)


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
    """What needs a look in the fleet, or on one node: failed, degraded, then unknown.

    A node that is silent is said once, with its age, whether a finding stands on it or not; one that is still on its
    way up is no problem yet.
    """
    of_files = snapshot.source == "files"
    names = () if of_files else snapshot.nodes
    silent = {name: problem for name in names if (problem := _silence(snapshot, name))}
    verdicts = snapshot.verdict.verdicts if snapshot.verdict else ()
    found = [_of_verdict(verdict) for verdict in verdicts]
    for finding in snapshot.findings:
        if finding.is_fault and finding.component in silent:
            name = NodeId(finding.component)
            silent[name] = replace(silent[name], mark=mark_of(finding.severity), next=finding.next)
        elif finding.is_fault or of_files:
            found.append(_of_finding(finding))
    chosen = [problem for problem in (*found, *silent.values()) if node is None or problem.node == node]
    return tuple(sorted(chosen, key=lambda problem: -problem.mark))


def _of_finding(finding: Finding) -> Problem:
    component = finding.component
    text = spoken(finding.title.removeprefix(f"{component.node}: "))
    return Problem(mark_of(finding.severity), component.node, component, _where(component), text, spoken(finding.next))


def _of_verdict(verdict: Verdict) -> Problem:
    component = verdict.component
    text = f"verdict: at fault, {verdict.confidence} {per_cent(verdict.posterior)}; s shows why"
    return Problem(Mark.FAIL, component.node, component, _where(component), text, spoken(verdict.next))


def _where(component: ComponentId) -> str:
    return label(component) if "/" in component else ""


def is_coming(view: NodeView) -> bool:
    """Whether a node is on its way up and nobody has reason to worry yet; a second try says why there is one."""
    return view.state in _ON_ITS_WAY and not view.reason


def _silence(snapshot: Snapshot, node: NodeId) -> Problem | None:
    state = judged(snapshot, node)
    if state.health is not Health.UNKNOWN:
        return None
    view = snapshot.nodes[node]
    if is_coming(view):
        return None
    text = spoken(state.reason.removeprefix(f"{node}: "))
    if view.since and view.reason:
        text += f" · for {age(snapshot.now - view.since)}"
    if view.last_heard:
        text += f" · showing the sample of {age(snapshot.now - view.last_heard)} ago"
    return Problem(Mark.UNKNOWN, node, node, "", text)


def draw_problems(
    problems: Sequence[Problem],
    nodes: int,
    width: int,
    height: int,
    ink: Ink,
    chosen: int | None = None,
    coming: int = 0,
) -> list[Strip]:
    """A heading and the problems, each in as many rows as its sentence needs; what has no room is counted.

    `coming` of the nodes are still on their way up.
    """
    canvas = Canvas(width, height, ink)
    heading = _heading(problems, nodes, coming)
    x = canvas.put(1, 0, (clip(heading, width - 2), ink(Role.TITLE, bold=True)))
    if problems and width >= 60:
        canvas.put(x + 3, 0, ("n/N next/previous  enter open", ink(Role.DIM)))
    put_problems(canvas, 1, height, problems, chosen, with_node=True)
    return canvas.strips()


def _heading(problems: Sequence[Problem], nodes: int, coming: int) -> str:
    troubled = len({problem.node for problem in problems})
    if troubled:
        return f"{troubled} of {plural(nodes, 'node')} need{'s' if troubled == 1 else ''} a look"
    if not nodes:
        return "no node is known yet"
    if coming:
        return f"{coming} of {plural(nodes, 'node')} {'is' if coming == 1 else 'are'} coming up"
    return f"nothing found on {plural(nodes, 'node')} so far"


def put_problems(
    canvas: Canvas, y: int, end: int, problems: Sequence[Problem], chosen: int | None, with_node: bool
) -> int:
    """Write problems from row y up to `end`: whole, with what to do next, while there is room for all.

    Where there is not, the chosen one (at first the worst) stays whole and the others get a row each; the list scrolls
    so that the chosen one is seen, and says how many have no room. Returns the row after it.
    """
    rows = _rows_for(problems, canvas.width, end - y, chosen or 0, with_node)
    first = _first_shown([len(row) for row in rows], chosen or 0, end - y)
    if first:
        canvas.right(y - 1, (f" {first} above ", canvas.ink(Role.DIM)))
    for number in range(first, len(problems)):
        left = len(problems) - number
        if y + len(rows[number]) > end - (1 if left > 1 else 0) and number > first:
            canvas.put(3, y, (f"… and {left} more", canvas.ink(Role.DIM)))
            return y + 1
        room = max(1, end - y - (1 if left > 1 else 0))
        y = _put_problem(canvas, y, problems[number], _cut(rows[number], room), with_node, number == chosen)
    return y


def _rows_for(
    problems: Sequence[Problem], width: int, room: int, chosen: int, with_node: bool
) -> Sequence[Sequence[Row]]:
    """The longest form of all problems that fits."""
    whole = [_rows(width, problem, with_node) for problem in problems]
    advised = [rows + _advice(width, problem, with_node) for rows, problem in zip(whole, problems, strict=True)]
    if sum(map(len, advised)) <= room:
        return advised
    if sum(map(len, whole)) <= room:
        return whole
    return [rows if number == chosen else _cut(rows, 1) for number, rows in enumerate(whole)]


def _cut(rows: Sequence[Row], room: int) -> Sequence[Row]:
    return rows if len(rows) <= room else [*rows[: room - 1], (f"{rows[room - 1][0]} …", rows[room - 1][1])]


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
    """Where the sentence begins: they line up behind names of the usual length; the narrowest run on from the name."""
    if width < ALIGNED_FROM:
        return 0
    return min(max(len(_name(problem, with_node)), 18 if with_node else 12) + 2, width // 2)


Row: TypeAlias = tuple[str, Role]


def _rows(width: int, problem: Problem, with_node: bool) -> list[Row]:
    """The sentence, with two cells to spare for a sign that it goes on."""
    indent = _indent(width, problem, with_node)
    text = problem.text if indent else f"{_name(problem, with_node)} {problem.text}"
    return [(row, Role.TEXT) for row in wrapped(text, max(8, width - 6 - indent))]


def _advice(width: int, problem: Problem, with_node: bool) -> list[Row]:
    """What to do next; nothing where nobody knows."""
    room = max(8, width - 6 - _indent(width, problem, with_node))
    return [(row, Role.DIM) for row in wrapped(f"→ {problem.next}", room)] if problem.next else []


def _put_problem(canvas: Canvas, y: int, problem: Problem, rows: Sequence[Row], with_node: bool, chosen: bool) -> int:
    ink = canvas.ink
    name = _name(problem, with_node)
    indent = _indent(canvas.width, problem, with_node)
    style = ink(Role.SELECT, bold=True, fill=True) if chosen else ink.mark(problem.mark)
    canvas.put(1, y, (problem.mark.glyph, ink.mark(problem.mark)))
    top = y
    for text, role in rows:
        canvas.put(3 + indent, y, (text, ink(role)))
        y += 1
    canvas.put(3, top, (clip(name, indent - 1 if indent else canvas.width - 6), style))
    return y
