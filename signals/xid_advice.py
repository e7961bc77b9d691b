"""What to do about one Xid line: what its registers ask for, where they say more than the number."""

from __future__ import annotations

from collections.abc import Iterator

from ..incident import nvlink5, xid74
from ..incident.codes import action_texts, recovery_actions
from ..parsers.logs.xid import Xid
from ..parsers.logs.xid_details import LinkRegisters, NvLink5Event, RecoveryChange
from .xid_facts import CodeFacts


def advice(xid: Xid, facts: CodeFacts) -> str:
    """What to do, as a sentence without its full stop."""
    actions = dict.fromkeys(_asked_for(xid))
    texts = [action_texts("xid")[action] for action in actions if action != "ignore"]
    if texts:
        return "; ".join(texts)
    return action_texts("xid")["ignore"] if actions else facts.action_text


def _asked_for(xid: Xid) -> Iterator[str]:
    """Actions in the words of the Xid table; none where the number says all there is."""
    match xid.detail:
        case NvLink5Event(unit=unit, words=words):
            for decoded in nvlink5.decode(xid.code, unit, words):
                yield from (decoded.action, decoded.row.investigate)
        case LinkRegisters(registers=registers):
            yield from (bits.row.action for bits in xid74.decode(registers))
        case RecoveryChange(after=int() as after) if after in recovery_actions():
            yield recovery_actions()[after].action
