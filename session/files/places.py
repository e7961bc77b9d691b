"""What the names of folders and files say: a host's folder, an sos report's, a moment's prefix."""

from __future__ import annotations

from pathlib import PurePosixPath

from ...parsers.tools import TOOLS
from ...topology.sources.names import usable

MOMENTS = {"before": "t0", "after": "t1"}
LONGEST_MOMENT = 3
TREES = frozenset(
    {
        "sos_commands", "sos_logs", "sos_reports", "proc", "sys", "var", "etc", "run", "usr", "boot", "lib", "dev",
        "root",
    }
)  # fmt: skip
"""Folders below which everything is called as on the machine itself."""
GENERIC = frozenset(
    {
        "logs", "log", "outputs", "output", "out", "files", "data", "raw", "tmp", "dmesg", "host", "hosts", "node",
        "nodes", "captures", "capture", "collected", "incident", "misc", "gpu", "gpus", "net", "network", "ib",
        "infiniband", "pcie", "pci", "kernel", "system", "nvidia", "nccl", "dcgm", "bmc", "diag", "results", "report",
        "reports", "archive", "cases", "case", "dump", "text", "bandwidth", "platform",
    }
)  # fmt: skip
"""Names of folders that are no host's."""
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")
SOS = "sosreport-"
_OF_TOOLS = frozenset(tool.name.split()[0].lower() for tool in TOOLS)


def folders_of(name: str) -> tuple[str, ...]:
    """The folders a file lies in, the outermost first; archives count as such."""
    return PurePosixPath(name).parts[:-1]


def file_name(name: str) -> str:
    """The last part of its name."""
    return PurePosixPath(name).name


def host_of_folder(folders: tuple[str, ...]) -> str:
    """The host that the innermost folder with a host's name is named after; empty where none is."""
    outer: list[str] = []
    for folder in folders:
        if folder.startswith(SOS):
            return _host_of_sos(_without_ending(folder))
        if folder.lower() in TREES:
            break
        if not (outer and _wraps(outer[-1], folder)):
            outer.append(folder)
    return next((folder for folder in reversed(outer) if _may_be_host(folder)), "")


def moment_of(name: str) -> str:
    """`t0`, `t1`, ... of `t0-lspci.txt`, `before/lspci.txt` or `lspci-before.txt`; empty where no name says."""
    for part in reversed(PurePosixPath(name).parts):
        words = _without_ending(part).lower().replace("_", "-").replace(".", "-").split("-")
        if words[0][:1] == "t" and words[0][1:].isdecimal() and len(words[0]) <= LONGEST_MOMENT:
            return f"t{int(words[0][1:])}"
        for word in (words[0], *words[-2:]):
            if word in MOMENTS:
                return MOMENTS[word]
    return ""


def _wraps(archive: str, folder: str) -> bool:
    """Whether a folder is there only because the archive was made of it: `incident.tgz/incident`."""
    return archive.lower().endswith(ARCHIVES) and _without_ending(archive) == folder and not folder[-1].isdecimal()


def _may_be_host(folder: str) -> bool:
    lowered = folder.lower()
    if lowered.endswith(ARCHIVES) or lowered in GENERIC or lowered in _OF_TOOLS or moment_of(folder):
        return False
    return usable(folder) and any(character.isalpha() for character in folder)


def _host_of_sos(folder: str) -> str:
    """`sosreport-HOST[-LABEL][-CASE]-2024-05-15-abcdefg`: up to the date, or up to a number of its own."""
    words = folder.removeprefix(SOS).split("-")
    years = (
        at for at, word in enumerate(words) if at and len(word) == 4 and word.startswith("20") and word.isdecimal()
    )
    host = words[: next(years, len(words))]
    if len(host) > 1 and len(host[-1]) >= 7 and host[-1].isdecimal():
        host = host[:-1]
    return "-".join(host) if usable("-".join(host)) else ""


def _without_ending(name: str) -> str:
    for ending in ARCHIVES:
        name = name.removesuffix(ending)
    return name
