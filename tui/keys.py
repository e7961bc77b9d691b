"""All keys, in one table: bindings, footers and help are made from it. Ids stay: keys can be remapped by them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from textual.binding import Binding


@dataclass(frozen=True)
class Key:
    """One thing a key does."""

    id: str
    keys: str
    """As textual names them, comma between alternatives."""
    shown: str
    """As people name it."""
    action: str
    label: str
    """A word or two, for the footer."""
    help: str
    """A sentence, for the help screen."""

    def binding(self) -> Binding:
        """For textual."""
        return Binding(self.keys, self.action, self.label, show=False, id=self.id)


HELP = Key("help", "question_mark", "?", "help", "help", "Show all keys of this screen; enter runs the chosen one.")
QUIT = Key("quit", "q,ctrl+c", "q", "app.quit", "quit", "Leave; what was gathered stays in the case folder.")
BACK = Key("back", "escape", "esc", "back", "back", "Go back to the screen before.")
FILTER = Key(
    "filter", "slash", "/", "filter", "filter", "Keep rows that hold a text; ! before it keeps those that don't."
)
COMMAND = Key(
    "command", "colon", ":", "command", "command", "Type a command: :node, :localize, :bundle, :note, :quit, ..."
)
FREEZE = Key("freeze", "space", "space", "freeze", "freeze", "Freeze what is seen, or go on live.")
REREAD = Key("reread", "r", "r", "reread", "re-read", "Take a fresh look now.")
LOCALIZE = Key("localize", "p", "p", "localize", "localize", "Find the failing part; asks before it runs anything.")
SUSPECTS = Key("suspects", "s", "s", "suspects", "suspects", "Show the suspects, or the verdict.")
BUNDLE = Key("bundle", "b", "b", "bundle", "bundle", "Write the evidence bundle.")
PICTURE = Key("picture", "S", "S", "picture", "picture", "Save this screen as an SVG in the case folder.")
FAULTS = Key("faults", "f", "f", "faults", "faults", "Show only what needs a look, or all again.")
NEXT = Key("next", "n", "n", "problem(1)", "next", "Go to the next problem.")
PREVIOUS = Key("previous", "N", "N", "problem(-1)", "previous", "Go to the previous problem.")
OPEN = Key("open", "enter", "enter", "open", "open", "Open what is selected.")
METRIC = Key("metric", "m", "m", "metric", "metric", "Cells show health, load, temperature or errors a second.")
LENS_1 = Key(
    "lens_topology", "1", "1", "lens('topology')", "topology", "The node as rails and drops; on the fleet, the grid."
)
LENS_2 = Key("lens_counters", "2", "2", "lens('counters')", "counters", "Error counters, worst first.")
LENS_4 = Key("lens_events", "4", "4", "lens('events')", "events", "Log lines and what was done.")
LEFT = Key("left", "left,h", "←", "move(0,-1)", "left", "Move the selection to the left (also h).")
RIGHT = Key("right", "right,l", "→", "move(0,1)", "right", "Move the selection to the right (also l).")
UP = Key("up", "up,k", "↑", "move(-1,0)", "up", "Move the selection up (also k).")
DOWN = Key("down", "down,j", "↓", "move(1,0)", "down", "Move the selection down (also j).")
PAGE_UP = Key("page_up", "pageup", "page up", "move(-20,0)", "page up", "Move the selection a page up.")
PAGE_DOWN = Key("page_down", "pagedown", "page down", "move(20,0)", "page down", "Move the selection a page down.")
STOP = Key(
    "stop", "x", "x", "stop_probing", "stop now", "Break off the search and its running trials; what was learnt stays."
)
PAUSE = Key(
    "pause",
    "u",
    "u",
    "pause",
    "pause",
    "Pause the search once the running round ends, or let it go on; a pause costs no time.",
)
RESUME = replace(PAUSE, label="go on")
EDIT = Key("edit", "e", "e", "edit", "limits", "Leave out nodes, forbid probes, say which part to decide about first.")
MATRIX = Key("matrix", "m", "m", "matrix", "matrix", "Measurements within the node, or between nodes.")
PANE_1 = Key("pane_belief", "1", "1", "pane(1)", "belief", "Belief on the fleet and on one node, or the verdict.")
PANE_2 = Key("pane_matrix", "2", "2", "pane(2)", "matrix", "What the trials measured, pair by pair.")
PANE_3 = Key(
    "pane_round", "3", "3", "pane(3)", "round", "The next round: why, what it would mean, what it costs, its trials."
)
PANE_4 = Key("pane_suspects", "4", "4", "pane(4)", "suspects", "All suspects, and the trials.")
TOGGLE = Key("toggle", "space,enter", "space", "switch", "on/off", "Switch the chosen line on or off.")
APPLY = Key("apply", "y", "y", "apply", "apply", "Let the search go on under these limits, from the next round on.")
YES = Key("yes", "y", "y", "yes", "yes, this round", "Run the proposed round.")
ALL = Key("all", "a", "a", "all", "yes, all rounds", "Run rounds until there is a verdict.")
NO = Key("no", "escape", "esc", "no", "no", "Run nothing now.")

MOVES = (LEFT, RIGHT, UP, DOWN, PAGE_UP, PAGE_DOWN)
EVERYWHERE = (BACK, SUSPECTS, BUNDLE, FILTER, COMMAND, FREEZE, QUIT, PICTURE, REREAD, HELP)
"""Keys of all screens, in the order of footers; help comes last."""
