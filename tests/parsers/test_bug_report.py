import io
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers import intake
from lanescope.parsers.bug_report import is_bug_report, sections
from lanescope.parsers.origin import host_told, time_told

RULE = "____________________________________________\n\n"
START = (
    f"{RULE}Start of NVIDIA bug report log file.  Please include this file.\n\nnvidia-bug-report.sh Version: 1\n\n"
    "Date: Wed May 15 09:20:25 UTC 2024\nuname: Linux gpu-017 5.15.0-105-generic #115-Ubuntu SMP x86_64 GNU/Linux\n"
)
LSMOD = (
    "Module                  Size  Used by\nnvidia_uvm           1732608  4\n"
    "nvidia              56717312  1 nvidia_uvm\n"
)
KERNEL = "[   12.000000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n"


def read(text):
    return list(intake.read("nvidia-bug-report.log", io.BytesIO(text.encode())))


def test_every_section_is_its_tools_with_the_reports_host_and_date():
    report = f"{START}{RULE}/sbin/lsmod\n\n{LSMOD}{RULE}*** /var/log/kern.log\n*** ls: -rw 1 root\n{KERNEL}{RULE}End\n"
    found = [one for one in read(report) if one.tool]
    assert [(one.tool.name, one.host, one.taken, one.command) for one in found] == [
        ("lsmod", "gpu-017", 1715764825.0, "/sbin/lsmod"),
        ("kernel log", "gpu-017", 1715764825.0, "cat /var/log/kern.log"),
    ]


def test_line_numbers_are_the_reports():
    report = f"{START}{RULE}dmesg\n\n{KERNEL}"
    [log] = [one for one in read(report) if one.tool]
    assert [line.number for line in log.parsed.readings] == [report.count("\n")]


def test_a_section_that_nobody_knows_is_named_and_passed_over_in_little_memory():
    line = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 2 + "\n"
    report = f"{START}{RULE}nvidia-debugdump -D\n\n{line * 300_000}{RULE}/sbin/lsmod\n\n{LSMOD}".encode()
    tracemalloc.start()
    found = list(intake.read("x", io.BytesIO(report)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.tool and one.tool.name for one in found][-2:] == [None, "lsmod"]
    assert "no known tool's output" in found[-2].notes[0]
    assert peak < 20_000_000


def test_a_section_longer_than_is_read_says_so(monkeypatch):
    monkeypatch.setattr(intake, "MOST_SECTION", 100_000)
    modules = "".join(f"module{number} 4096 0\n" for number in range(20_000))
    [long] = [one for one in read(f"{START}{RULE}/sbin/lsmod\n\n{LSMOD}{modules}") if one.tool]
    assert any("were read" in note for note in long.notes)


LINES = st.sampled_from(["text", "", "____________________________________________", "*** /proc/x", "*** ls: y", "__"])


@given(st.lists(LINES, max_size=30))
def test_every_line_of_text_is_in_one_section_or_a_heading(lines):
    found = [(one.command, list(one.lines)) for one in sections(enumerate(lines, 1))]
    printed = [number for _, body in found for number, _ in body]
    assert printed == sorted(set(printed))
    headings = sum(command != "" for command, _ in found)
    assert sum(line == "text" for line in lines) <= sum(lines[number - 1] == "text" for number in printed) + headings


def test_other_texts_are_no_bug_reports():
    assert is_bug_report(START)
    assert not any(is_bug_report(text) for text in (LSMOD, KERNEL, "__\n", ""))


def test_what_texts_say_of_their_host():
    assert host_told("hostname", "gpu-3\n") == "gpu-3"
    assert host_told("uname -a", "Linux gpu-3 5.15.0-1 #1 SMP x86_64\n") == "gpu-3"
    assert host_told("", " Static hostname: gpu-3\n       Icon name: computer-server\n") == "gpu-3"
    assert host_told("", "Linux is an operating system\n") == host_told("hostname", "localhost\n") == ""


def test_what_texts_say_of_their_time():
    then = 1715764825.0
    for text in (
        "Wed May 15 09:20:25 2024\n+----",
        "Wed May 15 09:20:25 UTC 2024\n",
        "Wed 15 May 2024 09:20:25 AM UTC\n",
        "Timestamp                                 : Wed May 15 09:20:25 2024\n",
        "\t<timestamp>Wed May 15 09:20:25 2024</timestamp>\n",
        "timestamp, name\n2024/05/15 09:20:25.123, NVIDIA H100\n",
    ):
        assert time_told(text) == then
    assert time_told("Wed May 99 09:20:25 2024\n") is None
    assert time_told("[Wed May 15 09:20:25 2024] NVRM: Xid\n") is None
