"""Whose output a file is, and of which moment: by its text, else by its folder or name, else by the only host named.

`HOST/file`, `file-HOST.txt`, `t0-file`, `before/file` are how people lay out what they collect. Nothing is guessed
beyond that: what nobody names stays unknown, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...incident.ids import NodeId
from ...parsers.intake import Section
from ...signals.readings import UNKNOWN_NODE
from ...topology.sources.names import usable

MOMENTS = {"before": "t0", "after": "t1", **{f"t{number}": f"t{number}" for number in range(10)}}
GENERIC = frozenset(
    {
        "logs", "log", "outputs", "output", "out", "files", "data", "raw", "tmp", "var", "etc", "proc", "sys",
        "dmesg", "sos_commands", "host", "hosts", "nodes", "captures", "collected", "incident", "misc", "gpu", "net",
        "ib",
    }
)  # fmt: skip
"""Names of folders that are no host's."""
MOST_READINGS = 2000
"""Readings of an output that are asked for a host."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What all outputs together tell of hosts."""

    hosts: tuple[str, ...]
    """Named by texts or folders."""
    only: str
    """The one host, where there is just one; empty else."""


def owners(sections: Sequence[Section]) -> Owner:
    """The hosts that any output names, or any folder is named after."""
    named = Counter(host for section in sections for host in _named(section))
    return Owner(tuple(named), next(iter(named)) if len(named) == 1 else "")


def node_of_file(section: Section, owner: Owner) -> tuple[NodeId, str]:
    """The node, and a sentence for the operator where it was not the text that said so."""
    text = _by_text(section)
    if text:
        return NodeId(text), ""
    if folder := _by_folder(section.name):
        return NodeId(folder), ""
    name = PurePosixPath(section.name).name
    in_name = [host for host in owner.hosts if host in name]
    if in_name:
        host = max(in_name, key=len)
        return NodeId(host), f"taken to be of {host}, which its name says"
    if owner.only:
        return NodeId(owner.only), f"taken to be of {owner.only}, the only host that anything names"
    return UNKNOWN_NODE, "nothing says which node it is of"


def moment_of(name: str) -> str:
    """`t0`, `t1`, ... of a file's name or one of its folders; empty where they don't say."""
    for part in reversed(PurePosixPath(name).parts):
        words = part.lower().replace("_", "-").replace(".", "-").split("-")
        for word in (words[0], words[-2] if len(words) > 2 else ""):
            if word in MOMENTS:
                return MOMENTS[word]
    return ""


def _named(section: Section) -> Iterable[str]:
    return filter(None, (_by_text(section), _by_folder(section.name)))


def _by_text(section: Section) -> str:
    """The host that the text itself names: at its prompt or as `host:`, or the one that all its lines name."""
    if section.host and usable(section.host):
        return section.host
    readings = section.parsed.readings[:MOST_READINGS] if section.parsed is not None else ()
    hosts = {host for reading in readings if isinstance(host := getattr(reading, "host", ""), str) and host}
    only = next(iter(hosts)) if len(hosts) == 1 else ""
    return only if only and usable(only) else ""


def _by_folder(name: str) -> str:
    for folder in reversed(PurePosixPath(name).parts[:-1]):
        if folder.lower() not in GENERIC and not moment_of(folder) and not _is_archive(folder) and usable(folder):
            return folder
    return ""


def _is_archive(folder: str) -> bool:
    return folder.lower().endswith((".zip", ".tar", ".tgz", ".gz", ".xz", ".bz2", ".tbz2", ".txz"))
