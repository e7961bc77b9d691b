"""PCIe errors that the kernel logged (AER, containment) and that no GPU's going explains.

Corrected errors count by their rate: some since boot are ordinary. The line names the device that saw the error, which
may be at either end of the bad link. Source: counters.toml `aer_dev_*` (32 corrected a minute equal DCGM's limit).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.logs.pcie_events import PcieContained, PcieError
from ..frus import fru_of
from ..logs import Burst
from ..scene import Scene
from ..wording import span, times

RULE = "pcie_errors"
CORRECTED_PER_MINUTE = 32.0
SIGNAL_LAYERS = ("Physical Layer", "Data Link Layer")
"""Where a bad signal shows; the Transaction Layer complains of what programs and devices do as well."""
CUT, NONFATAL, CORRECTED = "fatal", "nonfatal", "corrected"


def pcie_errors(scene: Scene) -> Iterator[Finding]:
    """One finding for each part, by the gravest that was logged of it."""
    before_a_gpu_went = {id(burst) for gone in scene.gone for burst in gone.broken_link}
    logged: dict[ComponentId, dict[str, list[Burst]]] = {}
    for burst in scene.open_bursts:
        if isinstance(burst.reading, PcieError | PcieContained) and id(burst) not in before_a_gpu_went:
            logged.setdefault(burst.component, {}).setdefault(_severity(burst), []).append(burst)
    for part, told in logged.items():
        if CUT in told:
            yield _finding(part, told[CUT], "pcie-link/down", Severity.CRITICAL, "a fatal PCIe error or a cut link")
        elif NONFATAL in told:
            yield _finding(part, told[NONFATAL], _class(told[NONFATAL]), Severity.WARNING, "an uncorrected PCIe error")
        elif storms := [burst for burst in told[CORRECTED] if _per_minute(burst) >= CORRECTED_PER_MINUTE]:
            yield _finding(part, storms, _class(storms), Severity.WARNING, "a corrected PCIe error")


def _severity(burst: Burst) -> str:
    return burst.reading.severity if isinstance(burst.reading, PcieError) else CUT


def _per_minute(burst: Burst) -> float:
    return 60.0 * burst.count / max(burst.last - burst.first, 60.0)


def _class(told: Sequence[Burst]) -> str:
    layers = {burst.reading.layer for burst in told if isinstance(burst.reading, PcieError)}
    return "pcie-link/signal-integrity" if layers & set(SIGNAL_LAYERS) else "pcie-link"


def _finding(part: ComponentId, told: Sequence[Burst], fault_class: str, severity: Severity, what: str) -> Finding:
    count = sum(burst.count for burst in told)
    when = span(told[0].first, max(burst.last for burst in told))
    return Finding(
        component=part,
        fru=fru_of(part),
        fault_class=fault_class,
        severity=severity,
        confidence=Confidence.POSSIBLE,
        title=f"{part.within} logged {what} {times(count)} {when}",
        evidence=tuple(dict.fromkeys(id_ for burst in told for id_ in burst.ids)),
        argues_against=("the link has two ends with slot, riser and retimer between: the other may be at fault",),
        next="Read error counters and LnkSta at both ends of that link, then reseat the device or exchange its place.",
        rule=RULE,
    )
