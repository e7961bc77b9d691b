from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.parsed import MOST_UNREAD, Missing
from lanescope.parsers.platform import TOOLS
from lanescope.parsers.platform.ipmitool import parse_events, parse_sensors
from lanescope.parsers.platform.lldp import Neighbour, parse_lldp_neighbours
from lanescope.parsers.platform.numactl import NumaNode, parse_numactl_hardware
from lanescope.parsers.platform.proc_nvidia import DriverVersion, parse_driver_version, parse_gpu_information
from lanescope.parsers.platform.redfish import parse_redfish
from lanescope.parsers.platform.redfish.readings import (
    RedfishLog,
    RedfishLogEntry,
    RedfishPart,
    RedfishSensor,
)

DATA = Path(__file__).parents[1] / "data" / "platform"
SENSOR = {"@odata.id": "/redfish/v1/Chassis/A/Sensors/T", "@odata.type": "#Sensor.v1_2_0.Sensor", "Name": "T"}
ENTRY = {
    "@odata.id": "/redfish/v1/Systems/A/LogServices/SEL/Entries/7",
    "@odata.type": "#LogEntry.v1_13_0.LogEntry",
    "Id": "7",
    "Created": "2024-08-21T05:27:15+00:00",
    "Message": "Fan failed",
}


def data(name):
    return (DATA / name).read_text()


def json(*documents):
    return "\n".join(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() for document in documents)


def recognized(text):
    return [tool.name for tool in TOOLS if tool.recognizes(text)]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("ipmitool-sdr-list.txt", "ipmitool sdr list"),
        ("ipmitool-sel-elist.txt", "ipmitool sel"),
        ("lldpcli-json0.json", "lldpcli -f json0"),
        ("proc-driver-nvidia-version.txt", "/proc/driver/nvidia/version"),
    ],
)
def test_forms_that_no_capture_shows_are_recognized_as_one_tools_each(name, tool):
    assert recognized(data(name)) == [tool]


def test_a_sensor_without_a_reading_has_no_value_and_the_reason():
    sensors = parse_sensors(data("ipmitool-sdr-list.txt")).readings
    assert [(one.name, one.value, one.unit) for one in sensors[:2]] == [
        ("Inlet Temp", 31.0, "degrees C"),
        ("GPU1 Temp", None, None),
    ]
    assert sensors[1].missing == {"value": Missing.NOT_APPLICABLE}
    assert sensors[4].missing == {"value": Missing.NOT_APPLICABLE}


def test_a_discrete_sensor_has_a_state_and_misses_no_value():
    psu = parse_sensors(data("ipmitool-sdr-list.txt")).readings[2]
    assert (psu.value, psu.reading, psu.missing) == (None, "0x01", {})


def test_a_fan_that_stands_still_is_at_zero_and_critical():
    fan = parse_sensors(data("ipmitool-sdr-list.txt")).readings[3]
    assert (fan.value, fan.unit, fan.status) == (0.0, "RPM", "cr")


def test_discrete_sensors_of_the_long_list_keep_their_bits():
    text = "PS1 Status | 0x1 | discrete   | 0x0180| na | na | na | na | na | na\n"
    (sensor,) = parse_sensors(text).readings
    assert (sensor.name, sensor.status, sensor.value, sensor.missing) == ("PS1 Status", "0x0180", None, {})


def test_an_event_from_before_the_clock_was_set_has_no_moment():
    first = parse_events(data("ipmitool-sel-elist.txt")).readings[0]
    assert (first.record, first.moment, first.sensor, first.asserted) == (1, None, "Fan FAN1 Tach", False)


def test_an_event_tells_what_was_read_and_the_threshold():
    second = parse_events(data("ipmitool-sel-elist.txt")).readings[1]
    assert (second.moment, second.detail) == ("2026-09-23T14:03:11", "Reading 51 > Threshold 45 degrees C")


def test_a_clock_of_twelve_hours_and_a_year_of_two_digits_are_the_same_moments():
    moments = [one.moment for one in parse_events(data("ipmitool-sel-elist.txt")).readings[2:4]]
    assert moments == ["2026-09-23T14:03:40", "2026-09-23T14:05:00"]


def test_record_numbers_are_hexadecimal_and_vendors_records_are_kept_whole():
    parsed = parse_events(data("ipmitool-sel-elist.txt"))
    assert [one.record for one in parsed.readings] == [1, 2, 3, 10, 11, 12]
    assert [(one.sensor, one.event) for one in parsed.readings[4:]] == [
        ("OEM record c1", "000137"),
        ("OEM record e0", "000000000000000000000000000"),
    ]
    assert parsed.unread == []


def test_an_empty_event_log_says_so():
    parsed = parse_events("SEL has no entries\n")
    assert (parsed.readings, [one.subject for one in parsed.absent]) == ([], ["system event log"])


def test_a_sensors_value_is_its_own_reading_and_never_that_of_a_threshold():
    document = SENSOR | {"Thresholds": {"UpperCritical": {"Reading": 95.0}}, "Status": {"State": "Enabled"}}
    (sensor,) = parse_redfish(json(document)).readings
    assert (sensor.value, sensor.upper_critical, sensor.missing) == (None, 95.0, {"value": Missing.UNREADABLE})


@pytest.mark.parametrize("state", ["Absent", "Disabled"])
def test_a_sensor_of_a_part_that_is_not_there_does_not_apply(state):
    document = SENSOR | {"Reading": None, "Status": {"State": state}}
    (sensor,) = parse_redfish(json(document)).readings
    assert sensor.missing == {"value": Missing.NOT_APPLICABLE}


def test_older_firmware_names_a_fans_value_and_unit_otherwise():
    document = {
        "@odata.type": "#Thermal.1.1.0.Thermal",
        "Fans": [{"FanName": "Fan 1", "CurrentReading": 23, "Units": "Percent"}],
    }
    (fan,) = parse_redfish(json(document)).readings
    assert (fan.name, fan.value, fan.unit) == ("Fan 1", 23.0, "Percent")


def test_a_voltage_is_a_voltage_and_a_power_good_flag_is_none():
    document = {
        "@odata.type": "#Power.v1_5_0.Power",
        "Voltages": [{"Name": "PS1 Voltage 1", "ReadingVolts": 206}, {"Name": "CPU1 VCORE PG", "ReadingVolts": 1}],
    }
    voltage, flag = parse_redfish(json(document)).readings
    assert (voltage.kind, voltage.unit, flag.kind, flag.unit) == ("Voltage", "V", "PowerGood", None)


def test_one_event_in_two_logs_is_told_by_number_moment_and_message():
    elsewhere = ENTRY | {"@odata.id": "/redfish/v1/Systems/A/LogServices/EventLog/Entries/7", "EntryType": "Event"}
    first, second = parse_redfish(json([ENTRY, elsewhere])).readings
    assert first != second
    assert first.event == second.event


def test_an_empty_log_was_read_and_is_not_unknown():
    document = {"@odata.id": "/x/Entries", "@odata.type": "#LogEntryCollection.LogEntryCollection", "Members": []}
    assert parse_redfish(json(document)).readings == [RedfishLog("/x/Entries", "Entries", 0)]


def test_a_collection_is_read_with_all_its_members():
    document = {"@odata.type": "#SensorCollection.SensorCollection", "Members": [SENSOR | {"Reading": 1}, SENSOR]}
    assert [type(one) for one in parse_redfish(json(document)).readings] == [RedfishSensor, RedfishSensor]


def test_a_resource_of_an_unknown_type_is_read_for_its_health():
    document = {"@odata.id": "/x", "@odata.type": "#Processor.v1_9_0.Processor", "Status": {"Health": "Critical"}}
    (part,) = parse_redfish(json(document)).readings
    assert isinstance(part, RedfishPart)
    assert (part.kind, part.health, part.state) == ("Processor", "Critical", None)


def test_a_resource_of_an_unknown_type_without_health_is_noted():
    parsed = parse_redfish(json({"@odata.id": "/x", "@odata.type": "#EventService.v1_0_0.EventService"}))
    assert (parsed.readings, len(parsed.unread)) == ([], 1)


def test_a_document_that_is_cut_gives_nothing_and_says_where():
    text = json({"@odata.id": "/x/Entries", "Members": [ENTRY, ENTRY]})
    parsed = parse_redfish(text[: len(text) * 2 // 3])
    assert parsed.readings == []
    assert "JSON" in parsed.unread[0].why


def test_json0_and_json_tell_the_same_neighbour():
    parsed = parse_lldp_neighbours(data("lldpcli-json0.json"))
    assert parsed.readings == [
        Neighbour(
            interface="eth2",
            chassis_name="leaf-7",
            chassis_id="c0:11:a6:00:00:01",
            chassis_description="SONiC",
            port_id="Ethernet12",
            port_description="to gpu-017",
            management_ips=("192.168.0.20", "fe80::c211:a6ff:fe00:1"),
        )
    ]


def test_a_single_interface_that_is_no_list_is_read_too():
    document = {"lldp": {"interface": {"eth0": {"chassis": {"leaf": {"id": {"value": "m"}}}, "port": {}}}}}
    (neighbour,) = parse_lldp_neighbours(json(document)).readings
    assert (neighbour.interface, neighbour.chassis_name, neighbour.port_id) == ("eth0", "leaf", None)


def test_a_switch_that_announces_no_name_is_known_by_its_id():
    document = {"lldp": {"interface": [{"eth0": {"chassis": {"id": {"type": "mac", "value": "0c:4f"}}}}]}}
    (neighbour,) = parse_lldp_neighbours(json(document)).readings
    assert (neighbour.chassis_name, neighbour.chassis_id) == (None, "0c:4f")


def test_two_neighbours_on_one_interface_are_two():
    document = {"lldp": {"interface": [{"eth0": {"chassis": {"a": {}}}}, {"eth0": {"chassis": {"b": {}}}}]}}
    assert [one.chassis_name for one in parse_lldp_neighbours(json(document)).readings] == ["a", "b"]


def test_a_numa_node_of_memory_alone_has_no_cpus_and_one_not_listed_is_missing():
    text = "available: 2 nodes (0,2)\nnode 0 size: 10 MB\nnode 2 cpus:\nnode 2 size: 96 MB\nnode 2 free: 95 MB\n"
    assert parse_numactl_hardware(text).readings == [NumaNode(0, None, 10, None), NumaNode(2, (), 96, 95)]


def test_a_machine_without_numa_says_so():
    parsed = parse_numactl_hardware("No NUMA support available on this system.\n")
    assert [one.subject for one in parsed.absent] == ["numa"]


def test_a_row_of_distances_that_does_not_fit_its_heading_is_noted():
    parsed = parse_numactl_hardware("node distances:\nnode   0   1\n  0:  10\n")
    assert (parsed.readings, [line.number for line in parsed.unread]) == ([], [3])


INFORMATION = "Model: \t\t {}\nIRQ:   \t\t 42\nBus Location: \t 0000:{}:00.0\nDevice Minor: \t {}\nGPU Excluded:\t {}\n"


def test_several_gpus_in_one_text_are_told_apart():
    text = INFORMATION.format("A", "19", 0, "No") + "==> /proc/driver/nvidia/gpus/x <==\n"
    text += INFORMATION.format("B", "3b", 1, "Yes")
    gpus = parse_gpu_information(text).readings
    assert [(gpu.model, gpu.bus_address, gpu.minor, gpu.excluded) for gpu in gpus] == [
        ("A", "0000:19:00.0", 0, False),
        ("B", "0000:3b:00.0", 1, True),
    ]


def test_question_marks_of_a_driver_that_could_not_read_are_no_version():
    text = (
        "Model: X\nVideo BIOS: ??.??.??.??.??\nGPU UUID: GPU-????????-????-????-????-????????????\nGPU Firmware: N/A\n"
    )
    (gpu,) = parse_gpu_information(text).readings
    assert (gpu.video_bios, gpu.uuid, gpu.firmware) == (None, None, None)
    assert gpu.missing == {
        "video_bios": Missing.UNREADABLE,
        "uuid": Missing.UNREADABLE,
        "firmware": Missing.NOT_APPLICABLE,
    }


def test_the_open_and_the_closed_kernel_module_are_told_apart():
    assert parse_driver_version(data("proc-driver-nvidia-version.txt")).readings == [
        DriverVersion("580.95.05", True, "gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04.2)")
    ]
    closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.135  Fri Jan 10 20:00:00 UTC 2025\n"
    assert parse_driver_version(closed).readings == [DriverVersion("550.135", False, None)]


@pytest.mark.parametrize(
    "noise",
    ["\x00" * 5000, "|" * 70_000, "a |" * 30_000, "[" * 100_000, '{"lldp":' * 20_000, "node 0 cpus:" + " 1" * 40_000],
)
def test_binary_deep_and_endless_inputs_are_bounded(noise):
    for tool in TOOLS:
        tool.recognizes(noise)
        assert len(tool.parse(noise).unread) <= MOST_UNREAD


@pytest.mark.parametrize(
    "document",
    [
        {"lldp": {"interface": [1, None, {"eth0": [[], {"chassis": [7], "port": "x"}]}]}},
        {"@odata.type": 5, "Members": [{"@odata.id": []}, 3]},
        {"@odata.type": "#Thermal.v1.Thermal", "Fans": [{"Reading": "12"}, 4], "Temperatures": {"a": 1}},
        {"@odata.type": "#LogEntry.v1.LogEntry", "MessageArgs": "x", "Resolved": "no", "MessageId": 7},
        {"@odata.type": "#Power.v1.Power", "PowerControl": [{"PowerLimit": []}], "PowerSupplies": [None]},
    ],
)
def test_documents_of_another_shape_than_expected_are_survived(document):
    for tool in TOOLS:
        tool.parse(json(document))


def test_a_log_entry_of_another_shape_has_no_values_rather_than_wrong_ones():
    document = {"@odata.type": "#LogEntry.v1.LogEntry", "Resolved": "no", "MessageArgs": ["a"], "MessageId": "X.1.Y"}
    (entry,) = parse_redfish(json(document)).readings
    assert isinstance(entry, RedfishLogEntry)
    assert (entry.resolved, entry.sensor, entry.moment) == (None, None, None)


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 2500), cut=st.integers(0, 40), noise=st.text(max_size=30))
def test_no_output_however_mangled_makes_a_parser_raise(at, cut, noise):
    texts = [path.read_text() for path in sorted(DATA.glob("*"))]
    text = (
        "".join(texts)
        + json(SENSOR, ENTRY)
        + INFORMATION
        + "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0\n 0: 10\n"
    )
    at %= len(text)
    mangled = text[:at] + noise + text[at + cut :]
    for tool in TOOLS:
        tool.recognizes(mangled)
        tool.parse(mangled)
