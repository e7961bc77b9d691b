"""dcgm-exporter's /metrics: Prometheus text, a line a metric and GPU, labels naming the GPU and who uses it.

Metrics of other exporters in the same scrape are read too. Container labels stand only on GPUs that a pod holds. Values
that DCGM has no number for are left out by the exporter mostly, and reserved numbers where not.
Source: captures dcgm/dcgm-exporter-*; the Prometheus text format 0.0.4 for escapes, timestamps, NaN and Inf.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .blanks import missing_of_number


@dataclass(frozen=True, slots=True)
class Metric:
    """One sample of one metric."""

    name: str
    """`DCGM_FI_DEV_GPU_TEMP`."""
    value: int | float | None
    missing: Missing | None
    """Why there is no value."""
    gpu: int | None
    """Index on its host; None of metrics that are not of a GPU, and so below."""
    uuid: str | None
    bus_address: str | None
    device: str | None
    """`nvidia0`; of a link or switch what the exporter calls it."""
    model: str | None
    host: str | None
    labels: Mapping[str, str]
    """All labels as they are."""
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MetricType:
    """What a metric is, where the scrape says so."""

    name: str
    kind: str
    """`counter`, `gauge`, ..."""
    help: str


ExporterReading: TypeAlias = Metric | MetricType

MOST_LABELS = 64
_NAME = r"[A-Za-z_:][\w:]{0,120}"
_SAMPLE = re.compile(rf"\s{{0,8}}({_NAME})(?:\{{(.*)\}})?\s{{1,4}}(\S{{1,40}})(?:\s{{1,4}}(-?\d{{1,16}}))?\s*")
_LABEL = re.compile(r'\s?([A-Za-z_][\w.]{0,80})="((?:[^"\\]|\\.){0,4000})"\s?(?:,|$)')
_ESCAPE = re.compile(r'\\([\\"n])')
_HELP = re.compile(rf"\s{{0,8}}# HELP ({_NAME}) ?(.{{0,1000}})")
_TYPE = re.compile(rf"\s{{0,8}}# TYPE ({_NAME}) (\w{{1,20}})\s*")
_INTEGER = re.compile(r"[+-]?\d{1,19}")
_DECIMAL = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")
_SPECIAL = re.compile(r"[+-]?(?:inf|nan)", re.IGNORECASE)
_DCGM = re.compile(r"^\s{0,8}(?:# (?:HELP|TYPE) )?DCGM_(?:FI|EXP)_\w{1,100}(?:\{\w|\s)", re.MULTILINE)


def parse_exporter(text: str) -> Parsed[ExporterReading]:
    """Read a scrape or an excerpt of one."""
    parsed = Parsed[ExporterReading]()
    help_of: dict[str, str] = {}
    for number, line in numbered(without_escapes(text)):
        if found := _HELP.match(line):
            help_of = {found[1]: found[2].strip()}
        elif found := _TYPE.fullmatch(line):
            parsed.add(MetricType(found[1], found[2], help_of.get(found[1], "")))
        elif (found := _SAMPLE.fullmatch(line)) and (metric := _metric(*found.groups())):
            parsed.add(metric)
        elif line.strip() and not line.lstrip().startswith("#") and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _metric(name: str, labels: str | None, value: str, timestamp: str | None) -> Metric | None:
    """None where labels or value are not in the format."""
    named = _labels(labels or "")
    number = _number(value)
    if named is None or number is None:
        return None
    missing = Missing.UNREADABLE if math.isnan(number) else missing_of_number(number)
    gpu = named.get("gpu", "")
    return Metric(
        name,
        None if missing else number,
        missing,
        int(gpu) if gpu.isascii() and gpu.isdigit() and len(gpu) <= 6 else None,
        named.get("UUID") or None,
        bus_address(named.get("pci_bus_id", "")),
        named.get("device") or None,
        named.get("modelName") or None,
        named.get("Hostname") or named.get("hostname") or None,
        named,
        int(timestamp) if timestamp else None,
    )


def _number(text: str) -> int | float | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) or _SPECIAL.fullmatch(text) else None


def _labels(text: str) -> dict[str, str] | None:
    """None where they break off."""
    named: dict[str, str] = {}
    at = 0
    while at < len(text) and len(named) < MOST_LABELS:
        found = _LABEL.match(text, at)
        if not found:
            return None
        named[found[1]] = _ESCAPE.sub(lambda mark: "\n" if mark[1] == "n" else mark[1], found[2])
        at = found.end()
    return named


EXPORTER = Tool(
    name="dcgm-exporter /metrics",
    recognizes=lambda head: _DCGM.search(without_escapes(head)) is not None,
    parse=parse_exporter,
    file_names=("*.prom", "*metrics*.txt", "*dcgm-exporter*"),
)
