"""Files as an incident: the same findings as `diagnose`, no time that passes, and nothing asked of any node."""

from __future__ import annotations

import pytest
from lanescope.evidence.case import Case
from lanescope.incident.errors import InputError
from lanescope.incident.events import Ticked
from lanescope.session.files.diagnosis import diagnose
from lanescope.session.files.source import FileSource
from lanescope.session.session import Session, running

OFF_BUS = (
    "[  100.000000] NVRM: Xid (PCI:0000:91:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    "[  112.000000] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up\n"
)
KILLED = (
    "x nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
    "     Active: failed (Result: signal) since Tue 10:00:00 UTC; 2 days ago\n"
)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "in" / "n7").mkdir(parents=True)
    (tmp_path / "in" / "n8").mkdir()
    (tmp_path / "in" / "n7" / "dmesg").write_text(OFF_BUS)
    (tmp_path / "in" / "n8" / "fm-status.txt").write_text(KILLED)
    return tmp_path / "in"


@pytest.fixture
async def session(files, tmp_path):
    source = FileSource([files])
    session = Session(source, Case.create(tmp_path / "cases"), fabric=source.fabric)
    async with running(session):
        assert await session.until(lambda seen: bool(seen.findings), 10.0)
        yield session


async def test_its_findings_are_those_of_a_diagnosis(session, files):
    told = diagnose([files])
    everything = (*told.findings, *told.consequences)
    assert {finding.key for finding in session.snapshot().findings} == {finding.key for finding in everything}


async def test_time_stands_still(session):
    before = session.snapshot().now
    assert await session.until(lambda seen: seen.now != before, 1.5) is False
    lines = (session.case_path / "journal.jsonl").read_text()
    assert Ticked.__name__ not in lines


async def test_every_output_is_told_with_its_node_and_tool(session):
    outputs = [output for _, output in session.snapshot().outputs]
    assert {(output.node, output.tool) for output in outputs} == {("n7", "kernel log"), ("n8", "systemctl status")}


async def test_nothing_is_probed_and_nothing_collected(session):
    with pytest.raises(InputError, match="files"):
        session.investigate(["n7"])
    with pytest.raises(InputError, match="files"):
        await session.bundle()


async def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError):
        FileSource([tmp_path / "nowhere"])
