"""One line that leads a newcomer from the fleet to the verdict to the bundle."""

from __future__ import annotations

from ..incident.snapshot import Snapshot

HINTS = {
    "fleet": "n goes to the next problem, enter opens it, p finds the failing part.",
    "node": "arrows select a part, p finds the failing one. +n/s: errors a second.",
    "counters": "counters that move now stand first. / filters, enter opens the part.",
    "events": "/ filters: try /Xid. The selected line stands whole at the bottom.",
    "suspects": "p proposes the next round; nothing runs before you say yes. x stops.",
}
OF_FILES = {
    "fleet": "n goes to the next finding, enter opens it. What files did not say stays unknown.",
    "node": "arrows select a part. What files did not say of it stays unknown.",
    "counters": "files hold moments and no streams: nothing moves here.",
    "suspects": "nothing can be probed in files: connect to the nodes for that.",
}
_ENDS = {"localized": "there is a verdict", "none": "no fault was found"}


def hint_for(screen: str, snapshot: Snapshot, investigation: str) -> str:
    """What a newcomer would do next on this screen; `investigation` is its state, empty before the first."""
    if snapshot.source == "files":
        return OF_FILES.get(screen, HINTS.get(screen, ""))
    if snapshot.bundle:
        return f"done. Anyone can check it: lanescope verify {snapshot.bundle}"
    if snapshot.verdict is not None:
        found = _ENDS.get(snapshot.verdict.outcome, "probing ended without a verdict")
        if screen == "suspects":
            return f"{found}. b writes the evidence bundle that holds all of it."
        return f"{found}: s shows how it ended. b writes the evidence bundle."
    if screen == "suspects" and investigation == "paused":
        return "paused: u goes on, e changes what may be probed, x ends the search."
    if screen == "suspects" and investigation in ("planning", "running"):
        return "numbers are per cent of belief. u pauses, e sets limits, x stops at once."
    if screen == "suspects" and investigation == "proposed":
        return "p asks again: y runs the round, a all of them. u pauses, e sets limits."
    return HINTS.get(screen, "")
