"""The state of the fabric: a manager that fits the driver, and multicast; where there is no such thing, no verdict."""

from __future__ import annotations

import pytest
from lanescope.incident.errors import NotTested
from lanescope.incident.events import Trial
from lanescope.incident.ids import NodeId, host_id
from lanescope.incident.platforms import platform
from lanescope.incident.source import TaskOutput
from lanescope.probes.catalogue import CATALOGUE
from lanescope.topology.sources.platform import fabric_of

N0 = NodeId("n0")


@pytest.fixture(scope="module")
def hgx():
    return fabric_of(["n0"], platform("h100_hgx"))


def trial_of(name):
    return Trial(id="R1T1", probe=name, node=N0, targets=(host_id(N0),), seconds=1.0)


WELL = {
    "driver": {"version": "570.124.06"},
    "nvswitches": ["nvidia-nvswitch0"],
    "fabric_manager": {"is": "yes", "pid": 7, "unit": "active", "version": "570.124.06", "why": ""},
    "imex_channels": [],
    "multicast": {"is": "yes", "why": "", "gpus": {"0000:19:00.0": True}, "object": "yes"},
}


def state(hgx, **changed):
    lines = (
        {
            "state": {
                key: {**value, **changed.get(key, {})} if isinstance(value, dict) else value
                for key, value in WELL.items()
            }
        },
    )
    return CATALOGUE["fabric_state"].read([TaskOutput("R1T1", lines, 0, 1)], trial_of("fabric_state"), hgx)


def test_a_fabric_manager_that_fits_the_driver_and_multicast_are_good(hgx):
    measured = state(hgx)
    assert measured.check == "good"
    assert measured.detail == (
        "The fabric manager 570.124.06 runs and fits the driver; an NVLS multicast object over all GPUs can be made."
    )
    assert measured.measured_by == "fabric_state, driver 570.124.06"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fabric_manager": {"is": "no", "why": "nvidia-fabricmanager is failed"}}, "does not run: nvidia-fabric"),
        ({"fabric_manager": {"is": "missing", "version": ""}}, "No fabric manager is installed"),
        ({"fabric_manager": {"version": "570.86.15"}}, "570.86.15 and the driver of 570.124.06"),
        ({"multicast": {"object": "failed", "why": "cuMulticastCreate: CUDA_ERROR_SYSTEM_NOT_READY"}}, "NOT_READY"),
        ({"multicast": {"is": "no", "object": "", "gpus": {"a": True, "b": False}}}, "1 of 2 GPUs have no NVLS"),
    ],
    ids=["down", "missing", "version", "object", "odd-one"],
)  # fmt: skip
def test_what_keeps_the_fabric_from_working_is_wrong_and_named(hgx, changed, words):
    measured = state(hgx, **changed)
    assert measured.check == "wrong"
    assert words in measured.detail


def test_gpus_that_never_had_multicast_are_no_fault(hgx):
    measured = state(hgx, multicast={"is": "no", "object": "not applicable", "gpus": {"a": False}})
    assert measured.check == "good"
    assert "no NVLS multicast" in measured.detail


def test_a_board_without_nvswitches_has_nothing_to_ask_for(hgx):
    assert CATALOGUE["fabric_state"].targets(hgx, N0) == ((host_id(N0),),)
    assert CATALOGUE["fabric_state"].targets(fabric_of(["p0"], platform("h100_pcie")), NodeId("p0")) == ()
    nothing = {"is": "not applicable", "why": "this node sees no NVSwitch and has no fabric manager"}
    with pytest.raises(NotTested, match="not applicable: this node sees no NVSwitch"):
        state(hgx, fabric_manager=nothing, multicast={"is": "no", "object": "not applicable"})
