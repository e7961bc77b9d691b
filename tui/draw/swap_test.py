"""The test that would confirm a verdict, taken apart: what to do, and what each outcome means."""

from __future__ import annotations

from dataclasses import dataclass

ARROW = " -> "


@dataclass(frozen=True)
class SwapTest:
    """What to do, then how it can go."""

    steps: str
    outcomes: tuple[tuple[str, str], ...]
    """What is seen, what it means; empty where the sentence names no outcomes."""


def swap_test(sentence: str) -> SwapTest:
    """Read `swap A with B: the fault follows -> A; it stays -> the socket`; any other sentence is all steps."""
    before = sentence.partition(ARROW)[0]
    steps, colon, _ = before.rpartition(": ")
    if not colon:
        return SwapTest(sentence, ())
    pieces = [piece.partition(ARROW) for piece in sentence[len(steps) + len(colon) :].split("; ")]
    if not all(arrow for _, arrow, _ in pieces):
        return SwapTest(sentence, ())
    return SwapTest(steps, tuple((seen.strip(), means.strip()) for seen, _, means in pieces))
