"""The tables of names: which field of a report is printed under which name, over the versions of the driver.

A group is a part of the report with what its names begin with in each form of output. A row is field | reader | name in
text | name in XML | name in CSV, where `=` is the field's own name; a field whose name has changed has a row for each.
Names in text are lower case.
Source: captures nvidia-smi/q-*, q-x-* and query-gpu-* (drivers 510 to 610); older names from public repositories.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Fields whose names begin alike."""

    part: str
    """The part of the report; empty for the report itself."""
    text: str
    xml: str
    csv: str
    rows: str


_IDENTITY = """
    index             | whole   |                         |                        | =
    bus_address       | address | pci/bus id              | pci/pci_bus_id         | pci.bus_id
    bus_address       | address |                         |                        | gpu_bus_id
    name              | word    | product name            | product_name           | =
    name              | word    |                         |                        | gpu_name
    uuid              | word    | gpu uuid                | =                      | =
    uuid              | word    |                         |                        | gpu_uuid
    serial            | word    | serial number           | =                      | =
    serial            | word    |                         |                        | gpu_serial
    minor             | whole   | minor number            | minor_number           |
    brand             | word    | product brand           | product_brand          |
    architecture      | word    | product architecture    | product_architecture   |
    vbios             | word    | vbios version           | vbios_version          | vbios_version
    board_part_number | word    | board part number       | =                      |
    gpu_part_number   | word    | gpu part number         | =                      |
    gsp_firmware      | word    | gsp firmware version    | gsp_firmware_version   |
    module_id         | whole   | platform info/module id | platformInfo/module_id | platform.module_id
    module_id         | whole   | module id               | gpu_module_id          |
"""
_PLACEMENT = """
    chassis_serial | word  | chassis serial number | chassis_serial_number | chassis_serial_number
    slot           | whole | slot number           | slot_number           | slot_number
    tray           | whole | tray index            | tray_index            | tray_index
    host_id        | whole | host id               | =                     | =
    peer_type      | word  | peer type             | =                     | =
    fabric_guid    | word  | gpu fabric guid       | gpu_fabric_guid       | gpu_fabric_guid
"""
_MODES = """
    persistence_mode  | word  | persistence mode    | =                    | =
    addressing_mode   | word  | addressing mode     | =                    | =
    compute_mode      | word  | compute mode        | =                    | =
    c2c_mode          | word  | gpu c2c mode        | =                    | c2c.mode
    performance_state | word  | performance state   | =                    | pstate
    mig_mode          | word  | mig mode/current    | mig_mode/current_mig | mig.mode.current
    mig_mode_pending  | word  | mig mode/pending    | mig_mode/pending_mig | mig.mode.pending
    recovery_action   | word  | gpu recovery action | gpu_recovery_action  | gpu_recovery_action
    fan_percent       | whole | fan speed           | fan_speed            | fan.speed
"""
_VIRTUALIZATION = """
    virtualization | word | virtualization mode | virtualization_mode |
"""
_RESET = """
    reset_required              | flag | reset required              | = | =
    drain_and_reset_recommended | flag | drain and reset recommended | = |
"""
_PCIE = """
    pcie_generation          | whole | pcie generation/current    | pcie_gen/current_link_gen      | gen.current
    pcie_generation_max      | whole | pcie generation/max        | pcie_gen/max_link_gen          | gen.max
    pcie_gpu_generation_max  | whole | pcie generation/device max | pcie_gen/max_device_link_gen   | gen.gpumax
    pcie_host_generation_max | whole | pcie generation/host max   | pcie_gen/max_host_link_gen     | gen.hostmax
    pcie_width               | whole | link width/current         | link_widths/current_link_width | width.current
    pcie_width_max           | whole | link width/max             | link_widths/max_link_width     | width.max
"""
_PCIE_ERRORS = """
    pcie_replays          | whole | replays since reset     | replay_counter          |
    pcie_replay_rollovers | whole | replay number rollovers | replay_rollover_counter |
"""
_FABRIC = """
    fabric_state  | word   | state       | state       | state
    fabric_status | status | status      | status      | status
    cluster_uuid  | word   | clusteruuid | clusterUuid | clusterUuid
    clique_id     | whole  | cliqueid    | cliqueId    | cliqueId
"""
_FABRIC_HEALTH = """
    summary                    | word | =                          | = | =
    bandwidth                  | word | =                          | = | =
    route_recovery_in_progress | flag | route recovery in progress | = | =
    route_unhealthy            | flag | route unhealthy            | = | =
    access_timeout_recovery    | flag | access timeout recovery    | = | =
    incorrect_configuration    | word | incorrect configuration    | = | =
    partition_assigned         | word | partition assigned         | = | =
"""
_REASONS = """
    idle | flag | = | gpu_idle | gpu_idle
    applications_clocks_setting | flag | applications clocks setting | = | =
    sw_power_cap | flag | sw power cap | = | =
    hw_slowdown | flag | hw slowdown | = | =
    hw_thermal_slowdown | flag | hw slowdown/hw thermal slowdown | = | =
    hw_power_brake_slowdown | flag | hw slowdown/hw power brake slowdown | = | =
    sync_boost | flag | sync boost | = | =
    sw_thermal_slowdown | flag | sw thermal slowdown | = | =
    display_clock_setting | flag | display clock setting | display_clocks_setting | display_clocks_setting
"""
_REASON_TIMES = """
    sw_power_cap        | whole | sw power capping    | =                 | =
    sync_boost          | whole | sync boost          | =                 | =
    sw_thermal_slowdown | whole | sw thermal slowdown | sw_therm_slowdown | =
    hw_thermal_slowdown | whole | hw thermal slowdown | hw_therm_slowdown | =
    hw_power_brake      | whole | hw power braking    | =                 | hw_power_brake_slowdown
"""
_MEMORY = """
    total    | whole | = | = | =
    reserved | whole | = | = | =
    used     | whole | = | = | =
    free     | whole | = | = | =
"""
_BAR1 = """
    total | whole | = | = |
    used  | whole | = | = |
    free  | whole | = | = |
"""
_UTILIZATION = """
    gpu    | whole | = | gpu_util    | =
    memory | whole | = | memory_util | =
"""
_ECC = """
    mode                   | word | ecc mode/current                  | ecc_mode/current_ecc              | mode.current
    mode_pending           | word | ecc mode/pending                  | ecc_mode/pending_ecc              | mode.pending
    channel_repair_pending | flag | ecc errors/channel repair pending | ecc_errors/channel_repair_pending |
    tpc_repair_pending     | flag | ecc errors/tpc repair pending     | ecc_errors/tpc_repair_pending     |
    unrepairable_memory    | flag | ecc errors/unrepairable memory    | ecc_errors/unrepairable_memory    |
"""
_SRAM_THRESHOLD = """
    sram_threshold_exceeded | flag | sram threshold exceeded | = | sram.thresholdExceeded
"""
_ECC_COUNTS = """
    sram_correctable          | whole | sram correctable           | =                        |
    sram_uncorrectable        | whole | sram uncorrectable         | =                        |
    sram_uncorrectable_parity | whole | sram uncorrectable parity  | =                        |
    sram_uncorrectable_secded | whole | sram uncorrectable sec-ded | =                        |
    dram_correctable          | whole | dram correctable           | =                        |
    dram_correctable          | whole | single bit/device memory   | single_bit/device_memory |
    dram_uncorrectable        | whole | dram uncorrectable         | =                        |
    dram_uncorrectable        | whole | double bit/device memory   | double_bit/device_memory |
    correctable_total         | whole | single bit/total           | single_bit/total         |
    uncorrectable_total       | whole | double bit/total           | double_bit/total         |
"""
_CORRECTED = """
    sram_correctable  | whole |  |  | sram
    dram_correctable  | whole |  |  | dram
    correctable_total | whole |  |  | total
"""
_UNCORRECTED = """
    sram_uncorrectable        | whole |  |  | sram
    sram_uncorrectable_parity | whole |  |  | sram.parity
    sram_uncorrectable_secded | whole |  |  | sram.secded
    dram_uncorrectable        | whole |  |  | dram
    uncorrectable_total       | whole |  |  | total
"""
_SRAM_SOURCES = """
    l2              | whole | sram l2              | sram_l2              | =
    sm              | whole | sram sm              | sram_sm              | =
    microcontroller | whole | sram microcontroller | sram_microcontroller | mcu
    pcie            | whole | sram pcie            | sram_pcie            | =
    other           | whole | sram other           | sram_other           | =
"""
_REMAPPED = """
    correctable            | whole | correctable error            | remapped_row_corr          | =
    uncorrectable          | whole | uncorrectable error          | remapped_row_unc           | =
    correctable_inactive   | whole | inactive correctable error   | remapped_row_corr_inactive | =
    uncorrectable_inactive | whole | inactive uncorrectable error | remapped_row_unc_inactive  | =
    pending                | flag  | =                            | remapped_row_pending       | =
    failure                | flag  | remapping failure occurred   | remapped_row_failure       | =
"""
_HISTOGRAM = """
    max     | whole | = | = | =
    high    | whole | = | = | =
    partial | whole | = | = | =
    low     | whole | = | = | =
    none    | whole | = | = | =
"""
_RETIRED = """
    single_bit | whole | single bit ecc         | multiple_single_bit_retirement/retired_count | single_bit_ecc.count
    single_bit | whole |                        |                                              | sbe
    double_bit | whole | double bit ecc         | double_bit_retirement/retired_count          | double_bit.count
    double_bit | whole |                        |                                              | dbe
    pending    | flag  | pending page blacklist | pending_blacklist                            | =
    pending    | flag  | =                      | pending_retirement                           |
"""
_TEMPERATURE = """
    gpu | whole | gpu current temp | gpu_temp | =
    gpu_margin | whole | gpu t.limit temp | gpu_temp_tlimit | gpu.tlimit
    memory | whole | memory current temp | memory_temp | =
    shutdown | whole | gpu shutdown temp | gpu_temp_max_threshold |
    slowdown | whole | gpu slowdown temp | gpu_temp_slow_threshold |
    max_operating | whole | gpu max operating temp | gpu_temp_max_gpu_threshold |
    target | whole | gpu target temperature | gpu_target_temperature |
    memory_max_operating | whole | memory max operating temp | gpu_temp_max_mem_threshold |
    shutdown_margin | whole | gpu shutdown t.limit temp | gpu_temp_max_tlimit_threshold |
    slowdown_margin | whole | gpu slowdown t.limit temp | gpu_temp_slow_tlimit_threshold |
    max_operating_margin | whole | gpu max operating t.limit temp | gpu_temp_max_gpu_tlimit_threshold |
    memory_max_operating_margin | whole | memory max operating t.limit temp | gpu_temp_max_mem_tlimit_threshold |
"""
_POWER = """
    draw            | number | power draw               | power_draw            | power.draw
    average         | number | average power draw       | average_power_draw    | power.draw.average
    instant         | number | instantaneous power draw | instant_power_draw    | power.draw.instant
    limit           | number | current power limit      | current_power_limit   | enforced.power.limit
    requested_limit | number | requested power limit    | requested_power_limit | power.limit
    default_limit   | number | default power limit      | default_power_limit   | power.default_limit
    min_limit       | number | min power limit          | min_power_limit       | power.min_limit
    max_limit       | number | max power limit          | max_power_limit       | power.max_limit
"""
_POWER_TO_525 = """
    draw            | number | power draw           | power_draw           |
    limit           | number | enforced power limit | enforced_power_limit |
    requested_limit | number | power limit          | power_limit          |
    default_limit   | number | default power limit  | default_power_limit  |
    min_limit       | number | min power limit      | min_power_limit      |
    max_limit       | number | max power limit      | max_power_limit      |
"""
_MEMORY_POWER = """
    memory_average | number | average power draw | average_power_draw |
"""
_MODULE_POWER = """
    module_average | number | average power draw       | average_power_draw  | power.draw.average
    module_average | number | power draw               | power_draw          |
    module_instant | number | instantaneous power draw | instant_power_draw  | power.draw.instant
    module_limit   | number | current power limit      | current_power_limit | enforced.power.limit
"""
_CLOCKS = """
    graphics | whole | = | graphics_clock | =
    sm       | whole | = | sm_clock       | =
    memory   | whole | = | mem_clock      | =
    video    | whole | = | video_clock    | =
"""
_SHORT_CLOCKS = """
    graphics | whole |  |  | gr
    sm       | whole |  |  | =
    memory   | whole |  |  | mem
    video    | whole |  |  | =
"""

GPU: tuple[Group, ...] = (
    Group("", "", "", "", _IDENTITY),
    Group("placement", "platform info/", "platformInfo/", "platform.", _PLACEMENT),
    Group("", "", "", "", _MODES),
    Group("", "gpu virtualization mode/", "gpu_virtualization_mode/", "", _VIRTUALIZATION),
    Group("", "gpu reset status/", "gpu_reset_status/", "reset_status.", _RESET),
    Group("", "pci/gpu link info/", "pci/pci_gpu_link_info/", "pcie.link.", _PCIE),
    Group("", "pci/", "pci/", "", _PCIE_ERRORS),
    Group("", "fabric/", "fabric/", "fabric.", _FABRIC),
    Group("fabric_health", "fabric/health/", "fabric/health/", "fabric.health.", _FABRIC_HEALTH),
    Group(
        "event_reasons",
        "clocks event reasons/",
        "clocks_event_reasons/clocks_event_reason_",
        "clocks_event_reasons.",
        _REASONS,
    ),
    Group(
        "event_reason_times",
        "clocks event reasons counters/",
        "clocks_event_reasons_counters/clocks_event_reasons_counters_",
        "clocks_event_reasons_counters.",
        _REASON_TIMES,
    ),
    Group("memory", "fb memory usage/", "fb_memory_usage/", "memory.", _MEMORY),
    Group("bar1", "bar1 memory usage/", "bar1_memory_usage/", "", _BAR1),
    Group("utilization", "utilization/", "utilization/", "utilization.", _UTILIZATION),
    Group("ecc", "", "", "ecc.", _ECC),
    Group(
        "ecc",
        "ecc errors/aggregate/",
        "ecc_errors/aggregate/",
        "ecc.errors.uncorrected.aggregate.",
        _SRAM_THRESHOLD,
    ),
    Group("ecc.volatile", "ecc errors/volatile/", "ecc_errors/volatile/", "", _ECC_COUNTS),
    Group("ecc.volatile", "", "", "ecc.errors.corrected.volatile.", _CORRECTED),
    Group("ecc.volatile", "", "", "ecc.errors.uncorrected.volatile.", _UNCORRECTED),
    Group("ecc.aggregate", "ecc errors/aggregate/", "ecc_errors/aggregate/", "", _ECC_COUNTS),
    Group("ecc.aggregate", "", "", "ecc.errors.corrected.aggregate.", _CORRECTED),
    Group("ecc.aggregate", "", "", "ecc.errors.uncorrected.aggregate.", _UNCORRECTED),
    Group(
        "ecc.sram_sources",
        "ecc errors/aggregate uncorrectable sram sources/",
        "ecc_errors/aggregate_uncorrectable_sram_sources/",
        "ecc.errors.uncorrected.aggregate.sram.",
        _SRAM_SOURCES,
    ),
    Group("remapped", "remapped rows/", "remapped_rows/", "remapped_rows.", _REMAPPED),
    Group(
        "remapped.histogram",
        "remapped rows/bank remap availability histogram/",
        "remapped_rows/row_remapper_histogram/row_remapper_histogram_",
        "remapped_rows.histogram.",
        _HISTOGRAM,
    ),
    Group("retired", "retired pages/", "retired_pages/", "retired_pages.", _RETIRED),
    Group("temperature", "temperature/", "temperature/", "temperature.", _TEMPERATURE),
    Group("power", "gpu power readings/", "gpu_power_readings/", "", _POWER),
    Group("power", "power readings/", "power_readings/", "", _POWER_TO_525),
    Group("power", "gpu memory power readings/", "gpu_memory_power_readings/", "", _MEMORY_POWER),
    Group("power", "module power readings/", "module_power_readings/", "module.", _MODULE_POWER),
    Group("clocks", "clocks/", "clocks/", "clocks.current.", _CLOCKS),
    Group("clocks", "", "", "clocks.", _SHORT_CLOCKS),
    Group("max_clocks", "max clocks/", "max_clocks/", "clocks.max.", _CLOCKS),
    Group("max_clocks", "", "", "clocks.max.", _SHORT_CLOCKS),
)

_SLICE = """
    index | whole | = | = |
    gpu_instance | whole | gpu instance id | gpu_instance_id |
    compute_instance | whole | compute instance id | compute_instance_id |
    sram_uncorrectable | whole | ecc errors/volatile/sram uncorrectable |  |
    sram_uncorrectable | whole |  | ecc_error_count/volatile_count/sram_uncorrectable |
"""
_ENGINES = """
    multiprocessors | whole | multiprocessor count | multiprocessor_count |
    copy_engines    | whole | copy engine count    | copy_engine_count    |
    encoders        | whole | encoder count        | encoder_count        |
    decoders        | whole | decoder count        | decoder_count        |
    ofa_engines     | whole | ofa count            | ofa_count            |
    jpeg_engines    | whole | jpg count            | jpg_count            |
"""
MIG_DEVICE: tuple[Group, ...] = (
    Group("", "", "", "", _SLICE),
    Group("", "device attributes/shared/", "device_attributes/shared/", "", _ENGINES),
    Group("memory", "shared fb memory usage/", "fb_memory_usage/", "", _MEMORY),
    Group("memory", "fb memory usage/", "fb_memory_usage/", "", _MEMORY),
    Group("bar1", "shared bar1 memory/", "bar1_memory_usage/", "", _BAR1),
    Group("bar1", "bar1 memory usage/", "bar1_memory_usage/", "", _BAR1),
)

_PROCESS = """
    gpu_instance     | whole | gpu instance id            | gpu_instance_id     |
    compute_instance | whole | compute instance id        | compute_instance_id |
    pid              | whole | process id                 | =                   |
    kind             | word  | process id/type            | type                |
    name             | word  | process id/name            | process_name        |
    memory_mib       | whole | process id/used gpu memory | used_memory         |
"""
PROCESS: tuple[Group, ...] = (Group("", "", "", "", _PROCESS),)
