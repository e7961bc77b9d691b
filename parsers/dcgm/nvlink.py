"""`dcgmi nvlink -s` and `dcgmi nvlink -e -g N` with and without `-j`: states and error counts of NVLinks.

States are a letter a link: U up, D down, X disabled, _ not supported (this board has no such link).
Source: captures dcgm/dcgmi-nvlink-*; NVIDIA/DCGM dcgmi/Nvlink.cpp (headings, NvSwitches, key, the table of -e).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ..json_document import as_dict, as_list, as_text
from ..json_stream import json_objects
from ..parsed import Count, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .blanks import missing_of_number

TITLE = "NVLINK Error Counts"


class LinkState(StrEnum):
    """What DCGM says of a link."""

    UP = "up"
    DOWN = "down"
    DISABLED = "disabled"
    """Switched off, as where a link is not wired: by design mostly."""
    NOT_SUPPORTED = "not supported"


@dataclass(frozen=True, slots=True)
class NvlinkState:
    """One link's state."""

    entity: str
    """`GPU` or `NvSwitch`."""
    index: int
    """DCGM's number of the GPU, or the switch's physical id."""
    link: int
    state: LinkState


@dataclass(frozen=True, slots=True)
class NvlinkErrors:
    """One error counter of one link, since the driver was loaded or the counters were reset."""

    gpu: int
    link: int
    name: str
    """`CRC FLIT Error`, `CRC Data Error`, `Replay Error` or `Recovery Error`."""
    count: Count


_LETTERS = {"U": LinkState.UP, "D": LinkState.DOWN, "X": LinkState.DISABLED, "_": LinkState.NOT_SUPPORTED}
_HOLDER = re.compile(r"\s{0,16}(gpuId|physicalId) (\d{1,10}):\s{0,4}((?:[UDX_]\s{1,4}){0,200}[UDX_]?)\s*")
_STATES = re.compile(r"\s{0,40}(?:[UDX_]\s{1,4}){0,200}[UDX_]\s*")
_NONE = re.compile(r"\s{0,8}No (GPUs|NvSwitches) found\.\s*")
_PASSED_OVER = re.compile(
    r"\s*|[+|=\-]{3,200}|\|\s{0,8}NvLink Link Status\s{0,8}\|\s*|\s{0,4}(?:GPUs|NvSwitches):\s*|Key: Up=U.{0,80}"
)
_LINK = re.compile(r"Link (\d{1,4})")
_GPU = re.compile(r"GPU (\d{1,4})")
_CELLS = re.compile(r"\s{0,8}\|([^|]{1,80})(?:\|([^|]{0,80}))?\|?\s*")
_COUNTER = re.compile(r"(?:-> ?)?((?:CRC|Replay|Recovery|ECC)[\w ]{1,30})")
_NUMBER = re.compile(r"-?\d{1,20}")
_REFUSED = re.compile(
    r"\s{0,4}Warning: Unable to retrieve nvlink ([\w ]{1,40}) count for link (\d{1,4}) for gpuId (\d{1,4}) - (.{1,200})"
)


def parse_nvlink_status(text: str) -> Parsed[NvlinkState]:
    """Read `dcgmi nvlink -s`."""
    parsed = Parsed[NvlinkState]()
    holder: tuple[str, int] | None = None
    for number, line in numbered(without_escapes(text)):
        if found := _HOLDER.fullmatch(line):
            holder = ("GPU" if found[1] == "gpuId" else "NvSwitch", int(found[2]))
            _add_states(holder, found[3], parsed)
        elif holder and _STATES.fullmatch(line):
            _add_states(holder, line, parsed)
            holder = None
        elif found := _NONE.fullmatch(line):
            parsed.not_applicable(found[1], line.strip())
        elif not _PASSED_OVER.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _add_states(holder: tuple[str, int], letters: str, parsed: Parsed[NvlinkState]) -> None:
    for link, letter in enumerate(letters.split()):
        parsed.add(NvlinkState(*holder, link, _LETTERS[letter]))


def parse_nvlink_errors_json(text: str) -> Parsed[NvlinkErrors]:
    """Read `dcgmi nvlink -e -g N -j`, of one GPU or of several one after another."""
    parsed = Parsed[NvlinkErrors]()
    for line, document in json_objects(text, parsed):
        header = " ".join(as_text(one) for one in as_list(document.get("header")))
        gpu = _GPU.search(header)
        if TITLE not in header or not gpu:
            parsed.cannot_read(line, header or ", ".join(document)[:300], "names no GPU's NVLINK Error Counts")
            continue
        for title, body in as_dict(document.get("body")).items():
            link = _LINK.fullmatch(title)
            if not link:
                parsed.cannot_read(line, title, "names no link")
                continue
            for name, child in as_dict(as_dict(body).get("children")).items():
                _add_count(int(gpu[1]), int(link[1]), name[:60], as_text(as_dict(child).get("value")), line, parsed)
    return parsed


def _add_count(gpu: int, link: int, name: str, value: str, line: int, parsed: Parsed[NvlinkErrors]) -> None:
    """DCGM's counts have 64 bits; what it could not get is a reserved number or a word."""
    number = int(value) if _NUMBER.fullmatch(value.strip()) else None
    why = missing_of_number(number) if number is not None else None
    if number is not None and number >= 0 and why is None:
        parsed.add(NvlinkErrors(gpu, link, name, Count(number)))
    elif why is not None or (value.strip() and number is None):
        parsed.not_applicable(f"gpu{gpu} link {link} {name}", why.value if why else value.strip())
    else:
        parsed.cannot_read(line, f"Link {link} {name}: {value}", "no count")


def parse_nvlink_errors(text: str) -> Parsed[NvlinkErrors]:
    """Read the table of `dcgmi nvlink -e -g N`."""
    parsed = Parsed[NvlinkErrors]()
    gpu, link = None, None
    for number, line in numbered(without_escapes(text)):
        name, value = _two_cells(line)
        if found := _GPU.fullmatch(name):
            gpu, link = int(found[1]), None
        elif found := _LINK.fullmatch(name):
            link = int(found[1])
        elif gpu is not None and link is not None and (found := _COUNTER.fullmatch(name)):
            _add_count(gpu, link, found[1].strip(), value, number, parsed)
        elif found := _REFUSED.fullmatch(line):
            parsed.not_applicable(f"gpu{found[3]} link {found[2]} {found[1]}", found[4].strip())
        elif name != TITLE and not _PASSED_OVER.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _two_cells(line: str) -> tuple[str, str]:
    found = _CELLS.fullmatch(line)
    return (found[1].strip(), (found[2] or "").strip()) if found else ("", "")


def _lines(head: str) -> Iterator[str]:
    return (line for _, line in numbered(without_escapes(head)))


NVLINK_STATUS = Tool(
    name="dcgmi nvlink -s",
    recognizes=lambda head: any(_HOLDER.fullmatch(line) for line in _lines(head)),
    parse=parse_nvlink_status,
    file_names=("dcgm*nvlink*",),
)
NVLINK_ERRORS_JSON = Tool(
    name="dcgmi nvlink -e -j",
    recognizes=lambda head: f'"{TITLE}"' in head and '"header"' in head,
    parse=parse_nvlink_errors_json,
    file_names=("dcgm*nvlink*.json",),
)
NVLINK_ERRORS = Tool(
    name="dcgmi nvlink -e",
    recognizes=lambda head: any(_two_cells(line)[0] == TITLE for line in _lines(head)),
    parse=parse_nvlink_errors,
    file_names=("dcgm*nvlink*",),
    unconfirmed="NVIDIA/DCGM dcgmi/Nvlink.cpp and dcgmi/DcgmiOutput.cpp",
)
