"""The software of the NVLink fabric is ruled out before its hardware."""

from lanescope.incident.findings import Confidence, Severity

from .telling import judged, of_class

MISMATCH = (
    "n7 systemd[1]: Starting NVIDIA fabric manager service...\n"
    "n7 nv-fabricmanager[900]: fabric manager NVIDIA GPU driver interface version 550.54.14 don't match with driver "
    "version 550.90.07. Please update with matching NVIDIA driver package.\n"
    "n7 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.\n"
)
WAITING = "Fabric\n    State                             : In Progress\n    Status                            : N/A\n"
DONE = "Fabric\n    State                             : Completed\n    Status                            : Success\n"
KILLED = (
    "x nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
    "     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n"
    "     Active: failed (Result: signal) since Tue 10:00:00 UTC; 2 days ago\n"
    "   Main PID: 812 (code=killed, signal=KILL)\n"
)
STALE = (
    "n7 kernel: NVRM: check failed: NVLink fabric state cached by the driver is out of sync "
    "[NV_ERR_FABRIC_STATE_OUT_OF_SYNC]\n"
)


def only(findings):
    (found,) = of_class(findings, "nvlink-fabric")
    return found


def test_a_fabric_manager_that_refuses_the_driver_is_named_with_both_versions():
    found = only(judged({"n7/journal.txt": MISMATCH, "n7/q.txt": WAITING}))
    assert found.fault_class == "nvlink-fabric/fm-version-mismatch"
    assert (found.component, found.confidence) == ("n7/service/fabricmanager", Confidence.LIKELY)
    assert "550.54.14" in found.title
    assert "550.90.07" in found.next
    assert set(found.evidence) == {"J1", "J2"}


def test_a_stale_state_after_a_killed_service_is_told_with_what_has_to_be_stopped():
    holders = "101 nvidia-device-plugin\n202 nv-hostengine -n\n"
    files = {"n7/t0-fm-status.txt": KILLED, "n7/t1-kernel.txt": STALE, "n7/t1-q.txt": DONE, "n7/holders.txt": holders}
    found = only(judged(files))
    assert found.fault_class == "nvlink-fabric/state-out-of-sync"
    assert found.confidence is Confidence.LIKELY
    assert "nvidia-device-plugin, nv-hostengine" in found.next
    assert any("registration" in sentence for sentence in found.argues_against)


def test_a_stale_state_that_one_line_alone_tells_is_only_possible():
    assert only(judged({"n7/kernel.txt": STALE})).confidence is Confidence.POSSIBLE


def test_a_service_that_is_down_while_gpus_wait_is_not_running():
    found = only(judged({"n7/fm-status.txt": KILLED, "n7/q.txt": WAITING}))
    assert found.fault_class == "nvlink-fabric/fm-not-running"
    assert "code=killed, signal=KILL" in found.title


def test_a_service_that_came_back_is_no_finding():
    assert of_class(judged({"n7/t0-fm-status.txt": KILLED, "n7/t1-fm-status.txt": "active\n"}), "nvlink-fabric") == []


def test_gpus_that_wait_without_a_word_of_the_service_are_a_lead():
    found = only(judged({"n7/q.txt": WAITING}))
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.POSSIBLE)


def test_a_finished_registration_is_no_finding():
    assert of_class(judged({"n7/q.txt": DONE}), "nvlink-fabric") == []


def test_another_nodes_journal_says_nothing_of_this_one():
    findings = of_class(judged({"n7/journal.txt": MISMATCH, "n8/q.txt": DONE}), "nvlink-fabric")
    assert [found.component.node for found in findings] == ["n7"]


def test_a_registered_fabric_that_reports_degraded_bandwidth_is_a_lead():
    health = DONE + (
        "    Health\n        Bandwidth                     : Degraded\n        Route Recovery in progress    : False\n"
    )
    found = only(judged({"n7/q.txt": health}))
    assert (found.fault_class, found.confidence) == ("nvlink-fabric", Confidence.POSSIBLE)
    assert "bandwidth degraded" in found.title


def test_a_service_that_finds_nothing_to_do_is_well():
    journal = (
        "Jan 05 14:44:41 n7 nv-fabricmanager[9]: request to query NVSwitch device information from NVSwitch driver "
        "failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]\n"
        "Jan 05 14:44:41 n7 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.\n"
    )
    assert of_class(judged({"n7/journal.txt": journal}), "nvlink-fabric") == []
