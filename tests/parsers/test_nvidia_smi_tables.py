"""nvidia-smi's table, list, dmon and retired pages, and what it says when it can't report."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import pytest
from lanescope.parsers.nvidia_smi.dmon import DmonSample, parse_dmon
from lanescope.parsers.nvidia_smi.errors import (
    DriverSilent,
    GpuLost,
    InforomCorrupted,
    NoDevices,
    Silence,
    is_complaints,
    parse_complaints,
)
from lanescope.parsers.nvidia_smi.gpu_report import Driver, GpuProcess, GpuReport, MigDevice
from lanescope.parsers.nvidia_smi.list_gpus import parse_gpu_list
from lanescope.parsers.nvidia_smi.retired_pages import RetiredPage, parse_retired_pages
from lanescope.parsers.nvidia_smi.table import parse_table
from lanescope.parsers.parsed import Missing, Parsed
from lanescope.parsers.tools import recognize

LOST_TABLE = (Path(__file__).parents[1] / "data" / "nvidia_smi" / "table-lost-510.txt").read_text()

T = TypeVar("T")


def of_type(kind: type[T], parsed: Parsed[Any]) -> list[T]:
    return [reading for reading in parsed.readings if isinstance(reading, kind)]


def one(kind: type[T], parsed: Parsed[Any]) -> T:
    (reading,) = of_type(kind, parsed)
    return reading


def wrapped(text: str, width: int) -> str:
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width))


def test_a_row_of_a_table_that_reads_err_is_unreadable_and_not_zero():
    parsed = parse_table(LOST_TABLE)
    fine, lost = of_type(GpuReport, parsed)
    assert parsed.unread == []
    assert (fine.index, fine.ecc.volatile.uncorrectable_total, fine.utilization.gpu) == (4, 3, 7)
    assert (lost.index, lost.bus_address, lost.name, lost.memory.total) == (5, "0000:91:00.0", None, 81920)
    unreadable = {"name", "ecc.volatile.uncorrectable_total", "temperature.gpu", "power.draw", "mig_mode"}
    assert {lost.missing[name] for name in unreadable} == {Missing.UNREADABLE}


def test_a_table_has_processes_and_warnings_below_it():
    parsed = parse_table(LOST_TABLE)
    assert [(one.gpu_index, one.pid, one.kind, one.name, one.memory_mib) for one in of_type(GpuProcess, parsed)] == [
        (4, 26617, "C", "python train.py", 1005),
        (5, 1589, "C+G", "/usr/bin/gnome-shell", None),
    ]
    assert one(InforomCorrupted, parsed).bus_address == "0000:8c:00.0"


@pytest.mark.parametrize("width", [60, 72])
def test_a_table_out_of_a_narrow_terminal_reads_the_same(width):
    assert parse_table(wrapped(LOST_TABLE, width)).readings == parse_table(LOST_TABLE).readings


def test_a_table_headed_by_a_kernel_module_version_names_the_driver():
    head = "| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |\n"
    driver = one(Driver, parse_table(head))
    assert (driver.version, driver.cuda_version) == ("610.43.02", "13.3")


def test_rows_of_tables_before_mig_have_two_lines():
    text = (
        "|   0  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                    0 |\n"
        "| N/A   41C    P0    57W / 300W |  10234MiB / 16160MiB |     93%   E. Process |\n"
        "+-------------------------------+----------------------+----------------------+\n"
        "|   1  Tesla V100-SXM2...  On   | 00000000:1C:00.0 Off |                    2 |\n"
        "| N/A   40C    P0    56W / 300W |      0MiB / 16160MiB |      0%      Default |\n"
    )
    first, second = of_type(GpuReport, parse_table(text))
    assert (first.compute_mode, first.utilization.gpu, first.mig_mode) == ("E. Process", 93, None)
    assert (second.ecc.volatile.uncorrectable_total, second.memory.total) == (2, 16160)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183", Silence.MISMATCH),
        ("Failed to initialize NVML: Driver Not Loaded", Silence.NOT_LOADED),
        ("Failed to initialize NVML: Insufficient Permissions", Silence.NOT_PERMITTED),
        ("Failed to initialize NVML: GPU is lost", Silence.LOST),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", Silence.NO_LIBRARY),
        ("-bash: nvidia-smi: command not found", Silence.NO_LIBRARY),
    ],
)
def test_a_driver_that_does_not_answer_is_silent_and_has_not_zero_gpus(said, why):
    assert is_complaints(said)
    assert one(DriverSilent, parse_complaints(said)).why is why


def test_no_devices_found_is_the_drivers_answer_and_no_silence():
    assert parse_complaints("No devices were found\n").readings == [NoDevices("No devices were found")]


@pytest.mark.parametrize(
    ("line", "index", "address", "said"),
    [
        ("Unable to determine the device handle for GPU 0000:01:00.0: Not Found", None, "0000:01:00.0", "Not Found"),
        (
            "Unable to determine the device handle for GPU3: 0000:5F:00.0: Unknown Error",
            3,
            "0000:5f:00.0",
            "Unknown Error",
        ),
        ("Unable to determine the device handle for GPU2: Unknown Error", 2, None, "Unknown Error"),
    ],
)
def test_a_gpu_without_a_handle_is_named_as_far_as_the_line_names_it(line, index, address, said):
    assert parse_complaints(line).readings == [GpuLost(index, address, said)]


def test_a_log_that_quotes_a_complaint_is_no_complaint():
    assert not is_complaints("Starting the exporter\nFailed to initialize NVML: Unknown Error\n")


def test_a_list_gives_mig_devices_to_the_gpu_above_and_the_lost_one_by_name():
    text = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n"
        "Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error\n"
        "GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-c)\n"
        "  MIG 1g.10gb     Device  0: (UUID: MIG-d)\n"
    )
    parsed = parse_gpu_list(text)
    assert [gpu.index for gpu in of_type(GpuReport, parsed)] == [0, 2]
    assert one(MigDevice, parsed).gpu_index == 2
    assert one(GpuLost, parsed).index == 1
    tool = recognize(text)
    assert tool is not None
    assert tool.name == "nvidia-smi -L"


def test_a_retired_page_has_an_address_and_a_row_without_one_is_no_page():
    text = (
        "gpu_uuid, retired_pages.address, retired_pages.cause\n"
        "GPU-a, 0x0000000000130d52, Double Bit ECC\n"
        "GPU-a, [N/A], Single Bit ECC\n"
        "GPU-a, elsewhere, Single Bit ECC\n"
    )
    parsed = parse_retired_pages(text)
    assert parsed.readings == [RetiredPage(None, "GPU-a", 0x130D52, "Double Bit ECC", None)]
    assert [absent.subject for absent in parsed.absent] == ["GPU-a Single Bit ECC"]
    assert [line.number for line in parsed.unread] == [4]


def test_dmon_with_date_and_time_first_keeps_them_and_a_dash_is_no_zero():
    text = (
        "#Date       Time        gpu    fb   sm  rxpci\n"
        "#YYYYMMDD   HH:MM:SS    Idx    MB    %   MB/s\n"
        " 20240104   13:54:35      3   239    -     12\n"
        " 20240104   13:54:36      3   239    0\n"
    )
    parsed = parse_dmon(text)
    assert parsed.readings == [
        DmonSample(
            3, {"fb": 239.0, "sm": None, "rxpci": 12.0}, {"fb": "MB", "sm": "%", "rxpci": "MB/s"}, "20240104 13:54:35"
        )
    ]
    assert [line.number for line in parsed.unread] == [4]
