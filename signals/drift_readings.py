"""Versions and settings that tools printed, as statements about nodes and parts."""

from __future__ import annotations

from collections.abc import Iterator

from ..incident.ids import ComponentId, NodeId, gpu_id, host_id
from ..parsers.host.sysctl import KernelSetting
from ..parsers.host.versions import SoftwareVersion
from ..parsers.infiniband.ibstat import Hca
from ..parsers.infiniband.ibswinfo import SwitchInfo
from ..parsers.kernel_command_line import KernelCommandLine
from ..parsers.nccl.log_messages import NcclVersion
from ..parsers.nvidia_smi.gpu_report import Driver, GpuReport
from ..parsers.platform.proc_nvidia import DriverVersion
from .kernel_words import words_of
from .readings import UNKNOWN_NODE, Output, Readings
from .statements import COMMAND_LINE, NCCL, Statement

SETTINGS = frozenset(
    {
        "kernel.numa_balancing", "vm.nr_hugepages", "vm.zone_reclaim_mode", "vm.overcommit_memory", "vm.max_map_count",
        "kernel.sched_autogroup_enabled", "net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_ecn",
        "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce", "net.ipv4.conf.all.rp_filter",
        "net.ipv4.conf.default.rp_filter",
    }
)  # fmt: skip
"""Kernel settings that matter to jobs; many others count or name something of their node."""


def told_by_tools(readings: Readings) -> Iterator[Statement]:
    """All statements, the oldest first."""
    for output in _oldest_first(readings):
        if output.node != UNKNOWN_NODE:
            yield from _of_node(output)
        yield from _of_others(output)


def _oldest_first(readings: Readings) -> list[Output]:
    return sorted(readings.outputs, key=lambda output: (output.moment.label, output.moment.time or 0.0))


def _of_node(output: Output) -> Iterator[Statement]:
    host = host_id(output.node)
    for reading in output.readings:
        match reading:
            case Driver(version=str(version)) | DriverVersion(version=version):
                yield Statement("driver", "", host, version, output.id)
            case KernelCommandLine():
                line = " ".join(map(str, reading.parameters))
                yield Statement(COMMAND_LINE, "", host, words_of(line), output.id)
            case KernelSetting(name=name, value=value) if name in SETTINGS:
                yield Statement(f"setting {name}", "", host, value, output.id)
            case Hca(firmware=str(firmware)):
                board = reading.board or reading.ca_type or ""
                yield Statement("NIC firmware", board, output.node / reading.device, firmware, output.id)
    yield from _of_gpus(output)


def _of_gpus(output: Output) -> Iterator[Statement]:
    reports = [reading for reading in output.readings if isinstance(reading, GpuReport)]
    for number, report in enumerate(reports):
        gpu = gpu_id(output.node, number if report.index is None else report.index)
        model = report.name or ""
        for what, value in (
            ("VBIOS", report.vbios),
            ("GSP firmware", report.gsp_firmware),
            ("board part number", report.board_part_number),
        ):
            if value:
                yield Statement(what, model, gpu, value, output.id)


def _of_others(output: Output) -> Iterator[Statement]:
    """What names its own subject: a host, or a switch that some node was asked about."""
    for reading in output.readings:
        match reading:
            case NcclVersion() | SoftwareVersion():
                node = output.node if output.node != UNKNOWN_NODE else NodeId(reading.host)
                what = NCCL if isinstance(reading, NcclVersion) else reading.what
                if node:
                    yield Statement(what, "", host_id(node), reading.version, output.id)
            case SwitchInfo(firmware=str(firmware)) if reading.title or reading.guid:
                kind = reading.psid or reading.part_number or ""
                name = (reading.title or reading.guid or "").replace("/", "_")
                yield Statement("switch firmware", kind, ComponentId(name), firmware, output.id)
