"""Findings speak one vocabulary and name their evidence."""

from __future__ import annotations

import pytest
from lanescope.incident.findings import Confidence, Finding, Severity, confidence_of
from lanescope.incident.ids import ComponentId


def finding(**changes: object) -> Finding:
    values: dict[str, object] = {
        "component": ComponentId("n1/gpu0"),
        "fru": "gpu-module",
        "fault_class": "gpu-off-bus/unknown",
        "severity": Severity.CRITICAL,
        "confidence": Confidence.LIKELY,
        "title": "GPU0 fell off the bus",
        "evidence": ("J4",),
    }
    return Finding(**(values | changes))  # type: ignore[arg-type]


def test_a_class_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="gpu-on-fire"):
        finding(fault_class="gpu-on-fire/yes")


def test_a_fru_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="flux"):
        finding(fru="flux-capacitor")


def test_a_finding_without_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        finding(evidence=())


def test_a_family_alone_is_a_class() -> None:
    assert finding(fault_class="unknown").fault_class == "unknown"


@pytest.mark.parametrize(
    ("posterior", "second_method", "word"),
    [
        (0.999, False, Confidence.LIKELY),
        (0.999, True, Confidence.CONFIRMED),
        (0.95, True, Confidence.LIKELY),
        (0.6, False, Confidence.POSSIBLE),
        (0.2, False, Confidence.UNKNOWN),
    ],
)
def test_confirmed_needs_a_second_method_whatever_the_posterior(
    posterior: float, second_method: bool, word: Confidence
) -> None:
    assert confidence_of(posterior, second_method) is word
