import gzip
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers import intake
from lanescope.parsers.bandwidth.nccl_tests import CollectiveSummary
from lanescope.parsers.parsed import Parsed
from lanescope.parsers.tool import Tool

DATA = Path(__file__).parents[1] / "data" / "bandwidth"
SENDRECV = (DATA / "sendrecv_perf.txt").read_text()
BURN = "10.0%  proc'd: 5 (100 Gflop/s)   errors: 0   temps: 61 C\nTested 1 GPUs:\n\tGPU 0: OK\n"


def read(text, name="paste.txt"):
    data = text if isinstance(text, bytes) else text.encode()
    return list(intake.read(name, io.BytesIO(data)))


def tools(sections):
    return [section.tool.name if section.tool else None for section in sections]


def count_lines(lines):
    parsed = Parsed[int]()
    for number, line in lines:
        if "Xid" in line:
            parsed.add(number)
    return parsed


LOG = Tool(
    name="a log",
    recognizes=lambda head: "NVRM: Xid" in head,
    parse=lambda text: count_lines(enumerate(text.split("\n"), 1)),
    parse_lines=count_lines,
    file_names=("*.log", "dmesg*"),
)


@pytest.fixture
def only_a_log(monkeypatch):
    """A log as the only known tool, so that what happens to one does not hang on how logs are recognized."""
    monkeypatch.setattr(intake, "TOOLS", (LOG,))
    monkeypatch.setattr(intake, "recognize", lambda text: LOG if LOG.recognizes(text[:65_536]) else None)


def test_one_output_is_one_section_of_its_tool():
    [section] = read(SENDRECV)
    assert (section.tool.name, section.host, section.first_line, section.notes) == ("nccl-tests", "", 1, ())
    assert section.parsed.unread == []


def test_two_tools_outputs_in_one_paste_are_two_sections_with_host_and_command():
    sections = read(f"[root@gpu-017 ~]# ./sendrecv_perf\n{SENDRECV}[root@gpu-017 ~]# ./gpu_burn 60\n{BURN}")
    assert tools(sections) == ["nccl-tests", "gpu-burn"]
    assert [(one.host, one.command) for one in sections] == [
        ("gpu-017", "./sendrecv_perf"),
        ("gpu-017", "./gpu_burn 60"),
    ]
    assert sections[1].first_line == 2 + SENDRECV.count("\n")


def test_lines_of_two_machines_that_alternate_are_read_machine_by_machine():
    pairs = zip(SENDRECV.splitlines(), SENDRECV.replace("71.4525", "12.5").splitlines(), strict=True)
    sections = read("".join(f"gpu1: {one}\ngpu2: {other}\n" for one, other in pairs))
    averages = [
        (section.host, reading.average_busbw)
        for section in sections
        for reading in section.parsed.readings
        if isinstance(reading, CollectiveSummary)
    ]
    assert averages == [("gpu1", 71.4525), ("gpu2", 12.5)]


def test_line_numbers_are_the_files_and_not_the_parts():
    broken = SENDRECV.replace("2097152        524288", "2097152        hidden", 1)
    above = "$ uptime\nup 3 days\n$ ./sendrecv_perf\n"
    line = broken[: broken.index("hidden")].count("\n") + 1
    sections = read(above + broken)
    assert [unread.number for unread in sections[1].parsed.unread] == [line + 3]
    [section] = read("".join(f"gpu1: {one}\n\n" for one in broken.splitlines()))
    assert [unread.number for unread in section.parsed.unread] == [2 * line - 1]


def test_what_no_tool_is_known_for_is_named_by_its_beginning():
    [section] = read("\n\x1b[31mTraceback\x1b[0m (most\trecent call last):\n")
    assert (section.tool, section.parsed) == (None, None)
    assert section.notes == ("no known tool's output: begins with `Traceback (most recent call last):`",)


def test_a_command_that_printed_nothing_is_told():
    sections = read(f"$ modprobe nvidia\n$ ./sendrecv_perf\n{SENDRECV}$ \n")
    assert [section.notes for section in sections] == [("`modprobe nvidia` printed nothing",), ()]


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "holds blank lines only"),
        (b"\x7fELF\x02\x01" + b"\x00" * 500, "the file is a program: not read as text"),
        (b"PK\x03\x04zip", "the file is a zip archive: not read as text"),
        (gzip.compress(gzip.compress(b"log", mtime=0), mtime=0), "the file is gzip-compressed twice: not read as text"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
    ],
    ids=["empty", "blank", "program", "zip", "packed twice", "packed nothing"],
)
def test_files_without_text_say_what_they_are(data, note):
    [section] = read(data)
    assert (section.tool, section.notes) == (None, (note,))


def test_a_name_that_promises_another_tool_is_noted():
    [section] = read(SENDRECV, "/tmp/gpu_burn.txt.gz")
    assert section.notes == ("its name suggests gpu-burn, but its content is that of nccl-tests",)
    [section] = read("hello\n", "gpu-burn.log")
    assert "its name suggests gpu-burn, but nothing in it is recognized as such" in section.notes
    [section] = read(SENDRECV, "nccl-tests.log")
    assert section.notes == ()


def test_a_form_known_from_its_source_alone_says_so():
    [section] = read((DATA / "nvbandwidth.json").read_text())
    assert section.notes == ("the form of nvbandwidth -j is known from NVIDIA/nvbandwidth json_output.cpp alone",)


def test_compressed_output_is_read_like_any_other():
    [section] = read(gzip.compress(SENDRECV.encode(), mtime=0), "sendrecv.log.gz")
    assert section.tool.name == "nccl-tests"


def test_a_file_past_the_limit_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(intake, "MOST_TEXT", 1024 * 1024)
    [section] = read(SENDRECV + ("#" + "-" * 1000 + "\n") * 1100)
    assert section.notes == ("only the first 1 MiB were read",)


def test_text_of_windows_powershell_is_read():
    [section] = read(SENDRECV.replace("\n", "\r\n").encode("utf-16"))
    assert section.tool.name == "nccl-tests"
    assert section.parsed.unread == []


@pytest.mark.usefixtures("only_a_log")
def test_a_log_is_read_line_by_line_in_little_memory():
    block = b"[ 2.0] NVRM: Xid\n" + b"[ 1.0] something of no interest whatever\n" * 4000

    class Endless(io.RawIOBase):
        left = 200

        def read(self, size=-1):
            self.left -= 1
            return block if self.left > 0 else b""

    tracemalloc.start()
    [section] = intake.read("dmesg.txt", Endless())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(section.parsed.readings) == 199
    assert section.parsed.readings[-1] == 198 * 4001 + 1
    assert peak < 30_000_000


@pytest.mark.usefixtures("only_a_log")
def test_a_log_with_holes_long_lines_and_strange_bytes_says_so():
    [section] = read(b"NVRM: Xid\n" + b"\x00" * 100 + b"x" * 100_000 + b"\ncaf\xe9 NVRM: Xid\n", "dmesg")
    assert section.parsed.readings == [1, 3]
    assert len(section.notes) == 3


@pytest.mark.usefixtures("only_a_log")
def test_a_log_whose_lines_look_prefixed_is_not_taken_apart():
    [section] = read("gpu0: NVRM: Xid 79\ngpu0: NVRM: Xid 48\nother line\n")
    assert (section.host, section.parsed.readings) == ("", [1, 2])


@pytest.mark.usefixtures("only_a_log")
def test_a_log_of_several_machines_keeps_its_hosts_wherever_a_read_cuts_it(monkeypatch):
    monkeypatch.setattr(intake, "MOST_TEXT", 300_001)
    sections = read("gpu1: NVRM: Xid 79 x\ngpu2: NVRM: Xid 48 y\n" * 10_000)
    assert [section.host for section in sections] == ["gpu1", "gpu2"]
    assert [section.parsed.readings[:2] for section in sections] == [[1, 3], [2, 4]]
    assert sections[0].notes == ("only the first 0 MiB were read",)


@pytest.mark.usefixtures("only_a_log")
def test_a_log_after_a_prompt_keeps_its_host():
    [section] = read("root@gpu-3:~# dmesg -T\n[1.0] NVRM: Xid\n")
    assert (section.host, section.command, section.parsed.readings) == ("gpu-3", "dmesg -T", [2])


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode), st.text(max_size=20))
def test_nothing_in_a_file_or_its_name_makes_reading_raise(data, name):
    sections = read(data, name) + read(SENDRECV.encode()[: len(data)] + data)
    assert all(section.parsed is not None or section.notes for section in sections)
