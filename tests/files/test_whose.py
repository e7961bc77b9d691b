"""Whose each output is: what its text says stands; else its surroundings, its folder, its name; else nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.intake import Section
from lanescope.parsers.logs.kernel_log import KernelLine, OffBus
from lanescope.parsers.parsed import Parsed
from lanescope.parsers.tools import TOOLS
from lanescope.session.files.handed_in import handed_in
from lanescope.session.files.places import host_of_folder, moment_of
from lanescope.session.files.whose import with_nodes
from lanescope.signals.readings import UNKNOWN_NODE

LSMOD = (
    "Module                  Size  Used by\nnvidia_uvm           1732608  4\n"
    "nvidia              56717312  1 nvidia_uvm\n"
)
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n"
KERNEL = f"[   12.000000] {XID}"
TOOL = next(tool for tool in TOOLS if tool.name == "lsmod")


def syslog(host):
    return f"May 15 09:20:25 {host} kernel: [   12.000000] {XID}"


def laid_out(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {one.section.name: one.node for one in handed_in([folder]) if one.section.tool}


def notes(folder):
    return [note for one in handed_in([folder]) for note in one.section.notes]


def test_a_text_that_names_its_host_is_of_that_host_whatever_folder_it_lies_in(tmp_path):
    assert laid_out(tmp_path, {"gpu-1/kern.log": syslog("gpu-2")}) == {"gpu-1/kern.log": "gpu-2"}


def test_outputs_that_name_none_are_of_the_host_whose_folder_they_lie_in(tmp_path):
    found = laid_out(tmp_path, {"gpu-1/lsmod.txt": LSMOD, "gpu-2/logs/kern.log": KERNEL, "t0/gpu-3/lsmod.txt": LSMOD})
    assert set(found.values()) == {"gpu-1", "gpu-2", "gpu-3"}


def test_in_a_flat_folder_the_only_host_that_is_named_has_the_others_and_a_note_says_so(tmp_path):
    found = laid_out(tmp_path, {"kern.log": syslog("gpu-1"), "lsmod.txt": LSMOD, "logs/kern.log": KERNEL})
    assert set(found.values()) == {"gpu-1"}
    assert [note for note in notes(tmp_path) if "taken for gpu-1's" in note]


def test_with_two_hosts_named_what_names_none_stays_unknown_unless_its_name_says(tmp_path):
    files = {"a.log": syslog("node-a"), "b.log": syslog("node-b"), "lsmod-node-a.txt": LSMOD, "lsmod.txt": LSMOD}
    found = laid_out(tmp_path, files)
    assert (found["lsmod-node-a.txt"], found["lsmod.txt"]) == ("node-a", UNKNOWN_NODE)
    assert [note for note in notes(tmp_path) if "is unknown" in note]


def test_a_file_named_after_a_sibling_of_the_only_host_is_not_that_hosts(tmp_path):
    found = laid_out(tmp_path, {"a.log": syslog("node-a"), "lsmod-node-b.txt": LSMOD, "lsmod-t4.txt": LSMOD})
    assert (found["lsmod-node-b.txt"], found["lsmod-t4.txt"]) == (UNKNOWN_NODE, "node-a")


def test_where_nothing_names_a_host_it_is_unknown_and_said_once(tmp_path):
    assert set(laid_out(tmp_path, {"lsmod.txt": LSMOD, "kern.log": KERNEL}).values()) == {UNKNOWN_NODE}
    assert len(notes(tmp_path)) == 1


def test_a_log_of_several_machines_is_split_by_the_machines(tmp_path):
    (tmp_path / "all.log").write_text(syslog("gpu-1") + syslog("gpu-2") + syslog("gpu-1"))
    said = {one.node: [line.number for line in one.section.parsed.readings] for one in handed_in([tmp_path])}
    assert said == {"gpu-1": [1, 3], "gpu-2": [2]}


def test_output_that_several_hosts_share_is_each_ones(tmp_path):
    rule = "-" * 16
    (tmp_path / "lsmod.txt").write_text(f"{rule}\ngpu[1-3] (3)\n{rule}\n{LSMOD}")
    assert [one.node for one in handed_in([tmp_path])] == ["gpu1", "gpu2", "gpu3"]


def test_a_host_set_that_would_run_a_command_here_is_not_expanded():
    section = Section("x", "@all[1-2]", TOOL, Parsed(), 1, ())
    assert [node for _, node in with_nodes([section])] == [UNKNOWN_NODE]


def test_a_full_domain_name_and_its_first_label_are_one_node(tmp_path):
    found = laid_out(tmp_path, {"a.log": syslog("gpu-1.example.com"), "b.log": syslog("gpu-1")})
    assert set(found.values()) == {"gpu-1"}


def test_localhost_names_nobody(tmp_path):
    assert laid_out(tmp_path, {"gpu-7/kern.log": syslog("localhost")}) == {"gpu-7/kern.log": "gpu-7"}


def test_a_file_called_hostname_tells_whose_the_files_beside_it_are_and_is_no_output(tmp_path):
    found = laid_out(tmp_path, {"sos/hostname": "gpu-9\n", "sos/sos_commands/kernel/lsmod": LSMOD})
    assert found == {"sos/sos_commands/kernel/lsmod": "gpu-9"}
    assert not [one for one in handed_in([tmp_path]) if one.section.name.endswith("hostname")]


def test_several_folders_that_were_handed_in_are_hosts_and_one_alone_is_none(tmp_path):
    laid_out(tmp_path, {"gpu-1/lsmod": LSMOD, "gpu-2/lsmod": LSMOD})
    both = [tmp_path / "gpu-1", tmp_path / "gpu-2"]
    assert [one.node for one in handed_in(both)] == ["gpu-1", "gpu-2"]
    assert [one.node for one in handed_in(both[:1])] == [UNKNOWN_NODE]


@pytest.mark.parametrize(
    ("folders", "host"),
    [
        ("sosreport-gpu-017-2024-05-15-abcdefg/sos_commands/pci", "gpu-017"),
        ("sosreport-gpu017-01234567-2024-05-15-abcdefg.tar.xz/sosreport-gpu017-2024-05-15-abcdefg/proc", "gpu017"),
        ("rack3/gpu-017/sys/class/infiniband", "gpu-017"),
        ("gpu-017/nvidia-smi", "gpu-017"),
        ("logs", ""),
        ("before", ""),
        ("incident.tgz/incident", ""),
        ("t1-later/gpu-2", "gpu-2"),
        ("2024-05-15", ""),
    ],
)
def test_the_host_of_a_folder(folders, host):
    assert host_of_folder(tuple(folders.split("/"))) == host


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("t0-lspci.txt", "t0"),
        ("gpu-1/t1_lspci.txt", "t1"),
        ("before/gpu-1/lspci.txt", "t0"),
        ("lspci-after.txt", "t1"),
        ("t10/x", "t10"),
        ("nvidia-smi-t4.txt", ""),
        ("topo.txt", ""),
        ("t0/before.txt", "t0"),
    ],
)
def test_the_moment_of_a_name(name, moment):
    assert moment_of(name) == moment


HOSTS = st.sampled_from(["", "gpu-1", "gpu-2", "gpu-1.example.com", "localhost", "[", "gpu[1-2]", "a,b"])
PLACES = st.sampled_from(["", "gpu-1/", "gpu-2/logs/", "logs/", "t0/", "a.tgz/a/"])
NAMES = st.sampled_from(["x", "x-gpu-1.txt", "x-gpu-3", "hostname"])


@given(st.lists(st.tuples(PLACES, NAMES, HOSTS, st.lists(HOSTS, max_size=3)), max_size=8))
def test_nothing_is_lost_and_what_a_text_says_of_itself_stands(files):
    sections = []
    for place, name, host, lines in files:
        readings = [KernelLine(number, None, OffBus("0000:1b:00.0"), who) for number, who in enumerate(lines)]
        sections.append(Section(place + name, host, TOOL, Parsed(readings), 1, ()))
    told = list(with_nodes(sections))
    assert {section.name for section, _ in told} == {section.name for section in sections}
    assert sum(len(section.parsed.readings) for section, _ in told) >= sum(len(one.parsed.readings) for one in sections)
    for section, node in told:
        assert node
        assert "/" not in node
        speakers = {line.host for line in section.parsed.readings} - {"", "localhost", "[", "gpu[1-2]", "a,b"}
        if section.host in ("gpu-1", "gpu-2"):
            assert node == section.host
        elif len(speakers) == 1 and not section.host:
            assert next(iter(speakers)).startswith(node)
