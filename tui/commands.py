"""What can be typed after `:`, and its completion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COMMANDS = {
    "fleet": "show the fleet",
    "node": "NODE: open a node",
    "counters": "[NODE]: error counters, of all nodes or one",
    "events": "[NODE]: log lines, of all nodes or one",
    "localize": "[HOSTS]: find the failing part on these nodes (all without)",
    "survey": "ask all live nodes for settings and states to judge by; read-only",
    "suspects": "show the suspects, or the verdict",
    "bundle": "[PATH]: write the evidence bundle",
    "note": "TEXT: write a note into the journal",
    "theme": "dark, light or mono",
    "help": "show the keys of this screen",
    "quit": "leave",
}
TAKES_NODE = ("node", "counters", "events", "localize")
THEMES = ("dark", "light", "mono")


@dataclass(frozen=True)
class Command:
    """A command that was understood."""

    name: str
    argument: str = ""


def parse_command(text: str, nodes: Sequence[str]) -> Command | str:
    """The command a line asks for, or one sentence on what is wrong with it.

    A name may be shortened as long as it stays unique; a node's name alone opens the node.
    """
    word, _, rest = text.strip().removeprefix(":").partition(" ")
    argument = rest.strip()
    if word in nodes:
        return Command("node", word)
    fitting = [name for name in COMMANDS if name.startswith(word.lower())] if word else []
    if word.lower() in COMMANDS:
        fitting = [word.lower()]
    if len(fitting) != 1:
        some = " or ".join(fitting) if fitting else "one of " + ", ".join(COMMANDS)
        return f"{word!r} is no command; {'did you mean' if fitting else 'there is'} {some}."
    name = fitting[0]
    if name in ("node", "counters", "events") and argument and argument not in nodes:
        return f"no node here is called {argument!r}; Tab completes names."
    if name in ("node", "note") and not argument:
        return f":{name} needs {'the name of a node' if name == 'node' else 'a text'}."
    if name == "theme" and argument not in THEMES:
        return f":theme needs one of {', '.join(THEMES)}."
    return Command(name, argument)


def usage(text: str) -> str:
    """What the command that a line begins with takes and does; empty while it could be several."""
    word = text.strip().removeprefix(":").partition(" ")[0].lower()
    fitting = [word] if word in COMMANDS else [name for name in COMMANDS if word and name.startswith(word)]
    return f":{fitting[0]} {COMMANDS[fitting[0]]}" if len(fitting) == 1 else ""


def completions(text: str, nodes: Sequence[str]) -> list[str]:
    """Whole lines that go on from what was typed."""
    word, space, rest = text.lstrip(":").partition(" ")
    if not space:
        return [name for name in COMMANDS if name.startswith(word.lower())] + [
            node for node in nodes if word and node.startswith(word)
        ]
    if word in TAKES_NODE:
        return [f"{word} {node}" for node in nodes if node.startswith(rest)]
    return [f"{word} {name}" for name in THEMES if name.startswith(rest)] if word == "theme" else []
