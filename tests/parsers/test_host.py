"""What a node's operating system says of limits, mounts, modules, settings and versions, as people paste it."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.host.containers import parse_containers
from lanescope.parsers.host.governors import parse_governors
from lanescope.parsers.host.limits import parse_limits
from lanescope.parsers.host.module_files import parse_module_files
from lanescope.parsers.host.mounts import parse_disk_space, parse_mounts, size_of
from lanescope.parsers.host.paths import DeviceFile, MemoryPeer, MissingPath, parse_paths
from lanescope.parsers.host.ping import parse_ping
from lanescope.parsers.host.sysctl import parse_sysctl
from lanescope.parsers.host.versions import SoftwareVersion
from lanescope.parsers.tools import TOOLS, recognize

TEXTS = {
    "ulimit": "max locked memory           (kbytes, -l) 64\nPOSIX message queues            (bytes, -q) 819200\n",
    "df": "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M  4.0K   64M   1% /dev/shm\n",
    "mount": "shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k)\n",
    "modinfo": "filename:       /lib/modules/5.15/updates/nvidia-peermem.ko\nversion:        535.104.05\n",
    "ls": "ls: cannot access '/sys/kernel/mm/memory_peers/': No such file or directory\n",
    "sysctl": "kernel.numa_balancing = 1\nnet.ipv4.conf.all.arp_ignore = 0\n",
    "cpupower frequency-info": "    96 powersave\n",
    "docker inspect": '            "IpcMode": "private",\n            "ShmSize": 67108864,\n',
    "ping": "PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.\nping: local error: message too long, mtu=1500\n",
    "uname -a": "Linux gpu-017 5.15.0-105-generic #115-Ubuntu SMP Mon Apr 15 09:52:04 UTC 2024 x86_64 GNU/Linux\n",
    "/sys/class/dmi/id": "/sys/class/dmi/id/bios_version:1.4.2\n/sys/class/dmi/id/product_name:DGX H100\n",
    "ofed_info -s": "MLNX_OFED_LINUX-23.10-1.1.9.0:\n",
    "nv-fabricmanager --version": "Fabric Manager version is : 535.104.05\n",
}


@pytest.mark.parametrize("tool", TEXTS)
def test_an_output_is_recognized_as_one_tools_and_no_others_and_read_whole(tool):
    assert [one.name for one in TOOLS if one.recognizes(TEXTS[tool])] == [tool]
    found = recognize(TEXTS[tool])
    assert found is not None
    parsed = found.parse(TEXTS[tool])
    assert parsed.readings
    assert parsed.unread == []


@given(name=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 200), junk=st.text(max_size=40))
def test_no_text_however_mangled_makes_a_parser_raise(name, at, junk):
    tool = next(one for one in TOOLS if one.name == name)
    text = TEXTS[name][:at] + junk + TEXTS[name][at:]
    tool.recognizes(text)
    tool.parse(text)


def test_a_shells_kilobytes_and_the_kernels_bytes_are_the_same_limit():
    (shell,) = parse_limits("max locked memory (kbytes, -l) 64").readings
    (kernel,) = parse_limits("Max locked memory         65536                unlimited            bytes     ").readings
    assert (shell.name, shell.soft) == (kernel.name, kernel.soft) == ("locked memory", 65536)
    assert (shell.hard, kernel.hard) == (None, inf)


def test_an_unlimited_limit_is_infinite():
    (limit,) = parse_limits("max locked memory           (kbytes, -l) unlimited").readings
    assert limit.soft == inf


@pytest.mark.parametrize(
    ("text", "size"), [("64M", 64 << 20), ("65536k", 64 << 20), ("1.5G", 1.5 * 2**30), ("50%", None)]
)
def test_sizes_are_powers_of_1024(text, size):
    assert size_of(text) == size


def test_blocks_without_a_unit_are_kibibytes_and_a_row_may_lack_its_heading():
    (with_heading,) = parse_disk_space(
        "Filesystem 1K-blocks Used Available Use% Mounted on\nshm 65536 0 65536 0% /dev/shm"
    ).readings
    (alone,) = parse_disk_space("tmpfs  504G  0  504G  0% /dev/shm").readings
    assert with_heading.size_bytes == 64 << 20
    assert (alone.mounted_on, alone.size_bytes) == ("/dev/shm", 504 * 2**30)


def test_the_kernels_list_of_mounts_is_read_as_that_of_mount():
    (printed,) = parse_mounts("shm on /dev/shm type tmpfs (rw,size=65536k)").readings
    (listed,) = parse_mounts("shm /dev/shm tmpfs rw,size=65536k 0 0").readings
    assert printed == listed
    assert printed.size_bytes == 64 << 20


def test_a_module_that_is_not_there_has_no_path():
    (module,) = parse_module_files("modinfo: ERROR: Module nvidia-peermem not found.").readings
    assert (module.name, module.path) == ("nvidia_peermem", "")


def test_listings_tell_what_is_there_and_complaints_what_is_not():
    text = (
        "total 0\ncrw-rw-rw- 1 root root 231, 192 Mar  1 10:00 uverbs0\n"
        "/sys/kernel/mm/memory_peers/nv_mem/version:1.3-0\n"
        "ls: cannot access '/dev/infiniband': No such file or directory\n"
    )
    assert parse_paths(text).readings == [DeviceFile("uverbs0"), MemoryPeer("nv_mem"), MissingPath("/dev/infiniband")]


def test_governors_are_counted_in_whichever_form():
    assert parse_governors("performance\nperformance\npowersave\n").readings[0].cpus == 2
    (asked,) = parse_governors(
        'analyzing CPU 0:\n  driver: intel_pstate\n  The governor "powersave" may decide which speed to use\n'
    ).readings
    assert (asked.name, asked.driver) == ("powersave", "intel_pstate")


def test_a_container_tells_what_it_was_given_and_nothing_else():
    (container,) = parse_containers(
        '"Name": "/train",\n"ShmSize": 8589934592, "IpcMode": "host", "Devices": [{"PathOnHost": "/dev/infiniband"}],\n'
        '"Ulimits": [ { "Name": "memlock", "Hard": -1, "Soft": -1 } ]\n'
    ).readings
    assert (container.name, container.shm_bytes, container.ipc_mode) == ("train", 8 << 30, "host")
    assert (container.devices, container.locked_memory) == (("/dev/infiniband",), inf)
    assert (container.privileged, container.capabilities) == (None, None)


def test_a_ping_that_is_too_long_names_the_mtu_and_the_router_that_refused_it():
    (run,) = parse_ping(
        "PING 10.1.0.2 (10.1.0.2) 8972(9000) bytes of data.\n"
        "From 10.1.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)\n"
        "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2042ms\n"
    ).readings
    assert (run.payload, run.too_long_for, run.refused_by, run.received) == (8972, 1500, "10.1.0.1", 0)


def test_settings_keep_their_values_without_runs_of_blanks():
    (setting,) = parse_sysctl("net.ipv4.tcp_rmem = 4096\t131072\t6291456").readings
    assert setting.value == "4096 131072 6291456"


def test_a_version_names_its_host_where_the_line_does():
    tool = recognize(TEXTS["uname -a"])
    assert tool is not None
    assert tool.parse(TEXTS["uname -a"]).readings == [SoftwareVersion("kernel", "5.15.0-105-generic", "gpu-017")]
