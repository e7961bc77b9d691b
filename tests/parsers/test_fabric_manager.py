import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.logs import TOOLS
from lanescope.parsers.logs.fabric_manager import (
    FabricConfigured,
    FabricMessage,
    GpuLinkFault,
    ServiceState,
    SwitchError,
    VersionMismatch,
    parse_fabric_manager_log,
)
from lanescope.parsers.logs.kernel_log import KernelLine
from lanescope.parsers.logs.log_stamp import Clock, Stamp
from lanescope.parsers.logs.system_log import parse_system_log

ERROR = "[Jul 23 2024 07:53:55] [ERROR] [tid 841] "
FATAL = (
    f"{ERROR}detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33"
)
GPU_FAULT = """[Oct 13 2025 18:14:38] [ERROR] [tid 202] Fabric Manager detected GPU NVL Fatal error on :
moduleId : 3
gpuGuid : 0xED0A8727AFC3C6F9 # take note of the GPU GUIDs
portNum : 4
portDownReasonCode : 0x0A
[Oct 13 2025 18:14:39] [INFO] [tid 202] multicast group 0 is freed.
"""


def readings(text):
    return [line.reading for line in parse_fabric_manager_log(text).readings]


def journal(message, program="nv-fabricmanager[1120]"):
    return [line.reading for line in parse_system_log(f"Nov 05 13:55:26 node1 {program}: {message}").readings]


def test_a_switch_error_names_switch_port_number_and_severity():
    assert readings(FATAL) == [SwitchError(20034, True, 0, "0000:86:00.0", 3, 33)]


def test_the_time_of_a_record_is_the_nodes_own():
    assert parse_fabric_manager_log(FATAL).readings[0].stamp == Stamp(1721721235.0, Clock.LOCAL)


def test_a_switch_error_in_the_journal_names_its_node_by_another_word():
    words = "detected NVSwitch non-fatal error 22013 on NodeId 0 on NVSwitch pci bus id 00000000:08:00.0 physical id 3"
    assert journal(f"{words} port 60") == [SwitchError(22013, False, 0, "0000:08:00.0", 3, 60)]


def test_a_link_fault_of_an_nvl72_gpu_holds_the_fields_of_the_lines_below_it():
    fields = {"moduleId": "3", "gpuGuid": "0xED0A8727AFC3C6F9", "portNum": "4", "portDownReasonCode": "0x0A"}
    assert readings(GPU_FAULT) == [GpuLinkFault(True, fields)]


def test_an_error_of_unknown_wording_is_kept_in_its_words_and_information_is_not():
    text = f"{ERROR}failed to bind\n[Jul 23 2024 07:53:55] [INFO] [tid 841] multicast group 0 is freed.\n"
    assert readings(text) == [FabricMessage("failed to bind")]


def test_a_driver_of_another_version_is_told_with_both_versions():
    words = "fabric manager NVIDIA GPU driver interface version 550.127.05 don't match with driver version 550.120."
    assert journal(f"{words} Please update with matching NVIDIA driver package.") == [
        VersionMismatch("550.127.05", "550.120")
    ]


@pytest.mark.parametrize(
    ("message", "state"),
    [
        ("Starting NVIDIA fabric manager service...", "starting"),
        ("Started nvidia-fabricmanager.service - NVIDIA fabric manager service.", "started"),
        ("nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE", "failed"),
        ("nvidia-fabricmanager.service: Failed with result 'exit-code'.", "failed"),
        ("Failed to start NVIDIA fabric manager service.", "failed"),
        ("nvidia-fabricmanager.service: Deactivated successfully.", "stopped"),
        ("Stopped NVIDIA fabric manager service.", "stopped"),
    ],
)
def test_the_state_of_the_service_is_read_from_systemd(message, state):
    assert journal(message, "systemd[1]") == [ServiceState(state)]


def test_systemd_speaking_of_another_service_is_passed_over():
    assert journal("Started NVIDIA Persistence Daemon.", "systemd[1]") == []


def test_a_service_that_exits_with_success_has_not_failed():
    assert journal("nvidia-fabricmanager.service: Main process exited, code=exited, status=0/SUCCESS", "systemd") == []


def test_kernel_and_fabric_manager_in_one_syslog_are_both_read():
    text = (
        "Jan 05 14:45:28 node01 nv-fabricmanager[1120]: Successfully configured all the available NVSwitches to route\n"
        "Jan 05 14:45:29 node01 kernel: NVRM: Xid (PCI:0000:52:00): 79, GPU has fallen off the bus.\n"
    )
    assert [tool.name for tool in TOOLS if tool.recognizes(text)] == ["syslog"]
    configured, xid = parse_system_log(text).readings
    assert (configured.reading, configured.host) == (FabricConfigured(), "node01")
    assert isinstance(xid, KernelLine)


def test_a_record_whose_opening_breaks_off_is_noted():
    parsed = parse_fabric_manager_log("[Jul 23 2024] [ERROR] [tid 8] detected")
    assert [line.number for line in parsed.unread] == [1]


@given(st.data())
def test_no_fabric_manager_log_however_mangled_makes_the_parser_raise(data):
    text = data.draw(st.sampled_from([FATAL, GPU_FAULT]))
    at, cut = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 9))
    parse_fabric_manager_log(text[:at] + data.draw(st.text(max_size=20)) + text[at + cut :])
