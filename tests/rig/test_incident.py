"""One incident in one session over a real OpenSSH server: localized, then bundled with what convicts."""

from __future__ import annotations

import json
import zipfile

import pytest
from lanescope.evidence.verify import verify
from lanescope.incident.ids import NodeId
from lanescope.session.headless import localize, settle

N1 = NodeId("rig1")


@pytest.mark.slow
async def test_a_verdict_and_the_trials_it_stands_on_are_in_the_bundle(rig, tmp_path):
    rig.up_with_a_marginal_lane(N1)
    said = []
    async with rig.session(N1) as session:
        await settle(session, said.append)
        await localize(session, [N1], 20.0, said.append)
        reached = session.snapshot().verdict
        assert [verdict.component for verdict in reached.verdicts] == [N1 / "gpu3" / "nvlink7"], said
        written = await session.bundle(tmp_path / "incident.evb.zip")
    assert verify(tmp_path / "incident.evb.zip").intact
    with zipfile.ZipFile(written.path) as bundle:
        (journal,) = (bundle.read(name) for name in bundle.namelist() if name.endswith("/journal.jsonl"))
    events = {line["id"]: line["event"]["event"] for line in map(json.loads, journal.splitlines())}
    assert "VerdictReached" in events.values()
    assert {events[id_] for id_ in reached.verdicts[0].evidence} == {"TrialEnded"}
