"""Outputs as people hand them in, read by the real parsers and judged by the real rules."""

import io

from lanescope.incident.ids import NodeId
from lanescope.incident.snapshot import Snapshot
from lanescope.parsers.intake import read
from lanescope.signals.judge import judge
from lanescope.signals.readings import Moment, Output, Readings
from lanescope.topology.fabric import Fabric
from lanescope.topology.gather import gather
from lanescope.topology.merge import merge


def told(files):
    """Readings of `{"HOST/name": text}`; a name that begins with `t0-` or `t1-` is of that moment."""
    outputs = []
    for path, text in files.items():
        host, _, name = path.partition("/")
        moment = name[:2] if name[:3] in ("t0-", "t1-") else ""
        for section in read(name, io.BytesIO(text.encode())):
            assert section.tool is not None, (path, section.notes)
            id_ = f"J{len(outputs) + 1}"
            readings = tuple(section.parsed.readings)
            outputs.append(Output(id_, NodeId(host), section.tool.name, path, Moment(moment), readings))
    return Readings(tuple(outputs))


def fabric_told(files):
    """The fabric that the same outputs tell."""
    sections = []
    for path, text in files.items():
        sections += list(read(path, io.BytesIO(text.encode())))
    return merge(gather(sections, "unknown").claims)


def judged(files, fabric=None):
    """All findings on these outputs."""
    return judge(Snapshot(), fabric if fabric is not None else fabric_told(files), told(files))


def of_class(findings, family):
    """Findings of a class or a family."""
    return [one for one in findings if one.fault_class == family or one.fault_class.startswith(f"{family}/")]


__all__ = ["Fabric", "fabric_told", "judged", "of_class", "told"]
