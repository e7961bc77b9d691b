"""`nvidia-smi -L`: a line for each GPU, and below it one for each of its MIG devices.

Source: capture nvidia-smi/list-L-h100-mig-590.txt; without MIG the heading lines of nvidia-smi/nvlink-s-*.
"""

from __future__ import annotations

import re

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import HEAD
from .errors import complaint_of
from .gpu_report import GpuReport, MigDevice
from .report_document import ReportReading

_GPU = re.compile(r"\s{0,8}GPU (\d{1,4}): (.{1,200}?) ?\(UUID: (GPU-[\w-]{1,64})\)\s{0,40}")
_MIG = re.compile(r"\s{0,16}MIG (\S{1,32})\s{1,16}Device\s{1,8}(\d{1,4}): \(UUID: (MIG-[\w/-]{1,100})\)\s{0,40}")


def is_gpu_list(head: str) -> bool:
    """Whether the text has lines of GPUs, and nothing between them but MIG devices, complaints and prompts."""
    lines = without_escapes(head).splitlines()
    whole = [line for line in (lines if len(head) < HEAD else lines[:-1]) if line.strip()]
    return any(_GPU.fullmatch(line) for line in whole) and all(
        _GPU.fullmatch(line) or _MIG.fullmatch(line) or prompt_of(line) or complaint_of(line) for line in whole
    )


def parse_gpu_list(text: str) -> Parsed[ReportReading]:
    """Read the list; a MIG device belongs to the GPU above it."""
    parsed = Parsed[ReportReading]()
    gpu: int | None = None
    for number, line in numbered(without_escapes(text)):
        if found := _GPU.fullmatch(line):
            gpu = int(found[1])
            parsed.add(GpuReport(index=gpu, name=found[2].strip(), uuid=found[3]))
        elif found := _MIG.fullmatch(line):
            parsed.add(MigDevice(gpu_index=gpu, profile=found[1], index=int(found[2]), uuid=found[3]))
        elif complaint := complaint_of(line):
            parsed.add(complaint)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed
