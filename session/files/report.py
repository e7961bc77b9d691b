"""A diagnosis as a person reads it: plain text, 80 columns; first what is wrong, then why, then what to do."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from ...incident.findings import Finding
from .diagnosis import Diagnosis

WIDTH = 80
EVIDENCE_SHOWN = 4
UNREAD_SHOWN = 12
REMARKS_SHOWN = 6
VICTIMS_SHOWN = 6


def diagnosis_report(found: Diagnosis) -> str:
    """All of it; what files say stands escaped where it is not printable."""
    return "\n".join(_plain(line) for line in _lines(found)) + "\n"


def _lines(found: Diagnosis) -> Iterator[str]:
    yield from _head(found)
    yield from _wrong(found)
    if asides := [finding for finding in found.findings if not finding.is_fault]:
        yield ""
        yield "Looks wrong and is not, or is worth knowing"
        for finding in asides:
            yield from _finding(finding, found)
    follows = [f"{finding.component}: {finding.title}" for finding in found.consequences]
    yield from _listed("Only consequences of the above", follows, len(follows))
    yield from _listed("Missing, to be sure", found.missing, len(found.missing))
    yield from _listed("Read, but", found.remarks, REMARKS_SHOWN)
    unread = [f"{one.path}:{one.line}: {one.why}" if one.line else f"{one.path}: {one.why}" for one in found.unread]
    yield from _listed(f"Not read ({len(unread)})", unread, UNREAD_SHOWN)


def _listed(heading: str, sentences: Sequence[str], most: int) -> Iterator[str]:
    """Sentences below a heading; nothing where there are none."""
    if not sentences:
        return
    yield ""
    yield heading
    for sentence in sentences[:most]:
        yield from _wrapped(sentence, "    ", "  ")
    if len(sentences) > most:
        yield f"  and {len(sentences) - most} more; --json has them"


def _head(found: Diagnosis) -> Iterator[str]:
    outputs = found.readings.outputs
    tools = Counter(output.tool for output in outputs if output.tool)
    nodes = ", ".join(map(str, found.nodes[:8])) + (f" and {len(found.nodes) - 8} more" if len(found.nodes) > 8 else "")
    yield from _wrapped(f"{sum(tools.values())} outputs of {len(tools)} tools, of {nodes or 'no node'}", "  ")
    if found.symptom:
        yield from _wrapped(f"symptom, as told: {found.symptom}", "  ")
    if found.hardware:
        yield from _wrapped(f"hardware, as told: {found.hardware}", "  ")
    yield ""


def _wrong(found: Diagnosis) -> Iterator[str]:
    if not found.faults:
        is_told = found.exit_code != 3
        yield (
            "Nothing wrong is found in what was handed in." if is_told else "Nothing in it is any known tool's output."
        )
        return
    yield "What is wrong" if len(found.faults) == 1 else f"What is wrong ({len(found.faults)})"
    for finding in found.faults:
        yield from _finding(finding, found)


def _finding(finding: Finding, found: Diagnosis) -> Iterator[str]:
    yield from _wrapped(f"{finding.component}  {finding.confidence}", "    ", "  ")
    yield from _wrapped(finding.title, "    ", "    ")
    yield from _wrapped(f"class {finding.fault_class}, FRU {finding.fru}", "    ", "    ")
    places = list(dict.fromkeys(found.where.get(id_, id_) for id_ in finding.evidence))
    more = f" and {len(places) - EVIDENCE_SHOWN} more" if len(places) > EVIDENCE_SHOWN else ""
    yield from _wrapped(f"for it: {', '.join(places[:EVIDENCE_SHOWN])}{more}", "      ", "    ")
    for sentence in finding.argues_against:
        yield from _wrapped(f"against it: {sentence}", "      ", "    ")
    if finding.victims:
        shown = ", ".join(map(str, finding.victims[:VICTIMS_SHOWN]))
        left = len(finding.victims) - VICTIMS_SHOWN
        rest = f" and {left} more" if left > 0 else ""
        yield from _wrapped(f"consequences: {shown}{rest}", "      ", "    ")
    if finding.next:
        yield from _wrapped(f"next: {finding.next}", "      ", "    ")


def _wrapped(text: str, later: str, first: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    ) or [first]


def _plain(line: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
