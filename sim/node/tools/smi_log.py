"""`nvidia-smi -q`, as text and as XML: the sections that tell about health."""

from __future__ import annotations

import time
from collections.abc import Iterator
from xml.sax.saxutils import escape

from ..machine import Machine
from .boards import Board, boards
from .smi_query import REASONS

TITLE_WIDTH = 51
Item = tuple[int, str, str, str]
"""Depth, title, XML name, value; an empty value heads a section."""

REASON_TITLES = {
    "gpu_idle": "Idle",
    "applications_clocks_setting": "Applications Clocks Setting",
    "sw_power_cap": "SW Power Cap",
    "hw_slowdown": "HW Slowdown",
    "hw_thermal_slowdown": "HW Thermal Slowdown",
    "hw_power_brake_slowdown": "HW Power Brake Slowdown",
    "sync_boost": "Sync Boost",
    "sw_thermal_slowdown": "SW Thermal Slowdown",
}


def log_text(machine: Machine, which: list[int]) -> str:
    """The log as text."""
    lines = ["", "==============NVSMI LOG==============", ""]
    lines += [f"{title:<{TITLE_WIDTH + 4}}: {value}" for title, _, value in _head(machine)]
    lines += ["", f"{'Attached GPUs':<{TITLE_WIDTH + 4}}: {len(machine.hardware.gpus)}"]
    for board in boards(machine):
        if board.gpu.index in which:
            lines.append(f"GPU {board.bus}")
            for depth, title, _, value in _items(board):
                shown = " " * 4 * depth + title
                lines.append(f"{shown:<{TITLE_WIDTH + 4}}: {value}" if value else shown)
            lines.append("")
    return "\n".join(lines) + "\n"


def log_xml(machine: Machine, which: list[int]) -> str:
    """The log as XML."""
    out = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
    out += "".join(f"\t<{name}>{escape(value)}</{name}>\n" for _, name, value in _head(machine))
    out += f"\t<attached_gpus>{len(machine.hardware.gpus)}</attached_gpus>\n"
    for board in boards(machine):
        if board.gpu.index in which:
            out += f'\t<gpu id="{board.bus}">\n{_xml_items(list(_items(board)))}\t</gpu>\n'
    return out + "</nvidia_smi_log>\n"


def _xml_items(items: list[Item]) -> str:
    out = ""
    still_open: list[tuple[int, str]] = []
    for depth, _, name, value in items:
        while still_open and still_open[-1][0] >= depth:
            out += "\t" * (still_open[-1][0] + 1) + f"</{still_open.pop()[1]}>\n"
        if value:
            out += "\t" * (depth + 1) + f"<{name}>{escape(value)}</{name}>\n"
        else:
            out += "\t" * (depth + 1) + f"<{name}>\n"
            still_open.append((depth, name))
    while still_open:
        out += "\t" * (still_open[-1][0] + 1) + f"</{still_open.pop()[1]}>\n"
    return out


def _head(machine: Machine) -> list[tuple[str, str, str]]:
    stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(machine.now()))
    return [
        ("Timestamp", "timestamp", stamp),
        ("Driver Version", "driver_version", machine.driver_version),
        ("CUDA Version", "cuda_version", str(machine.facts[""]["cuda_driver_version"])),
    ]


def _items(board: Board) -> Iterator[Item]:
    yield 1, "Product Name", "product_name", str(board.fact("name"))
    yield 1, "Product Brand", "product_brand", "NVIDIA"
    yield 1, "Product Architecture", "product_architecture", "Hopper"
    yield 1, "Persistence Mode", "persistence_mode", "Enabled"
    mode = "Enabled" if board.fact("mig") else "Disabled"
    yield 1, "MIG Mode", "mig_mode", ""
    yield 2, "Current", "current_mig", mode
    yield 2, "Pending", "pending_mig", mode
    yield 1, "Serial Number", "serial", str(board.fact("serial"))
    yield 1, "GPU UUID", "uuid", str(board.fact("uuid"))
    yield 1, "Minor Number", "minor_number", str(board.gpu.index)
    yield 1, "VBIOS Version", "vbios_version", str(board.fact("vbios"))
    yield 1, "Board Part Number", "board_part_number", str(board.fact("part_number"))
    yield from _pci(board)
    yield 1, "Performance State", "performance_state", f"P{board.whole('performance_state')}"
    active = int(board.value("clocks_event_reasons"))
    yield 1, "Clocks Event Reasons", "clocks_event_reasons", ""
    for name, title in REASON_TITLES.items():
        yield 2, title, f"clocks_event_reason_{name}", "Active" if active & REASONS[name] else "Not Active"
    yield from _memory(board)
    yield from _environment(board)
    yield 1, "Fabric", "fabric", ""
    yield 2, "State", "state", str(board.fact("fabric_state")).capitalize()
    yield 2, "Status", "status", "Success"
    yield from _processes(board)


def _pci(board: Board) -> Iterator[Item]:
    yield 1, "PCI", "pci", ""
    yield 2, "Bus Id", "pci_bus_id", board.bus
    yield 2, "GPU Link Info", "pci_gpu_link_info", ""
    yield 3, "PCIe Generation", "pcie_gen", ""
    yield 4, "Max", "max_link_gen", str(board.fact("max_generation", "/pcie"))
    yield 4, "Current", "current_link_gen", board.whole("generation", "/pcie")
    yield 3, "Link Width", "link_widths", ""
    yield 4, "Max", "max_link_width", f"{board.fact('max_width', '/pcie')}x"
    yield 4, "Current", "current_link_width", f"{board.whole('width', '/pcie')}x"
    yield 2, "Replays Since Reset", "replay_counter", board.whole("replays", "/pcie")
    yield 2, "Replay Number Rollovers", "replay_rollover_counter", "0"


def _memory(board: Board) -> Iterator[Item]:
    used = int(board.value("memory_used_bytes")) >> 20
    yield 1, "FB Memory Usage", "fb_memory_usage", ""
    yield 2, "Total", "total", f"{board.memory_mib} MiB"
    yield 2, "Used", "used", f"{used} MiB"
    yield 2, "Free", "free", f"{board.memory_mib - used} MiB"
    yield 1, "Compute Mode", "compute_mode", "Default"
    yield 1, "Utilization", "utilization", ""
    yield 2, "GPU", "gpu_util", f"{board.whole('utilization_pct')} %"
    yield 1, "ECC Mode", "ecc_mode", ""
    yield 2, "Current", "current_ecc", "Enabled"
    yield 2, "Pending", "pending_ecc", "Enabled"
    yield 1, "ECC Errors", "ecc_errors", ""
    yield 2, "Volatile", "volatile", ""
    yield 3, "SRAM Correctable", "sram_correctable", "0"
    yield 3, "SRAM Uncorrectable Parity", "sram_uncorrectable_parity", "0"
    yield 3, "DRAM Correctable", "dram_correctable", board.whole("ecc_corrected", "/hbm")
    yield 3, "DRAM Uncorrectable", "dram_uncorrectable", board.whole("ecc_uncorrected", "/hbm")
    yield 1, "Remapped Rows", "remapped_rows", ""
    yield 2, "Correctable Error", "remapped_row_corr", board.whole("remapped_correctable", "/hbm")
    yield 2, "Uncorrectable Error", "remapped_row_unc", board.whole("remapped_uncorrectable", "/hbm")
    yield 2, "Pending", "remapped_row_pending", "Yes" if board.value("remap_pending", "/hbm") else "No"
    failed = "Yes" if board.value("remap_failure", "/hbm") else "No"
    yield 2, "Remapping Failure Occurred", "remapped_row_failure", failed


def _environment(board: Board) -> Iterator[Item]:
    yield 1, "Temperature", "temperature", ""
    yield 2, "GPU Current Temp", "gpu_temp", f"{board.whole('temperature_c')} C"
    yield 1, "GPU Power Readings", "gpu_power_readings", ""
    yield 2, "Average Power Draw", "average_power_draw", f"{board.value('power_w'):.2f} W"
    yield 2, "Current Power Limit", "current_power_limit", f"{board.value('power_limit_w'):.2f} W"
    yield 1, "Clocks", "clocks", ""
    yield 2, "Graphics", "graphics_clock", f"{board.whole('sm_clock_mhz')} MHz"
    yield 2, "SM", "sm_clock", f"{board.whole('sm_clock_mhz')} MHz"
    yield 2, "Memory", "mem_clock", f"{board.whole('memory_clock_mhz')} MHz"


def _processes(board: Board) -> Iterator[Item]:
    running = board.machine.compute_processes(board.gpu)
    yield 1, "Processes", "processes", "" if running else "None"
    for pid, used in running:
        yield 2, "Process ID", "pid", str(pid)
        yield 3, "Type", "type", "C"
        yield 3, "Name", "process_name", "python3"
        yield 3, "Used GPU Memory", "used_memory", f"{used >> 20} MiB"
