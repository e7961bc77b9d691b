"""`nvidia-smi` without arguments: a table of GPUs, one of MIG devices where there are any, and one of processes.

A GPU has three lines since driver 450 and two before; widths and headings differ between versions. Values that could
not be read are `ERR!`; with a lost GPU all of a row can be. Narrow terminals break each line in two.
Source: captures nvidia-smi/table-*; tables of drivers 352 to 617 and rows of lost GPUs from public repositories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from ..parsed import Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from .draft import Draft
from .errors import complaint_of
from .gpu_fields import FIELDS
from .gpu_report import Driver, GpuProcess, GpuReport, MigDevice
from .printed_value import whole, word
from .report_document import ReportReading

_VERSIONS = re.compile(
    r"\|?\s{0,40}NVIDIA-SMI\s{1,8}(?:version\s{0,4}:\s{0,4})?(\S{1,24})\s{1,40}(?:Driver|KMD) Version: {0,4}(\S{1,24})"
    r"(?:\s{1,40}CUDA (?:UMD )?Version: {0,4}(\S{1,24}))?[\s|]{0,40}"
)
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \w{2,5})? \d{4}\s{0,40}")
_RULE = re.compile(r"[|+][-=+|]{3,300}\s{0,40}")
_HEADING = re.compile(
    r"\|\s{0,8}(?:GPU\s{1,8}(?:Name|GI|PID)\b|Fan\s{1,8}Temp\b|ID\s{1,8}ID\b|MIG devices:|Processes:"
    r"|No running processes found).{0,300}"
    r"|\|[ |]{0,200}(?:MIG M\.|Usage|ECC\|?)[ |]{0,80}"
)
_FIRST = re.compile(r"\s{0,8}(\d{1,3})\s{1,8}(\S.{0,60}?)\s{1,60}(On|Off|N/A|ERR!|TCC|WDDM|MCDM)\s{0,8}")
_BUS = re.compile(r"\s{0,8}([0-9A-Fa-f:.]{7,16})\s{1,4}(?:On|Off|N/A|ERR!)\s{0,8}")
_SECOND = re.compile(
    r"\s{0,8}(\S{1,8})\s{1,12}(\S{1,8})\s{1,12}(\S{1,8})\s{1,40}(\S{1,12}?)\s{0,4}/\s{0,4}(\S{1,12})\s{0,8}"
)
_OF = re.compile(r"\s{0,40}(\S{1,16}?)\s{0,4}/\s{0,8}(\S{1,16})\s{0,40}")
_USE = re.compile(r"\s{0,40}(\d{1,3}%|N/A|ERR!)\s{0,20}(\S.{0,24}?)\s{0,8}")
_SLICE = re.compile(r"\s{0,8}(\d{1,3})\s{1,8}(\d{1,4})\s{1,8}(\d{1,4})\s{1,8}(\d{1,4})\s{0,8}")
_COUNTS = re.compile(r"\s{0,8}(\d{1,6})\s{1,12}(\S{1,12})\s{0,8}")
_PROCESS = re.compile(
    r"\s{0,8}(\d{1,3})\s{1,8}(?:(\d{1,4}|N/A)\s{1,8}(\d{1,4}|N/A)\s{1,20})?(\d{1,10})\s{1,12}([CGM+]{1,5})"
    r"\s{1,8}(\S.{0,200}?)\s{1,80}(\S{1,16})\s{0,8}"
)
_ROW = re.compile(
    r"^\|[^|\n]{20,60}\|[ \t]{0,8}[0-9A-Fa-f:.]{7,16}[ \t]{1,4}(?:On|Off|N/A|ERR!)[ \t]{0,8}\|[^|\n]{10,40}\|",
    re.MULTILINE,
)
_HEAD = re.compile(r"^\|[ \t]{0,40}NVIDIA-SMI[ \t]{1,8}\S{1,24}[ \t]{1,40}(?:Driver|KMD) Version:", re.MULTILINE)
_ENGINES = ("copy_engines", "encoders", "decoders", "ofa_engines", "jpeg_engines")


class _Section(Enum):
    GPUS = "gpus"
    SLICES = "MIG devices"
    PROCESSES = "processes"


def is_table(head: str) -> bool:
    """Whether the text has the table's line of versions, or a row of a GPU."""
    plain = without_escapes(head).replace("\r\n", "\n")
    return bool(_HEAD.search(plain) or _ROW.search(plain))


def parse_table(text: str) -> Parsed[ReportReading]:
    """Read every table in the text; rows may stand without their headings."""
    reader = _Reader()
    for number, line in _unbroken(without_escapes(text)):
        reader.read(number, line)
    return reader.end()


def _unbroken(text: str) -> Iterator[tuple[int, str]]:
    """Lines, those of the table that a narrow terminal has broken in two joined again."""
    number, waiting = 0, ""
    for at, line in numbered(text):
        if waiting and line[:1] not in ("|", "+") and line.rstrip()[-1:] in ("|", "+"):
            yield number, waiting + line
            waiting = ""
            continue
        if waiting:
            yield number, waiting
            waiting = ""
        if line[:1] in ("|", "+"):
            number, waiting = at, line
        else:
            yield at, line
    if waiting:
        yield number, waiting


class _Reader:
    def __init__(self) -> None:
        self._parsed = Parsed[ReportReading]()
        self._section = _Section.GPUS
        self._time: str | None = None
        self._versions: re.Match[str] | None = None
        self._gpus: list[Draft] = []
        self._slices: list[Draft] = []
        self._processes: list[GpuProcess] = []
        self._row_line = 0
        """Lines of the last row so far."""

    def read(self, number: int, line: str) -> None:
        text = line.strip()
        if not text or _RULE.fullmatch(text) or self._read_heading(text):
            return
        if complaint := complaint_of(text):
            self._parsed.add(complaint)
        elif text.startswith("|"):
            cells = text.strip("|").split("|")
            if not self._read_row(cells):
                self._parsed.cannot_read(number, line)
        elif not prompt_of(line):
            self._parsed.cannot_read(number, line)

    def _read_heading(self, text: str) -> bool:
        if _DATE.fullmatch(text):
            self._close()
            self._time = " ".join(text.split())
        elif found := _VERSIONS.fullmatch(text):
            if self._versions:
                self._close()
            self._versions, self._section = found, _Section.GPUS
        elif _HEADING.fullmatch(text):
            if "MIG devices:" in text:
                self._section = _Section.SLICES
            elif "Processes:" in text:
                self._section = _Section.PROCESSES
        else:
            return False
        return True

    def _read_row(self, cells: list[str]) -> bool:
        if len(cells) == 3 and self._section is _Section.GPUS:
            return self._read_gpu(*cells)
        if len(cells) == 4 and self._section is _Section.SLICES:
            return self._read_slice(*cells)
        if len(cells) == 1 and self._section is _Section.PROCESSES:
            return self._read_process(cells[0])
        return all(not cell.strip() for cell in cells)

    def _read_gpu(self, left: str, middle: str, right: str) -> bool:
        if (first := _FIRST.fullmatch(left)) and (bus := _BUS.fullmatch(middle)):
            self._gpus.append(Draft())
            self._row_line = 1
            return self._read_first(first, bus, right.strip())
        self._row_line += 1
        if not self._gpus or self._row_line > 3:
            return False
        if self._row_line == 3:
            return not left.strip() and self._put("mig_mode", right.strip().rstrip("*"))
        second, memory, use = _SECOND.fullmatch(left), _OF.fullmatch(middle), _USE.fullmatch(right)
        if not (second and memory and use):
            return False
        printed = {
            "fan_percent": second[1],
            "temperature.gpu": second[2],
            "performance_state": second[3],
            "power.draw": second[4],
            "power.limit": second[5],
            "memory.used": memory[1],
            "memory.total": memory[2],
            "utilization.gpu": use[1],
            "compute_mode": use[2],
        }
        kept = [self._put(name, value) for name, value in printed.items()]
        return all(kept)

    def _read_first(self, first: re.Match[str], bus: re.Match[str], ecc: str) -> bool:
        gpu = self._gpus[-1]
        gpu.set(index=int(first[1]), bus_address=bus_address(bus[1]))
        read = self._put("name", first[2]) and self._put("persistence_mode", first[3])
        if ecc in ("On", "Off"):
            gpu.missing["ecc.volatile.uncorrectable_total"] = Missing.NOT_APPLICABLE
            return self._put("ecc.mode", ecc) and read
        return self._put("ecc.volatile.uncorrectable_total", ecc) and read

    def _put(self, name: str, text: str) -> bool:
        return self._gpus[-1].put(FIELDS[name], text)

    def _read_slice(self, left: str, memory: str, counts: str, engines: str) -> bool:
        use = _OF.fullmatch(memory)
        if first := _SLICE.fullmatch(left):
            found = _COUNTS.fullmatch(counts)
            names = ("gpu_index", "gpu_instance", "compute_instance", "index")
            self._slices.append(Draft())
            mig = self._slices[-1]
            mig.set(**{name: int(value) for name, value in zip(names, first.groups(), strict=True)})
            if not use or not found:
                return False
            mig.set(multiprocessors=int(found[1]), sram_uncorrectable=whole(found[2]))
            mig.set(**{name: whole(cell) for name, cell in zip(_ENGINES, engines.split(), strict=False)})
            mig.values["memory"] = {"used": whole(use[1]), "total": whole(use[2])}
            return True
        if not self._slices or not use or left.strip():
            return not (left + memory + counts + engines).strip()
        self._slices[-1].values["bar1"] = {"used": whole(use[1]), "total": whole(use[2])}
        return True

    def _read_process(self, cell: str) -> bool:
        found = _PROCESS.fullmatch(cell)
        if not found:
            return not cell.strip()
        self._processes.append(
            GpuProcess(
                gpu_index=int(found[1]),
                gpu_instance=whole(found[2] or ""),
                compute_instance=whole(found[3] or ""),
                pid=int(found[4]),
                kind=found[5],
                name=found[6],
                memory_mib=whole(found[7]),
            )
        )
        return True

    def _close(self) -> None:
        """Give what the table said as readings."""
        if self._versions:
            version, cuda = self._versions[2], self._versions[3]
            self._parsed.add(Driver(word(version), word(cuda or ""), reported=len(self._gpus), time=self._time))
        for gpu in self._gpus:
            self._parsed.add(gpu.finished(GpuReport))
        addresses = {gpu.get("index"): gpu.get("bus_address") for gpu in self._gpus}
        for mig in self._slices:
            mig.set(gpu_address=addresses.get(mig.get("gpu_index")))
            self._parsed.add(mig.finished(MigDevice))
        for process in self._processes:
            self._parsed.add(process)
        self._versions, self._time, self._section = None, None, _Section.GPUS
        self._gpus, self._slices, self._processes = [], [], []

    def end(self) -> Parsed[ReportReading]:
        self._close()
        return self._parsed
