import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.paste import split


def told(text):
    return [(part.host, part.command, part.first_line, part.text) for part in split(text)]


def test_one_output_is_one_part():
    assert told("GPU 0\nLink 0: up\n") == [("", "", 1, "GPU 0\nLink 0: up\n")]


def test_pdsh_prefixes_gather_each_hosts_lines_in_their_order():
    text = "gpu1: a\ngpu2: x\ngpu1:\ngpu1:   b\ngpu2: y\n"
    assert told(text) == [("gpu1", "", 1, "a\n\n  b\n"), ("gpu2", "", 2, "x\ny\n")]
    assert [list(part.numbers) for part in split(text)] == [[1, 3, 4], [2, 5]]


def test_what_pdsh_says_of_a_host_belongs_to_that_host():
    text = "gpu1: a\ngpu1: b\npdsh@admin: gpu1: ssh exited with exit code 1\nclush: gpu2: exited with exit code 255\n"
    assert told(text) == [
        ("gpu1", "", 1, "a\nb\nssh exited with exit code 1\n"),
        ("gpu2", "", 4, "exited with exit code 255\n"),
    ]


def test_one_line_a_host_is_told_from_a_table_of_keys():
    assert [part.host for part in split("gpu1: 550.54\ngpu2: 550.54\ngpu3: 535.1\n")] == ["gpu1", "gpu2", "gpu3"]
    assert told("Architecture: x86_64\nModel: 106\nNUMA node0: 0-55\n")[0][0] == ""
    assert told("speed: 1\nname: a\nspeed: 2\nname: b\n")[0][0] == ""


def test_a_line_without_prefix_means_that_prefixes_are_none():
    assert len(split("gpu1: a\ngpu1: b\nsomething else\n")) == 1


@pytest.mark.parametrize("rule", ["----------------", "---------------"])
def test_dshbak_and_clush_headings_name_sets_of_hosts(rule):
    text = f"{rule}\ngpu[001-003] (3)\n{rule}\nup\nup\n{rule}\ngpu004\n{rule}\ndown\n"
    assert told(text) == [("gpu[001-003]", "", 1, "up\nup\n"), ("gpu004", "", 6, "down\n")]
    assert [list(part.numbers)[:2] for part in split(text)] == [[4, 5], [9, 10]]


def test_a_ruled_title_is_no_host():
    assert len(split("----------\nRDMA_Write BW Test\n----------\n x\n")) == 1
    assert len(split("----------\nDiscovery\n-I- done\n")) == 1


def test_ansible_headings_name_hosts():
    assert told("gpu1 | CHANGED | rc=0 >>\nup\ngpu2 | UNREACHABLE! => {\n}\n") == [
        ("gpu1", "", 1, "up\n"),
        ("gpu2", "", 3, "}\n"),
    ]


@pytest.mark.parametrize(
    ("prompt", "host", "command"),
    [
        ("[root@gpu-017 ~]# nvidia-smi topo -m", "gpu-017", "nvidia-smi topo -m"),
        ("alice@gpu-017:~/logs$ ibstat", "gpu-017", "ibstat"),
        ("(base) root@gpu-017:/# dmesg -T | tail", "gpu-017", "dmesg -T | tail"),
        ("$ ./build/all_reduce_perf -b 8", "", "./build/all_reduce_perf -b 8"),
        ("# nvidia-smi -q", "", "nvidia-smi -q"),
        ("+ nvidia-smi nvlink -s", "", "nvidia-smi nvlink -s"),
    ],
)
def test_prompts_begin_a_part_with_host_and_command(prompt, host, command):
    text = f"above\n{prompt}\nbelow\n"
    assert told(text) == [("", "", 1, "above\n"), (host, command, 2, "below\n")]


@pytest.mark.parametrize(
    "line", ["# nThread 1 nGpus 8", "#", "# Out of bounds values : 0 OK", "$5 was paid", "a # b", "+---+"]
)
def test_lines_that_tools_print_are_no_prompts(line):
    assert len(split(f"above\n{line}\nbelow\n")) == 1


def test_prompts_inside_one_hosts_block_keep_the_host():
    rule = "-" * 16
    assert told(f"{rule}\ngpu7\n{rule}\n$ ibstat\nCA\n$ lspci\n00:00.0\n") == [
        ("gpu7", "ibstat", 1, "CA\n"),
        ("gpu7", "lspci", 6, "00:00.0\n"),
    ]


def test_sections_and_files_of_a_bug_report_are_commands():
    text = (
        "____________________________________________\n\n/usr/bin/nvidia-smi --query\n\nout\n"
        "____________________________________________\n\n*** /proc/cmdline\nroot=/dev/sda\n*** /etc/issue\nLinux\n"
    )
    assert [(part.command, part.text.strip()) for part in split(text)] == [
        ("/usr/bin/nvidia-smi --query", "out"),
        ("*** /proc/cmdline", "root=/dev/sda"),
        ("cat /etc/issue", "Linux"),
    ]


def test_a_heading_that_one_run_prints_once_begins_another_run():
    once = "==============NVSMI LOG==============\nDriver Version : 550\n"
    assert [part.first_line for part in split(once + once)] == [1, 3]
    assert len(split("\n\n" + once)) == 1


LINES = st.sampled_from(
    [
        *("gpu1: a", "gpu2: b", "gpu1:", "", "----------------", "gpu7", "$ ibstat", "[root@g1 ~]# "),
        *("text of it", "\tmore"),
        *("x | CHANGED | rc=0 >>", "_" * 44, "*** /proc/cmdline", "=====NVSMI LOG=====", "pdsh@a: gpu1: b"),
    ]
)


@given(st.lists(LINES, max_size=30), st.booleans())
def test_every_line_belongs_to_one_part_or_to_a_heading(lines, ended):
    text = "\n".join(lines) + ("\n" if ended else "")
    printed = [number for part in split(text) for number in part.numbers]
    assert len(printed) == len(set(printed))
    for part in split(text):
        for number, line in zip(part.numbers, part.text.split("\n"), strict=False):
            assert number > len(lines) or lines[number - 1].endswith(line)
    headings = set(range(1, len(lines) + 1)) - set(printed)
    assert all(not lines[number - 1].startswith(("text of it", "\tmore")) or "_" * 44 in lines for number in headings)
