"""The node as rails and drops: NVSwitches are rails, GPUs columns, a crossing says `up/total` and its error rate.

    NVSW0 ━━ 5/5 ━━━━━━━ 5/5 ━━━
              │           │
    NVSW1 ━━ 4/4 ━━━━ ▲4/4 +11/s ━
         ┌─ GPU0 ──┐ ┌─ GPU1 ─ ▲ ┐
         └────┬────┘ └────┬──────┘
    PCIe   gen5 x16    gen5 x16
         ┌────┴ PCIe sw 0 ┴──────┐
         ┌ mlx5_0 ─┐ ┌ mlx5_1 ───┐

Any number of columns: what has no room is left out from the watts up, the count and the glyph last.
"""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from ..theme import Ink, Mark, Role
from .canvas import HEAVY, Canvas, clip
from .detail import Detail, detail_rows, put_detail
from .node_layout import GUTTER, Cursor, Layout, layout_of, row_kinds
from .node_view import Crossing, Gpu, Nic, NodePicture, PcieLink
from .problems import put_problems
from .words import rate, short


def draw_node(picture: NodePicture, detail: Detail, width: int, height: int, ink: Ink, cursor: Cursor) -> list[Strip]:
    """The picture, then the node's findings, then what is known of the selected part."""
    canvas = Canvas(width, height, ink)
    top = 0
    if picture.note:
        canvas.put(1, 0, ("?", ink(Role.UNKNOWN, bold=True)))
        top = canvas.wrap(3, 0, picture.note, width - 4, ink(Role.UNKNOWN, bold=True), limit=3)
    if not picture.gpus and not picture.apart:
        canvas.put(1, top + 1, ("No part of this node is known yet.", ink(Role.DIM)))
        put_problems(canvas, top + 3, height, picture.problems, None, with_node=False)
        return canvas.strips()
    layout = layout_of(picture, width, height - top)
    pen = _Pen(canvas, picture, layout, cursor, top)
    pen.drops()
    pen.rails()
    pen.gpus()
    pen.pcie()
    pen.switches()
    pen.nics()
    _draw_below(canvas, top + layout.end, picture, detail)
    return canvas.strips()


def _draw_below(canvas: Canvas, y: int, picture: NodePicture, detail: Detail) -> None:
    """Findings and the selected part share what the picture leaves; the part gets at least a third of it."""
    room = canvas.height - y
    wanted = 1 + sum(1 + len(problem.text) // max(10, canvas.width - 24) for problem in picture.problems)
    for_detail = min(1 + detail_rows(detail), max(room // 3 + 1, room - max(2, wanted)))
    end = canvas.height - for_detail
    title = f"Findings ({len(picture.problems)})" if picture.problems else "No findings on this node"
    canvas.rule(y, title)
    put_problems(canvas, y + 1, end, picture.problems, None, with_node=False)
    put_detail(canvas, end, detail)


class _Pen:
    """Draws one picture on one canvas; holds what all its strokes need."""

    def __init__(self, canvas: Canvas, picture: NodePicture, layout: Layout, cursor: Cursor, top: int) -> None:
        self.canvas, self.picture, self.layout, self.cursor, self.top = canvas, picture, layout, cursor, top
        self.ink = canvas.ink
        self.rows = row_kinds(picture)

    def is_chosen(self, kind: str, column: int) -> bool:
        """Whether the cursor stands on this row of the picture and this column."""
        at = min(self.cursor.row, len(self.rows) - 1)
        return self.rows[at] == kind and self.cursor.column == column

    def tag(self, x: int, y: int, text: str, mark: Mark, chosen: bool) -> None:
        """A word on a line: filled where it is trouble, in reverse where it is selected."""
        canvas, ink = self.canvas, self.ink
        shown = f"{mark.glyph}{text}" if mark >= Mark.UNKNOWN else text
        if chosen:
            self.chosen_tag(x, y, shown, mark)
            return
        shown = f" {shown} " if self.layout.boxed else shown
        canvas.middle(x, y, shown, ink(mark.role, bold=mark.is_loud, fill=mark.is_loud))

    def chosen_tag(self, x: int, y: int, shown: str, mark: Mark) -> None:
        """Selection is said by brackets, so that the fault in them keeps its own colour."""
        ink = self.ink
        bracket = ink(Role.SELECT, bold=True, fill=True)
        inner = ink.mark(mark, fill=True) if mark.is_loud else bracket
        self.canvas.put(x - (len(shown) + 2) // 2, y, ("[", bracket), (shown, inner), ("]", bracket))

    def label(self, y: int, text: str, mark: Mark = Mark.OK) -> None:
        style = self.ink(mark.role, bold=True) if mark.is_loud else self.ink(Role.DIM)
        self.canvas.put(0, y, (clip(text, self.layout.gutter - 1), style))

    def line(self, mark: Mark) -> Style:
        return self.ink(mark.role if mark.is_loud else Role.FAINT)

    def drops(self) -> None:
        """From the first rail down to each GPU, in the colour of its worst crossing."""
        end = self.top + self.layout.gpus - (0 if self.layout.boxed else 1)
        for column, x in enumerate(self.layout.middles):
            worst = max(
                (crossing.mark for rail in self.picture.rails if (crossing := rail.crossings[column])), default=Mark.OK
            )
            if self.picture.rails:
                self.canvas.vline(x, self.top, end, self.line(worst), rank=0)

    def rails(self) -> None:
        for number, rail in enumerate(self.picture.rails):
            y = self.top + number * self.layout.rail_step
            name = (
                rail.label
                if self.layout.gutter >= GUTTER
                else rail.label.replace("NVSW", "NVS").replace("NVLink", "NVL")
            )
            self.label(y, name, rail.mark)
            self.canvas.hline(self.layout.gutter - 1, self.layout.right, y, self.ink(Role.FAINT), weight=HEAVY)
            for column, crossing in enumerate(rail.crossings):
                chosen = self.is_chosen(f"rail{number}", column)
                x = self.layout.middles[column]
                if crossing is not None:
                    self.tag(x, y, self.crossing_text(crossing), crossing.mark, chosen)
                elif chosen or self.picture.gpus[column].mark >= Mark.UNKNOWN:  # nobody says whether links end here
                    self.tag(x, y, "", Mark.UNKNOWN, chosen)

    def crossing_text(self, crossing: Crossing) -> str:
        """`4/4`, with `+11/s` where there is room for it; the count alone in the narrowest columns."""
        if crossing.up is None:  # its mark says `?`
            return f"/{len(crossing.lanes)}"
        up = str(crossing.up)
        text = f"{up}/{len(crossing.lanes)}"
        room = self.layout.column - (2 if self.layout.boxed else 1)
        moved = rate(crossing.rate)
        for form in (f"{text} {moved}" if moved else text, f"{text}+{short(crossing.rate)}" if moved else text, text):
            if len(form) + 1 <= room:
                return form
        return up

    def gpus(self) -> None:
        y = self.top + self.layout.gpus
        self.label(y + (1 if self.layout.boxed else 0), "GPU")
        for column, (gpu, x) in enumerate(zip(self.picture.gpus, self.layout.middles, strict=True)):
            chosen = self.is_chosen("gpu", column)
            if self.layout.boxed:
                self.gpu_box(x, y, gpu, chosen)
            else:
                self.gpu_rows(x, y, gpu, chosen)

    def gpu_box(self, x: int, y: int, gpu: Gpu, chosen: bool) -> None:
        canvas, ink = self.canvas, self.ink
        left, width = x - self.layout.column // 2 + 1, self.layout.column - 1
        edge = ink(Role.SELECT, bold=True) if chosen else ink(gpu.mark.role if gpu.mark.is_loud else Role.DIM)
        canvas.box(left, y, width, 5, edge, weight=HEAVY if chosen else 1, rank=5)
        canvas.put(left + 2, y, (f" {gpu.label} ", ink(Role.TITLE, bold=True)))
        if gpu.mark >= Mark.UNKNOWN:
            canvas.put(left + width - 4, y, (f" {gpu.mark.glyph} ", ink.mark(gpu.mark)))
        inner = width - 4
        if gpu.utilization != gpu.utilization:
            words = "off the bus" if gpu.mark is Mark.FAIL else "no answer"
            canvas.wrap(left + 2, y + 1, words, inner, ink.mark(gpu.mark), limit=3)
            return
        heat = f"{gpu.temperature:.0f}°C"
        canvas.put(left + 2, y + 1, f"{gpu.utilization:>3.0f}%", f"{heat:>{inner - 4}}")
        canvas.put(left + 2, y + 2, (f"{short(gpu.power):>4} W", ink(Role.DIM)))
        filled = round(min(100.0, gpu.utilization) / 100 * inner)
        canvas.put(left + 2, y + 3, ("━" * filled, ink(Role.OK)), ("─" * (inner - filled), ink(Role.FAINT)))

    def gpu_rows(self, x: int, y: int, gpu: Gpu, chosen: bool) -> None:
        canvas, ink = self.canvas, self.ink
        wide = self.layout.column >= 7
        name = gpu.label if wide else gpu.label.removeprefix("GPU")
        name = f"{gpu.mark.glyph}{name}" if gpu.mark >= Mark.UNKNOWN else name
        if chosen:
            self.chosen_tag(x, y, name, gpu.mark)
        else:
            style = ink.mark(gpu.mark, fill=True) if gpu.mark.is_loud else ink(Role.TITLE, bold=True)
            canvas.middle(x, y, f" {name} ", style)
        if gpu.utilization != gpu.utilization:
            words = ("off bus" if gpu.mark is Mark.FAIL else "silent") if wide else "-"
            canvas.middle(x, y + 1, words, ink.mark(gpu.mark))
        else:
            words = f"{gpu.utilization:.0f}% {gpu.temperature:.0f}°" if wide else f"{gpu.utilization:.0f}"
            canvas.middle(x, y + 1, words, ink())

    def pcie(self) -> None:
        y, reach = self.top + self.layout.pcie, 1
        self.label(y, "PCIe")
        for column, (gpu, x) in enumerate(zip(self.picture.gpus, self.layout.middles, strict=True)):
            start = y - reach - (1 if self.layout.boxed else 0)
            stop = y + (2 if self.layout.boxed and self.picture.groups else 0)
            self.canvas.vline(x, start, stop, self.line(gpu.pcie.mark), rank=int(gpu.pcie.mark))
            self.tag(x, y, self.pcie_text(gpu.pcie), gpu.pcie.mark, self.is_chosen("pcie", column))

    def pcie_text(self, link: PcieLink) -> str:
        if link.width is None:
            return "no answer" if self.layout.boxed else "" if link.mark >= Mark.UNKNOWN else "?"
        generation = "?" if link.generation is None else str(link.generation)
        moved = f" {rate(link.rate)}" if link.rate > 0 else ""
        forms = (
            f"gen{generation} x{link.width}{moved}",
            f"gen{generation} x{link.width}",
            f"g{generation}x{link.width}",
            f"x{link.width}",
        )
        return next((form for form in forms if len(form) + 3 <= self.layout.column), "x")

    def switches(self) -> None:
        """One PCIe switch over the columns that hang below it."""
        y, ink = self.top + self.layout.switches, self.ink
        if not self.picture.groups:
            return
        self.label(y + (1 if self.layout.boxed else 0), "switch" if self.layout.gutter >= GUTTER else "PSW")
        for number, group in enumerate(self.picture.groups):
            a, b = self.layout.middles[group.first], self.layout.middles[group.last]
            numa = "" if group.numa is None else f"NUMA{group.numa}"
            if not self.layout.boxed:
                name = f"P{number}" if self.layout.column < 7 else f"PSW{number}" + (f"·N{group.numa}" if numa else "")
                if a == b:
                    self.canvas.middle(a, y, name, ink(Role.DIM))
                else:
                    self.canvas.put(a, y, ("├" + name.center(b - a - 1, "─") + "┤", ink(Role.DIM)))
                continue
            left = a - self.layout.column // 2 + 1
            width = b - a + self.layout.column - 1
            self.canvas.box(left, y, width, 3, ink(Role.DIM), rank=4)
            room = width - 4
            short_numa = numa.replace("NUMA", "N")
            forms = (f"{group.label}  {numa}", f"PSW{number} {numa}", f"PSW{number} {short_numa}")
            words = next((form for form in forms if len(form) <= room), forms[-1])
            self.canvas.put(left + 2, y + 1, (clip(words, room), ink()))

    def nics(self) -> None:
        y, ink = self.top + self.layout.nics, self.ink
        if any(self.picture.below):
            self.label(y + (1 if self.layout.boxed else 0), "NIC")
        for column, (nic, x) in enumerate(zip(self.picture.below, self.layout.middles, strict=True)):
            if nic is not None:
                (self.nic_box if self.layout.boxed else self.nic_rows)(x, y, nic, self.is_chosen("nic", column))
        if self.picture.apart:
            at = self.top + self.layout.apart
            x = self.canvas.put(0, at, ("NICs apart  " if self.layout.gutter >= GUTTER else "NIC  ", ink(Role.DIM)))
            for number, nic in enumerate(self.picture.apart):
                x = self.nic_apart(x, at, nic, self.is_chosen("apart", number), len(self.picture.apart) - number)

    def nic_box(self, x: int, y: int, nic: Nic, chosen: bool) -> None:
        canvas, ink = self.canvas, self.ink
        mark = max(nic.mark, nic.pcie.mark)
        canvas.vline(x, y - (2 if self.picture.groups else 1), y, self.line(nic.pcie.mark), rank=1)
        left, width = x - self.layout.column // 2 + 1, self.layout.column - 1
        edge = ink(Role.SELECT, bold=True) if chosen else ink(mark.role if mark.is_loud else Role.DIM)
        canvas.box(left, y, width, 4, edge, weight=HEAVY if chosen else 1, rank=4)
        canvas.put(left + 1, y, (clip(f" {nic.name} ", width - 2), ink(Role.TITLE, bold=True)))
        if mark >= Mark.UNKNOWN:
            canvas.put(left + width - 3, y, (f"{mark.glyph} ", ink.mark(mark)))
        canvas.put(
            left + 2, y + 1, (clip(self.nic_words(nic), width - 4), ink.mark(nic.mark) if nic.mark.is_loud else ink())
        )
        moved = rate(nic.rate)
        style = ink.mark(nic.pcie.mark, fill=True) if nic.pcie.mark.is_loud else ink(Role.DIM)
        shown = (
            f"{nic.pcie.mark.glyph}{self.pcie_text(nic.pcie)}" if nic.pcie.mark.is_loud else self.pcie_text(nic.pcie)
        )
        canvas.put(left + 2, y + 2, (moved or shown, ink.mark(Mark.WARN) if moved else style))

    def nic_words(self, nic: Nic) -> str:
        speed = "?" if nic.gbps != nic.gbps else f"{nic.gbps:.0f}G"
        if nic.state == "off":  # by design: nothing to look at
            return "off"
        return f"{speed} {nic.state}" if nic.state == "up" else f"{nic.state.upper()} {speed}"

    def nic_rows(self, x: int, y: int, nic: Nic, chosen: bool) -> None:
        ink, mark = self.ink, max(nic.mark, nic.pcie.mark)
        name = nic.name if self.layout.column >= 8 else str(nic.component.number)
        name = f"{mark.glyph}{name}" if mark >= Mark.UNKNOWN else name
        style = ink(Role.SELECT, bold=True, fill=True) if chosen else ink(Role.TITLE, bold=True)
        if not chosen and mark.is_loud:
            style = ink.mark(mark, fill=True)
        shown = f"[{name}]" if chosen and len(name) + 2 < self.layout.column else name
        self.canvas.middle(x, y, shown, style)
        words = self.nic_words(nic)
        if nic.pcie.mark.is_loud and nic.pcie.width is not None:
            words = f"PCIe x{nic.pcie.width}"
        if len(words) >= self.layout.column:
            words = nic.state
        self.canvas.middle(
            x, y + 1, clip(words, self.layout.column - 1), ink.mark(mark) if mark.is_loud else ink(Role.DIM)
        )

    def nic_apart(self, x: int, y: int, nic: Nic, chosen: bool, left: int) -> int:
        ink, mark = self.ink, max(nic.mark, nic.pcie.mark)
        if x + len(nic.name) + 12 > self.canvas.width:
            if x + 8 <= self.canvas.width:
                self.canvas.put(x, y, (f"+{left} more", ink(Role.DIM)))
            return self.canvas.width
        style = ink(Role.SELECT, bold=True, fill=True) if chosen else ink.mark(mark)
        name = f"{mark.glyph}{nic.name}" if mark >= Mark.UNKNOWN else nic.name
        return (
            self.canvas.put(x, y, (f"[{name}]" if chosen else name, style), (f" {self.nic_words(nic)}", ink(Role.DIM)))
            + 2
        )
