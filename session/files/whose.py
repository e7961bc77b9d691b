"""Whose an output is and of which moment: by its text, else by what lies beside it, its folder's or its own name.

Nothing is guessed beyond that: what nobody names stays unknown, and says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...fleet.hosts import expand
from ...incident.errors import InputError
from ...incident.ids import NodeId
from ...parsers import nccl
from ...parsers.bandwidth import nccl_tests
from ...parsers.intake import Section
from ...parsers.logs.fabric_manager import FabricManagerLine
from ...parsers.logs.kernel_log import KernelLine
from ...parsers.origin import NOBODY
from ...parsers.parsed import Parsed
from ...signals.readings import UNKNOWN_NODE
from ...topology.sources.names import usable
from .places import file_name, folders_of, host_of_folder

MOST_HOSTS = 4096
"""Machines of one output."""
OF_A_LINE = (KernelLine, FabricManagerLine)
"""Readings of logs in which several machines may speak; what else names several is of a job on all of them."""
OF_JOBS = (*nccl.TOOLS, nccl_tests.TOOL)

Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """An output, or what one machine says in it."""

    section: Section
    hosts: tuple[str, ...]
    """Machines that its own text names."""

    @property
    def is_of_a_job(self) -> bool:
        """Whether processes printed it, which in a container call the machine by the container's name."""
        return self.section.tool in OF_JOBS

    @property
    def place(self) -> Place:
        """The folders it lies in."""
        return folders_of(self.section.name)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all outputs together tell of hosts."""

    beside: Mapping[Place, set[str]]
    """The machines whose outputs lie in a folder, or in any below it, by their own words.

    What a job printed is asked where nothing else names one.
    """
    mentioned: frozenset[str]
    shared: frozenset[Place]
    """Folders in which outputs of several machines lie, so that they are no machine's own."""

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Surroundings:
        """Surroundings of each output."""
        sure = _gathered(one for one in pieces if not one.is_of_a_job or _carries_one(one))
        shared = frozenset(
            place for place, hosts in sure.items() if place and len(hosts) > 1 and place[-1] not in hosts
        )
        of_machines = _gathered(one for one in pieces if not one.is_of_a_job)
        of_jobs = _gathered(one for one in pieces if one.is_of_a_job and not _host_of(one.place, shared))
        places = {one.place[:depth] for one in pieces for depth in range(len(one.place) + 1)}
        beside = {place: of_machines.get(place) or of_jobs.get(place, set()) for place in places}
        return cls(beside or {(): set()}, frozenset(host for one in pieces for host in one.hosts), shared)

    def host_of(self, place: Place) -> str:
        """The host that a folder is named after; empty where it is none's."""
        return _host_of(place, self.shared)


def with_nodes(sections: Sequence[Section]) -> Iterator[tuple[Section, NodeId]]:
    """Each output with its node, those of several machines once for each; what only names its host is left out."""
    pieces = [piece for section in sections for piece in _pieces(section)]
    surroundings = Surroundings.of(pieces)
    told: set[tuple[Place, str]] = set()
    for piece in pieces:
        section = piece.section
        if section.tool is None and not section.notes:
            continue
        host, why = _owner(piece, surroundings)
        if why and section.tool is not None and (piece.place, why) not in told:
            told.add((piece.place, why))
            section = replace(section, notes=(*section.notes, why))
        yield section, NodeId(_shortest(host, surroundings.beside[()])) if host else UNKNOWN_NODE


def _pieces(section: Section) -> Iterator[Piece]:
    """By the machines that the text names: in a heading, at a prompt, or before the lines of a log."""
    headed = _expanded(section.host)
    if len(headed) > 1:
        yield from (Piece(replace(section, host=host), (host,)) for host in headed)
        return
    speakers = _speakers(section)
    if section.parsed is not None and len(speakers) > 1 and _is_log(section.parsed):
        yield from _by_speaker(section, section.parsed, speakers, headed)
    else:
        yield Piece(section, headed or tuple(speakers))


def _expanded(host: str) -> tuple[str, ...]:
    """A host set as clush prints it; a name that is none is nobody's."""
    if "[" in host or "," in host:
        try:
            return tuple(name for name in expand([host]) if usable(name))[:MOST_HOSTS] if "@" not in host else ()
        except InputError:
            return ()
    return (host,) if usable(host) and host not in NOBODY else ()


def _speakers(section: Section) -> list[str]:
    found: dict[str, None] = {}
    for reading in section.parsed.readings if section.parsed is not None else ():
        host = getattr(reading, "host", "")
        if isinstance(host, str) and host and host not in found and usable(host) and host not in NOBODY:
            found[host] = None
            if len(found) == MOST_HOSTS:
                break
    return list(found)


def _is_log(parsed: Parsed[Any]) -> bool:
    return all(isinstance(reading, OF_A_LINE) for reading in parsed.readings)


def _by_speaker(section: Section, parsed: Parsed[Any], hosts: list[str], headed: tuple[str, ...]) -> Iterator[Piece]:
    """A piece for each host; lines that name none, and those not read, go with the heading's or with none of them."""
    said: dict[str, list[object]] = {host: [] for host in hosts}
    nobodys: list[object] = []
    for reading in parsed.readings:
        said.get(reading.host, nobodys).append(reading)
    for host, readings in said.items():
        yield Piece(replace(section, host=host, parsed=Parsed(readings), notes=()), (host,))
    if nobodys or parsed.unread or section.notes:
        rest = replace(parsed, readings=nobodys)
        yield Piece(replace(section, parsed=rest), headed or tuple(hosts))


def _gathered(pieces: Iterable[Piece]) -> Mapping[Place, set[str]]:
    found: defaultdict[Place, set[str]] = defaultdict(set)
    for piece in pieces:
        for depth in range(len(piece.place) + 1):
            found[piece.place[:depth]].update(piece.hosts if len(piece.hosts) == 1 else ())
    return {place: {_shortest(host, hosts) for host in hosts} for place, hosts in found.items()}


def _owner(piece: Piece, around: Surroundings) -> tuple[str, str]:
    """The host, empty where it is unknown; and a sentence where neither its text nor a name said so."""
    folder = around.host_of(piece.place)
    if len(piece.hosts) == 1 and not (folder and piece.is_of_a_job):
        return piece.hosts[0], ""
    if len(piece.hosts) > 1 and not folder:
        return "", "several nodes are named in it: it is taken for none of them"
    place = piece.place
    while place and not around.beside[place] and around.host_of(place) == around.host_of(place[:-1]):
        place = place[:-1]
    hosts, name = around.beside[place], file_name(piece.section.name)
    if folder and (folder in hosts or not hosts):
        return folder, ""
    if in_name := [host for host in around.mentioned if _carries(name, host)]:
        return max(in_name, key=len), ""
    if len(hosts) == 1 and not any(_names_another(name, host) for host in hosts):
        host = next(iter(hosts))
        return host, f"this and others beside it name no node: taken for {host}'s, the only one named there"
    return "", "this and others beside it name no node and lie in no node's folder: whose they are is unknown"


def _host_of(place: Place, shared: frozenset[Place]) -> str:
    host = host_of_folder(place)
    return "" if host in place and place[: place.index(host) + 1] in shared else host


def _carries_one(piece: Piece) -> bool:
    return any(_carries(file_name(piece.section.name), host) for host in piece.hosts)


def _shortest(host: str, hosts: set[str]) -> str:
    """A full domain name by its first label, where that is used as well."""
    label = host.partition(".")[0]
    return label if label in hosts else host


def _carries(name: str, host: str) -> bool:
    """Whether a file's name holds a host's as whole words: `lsmod-node-a.txt`."""
    at = name.find(host)
    while at >= 0:
        around = name[at - 1 : at] + name[at + len(host) : at + len(host) + 1]
        if not any(character.isalnum() for character in around):
            return True
        at = name.find(host, at + 1)
    return False


def _names_another(name: str, host: str) -> bool:
    """Whether a file's name holds the name of a host's sibling: `lsmod-node-b.txt` beside `node-a`."""
    stem = host.rstrip("0123456789") if host[-1:].isdigit() else host[:-1] if host[-2:-1] in ("-", "_") else ""
    if len(stem) < 2:
        return False
    at = name.find(stem)
    after = name[at + len(stem) :] if at >= 0 and not name[at - 1 : at].isalnum() else ""
    digits = len(after) - len(after.lstrip("0123456789"))
    end = digits if host[-1].isdigit() else 1
    return bool(after) and end > 0 and after[:end].isalnum() and not after[end : end + 1].isalnum()
