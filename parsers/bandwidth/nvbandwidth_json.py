"""`nvbandwidth -j`: the same tests as one JSON document; here a waived test has its name.

Source: NVIDIA/nvbandwidth json_output.cpp and the outputs that NVIDIA/DCGM tests its reader with; no capture.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..json_document import as_dict, as_float, as_list, as_text, read_document
from ..parsed import Parsed
from ..pci import bus_address
from ..tool import Tool
from .nvbandwidth import Matrix, NvbandwidthDevice, NvbandwidthReading, NvbandwidthTest, NvbandwidthVersions

_STATUS = {"passed": "passed", "waived": "waived", "running": "unfinished", "not found": "not found", "error": "error"}
_DEVICE = re.compile(r"\s{0,4}(\d{1,4}): (.{1,200}?)(?: \(([0-9a-fA-F:.]{7,16})\))?(?:: \(([^()]{0,255})\))?\s{0,80}")


def parse_nvbandwidth_json(text: str) -> Parsed[NvbandwidthReading]:
    """Read the document; a document that breaks off gives nothing, and the line where it does."""
    parsed = Parsed[NvbandwidthReading]()
    for document in read_document(text, parsed, "{"):
        run = as_dict(as_dict(document).get("nvbandwidth"))
        if not run:
            parsed.cannot_read(1, text.lstrip()[:80], "has no `nvbandwidth` object")
            continue
        for device in as_list(run.get("GPU Device list")):
            _device(parsed, as_text(device))
        for test in as_list(run.get("testcases")):
            _test(parsed, as_dict(test))
        if error := as_text(run.get("error")):
            parsed.add(NvbandwidthTest("", "error", why=error))
        parsed.add(_versions(run))
    return parsed


def _versions(run: dict[str, Any]) -> NvbandwidthVersions:
    return NvbandwidthVersions(
        version=as_text(run.get("version")),
        cuda_runtime=as_text(run.get("CUDA Runtime Version")),
        driver=as_text(run.get("Driver Version")),
        host=as_text(run.get("Hostname")),
    )


def _device(parsed: Parsed[NvbandwidthReading], text: str) -> None:
    """`0: NVIDIA H100 (00000000:1b:00): (gpu-017)`."""
    found = _DEVICE.fullmatch(text)
    if found:
        address = bus_address(f"{found[3]}.0") if found[3] else None
        parsed.add(NvbandwidthDevice(int(found[1]), found[2], address, found[4] or ""))
    else:
        parsed.cannot_read(1, text, "is no device")


def _test(parsed: Parsed[NvbandwidthReading], test: dict[str, Any]) -> None:
    name, why = as_text(test.get("name")), as_text(test.get("error"))
    status = _STATUS.get(as_text(test.get("status")).lower(), "error" if why else "unfinished")
    rows = [[as_text(cell) for cell in as_list(row)] for row in as_list(test.get("bandwidth_matrix"))]
    if not rows:
        parsed.add(NvbandwidthTest(name, status, why=why))
        return
    widest = max(len(row) for row in rows)
    matrix = Matrix(as_text(test.get("bandwidth_description")).strip(), list(range(widest)))
    for at, row in enumerate(rows):
        if len(row) == widest:
            matrix.rows.append((at, row))
        else:
            parsed.cannot_read(1, " ".join(row), f"row {at} of {name} has not {widest} cells")
    for cell in matrix.cells(name):
        parsed.add(cell)
    result = matrix.result(name, as_float(test.get("sum")))
    parsed.add(replace(result, status=status, why=why))


def _recognizes(head: str) -> bool:
    return head.lstrip("\ufeff \t\r\n").startswith("{") and '"nvbandwidth"' in head


TOOL = Tool(
    name="nvbandwidth -j",
    recognizes=_recognizes,
    parse=parse_nvbandwidth_json,
    file_names=("*nvbandwidth*.json",),
    unconfirmed="NVIDIA/nvbandwidth json_output.cpp",
)
