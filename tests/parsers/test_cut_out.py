"""What people cut out of outputs: pieces of `nvidia-smi -q`, states of services, lists, complaints, a BMC's log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.host.complaints import BelowLimit, InactiveLinks
from lanescope.parsers.host.modules import KernelModule
from lanescope.parsers.host.power_table import PowerTableMiss
from lanescope.parsers.host.processes import Process
from lanescope.parsers.host.services import ServiceStatus
from lanescope.parsers.logs.kernel_log import KernelLine
from lanescope.parsers.nvidia_smi.gpu_report import GpuReport
from lanescope.parsers.tools import TOOLS, recognize

FABRIC = "Fabric\n    State                             : In Progress\n    Status                            : N/A\n"
REASONS = (
    "Clocks Throttle Reasons\n    Idle                              : Not Active\n"
    "    HW Slowdown                       : Active\n        HW Power Brake Slowdown       : Active\n"
)
STATUS = (
    "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
    "     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n"
    "     Active: failed (Result: exit-code) since Mon 2026-11-30 10:00:00 UTC; 3h ago\n"
    "   Main PID: 700 (code=exited, status=1/FAILURE)\n"
)
TEXTS = {
    "nvidia-smi -q excerpt": FABRIC + FABRIC,
    "systemctl status": STATUS,
    "systemctl is-active": "active\ninactive\n",
    "lsmod": "Module      Size  Used by\nnvidia_peermem   16384  0\nib_core   319488  2 rdma_cm,mlx5_ib\n",
    "pgrep -a": "101 /usr/bin/nv-hostengine -n\n202 python3 train.py\n",
    "node health check": "ERROR: check_nvlink: GPU 2 has nvlinks inactive: Link 4: Inactive Link 5: Inactive\n",
    "BMC power table log": "Looking for VID=0x10de DID=0x26b5\nDidn't find a power table match for device\n",
}


def readings(text):
    tool = recognize(text)
    assert tool is not None
    return tool.parse(text).readings


@pytest.mark.parametrize("tool", TEXTS)
def test_each_is_recognized_as_one_tools_and_no_others(tool):
    assert [one.name for one in TOOLS if one.recognizes(TEXTS[tool])] == [tool]


@given(name=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 300), junk=st.text(max_size=40))
def test_none_of_them_raises_however_mangled(name, at, junk):
    tool = next(one for one in TOOLS if one.name == name)
    text = TEXTS[name][:at] + junk + TEXTS[name][at:]
    tool.recognizes(text)
    tool.parse(text)


def test_a_block_that_comes_again_is_another_gpus():
    gpus = [one for one in readings(FABRIC + FABRIC) if isinstance(one, GpuReport)]
    assert [(gpu.fabric_state, gpu.bus_address, gpu.index) for gpu in gpus] == [("In Progress", None, None)] * 2


def test_throttle_and_event_reasons_are_the_same():
    (gpu,) = [one for one in readings(REASONS) if isinstance(one, GpuReport)]
    assert gpu.event_reasons.hw_power_brake_slowdown is True
    assert gpu.event_reasons.idle is False


def test_a_whole_report_is_no_piece():
    whole = "==============NVSMI LOG==============\n\nDriver Version    : 550.1\nAttached GPUs     : 1\n" + FABRIC
    tool = recognize(whole)
    assert tool is not None
    assert tool.name == "nvidia-smi -q"


def test_keys_that_no_report_has_are_no_piece_of_one():
    assert recognize("Title    : a talk\nSpeaker  : somebody\n") is None


def test_a_services_state_its_reason_and_how_its_process_ended():
    said = ServiceStatus(
        "nvidia-fabricmanager.service", "failed", "Result: exit-code", "Mon 2026-11-30 10:00:00 UTC",
        "code=exited, status=1/FAILURE",
    )  # fmt: skip
    assert readings(STATUS) == [said]


def test_modules_with_and_without_users():
    assert readings(TEXTS["lsmod"])[1] == KernelModule("ib_core", 319488, 2, ("rdma_cm", "mlx5_ib"))


def test_processes_by_their_program():
    found = readings(TEXTS["pgrep -a"])
    assert found[0] == Process(101, "/usr/bin/nv-hostengine -n")
    assert [one.program for one in found] == ["nv-hostengine", "python3"]


def test_a_checks_complaints():
    low = "ERROR: check_gpu_bw: P2P test on GPU 1 to GPU 0 failed. Bandwidth 256.63 is less than 335.\n"
    assert readings(TEXTS["node health check"]) == [InactiveLinks(2, (4, 5), "check_nvlink")]
    assert readings(low) == [BelowLimit("check_gpu_bw", "P2P test on GPU 1 to GPU 0", 256.63, 335.0)]


def test_only_a_device_that_was_looked_up_in_vain_is_missed():
    assert readings(TEXTS["BMC power table log"]) == [PowerTableMiss("10de:26b5", "")]


def test_a_kernel_line_with_a_bare_time_of_day_is_read():
    (line,) = readings("03:51:02 kernel: NVRM: Xid (PCI:0000:9c:00): 48, pid=1, name=x, DBE (double bit error)\n")
    assert isinstance(line, KernelLine)
    assert line.stamp is not None
    assert line.stamp.seconds == 3 * 3600 + 51 * 60 + 2


def test_a_journal_without_times_keeps_host_and_program():
    (line,) = readings("n7 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.\n")
    assert (line.host, line.kind) == ("n7", "ServiceState")
