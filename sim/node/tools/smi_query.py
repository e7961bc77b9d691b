"""`nvidia-smi --query-gpu=… --format=csv[,noheader][,nounits]`."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..machine import Machine
from .boards import Board, boards

LOST = "[GPU is lost]"
REASONS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}
"""Bits of clocks_event_reasons."""

Answer = Callable[[Board], str]


def _fact(key: str, part: str = "") -> Answer:
    return lambda board: str(board.fact(key, part))


def _whole(field: str, part: str = "") -> Answer:
    return lambda board: board.whole(field, part)


def _watts(field: str) -> Answer:
    return lambda board: f"{board.value(field):.2f}"


def _yes(field: str, part: str) -> Answer:
    return lambda board: "Yes" if board.value(field, part) else "No"


def _reason(bit: int) -> Answer:
    return lambda board: "Active" if int(board.value("clocks_event_reasons")) & bit else "Not Active"


FIELDS: dict[str, tuple[str, Answer]] = {
    "timestamp": ("", lambda board: time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(board.machine.now())) + ".000"),
    "driver_version": ("", lambda board: board.machine.driver_version),
    "count": ("", lambda board: str(len(board.machine.hardware.gpus))),
    "name": ("", _fact("name")),
    "serial": ("", _fact("serial")),
    "uuid": ("", _fact("uuid")),
    "index": ("", lambda board: str(board.gpu.index)),
    "pci.bus_id": ("", lambda board: board.bus),
    "vbios_version": ("", _fact("vbios")),
    "persistence_mode": ("", lambda board: "Enabled"),
    "mig.mode.current": ("", lambda board: "Enabled" if board.fact("mig") else "Disabled"),
    "compute_mode": ("", lambda board: "Default"),
    "compute_cap": ("", lambda board: "9.0"),
    "pcie.link.gen.current": ("", _whole("generation", "/pcie")),
    "pcie.link.gen.max": ("", _fact("max_generation", "/pcie")),
    "pcie.link.width.current": ("", _whole("width", "/pcie")),
    "pcie.link.width.max": ("", _fact("max_width", "/pcie")),
    "pstate": ("", lambda board: f"P{board.whole('performance_state')}"),
    "temperature.gpu": ("", _whole("temperature_c")),
    "power.draw": ("W", _watts("power_w")),
    "power.limit": ("W", _watts("power_limit_w")),
    "enforced.power.limit": ("W", _watts("power_limit_w")),
    "clocks.current.sm": ("MHz", _whole("sm_clock_mhz")),
    "clocks.current.memory": ("MHz", _whole("memory_clock_mhz")),
    "utilization.gpu": ("%", _whole("utilization_pct")),
    "memory.total": ("MiB", lambda board: str(board.memory_mib)),
    "memory.used": ("MiB", lambda board: f"{board.value('memory_used_bytes') / 2**20:.0f}"),
    "ecc.mode.current": ("", lambda board: "Enabled"),
    "ecc.errors.corrected.volatile.total": ("", _whole("ecc_corrected", "/hbm")),
    "ecc.errors.uncorrected.volatile.total": ("", _whole("ecc_uncorrected", "/hbm")),
    "remapped_rows.correctable": ("", _whole("remapped_correctable", "/hbm")),
    "remapped_rows.uncorrectable": ("", _whole("remapped_uncorrectable", "/hbm")),
    "remapped_rows.pending": ("", _yes("remap_pending", "/hbm")),
    "remapped_rows.failure": ("", _yes("remap_failure", "/hbm")),
    "fabric.state": ("", lambda board: str(board.fact("fabric_state")).capitalize()),
    "fabric.status": ("", lambda board: "Success"),
    "clocks_event_reasons.active": ("", lambda board: f"0x{int(board.value('clocks_event_reasons')):016X}"),
    **{f"clocks_event_reasons.{name}": ("", _reason(bit)) for name, bit in REASONS.items()},
}
"""Field: its unit and what a board answers."""

ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_serial": "serial",
    "gpu_bus_id": "pci.bus_id",
    "clocks.sm": "clocks.current.sm",
    "clocks.mem": "clocks.current.memory",
}


def query(machine: Machine, fields: str, form: str, which: list[int]) -> int:
    """Print the fields, comma-separated names, of the chosen GPUs."""
    wanted = [field.strip() for field in fields.split(",")]
    unknown = [field for field in wanted if ALIASES.get(field, field).replace("throttle", "event") not in FIELDS]
    if unknown:
        print(f'Field "{unknown[0]}" is not a valid field to query.\n')
        return 2
    options = form.split(",")
    if "csv" not in options:
        print('"--format=" must be specified as "csv"')
        return 2
    answers = [FIELDS[ALIASES.get(field, field).replace("throttle", "event")] for field in wanted]
    if "noheader" not in options:
        print(", ".join(f"{name} [{unit}]" if unit else name for name, (unit, _) in zip(wanted, answers, strict=True)))
    for board in boards(machine):
        if board.gpu.index in which:
            print(", ".join(_cell(board, unit, answer, "nounits" in options) for unit, answer in answers))
    return 0


def _cell(board: Board, unit: str, answer: Answer, bare: bool) -> str:
    if board.lost and answer not in (FIELDS["index"][1], FIELDS["pci.bus_id"][1], FIELDS["timestamp"][1]):
        return LOST
    value = answer(board)
    return value if bare or not unit or value.startswith("[") else f"{value} {unit}"
