"""What the state of a localization means, in sentences that could be read out on a call."""

from __future__ import annotations

from ...incident.events import VerdictReached
from ...incident.findings import Exclusion, Verdict
from .suspects_view import SuspectsView, alternatives_words, kind_words
from .swap_test import swap_test
from .words import per_cent, place, plural, seconds, spoken


def reading_of(view: SuspectsView) -> list[str]:
    """Two or three sentences; the last says what comes next."""
    belief = view.belief
    if belief is None:
        return ["Nothing has been probed yet."]
    return [*_belief_so_far(view), _what_next(view)]


def _belief_so_far(view: SuspectsView) -> list[str]:
    belief = view.belief
    assert belief is not None
    if view.unmeasured:
        return [f"The last round measured nothing: {_ended(view.unmeasured)}"]
    top = view.suspects[0] if view.suspects else None
    if top is None or belief.no_fault >= max(0.5, top.posterior):
        bound = "" if top is None else f"; the most suspected part is {top.name} with {per_cent(top.posterior)}"
        return [f"So far nothing speaks for a fault ({per_cent(belief.no_fault)}){bound}."]
    against = plural(top.bad, "bad trial")
    strikes = f" and {plural(top.strikes, 'counter strike')}" if top.strikes else ""
    sentence = (
        f"{top.name} is most suspected ({per_cent(top.posterior)}): {against}{strikes} across it, {top.clean} clean."
    )
    if top.members > 1:
        sentence += f" No probe tells its {top.members} parts apart ({top.kinds})."
    return [sentence]


def _what_next(view: SuspectsView) -> str:
    if view.error:
        return f"Stopped: {_ended(view.error)}"
    round_ = view.next
    if view.progress.is_paused:
        held = "the round that runs goes on to its end" if view.state == "running" else "nothing runs"
        return f"Not yet a verdict, and the search is paused: {held}, and no other is proposed before you press u."
    if view.state == "proposed" and round_:
        return f"Not yet a verdict: round {round_.number} waits for your yes (p); 3 shows what it would tell."
    if view.state == "running" and round_:
        return f"Not yet a verdict: round {round_.number} runs ({seconds(round_.seconds)}); 3 shows what it would tell."
    if view.state == "planning":
        return "Not yet a verdict. The next round is being planned."
    return "Not a verdict: probing stopped. Press p to go on."


def _ended(sentence: str) -> str:
    """With a full stop, unless it ends in a sign of its own."""
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def reading_of_end(end: VerdictReached) -> list[str]:
    """What the outcome means, and what to do."""
    match end.outcome:
        case "localized":
            first = end.verdicts[0]
            found = f"{place(first.component)} is at fault, {first.confidence} ({per_cent(first.posterior)})."
            also = (
                f" {plural(len(end.verdicts) - 1, 'further part')} convicted as well." if len(end.verdicts) > 1 else ""
            )
            return [found + also, _what_to_do(first)]
        case "none":
            return [
                "No fault found. That has limits: it excludes what stands above, on the parts that could be probed.",
                "If the trouble goes on it is rarer, elsewhere, or not hardware: look at software and the network.",
            ]
        case "not_run":
            return ["Nothing was measured, so nothing is excluded. Press p when the nodes can be probed."]
        case _:
            reason = _ended(spoken(end.reason))
            return [f"Undecided: {reason}", "More rounds would go on from what was learnt: press p."]


def _what_to_do(verdict: Verdict) -> str:
    """Likely is not confirmed: a swap comes before an order."""
    test = swap_test(spoken(verdict.next) or "swap the part and localize again to confirm")
    if test.outcomes:
        return f"That is {verdict.confidence}: before a part is ordered the swap test tells whose fault it is."
    return test.steps[0].upper() + test.steps[1:] + "."


def end_title(end: VerdictReached) -> str:
    """The outcome in two words."""
    titles = {"localized": "Verdict", "none": "No fault found", "not_run": "Nothing was measured"}
    return titles.get(end.outcome, "Undecided")


def odds_of(posterior: float) -> str:
    """`about 29 to 1`; certain to many digits says no more than a thousand to one."""
    if posterior >= 0.999:
        return "over 999 to 1"
    odds = posterior / max(1e-9, 1.0 - posterior)
    return f"about {odds:.0f} to 1" if odds >= 1.5 else "about even" if odds > 0.67 else f"about 1 to {1 / odds:.0f}"


def effect_of(verdict: Verdict) -> str:
    """How often and how hard, as far as it was seen."""
    low, high = verdict.duty
    often = f"faulty {low * 100:.0f} to {high * 100:.0f} % of the time" if high > 0 else "how often is not known"
    if verdict.drop[1] <= 0:
        return f"{often}; bandwidth shows nothing, its counters do"
    return f"loses {verdict.drop[0] * 100:.0f} to {verdict.drop[1] * 100:.0f} % of its traffic, {often}"


def or_words(verdict: Verdict) -> str:
    """The parts no probe can tell from the convicted one."""
    return alternatives_words(verdict.alternatives)


def exclusion_words(exclusion: Exclusion) -> str:
    """What clean trials rule out for one family of parts."""
    often = f"faulty over {per_cent(exclusion.duty)} of the time"
    if exclusion.drop > 0:
        return f"{often} with {per_cent(exclusion.drop)} or more lost"
    return f"{often} with its counters moving" if exclusion.by == "counters" else often


def kind_title(verdict: Verdict) -> str:
    """The convicted part's kind, as a headline."""
    return kind_words(verdict.component).upper()
