"""What a bundle holds, and that it is the same for the same case."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from lanescope.evidence import bundle as bundle_room
from lanescope.evidence.bundle import write_bundle
from lanescope.evidence.case import Case
from lanescope.evidence.index import evidence_index
from lanescope.evidence.verify import Integrity, verify
from lanescope.incident.errors import InputError, Unresolved
from lanescope.incident.events import FindingRaised, NoteWritten
from lanescope.incident.ids import NodeId


@pytest.fixture
def made(small_incident, tmp_path):
    return small_incident(tmp_path)


@pytest.fixture
def written(made, tmp_path):
    return write_bundle(made.case, made.snapshot, made.graph, tmp_path / "a.evb.zip")


def document(path: Path, name: str):
    with zipfile.ZipFile(path) as archive:
        found = next(member for member in archive.namelist() if member.endswith(f"/{name}"))
        return json.loads(archive.read(found))


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def test_a_bundle_has_one_top_folder_named_by_case_nodes_and_time(written):
    with zipfile.ZipFile(written.path) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert tops == {"CASE-c1_3nodes_20260921T141429Z"}


def test_given_a_folder_the_bundle_is_named_by_itself(made, tmp_path):
    written = write_bundle(made.case, made.snapshot, made.graph, tmp_path)
    assert written.path == tmp_path / "CASE-c1_3nodes_20260921T141429Z.evb.zip"


def test_the_same_case_gives_the_same_bytes_also_once_it_is_closed_and_read_again(made, written, tmp_path):
    again = write_bundle(made.case, made.snapshot, made.graph, tmp_path / "b.evb.zip")
    assert again.path.read_bytes() == written.path.read_bytes()
    snapshot, path = made.snapshot, made.case.path
    made.case.close()
    read = write_bundle(Case.open(path), snapshot, made.graph, tmp_path / "c.evb.zip")
    assert read.path.read_bytes() == written.path.read_bytes()


def test_a_bundle_verifies_as_intact_and_unsigned(written):
    verification = verify(written.path)
    assert verification.problems == ()
    assert (verification.integrity, verification.signed, verification.signer) == (Integrity.OK, False, "unknown")
    assert verification.exit_code == 2
    assert verification.root == written.root


def test_sha256sum_agrees(written, tmp_path):
    with zipfile.ZipFile(written.path) as archive:
        archive.extractall(tmp_path / "x")
    folder = next((tmp_path / "x").iterdir())
    command = ["sha256sum", "-c", "--strict", "tagmanifest-sha256.txt", "manifest-sha256.txt"]
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
    root = subprocess.run(
        ["sha256sum", "tagmanifest-sha256.txt"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert root.stdout.split()[0] == written.root
    (folder / "data/case.json").write_text("{}")
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 1


def test_outputs_stand_verbatim_with_how_they_came_about(made, written):
    files = members(written.path)
    assert files["data/raw/n1/nvidia-smi_topo_-m/stdout"] == b"GPU0 X NV18\n"
    assert files["data/raw/n1/nvidia-smi_topo_-m/stderr"] == b""
    meta = json.loads(files["data/raw/n1/nvidia-smi_topo_-m/meta.json"])
    assert (meta["argv"], meta["exit_status"]) == (["nvidia-smi", "topo", "-m"], 0)
    assert (meta["started"], meta["ended"]) == (made.begin + 5, made.begin + 5.5)


def test_names_from_nodes_become_plain_file_names_and_stay_distinct(written):
    names = [name for name in members(written.path) if name.startswith("data/raw/n_2")]
    assert all(name.isascii() and name.isprintable() and " " not in name for name in names)
    assert {name.split("/")[3] for name in names} >= {"lspci_-vvv", "lspci_-vvv-2"}


def test_the_recording_in_a_bundle_is_read_with_gzip_and_json_alone(written):
    files = members(written.path)
    values = []
    for line in files["data/recording/idx.jsonl"].splitlines():
        entry = json.loads(line)
        if entry["domain"] != "nvml":
            continue
        data = files[f"data/recording/{entry['segment']}"][entry["offset"] :][: entry["length"]]
        head, *columns = gzip.decompress(data).decode().splitlines()
        assert json.loads(head)["rows"] == entry["rows"]
        power = json.loads(columns[2])
        total = 0
        for step in power["d"]:
            total += step
            values.append(total / power["scale"])
    assert values == [300.125 + second for second in range(70)]


def test_nonces_never_leave_the_case(made, written):
    secrets = (made.case.path / "nonces.jsonl").read_text().split('"')
    nonces = [text for text in secrets if len(text) == 64]
    assert len(nonces) > 80
    everything = b"".join(members(written.path).values()).decode(errors="replace")
    assert not any(nonce in everything for nonce in nonces)


def test_coverage_tells_every_collector_of_every_node_and_how_it_ended(written):
    rows = {(row["node"], row["collector"]): row for row in document(written.path, "coverage.json")["collectors"]}
    hostile = "n/2 \x1b[2J"
    assert rows["n1", "nvml"]["status"] == "ok"
    assert rows["n1", "nvml"]["bytes"] > 0
    assert rows["n1", "nvml"]["duration"] == 69
    assert rows["n1", "pci"]["status"] == "absent"
    assert rows["n1", "nvidia-smi topo -m"]["status"] == "ok"
    assert rows[hostile, "nvidia-smi -q"]["status"] == "timeout"
    assert rows[hostile, "ibstat"]["status"] == "absent"
    assert rows[hostile, "dmesg"]["status"] == "denied"
    assert "not permitted" in rows[hostile, "dmesg"]["detail"]
    assert {rows["n3", name]["status"] for name in ("nvml", "ib", "pci", "kmsg", "facts")} == {"denied"}
    assert rows["n3", "nvml"]["detail"] == "no such user"


def test_an_output_that_was_cut_says_truncated(written):
    statuses = [row.status for row in written.coverage if row.collector == "lspci -vvv"]
    assert statuses == ["truncated", "failed"]
    assert document(written.path, "bundle.json")["coverage"]["truncated"] == 1


def test_the_inventory_names_parts_as_found(written):
    nodes = document(written.path, "inventory.json")["nodes"]
    part = next(part for node in nodes for part in node["parts"] if part["component"] == "n1/gpu3")
    assert (part["serial"], part["vbios"], part["slot"]) == ("1650123456789", "96.00.74", "0000:19:00.0")
    assert part["part_number"] is None


def test_the_subject_of_a_lane_is_the_device_that_would_be_shipped(made, written):
    subject = document(written.path, "bundle.json")["subject"][0]
    assert (subject["component"], subject["serial"]) == (str(made.lane), "1650123456789")


def test_a_bundle_leaves_the_place_of_signatures_empty(written):
    described = document(written.path, "bundle.json")
    assert "signers" not in described
    assert not any("signatures" in name for name in members(written.path))


def test_every_statement_resolves_to_evidence_that_says_what_it_is(written):
    case = document(written.path, "case.json")
    named = {id_ for finding in case["findings"] for id_ in finding["evidence"]}
    named |= {id_ for verdict in case["verdict"]["verdicts"] for id_ in verdict["evidence"]}
    named |= {case["verdict"]["id"], *(belief["id"] for belief in case["beliefs"])}
    assert named <= set(case["evidence"])
    for found in case["evidence"].values():
        assert found["source"]
        assert found["quote"]
        assert "command" in found or "path" in found
        assert "lines" in found or "time" in found


def test_the_index_quotes_the_readings_of_the_part_it_is_about(made):
    found = evidence_index(made.snapshot, made.case)
    assert found["n1#13"]["quote"] == "gpu3/nvlink7 recovery_errors=0, gpu3/nvlink7 state=1"
    assert found["n1#13"]["time"] == made.begin + 6
    trial = next(entry for entry in found.values() if entry["source"].startswith("n1: probe"))
    assert trial["command"] == "p2p gpu3 gpu4"
    assert trial["quote"] == "3 windows, median 360.0, lowest 310.5 GB/s; gpu3/nvlink7 recovery_errors +6"


def test_beliefs_and_verdicts_are_quoted_as_sentences(made):
    found = evidence_index(made.snapshot, made.case)
    quotes = {entry["source"]: entry["quote"] for entry in found.values()}
    assert quotes["belief after round 1"] == "n1/gpu3/nvlink7 0.970; no fault 0.010; 1 trials in 0.5 s"
    assert quotes["verdict"] == "localized: n1/gpu3/nvlink7 (0.970); likely"


def test_a_journal_line_in_the_index_is_the_line_of_the_file(written):
    lines = members(written.path)["data/journal.jsonl"].splitlines()
    for id_, found in document(written.path, "case.json")["evidence"].items():
        if found.get("path") == "journal.jsonl":
            assert json.loads(lines[found["lines"][0] - 1])["id"] == id_


@pytest.mark.parametrize("missing", ["J9999", "n1#9999", "n9#1", "nothing"])
def test_a_finding_on_evidence_that_is_not_there_stops_the_export(small_incident, tmp_path, missing):
    made = small_incident(tmp_path)
    finding = made.snapshot.findings[0]
    made.take(FindingRaised(time=made.begin, finding=msgspec.structs.replace(finding, evidence=(missing,))))
    with pytest.raises(Unresolved, match=missing):
        write_bundle(made.case, made.snapshot, made.graph, tmp_path / "a.evb.zip")
    assert not list(tmp_path.glob("*.zip"))
    assert not list(tmp_path.glob(".*.part"))


def test_a_deadline_that_passed_gives_a_valid_bundle_that_lists_what_it_lacks(made, tmp_path):
    written = write_bundle(made.case, made.snapshot, made.graph, tmp_path / "a.evb.zip", deadline=-1.0)
    verification = verify(written.path)
    assert verification.integrity is Integrity.OK
    assert any("samples of n1/nvml" in what for what in verification.left_out)
    assert any("nvidia-smi_topo" in what for what in verification.left_out)
    assert document(written.path, "case.json")["findings"]
    assert len(members(written.path)["data/journal.jsonl"].splitlines()) > 80


def test_a_bundle_can_be_written_from_a_case_whose_session_was_killed(made, tmp_path):
    made.case.flush()
    snapshot, path = made.snapshot, made.case.path
    os.truncate(path / "journal.jsonl", (path / "journal.jsonl").stat().st_size - 3)
    snapshot = replace(snapshot, verdict=None, verdict_id="")
    written = write_bundle(Case.open(path), snapshot, made.graph, tmp_path / "a.evb.zip")
    assert verify(written.path).integrity is Integrity.OK
    assert "torn off" in document(written.path, "bundle.json")["damage"][0]


def test_a_case_that_was_edited_gives_a_bundle_that_says_so(made, tmp_path):
    snapshot, path = made.snapshot, made.case.path
    made.case.close()
    journal = path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"Xid (PCI:0000:19:00): 79", b"Xid (PCI:0000:19:00): 13"))
    written = write_bundle(Case.open(path), snapshot, made.graph, tmp_path / "a.evb.zip")
    assert any(
        "another event than was committed to" in text for text in document(written.path, "bundle.json")["damage"]
    )


def test_a_bundle_goes_on_while_the_session_writes(made, tmp_path):
    def still_writing(_: str) -> None:
        made.take(NoteWritten(time=made.begin + 70, text="still here", by="me"))

    written = write_bundle(made.case, made.snapshot, made.graph, tmp_path / "a.evb.zip", progress=still_writing)
    assert verify(written.path).integrity is Integrity.OK
    assert b"still here" not in members(written.path)["data/journal.jsonl"]


def test_a_disk_without_room_is_told_before_anything_is_written(made, tmp_path, monkeypatch):
    full = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(bundle_room.shutil, "disk_usage", lambda _: full)
    with pytest.raises(InputError, match="free"):
        write_bundle(made.case, made.snapshot, made.graph, tmp_path / "a.evb.zip")


def test_a_place_that_is_not_there_is_told(made, tmp_path):
    with pytest.raises(InputError, match="name another folder"):
        write_bundle(made.case, made.snapshot, made.graph, tmp_path / "no" / "a.evb.zip")


def test_long_names_stay_within_what_systems_and_portals_take(small_incident, tmp_path):
    made = small_incident(tmp_path, "c" * 64)
    for flag in ("a", "b"):
        made.run(NodeId("n" * 200), ("show", *["--everything"] * 40, flag), b"x")
    written = write_bundle(made.case, made.snapshot, made.graph, tmp_path)
    assert len(written.path.name) <= 100
    assert verify(written.path).integrity is Integrity.OK
    assert sum(name.endswith("stdout") and "/nnnn" in name for name in members(written.path)) == 2


def test_an_output_that_shrinks_a_thousandfold_does_not_make_the_bundle_unsafe(made, tmp_path):
    made.run(made.node, ("cat", "zeros"), bytes(8 << 20))
    written = write_bundle(made.case, made.snapshot, made.graph, tmp_path / "a.evb.zip")
    assert verify(written.path).integrity is Integrity.OK


def test_the_evidence_room_loads_no_screen():
    code = "import sys, lanescope.evidence.bundle, lanescope.evidence.verify; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
