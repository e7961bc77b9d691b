from lanescope.incident.events import NodeState
from lanescope.incident.findings import Health
from lanescope.incident.ids import ComponentId
from lanescope.signals.health import health_of, judged

NAN = float("nan")


def health(story, within, node="n1"):
    return health_of(story.snapshot, ComponentId(f"{node}/{within}"))


def test_every_part_that_answers_well_is_ok(story):
    for within in ("gpu0", "gpu7/nvlink17", "gpu3/hbm", "gpu3/pcie", "mlx5_0", "mlx5_0/pcie", "nvswitch2"):
        assert health(story, within) is Health.OK, within
    assert health_of(story.snapshot, ComponentId("n1")) is Health.OK


def test_all_parts_of_a_silent_node_are_unknown_and_none_is_ok(story):
    story.tick(5, quiet=["n1"])
    assert health(story, "gpu0") is Health.UNKNOWN
    assert judged(story.snapshot, ComponentId("n1")).reason == "nothing heard for 5 s"


def test_a_lost_node_is_unknown_with_the_reason_it_was_lost_for(story):
    story.state("n1", NodeState.LOST, "no keepalive for 4 s")
    assert judged(story.snapshot, ComponentId("n1/gpu0")).reason == "no keepalive for 4 s"


def test_while_the_driver_hangs_gpus_are_unknown_and_nics_stay_ok(story):
    story.hang("n1", "nvml")
    assert (health(story, "gpu0"), health(story, "mlx5_0")) == (Health.UNKNOWN, Health.OK)


def test_a_domain_that_stopped_sampling_is_unknown_though_the_node_speaks(story):
    del story.samples["n1", "nvml"]
    story.tick(5)
    assert (health(story, "gpu0"), health(story, "mlx5_0")) == (Health.UNKNOWN, Health.OK)


def test_an_nvlink_that_is_not_supported_is_not_applicable(story):
    story.put("n1/gpu0/nvlink3", state=NAN)
    story.tick()
    assert health(story, "gpu0/nvlink3") is Health.NOT_APPLICABLE


def test_an_nvlink_that_is_down_and_not_wired_is_not_applicable(begin):
    story = begin()
    story.fact("n1/gpu0/nvlink3", "remote_type", None)
    story.put("n1/gpu0/nvlink3", state=0)
    story.tick(3)
    assert health(story, "gpu0/nvlink3") is Health.NOT_APPLICABLE


def test_an_nvlink_that_was_up_has_failed_even_where_nobody_says_what_it_is_wired_to(story):
    story.fact("n1/gpu0/nvlink3", "remote_type", None)
    story.put("n1/gpu0/nvlink3", state=0)
    story.tick()
    assert health(story, "gpu0/nvlink3") is Health.FAILED


def test_an_nvlink_that_is_wired_and_down_has_failed_and_its_switch_is_degraded(story):
    story.put("n1/gpu0/nvlink3", state=0)
    story.tick()
    assert (health(story, "gpu0/nvlink3"), health(story, "nvswitch0")) == (Health.FAILED, Health.DEGRADED)


def test_a_lost_gpu_has_failed_and_its_lanes_are_unknown(story):
    story.silence("n1/gpu2")
    story.put("n1/gpu2", nvml_error=15)
    story.tick()
    assert (health(story, "gpu2"), health(story, "gpu2/nvlink0")) == (Health.FAILED, Health.UNKNOWN)


def test_a_disabled_port_is_not_applicable(story):
    story.put("n1/mlx5_0", port_state=1, phys_state=3)
    story.tick()
    assert health(story, "mlx5_0") is Health.NOT_APPLICABLE


def test_what_nobody_reads_is_not_tested(story):
    assert health(story, "numa0") is Health.NOT_TESTED


def test_a_gpu_with_a_fault_inside_is_degraded_and_the_part_itself_failed(story):
    story.put("n1/gpu4/hbm", remap_failure=1)
    story.tick().keep()
    assert (health(story, "gpu4/hbm"), health(story, "gpu4")) == (Health.FAILED, Health.DEGRADED)


def test_a_part_of_a_node_nobody_follows_is_unknown(story):
    assert health(story, "gpu0", node="elsewhere") is Health.UNKNOWN
