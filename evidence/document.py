"""case.json: what is stated, how sure, and on what it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..incident.ids import ComponentId
from ..incident.snapshot import Snapshot
from .index import Evidence
from .inventory import part


def case_document(snapshot: Snapshot, case_id: str, index: Mapping[str, Evidence]) -> dict[str, Any]:
    """Findings, beliefs, verdict, trials and notes of a snapshot, with the evidence index."""
    return {
        "format": "case/1",
        "case": case_id,
        "source": snapshot.source,
        "opened": snapshot.opened,
        "as_of": snapshot.now,
        "nodes": {
            str(node): {"state": str(view.state), "reason": view.reason, "since": view.since, "evidence": view.event_id}
            for node, view in sorted(snapshot.nodes.items())
        },
        "findings": _plain(snapshot.findings),
        "verdict": _with_id(snapshot.verdict_id, snapshot.verdict) if snapshot.verdict else None,
        "beliefs": [_with_id(id_, belief) for id_, belief in snapshot.beliefs],
        "rounds": _plain(snapshot.rounds),
        "trials": [_with_id(id_, trial) for id_, trial in snapshot.trials],
        "notes": [_with_id(id_, note) for id_, note in snapshot.notes],
        "evidence": dict(index),
    }


def subject(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The parts said to be at fault, as a vendor identifies them; those of the verdict first."""
    parts = [verdict.component for verdict in (snapshot.verdict.verdicts if snapshot.verdict else ())]
    parts += [finding.component for finding in snapshot.findings if finding.is_fault]
    return [_subject(snapshot, component) for component in dict.fromkeys(parts)]


def _subject(snapshot: Snapshot, component: ComponentId) -> dict[str, Any]:
    """A lane or a link is shipped with the device it belongs to, so the device's serial stands with it."""
    view = snapshot.nodes.get(component.node)
    device = component
    while view is not None and part(view, device)["serial"] is None and device.parent != device:
        device = device.parent
    found = part(view, device) if view is not None and device.kind != "node" else {}
    return {
        "type": component.kind,
        "component": str(component),
        "node": str(component.node),
        "slot": found.get("slot"),
        "serial": found.get("serial"),
        "uuid": found.get("uuid"),
        "pn": found.get("part_number"),
    }


def _with_id(id_: str, event: msgspec.Struct) -> dict[str, Any]:
    return {"id": id_, **_plain(event)}


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value, enc_hook=str)
