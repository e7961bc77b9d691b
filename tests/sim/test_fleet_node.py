"""What code sees on a simulated node: its files, names, clock and kernel log, through the node's own `python3`."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lanescope.sim.hosts import Host, prepare
from lanescope.sim.scenario import load_scenario
from lanescope.sim.world import World

SCENARIO = """
platform = "h100_hgx"
nodes = 2
seed = 1
speed = 50.0
[world]
clock_skew = 60.0
storage_nics = true
tenants = 0.0
[[fault]]
component = "sim1/gpu3/nvlink7"
kind = "degraded"
slowdown = 0.9
share = "gate"
counters = { recovery_errors = { rate = 20, trials = 1.0 } }
[[fault]]
component = "sim1/mlx5_4/pcie"
kind = "degraded"
width = 8
[[fault]]
component = "sim2/gpu5"
kind = "hard"
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, dict[str, Host]]:
    """Two prepared nodes, with no SSH in between."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "two.toml").write_text(SCENARIO, "utf-8")
    scenario = load_scenario(folder / "two.toml")
    (folder / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    began = time.time() - 30.0
    hosts = {name: prepare(folder, scenario, name, began) for name in scenario.nodes}
    return World(scenario, began), hosts


@pytest.fixture(scope="module")
def sim1(world: tuple[World, dict[str, Host]]) -> Run:
    return on(world[1]["sim1"])


@pytest.fixture(scope="module")
def sim2(world: tuple[World, dict[str, Host]]) -> Run:
    return on(world[1]["sim2"])


def on(host: Host) -> Run:
    """Runs a command line as the node's SSH server would; its stdout."""

    def run(command: str, stdin: str = "", status: int = 0) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=stdin,
            env=host.environment(),
            cwd=host.home,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    return run


def python(run: Run, code: str, options: str = "-I -S -u") -> str:
    return run(f"exec python3 {options} -", stdin=code)


def test_code_in_c_sees_its_arguments_and_the_standard_library_alone(sim1: Run) -> None:
    code = "import sys; print(sys.argv); import numpy.nothing"
    assert sim1(f"python3 -I -S -u -c '{code}' one two 2>/dev/null", status=1) == "['-c', 'one', 'two']\n"
    paths = json.loads(python(sim1, "import sys, json; print(json.dumps(sys.path))"))
    assert not any("site-packages" in path for path in paths)


def test_a_script_and_a_module_run_as_main(sim1: Run) -> None:
    sim1("printf 'import sys\\nprint(__name__, __file__, sys.argv)\\n' > here.py")
    assert sim1("python3 here.py x") == "__main__ here.py ['here.py', 'x']\n"
    assert sim1("echo '{\"a\":1}' | python3 -m json.tool --compact") == '{"a":1}\n'
    assert sim1("python3 --version").startswith("Python 3.")


def test_code_that_exits_or_raises_has_its_exit_status(sim1: Run) -> None:
    sim1("python3 -c 'raise SystemExit(7)'", status=7)
    sim1("python3 -c 'raise ValueError' 2>/dev/null", status=1)


def test_code_can_start_the_interpreter_it_runs_in(sim1: Run) -> None:
    code = """
import subprocess, sys
own = "import os; print(os.listdir('/sys/class/infiniband')[0])"
print(subprocess.check_output([sys.executable, "-c", own]).decode())
"""
    assert python(sim1, code).strip() == "mlx5_0"


def test_sysfs_has_the_hierarchy_of_the_platform(sim1: Run) -> None:
    code = """
import os, glob
print(os.path.realpath("/sys/bus/pci/devices/0000:19:00.0"))
print(os.path.realpath("/sys/class/infiniband/mlx5_0/device"))
print(sorted(glob.glob("/sys/class/infiniband/mlx5_0/ports/*")))
print(len([d for d, _, _ in os.walk("/sys/devices")]) > 50)
with os.scandir("/sys/class/net") as entries:
    print(sorted(e.name for e in entries if e.is_symlink() and e.is_dir())[:2])
"""
    assert python(sim1, code).splitlines() == [
        "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:19:00.0",
        "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:1a:00.0",
        "['/sys/class/infiniband/mlx5_0/ports/1']",
        "True",
        "['enp39s0f0np0', 'enp39s0f1np1']",
    ]


def test_what_is_not_there_is_not_there(sim1: Run) -> None:
    code = """
import os
print(os.path.exists("/sys/class/nothing"), os.access("/sys/class/net", os.W_OK), os.path.isdir("/proc/self"))
for attempt in (lambda: open("/sys/none"), lambda: os.open("/sys/class", 0), lambda: open("/sys/class/net", "w")):
    try: attempt()
    except OSError as e: print(type(e).__name__)
"""
    assert python(sim1, code).split("\n")[:4] == [
        "False False True",
        "FileNotFoundError",
        "IsADirectoryError",
        "PermissionError",
    ]


def test_a_kept_descriptor_reads_the_value_of_that_moment(sim1: Run) -> None:
    code = """
import os, time
up = os.open("/proc/uptime", os.O_RDONLY)
one = float(os.pread(up, 4096, 0).split()[0]); time.sleep(0.05); two = float(os.pread(up, 4096, 0).split()[0])
os.lseek(up, 0, 0); three = os.read(up, 4096); rest = os.read(up, 4096)
os.close(up); r, w = os.pipe(); os.write(w, b"mine")
print(two > one, bool(three), rest, os.read(min(r, w), 10))
"""
    assert python(sim1, code) == "True True b'' b'mine'\n"


def test_the_narrow_nic_reads_x8_of_x16_and_the_empty_port_is_down(sim1: Run) -> None:
    code = """
read = lambda p: open(p).read().strip()
link = "/sys/class/infiniband/mlx5_4/device/"
print(read(link + "current_link_width"), read(link + "max_link_width"), read(link + "max_link_speed"))
print(read("/sys/class/infiniband/mlx5_0/ports/1/rate"), "|", read("/sys/class/infiniband/mlx5_2/ports/1/state"))
print(read("/sys/bus/pci/devices/0000:19:00.0/aer_dev_correctable").splitlines()[-1])
"""
    first, second, third = python(sim1, code).splitlines()
    assert first == "8 16 32.0 GT/s PCIe"
    assert second == "400 Gb/sec (4X NDR) | 1: DOWN"
    assert third.startswith("TOTAL_ERR_COR ")


def test_a_gpu_off_the_bus_answers_no_configuration_read(sim2: Run) -> None:
    code = """
try: open("/sys/bus/pci/devices/0000:bb:00.0/current_link_width").read()
except OSError as e: print(e.errno)
"""
    assert python(sim2, code) == "22\n"


def test_name_kernel_and_clock_are_the_nodes_own(world: tuple[World, dict[str, Host]], sim1: Run, sim2: Run) -> None:
    code = """
import os, socket, time, json
print(json.dumps([os.uname().nodename, socket.gethostname(), os.uname().release, time.time()]))
"""
    for run, node in ((sim1, "sim1"), (sim2, "sim2")):
        about = world[0].node(node)
        name, host, release, now = json.loads(python(run, code))
        assert name == host == about.hostname == run("hostname").strip()
        assert release == run("uname -r").strip()
        assert abs(now - (time.time() + about.clock_skew)) < 5.0
    assert abs(world[0].node("sim1").clock_skew - world[0].node("sim2").clock_skew) > 1.0


def test_abstract_sockets_of_two_nodes_do_not_meet(sim1: Run, sim2: Run) -> None:
    code = """
import socket, subprocess, sys
lock = socket.socket(socket.AF_UNIX); lock.bind("\\0lanescope-test")
again = "import socket; socket.socket(socket.AF_UNIX).bind(chr(0) + 'lanescope-test')"
print(subprocess.call([sys.executable, "-c", again], stderr=subprocess.DEVNULL))
print(subprocess.call([sys.argv[1], "-c", again]))
"""
    other = sim2("command -v python3").strip()
    assert sim1(f"exec python3 - {other}", stdin=code) == "1\n0\n"


def test_the_kernel_log_can_be_polled_and_read_record_by_record(sim2: Run) -> None:
    code = """
import os, select
fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
poll = select.poll(); poll.register(fd, select.POLLIN)
records = []
while poll.poll(0):
    records.append(os.read(fd, 8192).decode())
try: os.read(fd, 8192)
except BlockingIOError: print("none left")
print([r for r in records if "Xid" in r and ": 79," in r][0], end="")
os.lseek(fd, 0, os.SEEK_END)
"""
    empty, fallen = python(sim2, code).splitlines()
    assert empty == "none left"
    head, _, text = fallen.partition(";")
    assert head.count(",") == 3
    assert text.startswith("NVRM: Xid (PCI:0000:bb:00): 79")


def test_a_hung_domain_never_answers_while_others_do(tmp_path: Path) -> None:
    (tmp_path / "hung.toml").write_text('nodes = 1\n[[sick]]\nnode = "sim1"\nhow = "hangs"\ndomain = "ib"\n', "utf-8")
    scenario = load_scenario(tmp_path / "hung.toml")
    (tmp_path / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    host = prepare(tmp_path, scenario, "sim1", time.time())
    run = on(host)
    assert run("timeout 5 cat /sys/bus/pci/devices/0000:19:00.0/current_link_width") == "16\n"
    run("timeout 1 cat /sys/class/infiniband/mlx5_0/ports/1/state", status=124)


def test_a_node_without_python_has_its_other_tools(tmp_path: Path) -> None:
    (tmp_path / "bare.toml").write_text('nodes = 1\n[[sick]]\nnode = "sim1"\nhow = "no-python"\n', "utf-8")
    scenario = load_scenario(tmp_path / "bare.toml")
    (tmp_path / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    run = on(prepare(tmp_path, scenario, "sim1", time.time()))
    run("command -v python3 python", status=127 if os.path.realpath("/bin/sh").endswith("dash") else 1)
    assert run("nvidia-smi -L | wc -l").strip() == "8"
