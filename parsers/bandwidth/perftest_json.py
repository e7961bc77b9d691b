"""perftest's `--out_json`: settings and the result of one message size as a document.

Until 2023 it was no JSON: keys and words stood without quotes, a comma before every closing brace. Both are read. The
unit of a bandwidth is not in it (`--report_gbits` changes it): it follows from size times message rate.
Source: linux-rdma/perftest issue 216 (unquoted) and pull request 322 (quoted); no capture.
"""

from __future__ import annotations

import re
from typing import Any

from ..json_document import as_dict, as_float, as_text, read_document
from ..parsed import Parsed, numbered
from ..tool import Tool
from ..value import number_of
from .perftest import MEGABYTE, RdmaReading, RdmaRun, bandwidth, latency

_COLUMNS = {
    "MsgSize": "#bytes",
    "n_iterations": "#iterations",
    "BW_peak": "BW peak",
    "BW_average": "BW average",
    "MsgRate": "MsgRate",
    "t_min": "t_min",
    "t_max": "t_max",
    "t_typical": "t_typical",
    "t_avg": "t_avg",
    "t_stdev": "t_stdev",
    "percentile_99": "99% percentile",
    "percentile_99.9": "99.9% percentile",
}
_RESULTS = ("results", "results_local", "results_remote")
_BARE_OBJECT = re.compile(r"\s{0,16}([A-Za-z_]\w{0,40})\s{0,4}: \{\s{0,80}")
_BARE_VALUE = re.compile(r"\s{0,16}([A-Za-z_][\w.]{0,40})\s{0,4}: \"?([^\",{}]{1,120}?)\"?\s{0,4},?\s{0,80}")
_BARE_END = re.compile(r"\s{0,16}[{}],?\s{0,80}")
_QUOTED = re.compile(r'"(?:test_info|results(?:_local|_remote)?)"\s{0,8}:')
_BARE = re.compile(r"^\s{0,16}(?:test_info|results)\s{0,4}: \{", re.MULTILINE)


def parse_perftest_json(text: str) -> Parsed[RdmaReading]:
    """Read a document of either form."""
    parsed = Parsed[RdmaReading]()
    documents = list(read_document(text, parsed, "{")) if _QUOTED.search(text) else [_unquoted(text, parsed)]
    for document in documents:
        _document(as_dict(document), parsed)
    return parsed


def _unquoted(text: str, parsed: Parsed[RdmaReading]) -> dict[str, Any]:
    """The old form: one `key: value,` a line, in objects that hold no others."""
    document: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    for number, line in numbered(text):
        if found := _BARE_OBJECT.fullmatch(line):
            values = document.setdefault(found[1], {})
        elif found := _BARE_VALUE.fullmatch(line):
            values[found[1]] = found[2].strip()
        elif line.strip() and not _BARE_END.fullmatch(line):
            parsed.cannot_read(number, line)
    return document


def _document(document: dict[str, Any], parsed: Parsed[RdmaReading]) -> None:
    info = {key.replace("_", " "): as_text(value) for key, value in as_dict(document.get("test_info")).items()}
    test, device = info.get("test", "").replace("_", " ").replace("RDMA ", "RDMA_"), info.get("Device", "")
    if info:
        parsed.add(_run(test, device, info))
    for name in _RESULTS:
        if name in document and not _result(test, device, as_dict(document[name]), parsed):
            parsed.cannot_read(1, name, "holds no size with a bandwidth or a latency")


def _run(test: str, device: str, info: dict[str, str]) -> RdmaRun:
    return RdmaRun(
        test=test,
        role="",
        device=device,
        qps=_integer(info.get("Number of qps")),
        transport=info.get("Transport type", ""),
        connection=info.get("Connection type", ""),
        mtu=_integer(info.get("Mtu")),
        link=info.get("Link type", ""),
        gid_index=_integer(info.get("GID index")),
        tx_depth=_integer(info.get("TX depth")),
    )


def _result(test: str, device: str, result: dict[str, Any], parsed: Parsed[RdmaReading]) -> bool:
    numbers = {_COLUMNS[key]: _number(value) for key, value in result.items() if key in _COLUMNS}
    if numbers.get("#bytes") is None or numbers.get("#iterations") is None:
        return False
    if numbers.get("BW average") is not None:
        parsed.add(bandwidth(test, device, numbers, _unit(numbers)))
    elif numbers.get("t_avg") is not None or numbers.get("t_typical") is not None:
        parsed.add(latency(test, device, numbers))
    else:
        return False
    return True


def _unit(numbers: dict[str, float | None]) -> str:
    """The unit in which the average is size times message rate, to five per cent; empty where neither fits."""
    size, rate, average = numbers["#bytes"], numbers.get("MsgRate"), numbers["BW average"]
    moved = (size or 0) * (rate or 0) * 1e6
    scales = {"MB/s": MEGABYTE, "Gb/s": 1e9 / 8}
    fitting = [unit for unit, scale in scales.items() if average and abs(moved / scale / average - 1) < 0.05]
    return fitting[0] if fitting else ""


def _number(value: Any) -> float | None:
    return number_of(value) if isinstance(value, str) else as_float(value)


def _integer(text: str | None) -> int | None:
    number = number_of(text or "")
    return int(number) if number is not None else None


def _recognizes(head: str) -> bool:
    if not head.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    sized = '"MsgSize"' in head or '"n_iterations"' in head
    return bool((_QUOTED.search(head) and sized) or _BARE.search(head))


TOOL = Tool(
    name="perftest --out_json",
    recognizes=_recognizes,
    parse=parse_perftest_json,
    file_names=("perftest*.json", "*ib_*_bw*.json", "*ib_*_lat*.json"),
    unconfirmed="linux-rdma/perftest issue 216 and pull request 322",
)
