"""`dcgmi diag -r N -j`: the same results as in text, as JSON.

Up to DCGM 3.x all stands below `DCGM GPU Diagnostic`, and gpu_id is a string; DCGM 4 writes `DCGM Diagnostic`, with
entities (entity_group, entity_id), a test_summary beside the results, and metadata at the top. `-I` wraps runs in
`iterations`. Source: captures dcgm/dcgmi-diag-*.json for 3.x; of 4.x there is no capture: NVIDIA/DCGM dcgmi/Diag.cpp
and nvvs/include/NvvsJsonStrings.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..json_document import as_dict, as_list, as_text
from ..json_stream import json_objects
from ..parsed import Parsed
from ..tool import Tool
from .diag import DiagMessage, DiagMetadata, DiagNotRun, DiagReading, DiagResult, gpu_named_in, status_of

OLD_ROOT = "DCGM GPU Diagnostic"
ROOT = "DCGM Diagnostic"
METADATA_NAMES = {"version": "DCGM Version", "GPU Device IDs": "GPU Device IDs Detected"}
"""What JSON names otherwise than text."""
_MESSAGES = ("warnings", "info")


@dataclass(frozen=True, slots=True)
class _Test:
    name: str
    category: str
    iteration: int | None


def parse_diag_json(text: str) -> Parsed[DiagReading]:
    """Read both layouts; of a document that is cut nothing is read, since a test may be half there."""
    parsed = Parsed[DiagReading]()
    for line, document in json_objects(text, parsed):
        runs = as_list(document.get("iterations"))
        if not runs and not {ROOT, OLD_ROOT} & set(document):
            parsed.cannot_read(line, ", ".join(document)[:300], "holds no diagnostic")
        for number, run in enumerate(runs, start=1):
            _read_run(as_dict(run), number, line, parsed)
        if not runs:
            _read_run(document, None, line, parsed)
    return parsed


def _read_run(document: Mapping[str, Any], iteration: int | None, line: int, parsed: Parsed[DiagReading]) -> None:
    body = as_dict(document.get(ROOT)) or as_dict(document.get(OLD_ROOT))
    for reading in (*_metadata(as_dict(document.get("metadata"))), *_metadata(body)):
        parsed.add(reading)
    if error := as_text(body.get("runtime_error")):
        parsed.add(DiagNotRun(error.strip()))
    for category in map(as_dict, as_list(body.get("test_categories"))):
        for test in map(as_dict, as_list(category.get("tests"))):
            of = _Test(as_text(test.get("name")), as_text(category.get("category")), iteration)
            readings = list(_test(of, test))
            for one in readings:
                parsed.add(one)
            if not any(isinstance(one, DiagResult) for one in readings):
                parsed.cannot_read(line, of.name, "test without a result")


def _metadata(values: Mapping[str, Any]) -> Iterator[DiagMetadata]:
    for name, value in values.items():
        shown = ",".join(map(as_text, value)) if isinstance(value, list) else as_text(value)
        if name not in ("test_categories", "runtime_error") and shown and not isinstance(_first(value), dict):
            yield DiagMetadata(METADATA_NAMES.get(name, name)[:80], shown[:1000])


def _first(value: Any) -> Any:
    """The first entry of a list, else the value itself."""
    return value[0] if isinstance(value, list) and value else value


def _test(of: _Test, test: Mapping[str, Any]) -> Iterator[DiagResult | DiagMessage]:
    results = [as_dict(result) for result in as_list(test.get("results"))]
    said: set[str] = set()
    for result in results:
        for reading in _result(of, result):
            if isinstance(reading, DiagMessage):
                said.add(reading.text)
            yield reading
    for reading in _result(of, as_dict(test.get("test_summary"))):
        if not isinstance(reading, DiagMessage) or reading.text not in said:
            yield reading


def _result(of: _Test, result: Mapping[str, Any]) -> Iterator[DiagResult | DiagMessage]:
    """A result and its messages; DCGM 4 repeats the messages of all GPUs in the summary."""
    entity, numbers = _entities(result)
    status = status_of(as_text(result.get("status")))
    if status:
        for number in numbers:
            yield DiagResult(
                of.name, of.category, status, entity if number is not None else "", number, False, of.iteration
            )
    for kind in _MESSAGES:
        for entry in as_list(result.get(kind)) or ([result[kind]] if isinstance(result.get(kind), str) else []):
            yield from _message(of, kind, entry, entity, numbers[0])


def _entities(result: Mapping[str, Any]) -> tuple[str, list[int | None]]:
    """`gpu_id` "0", `gpu_ids` "0,1,2", or entity_group and entity_id; [None] where the result is of the whole test."""
    number = result.get("entity_id")
    if isinstance(number, int) and not isinstance(number, bool):
        return as_text(result.get("entity_group"))[:40] or "GPU", [number]
    listed = as_text(result.get("gpu_id", result.get("gpu_ids"))).replace(",", " ").split()
    gpus: list[int | None] = [int(gpu) for gpu in listed if gpu.isdecimal() and len(gpu) <= 4]
    return ("GPU", gpus) if gpus else ("", [None])


def _message(of: _Test, kind: str, entry: Any, entity: str, number: int | None) -> Iterator[DiagMessage]:
    fields = as_dict(entry)
    text = as_text(entry) or as_text(fields.get("warning", fields.get("warnings")))
    if text.strip():
        who = (entity, number) if number is not None else gpu_named_in(text)
        name = "Warning" if kind == "warnings" else "Info"
        error, severity = (_integer(fields, key) for key in ("error_id", "error_severity"))
        yield DiagMessage(name, text.strip(), of.category, of.name, *who, error, severity, of.iteration)


def _integer(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


DIAG_JSON = Tool(
    name="dcgmi diag -j",
    recognizes=lambda head: f'"{OLD_ROOT}"' in head,
    parse=parse_diag_json,
    file_names=("dcgm*diag*.json",),
)
DIAG_JSON_4 = Tool(
    name="dcgmi diag -j (DCGM 4)",
    recognizes=lambda head: f'"{ROOT}"' in head or ('"test_categories"' in head and '"entity_groups"' in head),
    parse=parse_diag_json,
    file_names=("dcgm*diag*.json",),
    unconfirmed="NVIDIA/DCGM dcgmi/Diag.cpp and nvvs/include/NvvsJsonStrings.h, 4.2 to 4.5",
)
