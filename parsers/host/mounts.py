"""File systems: `df`, and what is mounted where (`mount`, `/proc/mounts`).

Source: coreutils df(1), util-linux mount(8), proc_pid_mounts(5); tmpfs(5) for `size=`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """One row of `df`; None for a size that is not printed (`-`)."""

    source: str
    mounted_on: str
    size_bytes: float | None
    free_bytes: float | None
    used_percent: int | None


@dataclass(frozen=True, slots=True)
class Mount:
    """One file system and how it is mounted."""

    source: str
    mounted_on: str
    kind: str
    """`tmpfs`, `nfs4`, `lustre`, ..."""
    options: tuple[str, ...]

    @property
    def size_bytes(self) -> float | None:
        """Of a tmpfs that says so; None of one that takes the kernel's default."""
        sizes = [option.partition("=")[2] for option in self.options if option.startswith("size=")]
        return size_of(sizes[-1]) if sizes else None


_SIZE = re.compile(r"(\d{1,16}(?:[.,]\d{1,4})?)([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_HEADING = re.compile(
    r"Filesystem\s{1,200}(?:Type\s{1,40})?(?:Size|1K-blocks|1M-blocks|1024-blocks|1B-blocks)\s{1,40}Used\s{1,40}"
    r"Avail(?:able)?\s{1,40}(?:Use%|Capacity)\s{1,40}Mounted on\s*"
)
_NUMBER = r"\d{1,16}(?:[.,]\d{1,4})?[KMGTPE]?i?|-"
_ROW = re.compile(
    rf"(\S{{1,400}})\s{{1,200}}(?:[a-z][\w.]{{1,20}}\s{{1,40}})?({_NUMBER})\s{{1,40}}({_NUMBER})\s{{1,40}}"
    rf"({_NUMBER})\s{{1,40}}(\d{{1,3}}%|-)\s{{1,40}}(/\S{{0,400}})\s*"
)
_MOUNT = re.compile(r"(\S{1,400}) on (/\S{0,400}) type ([\w.\-]{1,40}) \((\S{1,4000})\)\s*")
_PROC = re.compile(r"(\S{1,400}) (/\S{0,400}) ([\w.\-]{1,40}) ((?:rw|ro)(?:,\S{1,4000})?) \d \d\s*")
_POWERS = " KMGTPE"


def size_of(text: str) -> float | None:
    """Bytes of `64M`, `65536k` or `1.5T`, in powers of 1024; None of anything else (`50%`)."""
    found = _SIZE.fullmatch(text)
    if not found:
        return None
    return float(found[1].replace(",", ".")) * 1024.0 ** _POWERS.index((found[2] or " ").upper())


def parse_disk_space(text: str) -> Parsed[DiskSpace]:
    """Read all rows; sizes without a unit are blocks of 1 KiB unless the heading says otherwise."""
    parsed = Parsed[DiskSpace]()
    block = 1024.0
    for number, line in numbered(without_escapes(text)):
        if _HEADING.fullmatch(line):
            block = 1024.0**2 if "1M-blocks" in line else 1.0 if "1B-blocks" in line else 1024.0
        elif found := _ROW.fullmatch(line):
            source, size, _, free, used, place = found.groups()
            percent = int(used[:-1]) if used != "-" else None
            parsed.add(DiskSpace(source, place, _bytes(size, block), _bytes(free, block), percent))
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _bytes(text: str, block: float) -> float | None:
    size = size_of(text.removesuffix("i"))
    return size * block if size is not None and text.isdigit() and text != "0" else size


def parse_mounts(text: str) -> Parsed[Mount]:
    """Read both forms."""
    parsed = Parsed[Mount]()
    for number, line in numbered(without_escapes(text)):
        if found := _MOUNT.fullmatch(line) or _PROC.fullmatch(line):
            parsed.add(Mount(found[1], found[2], found[3], tuple(found[4].split(","))))
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _lines(head: str) -> list[str]:
    return [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)][:100]


def _is_disk_space(head: str) -> bool:
    lines = _lines(head)
    return any(_HEADING.fullmatch(line) for line in lines) or (
        bool(lines) and all(_ROW.fullmatch(line) for line in lines)
    )


def _is_mounts(head: str) -> bool:
    lines = _lines(head)
    found = sum(bool(_MOUNT.fullmatch(line) or _PROC.fullmatch(line)) for line in lines)
    return found > 0 and 2 * found >= len(lines)


DISK_SPACE = Tool("df", _is_disk_space, parse_disk_space, file_names=("df*", "*-df*", "*_df*"))
MOUNTS = Tool("mount", _is_mounts, parse_mounts, file_names=("*mounts*", "mount*"))
