"""Writing a bundle: one `.evb.zip` with everything a stranger needs to follow and check the case (layout: BagIt).

    CASE-<id>_<node>_<UTC>/
      bagit.txt  bag-info.txt  bundle.json  README.txt  VERIFY.txt
      manifest-sha256.txt      hashes of everything in data/
      tagmanifest-sha256.txt   hashes of the files above: its own sha256 is the bundle's id
      data/case.json  coverage.json  inventory.json  topology.json  journal.jsonl
      data/raw/<node>/<collector>/stdout stderr meta.json
      data/recording/seg-000.bin ... idx.jsonl      data/rules/rules.json

The same case and snapshot give the same bytes: names sorted, times of 1980, fixed modes, no clock read. The nonces of
the journal stay behind. Signatures will stand in `signatures/`, outside the tag manifest, so that signing leaves
the id.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import orjson

from .. import __version__
from ..incident.errors import EvidenceError, InputError
from ..incident.events import Blob, CommandEnded
from ..incident.snapshot import Snapshot
from . import texts
from .archive import BagArchive
from .case import Case
from .coverage import Covered, counts, coverage
from .cut import Cut
from .document import case_document, subject
from .index import Evidence, check_resolved, evidence_index
from .inventory import inventory
from .journal import ChainCheck, check_chain, check_openings
from .manifest import PAYLOAD, TAGS, manifest
from .names import plain_name, raw_folders
from .payload import Allowance, write_journal, write_recording
from .rules import rules_document
from .survey import Survey, survey

SUFFIX = ".evb.zip"
NAME_PART = 32
"""Characters of case id and node in a bundle's name: portals refuse names of more than 100."""
SPARE_BYTES = 4 << 20
"""Room for documents and manifests when free space is checked."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Written:
    """A bundle that was written."""

    path: Path
    root: str
    """sha256 of the tag manifest: the bundle's id."""
    coverage: tuple[Covered, ...]
    left_out: tuple[str, ...] = ()
    """What the deadline or a limit cut, as sentences; they stand in bundle.json too."""


def write_bundle(
    case: Case,
    snapshot: Snapshot,
    graph: Mapping[str, Any],
    out: Path,
    deadline: float = 120.0,
    progress: Progress | None = None,
    further: Mapping[str, Any] | None = None,
) -> Written:
    """Write the bundle of a case to `out` (a file, or a folder to put it in under its own name).

    `further`: documents beside those that any case has, by their names in the bundle.

    Reads the case as it is now, also while a session goes on writing; may be called from any thread. When `deadline`
    seconds are over, what is left is left out and listed, and the bundle is still valid.

    Raises Unresolved when a statement of the snapshot names evidence that the case lacks, and InputError when `out`
    can't be written or its disk is too full.
    """
    until = time.monotonic() + deadline
    index = evidence_index(snapshot, case)
    check_resolved(snapshot, index)
    top = bundle_name(case.id, snapshot)
    target = out / f"{top}{SUFFIX}" if out.is_dir() else out
    with case.cut() as cut:
        _check_space(target, cut.size + sum(event.stdout.size + event.stderr.size for _, event in snapshot.commands))
        writer = _Writer(case, snapshot, cut, index, Allowance(until), progress or (lambda _: None), further or {})
        with _replacing(target) as stream, BagArchive(stream, top) as bag:
            return writer.write(bag, graph, target)


def bundle_name(case_id: str, snapshot: Snapshot) -> str:
    """`CASE-<id>_<node or Nnodes>_<UTC>`: the name of the top folder, and of the file without its suffix."""
    nodes = sorted(snapshot.nodes)
    where = plain_name(nodes[0], NAME_PART) if len(nodes) == 1 else f"{len(nodes)}nodes"
    return f"CASE-{plain_name(case_id, NAME_PART)}_{where}_{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(snapshot.now))}"


class _Writer:
    """One export: payload, then documents, then tag files."""

    def __init__(
        self,
        case: Case,
        snapshot: Snapshot,
        cut: Cut,
        index: Mapping[str, Evidence],
        allowance: Allowance,
        progress: Progress,
        further: Mapping[str, Any],
    ) -> None:
        self._case, self._snapshot, self._cut = case, snapshot, cut
        self._index, self._allowance, self._progress = index, allowance, progress
        self._further = further

    def write(self, bag: BagArchive, graph: Mapping[str, Any], target: Path) -> Written:
        """Write all of it; the zip is whole once `bag` is left."""
        self._progress("journal")
        write_journal(bag, self._cut, self._allowance)
        chain = check_chain(self._cut.lines())
        self._cut.damage += [*chain.problems, *check_openings(self._cut.lines(), self._cut.nonces())]
        stderr = self._write_outputs(bag)
        self._progress("recording")
        chunks = write_recording(bag, self._cut, self._allowance)
        self._progress("documents")
        seen = survey(self._cut.journal_entries())
        rows = coverage(self._snapshot, (stored.entry for stored in self._cut.chunks), seen.logs, stderr)
        rules = rules_document(self._snapshot)
        documents: dict[str, Any] = {
            **self._further,
            "case.json": case_document(self._snapshot, self._case.id, self._index),
            "inventory.json": inventory(self._snapshot),
            "topology.json": graph,
            "rules/rules.json": rules,
            "coverage.json": {
                "format": "coverage/1",
                "counts": counts(rows),
                "collectors": msgspec.to_builtins(rows),
                "gaps": _gaps(seen),
                "left_out": self._allowance.left_out,
                "damage": self._cut.damage,
            },
        }
        for name in sorted(documents):
            bag.add(f"data/{name}", [_json(documents[name])])
        size = sum(made.size for made in bag.members.values())
        described = self._describe(rows, seen, chain, chunks, rules, size)
        root = _write_tags(bag, described, self._case.id, self._snapshot.now)
        return Written(target, root, tuple(rows), tuple(self._allowance.left_out))

    def _write_outputs(self, bag: BagArchive) -> dict[str, bytes]:
        """Write what commands printed; returns what each printed on stderr, by event id."""
        stderr = {}
        folders = raw_folders(self._snapshot.commands)
        self._progress(f"outputs of {len(folders)} commands")
        for id_, event in self._snapshot.commands:
            printed = {name: self._output(id_, blob) for name, blob in _streams(event).items()}
            stderr[id_] = printed["stderr"] or b""
            files = {name: data for name, data in printed.items() if data is not None}
            if not self._allowance.takes(f"output {folders[id_]}", sum(map(len, files.values())), members=3):
                continue
            for name, data in files.items():
                bag.add_output(f"data/{folders[id_]}/{name}", data)
            bag.add(f"data/{folders[id_]}/meta.json", [_json(_meta(id_, event))])
        return stderr

    def _output(self, id_: str, blob: Blob) -> bytes | None:
        try:
            return self._case.bytes_of(blob)
        except EvidenceError as error:
            self._cut.damage.append(f"{id_}: {error}")
            return None

    def _describe(
        self, rows: list[Covered], seen: Survey, chain: ChainCheck, chunks: int, rules: Mapping[str, Any], size: int
    ) -> dict[str, Any]:
        nodes = self._snapshot.nodes
        offsets = {str(node): view.clock_offset for node, view in sorted(nodes.items())}
        known = {node: round(1000 * offset, 3) for node, offset in offsets.items() if offset is not None}
        return {
            "format": "evidence-bundle/1",
            "kind": "incident",
            "profile": "internal",
            "case": self._case.id,
            "created": _utc(self._snapshot.now),
            "tool": {"name": "lanescope", "version": __version__, "rules": rules["sha256"]},
            "subject": subject(self._snapshot),
            "window": {
                "from": _utc(seen.first),
                "to": _utc(max(seen.last, self._snapshot.now)),
                "gaps": [[gap["from"], gap["to"], f"{gap['node']}: {gap['reason']}"] for gap in _gaps(seen)],
            },
            "clock": {"source": "operator", "per_node_offset_ms": known},
            "journal": {"lines": chain.lines, "chain_tip": chain.tip},
            "recording": {"nodes": len({stored.entry.node for stored in self._cut.chunks}), "chunks": chunks},
            "coverage": counts(rows),
            "size": {"payload": size, "dropped": [{"what": what} for what in self._allowance.left_out]},
            "damage": self._cut.damage,
        }


def _streams(event: CommandEnded) -> dict[str, Blob]:
    return {"stdout": event.stdout, "stderr": event.stderr}


def _meta(id_: str, event: CommandEnded) -> dict[str, Any]:
    """What was known of an output when it was captured."""
    return {
        "event": id_,
        "node": str(event.node),
        "argv": list(event.argv),
        "exit_status": event.exit_status,
        "why": event.why,
        "truncated": event.truncated,
        "started": event.started,
        "ended": event.ended,
        **{name: {"sha256": blob.sha256, "size": blob.size} for name, blob in _streams(event).items()},
    }


def _write_tags(bag: BagArchive, described: Mapping[str, Any], case_id: str, now: float) -> str:
    payload = [made for path, made in bag.members.items() if path.startswith("data/")]
    oxum = f"{sum(made.size for made in payload)}.{len(payload)}"
    tags = {
        "bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": f"Bag-Software-Agent: lanescope {__version__}\nBagging-Date: {_utc(now)[:10]}\n"
        f"External-Identifier: {case_id}\nPayload-Oxum: {oxum}\n",
        "README.txt": texts.README,
        "VERIFY.txt": texts.VERIFY,
    }
    contents = {name: text.encode() for name, text in tags.items()}
    contents["bundle.json"] = _json(described)
    contents[PAYLOAD] = manifest(bag.hashes(payload=True))
    for name in sorted(contents):
        bag.add(name, [contents[name]])
    return bag.add(TAGS, [manifest(bag.hashes(payload=False))]).sha256


def _gaps(seen: Survey) -> list[dict[str, Any]]:
    return [
        {"node": str(gap.node), "from": _utc(gap.begin), "to": _utc(gap.end), "reason": gap.reason} for gap in seen.gaps
    ]


def _json(value: Any) -> bytes:
    form = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, option=form)


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _check_space(target: Path, size: int) -> None:
    folder = target.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise InputError(f"can't write a bundle to {folder}: {error.strerror}; name another folder") from error
    if free < size + SPARE_BYTES:
        raise InputError(
            f"the bundle may need {(size + SPARE_BYTES) / 1e6:.0f} MB and {folder} has {free / 1e6:.0f} MB free; "
            "make room or name another disk"
        )


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file beside `target` that takes its place when all went well, and is gone when not."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=target.parent)
    except OSError as error:
        raise InputError(f"can't write {target}: {error.strerror}; name another place") from error
    part = Path(name)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
