"""Bundles as somebody would forge them: the journal changed, and every hash that vouches for it made anew."""

from __future__ import annotations

import json
import secrets
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from lanescope.evidence.archive import BagArchive
from lanescope.evidence.journal import FIRST, Line, commitment
from lanescope.evidence.manifest import PAYLOAD, TAGS, manifest
from lanescope.incident.events import AnyJournalEvent, decode_event, encode_event

JOURNAL = "data/journal.jsonl"

Change = Callable[[AnyJournalEvent], AnyJournalEvent | None]
"""An event as it is to stand in the forged journal; None drops its line."""


def resealed(bundle: Path, out: Path, change: Change) -> Path:
    """The bundle with events changed, whole and in order as far as anybody without the original can tell."""
    top, members = _members(bundle)
    members[JOURNAL], tip = _journal(members[JOURNAL].splitlines(), change)
    described = json.loads(members["bundle.json"])
    described["journal"]["chain_tip"] = tip
    members["bundle.json"] = json.dumps(described).encode()
    with out.open("wb") as stream, BagArchive(stream, top) as bag:
        for name, data in members.items():
            if name not in (PAYLOAD, TAGS):
                bag.add_output(name, data)
        bag.add(PAYLOAD, [manifest(bag.hashes(payload=True))])
        bag.add(TAGS, [manifest(bag.hashes(payload=False))])
    return out


def scratched(bundle: Path, out: Path, change: Change) -> Path:
    """The bundle with events changed and no hash made anew."""
    top, members = _members(bundle)
    members[JOURNAL], _ = _journal(members[JOURNAL].splitlines(), change)
    with out.open("wb") as stream, BagArchive(stream, top) as bag:
        for name, data in members.items():
            bag.add_output(name, data)
    return out


def _members(bundle: Path) -> tuple[str, dict[str, bytes]]:
    with zipfile.ZipFile(bundle) as archive:
        top = archive.namelist()[0].partition("/")[0]
        return top, {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def _journal(lines: Iterable[bytes], change: Change) -> tuple[bytes, str]:
    """The forged lines, and the link of the last one."""
    prev, written = FIRST, []
    for text in lines:
        line = msgspec.json.decode(text, type=Line)
        changed = change(decode_event(bytes(line.event)))
        if changed is None:
            continue
        event = encode_event(changed)
        forged = msgspec.structs.replace(
            line, prev=prev, c=commitment(secrets.token_bytes(32), event), event=msgspec.Raw(event)
        )
        written.append(msgspec.json.encode(forged) + b"\n")
        prev = forged.link
    return b"".join(written), prev
