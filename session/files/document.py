"""A diagnosis as JSON (`schemas/diagnose.json`)."""

from __future__ import annotations

from typing import Any

from ...incident.findings import Finding
from ..contract import finding_document
from .diagnosis import Diagnosis

Json = dict[str, Any]


def diagnosis_document(found: Diagnosis) -> Json:
    """What `diagnose --json` prints."""
    return {
        "findings": [_finding(finding, found) for finding in found.findings],
        "consequences": [_finding(finding, found) for finding in found.consequences],
        "missing": list(found.missing),
        "unread": [{"path": one.path, "line": one.line, "why": one.why} for one in found.unread],
        "remarks": list(found.remarks),
        "nodes": [str(node) for node in found.nodes],
        "context": {"symptom": found.symptom, "hardware": found.hardware},
        "exit_code": found.exit_code,
    }


def _finding(finding: Finding, found: Diagnosis) -> Json:
    places = dict.fromkeys(found.where.get(id_, id_) for id_ in finding.evidence)
    return finding_document(finding) | {"where": list(places)}
