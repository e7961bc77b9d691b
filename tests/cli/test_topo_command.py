"""`lanescope topo` and `lanescope explain`, as people and scripts use them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from xml.etree import ElementTree

from .conftest import Fleet
from .program import Ended, run
from .test_documents import errors_of

CSV = """index, name, pci.bus_id, pcie.link.width.current, pcie.link.width.max
0, NVIDIA H100 80GB HBM3, 00000000:19:00.0, 16, 16
1, NVIDIA H100 80GB HBM3, 00000000:3B:00.0, 8, 16
"""


def test_outputs_that_somebody_has_become_a_fabric_with_what_is_not_as_expected(tmp_path: Path) -> None:
    (tmp_path / "gpu-017").mkdir()
    (tmp_path / "gpu-017" / "gpus.csv").write_text(CSV)
    ended = run("topo", tmp_path)
    assert ended.code == 1
    assert f"reading from the path: {tmp_path}" in ended.err
    assert "HGX/DGX H100 8-GPU" in ended.out
    assert "gpu-017/gpu1/pcie" in ended.out or "gpu1/pcie" in ended.out
    assert "(downgraded)" in ended.out


def test_the_document_keeps_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "gpus.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    document = json.loads(run("topo", path, "--json").out)
    assert errors_of(document, "topo") == []
    assert {one["what"] for one in document["deviations"]} >= {"GPUs", "PCIe width"}


def test_hosts_are_read_over_ssh_and_their_tools_are_merged_with_the_drivers_facts(
    fleet: Fleet, tmp_path: Path
) -> None:
    ended = run("topo", "-F", fleet.ssh_config, "sim1", "--json", "--cases", tmp_path)
    assert ended.code == 0, ended.err
    assert "reading from hosts: sim1" in ended.err
    document = json.loads(ended.out)
    assert errors_of(document, "topo") == []
    gpus = [part for part in document["fabric"]["parts"] if part["kind"] == "gpu"]
    nics = [part for part in document["fabric"]["parts"] if part["kind"] == "nic"]
    assert (len(gpus), document["fabric"]["contradictions"]) == (8, [])
    assert all(nic["id"].startswith("sim1/mlx5_") for nic in nics)
    assert "sim1/lspci -vvv: lspci" in document["used"]


def test_the_case_of_a_session_is_a_path_too_and_gives_ncclls_file(fleet: Fleet, tmp_path: Path) -> None:
    run("topo", "-F", fleet.ssh_config, "sim1", "--cases", tmp_path)
    (case,) = tmp_path.iterdir()
    ended = run("topo", case, "--nccl-xml")
    assert ended.code == 0, ended.err
    assert len(ElementTree.fromstring(ended.out).findall(".//gpu")) == 8


def test_a_bundle_is_a_path_too_with_what_its_commands_printed(collected: tuple[Ended, Path]) -> None:
    ended = run("topo", collected[1], "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert len([part for part in document["fabric"]["parts"] if part["kind"] == "gpu"]) == 8
    assert "sim1/lspci -vvv: lspci" in document["used"]


def test_cases_and_bundles_in_a_folder_are_read_as_such_and_a_torn_one_is_named(
    collected: tuple[Ended, Path], tmp_path: Path
) -> None:
    whole = collected[1].read_bytes()
    (tmp_path / "torn.evb.zip").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "whole.evb.zip").write_bytes(whole)
    document = json.loads(run("topo", tmp_path, "--json").out)
    assert len([part for part in document["fabric"]["parts"] if part["kind"] == "gpu"]) == 8
    assert any(note.startswith("torn.evb.zip: ") for note in document["unused"])


def test_a_node_that_does_not_answer_is_listed_with_why(fleet: Fleet, tmp_path: Path) -> None:
    document = json.loads(run("topo", "-F", fleet.ssh_config, "sim[1-2]", "--json", "--cases", tmp_path).out)
    assert any(note.startswith("sim2: ") for note in document["unused"])


def test_what_says_nothing_is_named_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(5000))
    (tmp_path / "nvidia-smi-q.txt").write_text("no such file or directory\n")
    (tmp_path / "empty").write_text("")
    ended = run("topo", tmp_path)
    assert ended.code == 3
    assert "Traceback" not in ended.err + ended.out
    assert all(word in ended.out for word in ("core", "a program", "nvidia-smi-q.txt", "is empty"))
    assert "nothing that was read says anything about a fabric" in ended.err


def test_a_log_that_says_nothing_of_wiring_is_named_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.write_text("[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n")
    ended = run("topo", path)
    assert ended.code == 3
    assert "kern.log: kernel log: says nothing about the fabric" in ended.out


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "gpus.csv").write_text(CSV)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link.csv").symlink_to(tmp_path / "outside" / "gpus.csv")
    (tmp_path / "inside" / "folder").symlink_to(tmp_path / "outside")
    assert run("topo", tmp_path / "inside").code == 3


def test_a_path_beside_a_host_is_refused(tmp_path: Path) -> None:
    ended = run("topo", tmp_path, "sim1")
    assert ended.code == 64
    assert ended.says_one_sentence("sim1", "paths or hosts")


def test_several_nodes_have_to_be_chosen_from_for_nccl(tmp_path: Path) -> None:
    for node in ("a1", "a2"):
        (tmp_path / node).mkdir()
        (tmp_path / node / "gpus.csv").write_text(CSV)
    ended = run("topo", tmp_path, "--nccl-xml")
    assert ended.code == 64
    assert ended.says_one_sentence("--node", "a1", "a2")
    assert run("topo", tmp_path, "--nccl-xml", "--node", "a2").out.startswith("<system")


def test_an_inventory_gives_racks(tmp_path: Path) -> None:
    (tmp_path / "a1").mkdir()
    (tmp_path / "a1" / "gpus.csv").write_text(CSV)
    site = tmp_path / "site.toml"
    site.write_text('[nodes.a1]\nrack = "r12"\n')
    assert "r12" in run("topo", tmp_path / "a1", "--inventory", site).out
    assert run("topo", tmp_path / "a1", "--inventory", tmp_path / "none.toml").code == 64


def test_explain_shows_a_code_and_who_says_otherwise() -> None:
    ended = run("explain", "xid", "79")
    assert ended.code == 0
    assert "fell off the bus" in ended.out
    assert "who says" in ended.out


def test_explain_decodes_a_log_line() -> None:
    line = "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x0 0x0 0x0 0x0 0x0 0x0)"
    assert "NETIR_LINK_DOWN" in run("explain", line).out


def test_explain_says_what_it_can_explain() -> None:
    ended = run("explain", "the", "weather")
    assert ended.code == 64
    assert ended.says_one_sentence("xid")
