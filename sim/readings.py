"""What a simulated node's counters and sensors read at a time.

Names are those of the collector's samples. What can't be read is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from .draws import uniform
from .hardware import GTS, Gpu, Hardware, Nic
from .herrings import Herrings
from .ledger import Key, Ledger
from .running import RunningFault
from .scenario import Scenario
from .tenants import Tenants

Readings = dict[Key, float]

GPU_IS_LOST = 15.0
"""NVML_ERROR_GPU_IS_LOST."""
IDLE_REASON = 0x1
"""Clocks event reason: nothing to do."""
POWER_CAP_REASON = 0x4
"""Clocks event reason: software power cap."""

IB_COUNTERS = (
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "multicast_rcv_packets",
    "multicast_xmit_packets",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
)
IB_HW_COUNTERS = (
    "duplicate_request",
    "implied_nak_seq_err",
    "lifespan",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
)

TRAFFIC = {
    "port_xmit_data": 0.25,
    "port_rcv_data": 0.25,
    "port_xmit_packets": 1 / 4200,
    "port_rcv_packets": 1 / 4200,
    "unicast_xmit_packets": 1 / 4200,
    "unicast_rcv_packets": 1 / 4200,
}
"""Counts of a NIC per byte of traffic: data counters count words of four bytes."""

TENANT_LOAD = 0.55
"""Share of a NIC's rate that a tenant uses while it is there."""


def domain_of(key: Key) -> str:
    """Hang domain a reading comes from."""
    within, name = key
    if name in ("speed_gts", "current_width") or name.startswith("aer_"):
        return "pci"
    return "nvml" if within.startswith("gpu") else "ib"


class Reader:
    """Readings of one node. Times are seconds since the world began."""

    def __init__(
        self,
        scenario: Scenario,
        hardware: Hardware,
        faults: Sequence[RunningFault],
        plugged: Sequence[tuple[str, RunningFault]],
        herrings: Herrings,
        tenants: Tenants,
        uptime: float,
    ) -> None:
        """`faults`: the node's own. `plugged`: NICs by name, with faults of what they are plugged into."""
        self._seed = scenario.seed
        self._speed = scenario.speed
        self._hardware = hardware
        self._faults = faults
        self._plugged = plugged
        self._herrings = herrings
        self._tenants = tenants
        self._uptime = uptime
        jobs = [row.since for row in scenario.sick if row.node == hardware.node and row.how == "busy"]
        self._busy_since = min(jobs, default=None)

    @cached_property
    def fields(self) -> tuple[Key, ...]:
        """All readings that a healthy node of this kind has, in order."""
        return tuple(self._healthy(0.0, frozenset()))

    def read(self, time: float, loaded: frozenset[str], ledger: Ledger) -> Readings:
        """All readings at a time; `loaded`: GPUs that probing keeps busy."""
        readings = self._healthy(time, loaded)
        for key, count in self._herrings.steps_until(time):
            _add(readings, key, count)
        for (within, name), count in ledger.steps.items():
            if name in ("tx_kib", "rx_kib"):
                for lane in self._hardware.lanes():
                    _add(readings, (f"{within}/nvlink{lane}", name), count)
            else:
                _add(readings, (within, name), count)
        for running in self._faults:
            self._apply(readings, running, time)
        for nic, running in self._plugged:
            self._apply_from_outside(readings, nic, running, time)
        return readings

    def error_counters(self, keys: Iterable[Key], time: float, ledger: Ledger) -> Readings:
        """Of all readings only these error counters: what `read` says of them, in less time."""
        found = {key: self._constant[key] for key in keys if key in self._constant}
        for key, count in self._herrings.steps_until(time):
            _add(found, key, count)
        for key in found:
            found[key] += ledger.steps.get(key, 0)
        for running in self._faults:
            for name, count in running.steps(time).items():
                _add(found, (running.fault.within, name), count)
            if running.fault.kind == "hard" and running.fault.component.kind == "gpu" and running.is_on(time):
                _forget(found, running.fault.within)
        for nic, running in self._plugged:
            self._count_from_outside(found, nic, running, time)
        return found

    def _healthy(self, time: float, loaded: frozenset[str]) -> Readings:
        readings = dict(self._constant)
        for gpu in self._hardware.gpus:
            readings.update(self._gpu(gpu, time, gpu.name in loaded))
        for nic in self._hardware.nics:
            if not nic.disabled:
                readings.update(self._traffic(nic, time))
        return readings

    @cached_property
    def _constant(self) -> Readings:
        """What no second changes: links at rest and counters as they stood when the world began."""
        readings: Readings = {}
        for gpu in self._hardware.gpus:
            readings.update(self._gpu_constant(gpu))
        for nic in self._hardware.nics:
            readings.update(self._nic_constant(nic))
        for device in self._hardware.devices:
            readings.update(self._link(f"{device.name}/pcie"))
        for bridge in self._hardware.bridges:
            readings.update(self._link(f"pcie/{bridge}"))
        for key, count in self._herrings.standing.items():
            _add(readings, key, count)
        return readings

    def _gpu_constant(self, gpu: Gpu) -> Readings:
        platform = self._hardware.platform
        readings: Readings = {
            (gpu.name, "nvml_error"): 0.0,
            (gpu.name, "power_limit_w"): float(platform.board_watts),
            (gpu.name, "memory_clock_mhz"): 2619.0,
            (gpu.name, "performance_state"): 0.0,
            (f"{gpu.name}/pcie", "replays"): 0.0,
            (f"{gpu.name}/pcie", "width"): float(platform.pcie_width),
        }
        for name in ("ecc_corrected", "ecc_uncorrected", "remapped_correctable", "remapped_uncorrectable"):
            readings[f"{gpu.name}/hbm", name] = 0.0
        for name in ("remap_pending", "remap_failure"):
            readings[f"{gpu.name}/hbm", name] = 0.0
        carried = float(int(1e12 * (1 + self._draw("carried", gpu.name))))
        for lane in self._hardware.lanes():
            part = f"{gpu.name}/nvlink{lane}"
            readings[part, "state"] = 1.0
            readings[part, "speed_mbps"] = float(int(platform.lane_gbs * 1000))
            for name in ("replay_errors", "recovery_errors", "crc_errors"):
                readings[part, name] = 0.0
            for name in ("tx_kib", "rx_kib"):
                readings[part, name] = carried
        return readings

    def _nic_constant(self, nic: Nic) -> Readings:
        readings: Readings = {
            (nic.name, "port_state"): 1.0 if nic.disabled else 4.0,
            (nic.name, "phys_state"): 3.0 if nic.disabled else 5.0,
            (nic.name, "rate_gbps"): 10.0 if nic.disabled else float(nic.gbps),
        }
        for name in (*IB_COUNTERS, *IB_HW_COUNTERS):
            readings[nic.name, name] = 0.0
        readings[nic.name, "lifespan"] = 12.0
        return readings

    def _link(self, part: str) -> Readings:
        return {
            (part, "speed_gts"): GTS[self._hardware.platform.pcie_generation],
            (part, "current_width"): float(self._hardware.platform.pcie_width),
            (part, "aer_correctable"): 0.0,
            (part, "aer_nonfatal"): 0.0,
            (part, "aer_fatal"): 0.0,
        }

    def _gpu(self, gpu: Gpu, time: float, probed: bool) -> Readings:
        """Sensors of a GPU: at rest, under a probe, or under a job."""
        jobs = self._busy_since is not None and time >= self._busy_since
        watts, warmer, percent, memory = (655.0, 27, 97.0, 6.1e10) if jobs else (168.0, 7, 22.0, 1.4e9)
        if not (jobs or probed):
            watts, warmer, percent, memory = 71.0, 0, 0.0, 6.2e8
        jitter = self._draw("second", gpu.name, int(time))
        generation = self._hardware.platform.pcie_generation if jobs or probed else 1
        idle_watts = 655.0 if jobs else 71.0
        return {
            (gpu.name, "temperature_c"): float(29 + int(6 * self._draw("warmth", gpu.name) + jitter) + warmer),
            (gpu.name, "power_w"): round(watts * (0.97 + 0.06 * jitter), 3),
            (gpu.name, "sm_clock_mhz"): 1980.0 if jobs or probed else 345.0,
            (gpu.name, "utilization_pct"): percent,
            (gpu.name, "memory_used_bytes"): memory,
            (gpu.name, "clocks_event_reasons"): float(POWER_CAP_REASON if jobs else 0 if probed else IDLE_REASON),
            (gpu.name, "energy_j"): round(idle_watts * (self._uptime + time), 3),
            (gpu.name, "compute_processes"): 1.0 if jobs else 0.0,
            (f"{gpu.name}/pcie", "generation"): float(generation),
            **_speed(gpu, GTS[generation]),
        }

    def _traffic(self, nic: Nic, time: float) -> Readings:
        tenant = self._tenants.of(nic.name)
        seconds = tenant.seconds_on(0.0, max(time, 0.0) * self._speed) / self._speed if tenant else 0.0
        carried = (1e15 * self._draw("carried", nic.name)) + seconds * TENANT_LOAD * nic.gbps * 1e9 / 8
        return {(nic.name, name): float(int(carried * per_byte)) for name, per_byte in TRAFFIC.items()}

    def _apply(self, readings: Readings, running: RunningFault, time: float) -> None:
        fault = running.fault
        for name, count in running.steps(time).items():
            _add(readings, (fault.within, name), count)
        if not running.is_on(time):
            return
        kind = fault.component.kind
        if fault.kind == "hard":
            for lane in self._lanes_lost(fault.within, kind):
                readings[lane, "state"], readings[lane, "speed_mbps"] = 0.0, 0.0
            if kind == "gpu":
                _take_off_the_bus(readings, self._hardware.gpu(fault.within))
        if kind == "nic" and fault.takes_all:
            readings[fault.within, "port_state"], readings[fault.within, "phys_state"] = 1.0, 2.0
        if kind == "hbm" and fault.kind == "degraded":
            readings[fault.within, "remap_pending"] = 1.0
        for part in self._both_ends(fault.within):
            _narrow(readings, part, fault.width, fault.generation)

    def _apply_from_outside(self, readings: Readings, nic: str, running: RunningFault, time: float) -> None:
        """What a fault of the cable or leaf that a NIC is plugged into shows at the NIC."""
        self._count_from_outside(readings, nic, running, time)
        if running.fault.takes_all and running.is_on(time):
            readings[nic, "port_state"], readings[nic, "phys_state"] = 1.0, 2.0

    def _count_from_outside(self, readings: Readings, nic: str, running: RunningFault, time: float) -> None:
        """Only a cable counts at rest: through a leaf there must be traffic."""
        if running.fault.part_kind == "cable":
            for name, count in running.steps(time).items():
                _add(readings, (nic, name), count)

    def _lanes_lost(self, within: str, kind: str) -> Iterator[str]:
        if kind == "nvlink":
            yield within
        elif kind == "nvswitch":
            for gpu in self._hardware.gpus:
                for lane in self._hardware.lanes():
                    if self._hardware.switch_port(gpu.index, lane)[0] == int(within.removeprefix("nvswitch")):
                        yield f"{gpu.name}/nvlink{lane}"

    def _both_ends(self, within: str) -> tuple[str, ...]:
        """The names of both ends of a PCIe link: each shows its width and speed."""
        return next((ends for ends in self._links if within in ends), (within,))

    @cached_property
    def _links(self) -> tuple[tuple[str, str], ...]:
        """Root port and switch, switch port and device: the ends of each link, upper one first."""
        links = set()
        for device in self._hardware.devices:
            links.add((f"pcie/{device.path[-1]}", f"{device.name}/pcie"))
            if len(device.path) > 1:
                links.add((f"pcie/{device.path[0]}", f"pcie/{device.path[1]}"))
        return tuple(sorted(links))

    def _draw(self, *keys: object) -> float:
        return uniform("reading", self._seed, self._hardware.node, *keys)


def _speed(gpu: Gpu, gts: float) -> Mapping[Key, float]:
    return {(f"{gpu.name}/pcie", "speed_gts"): gts, (f"pcie/{gpu.path[-1]}", "speed_gts"): gts}


def _add(readings: Readings, key: Key, count: int) -> None:
    if count and key in readings:
        readings[key] += count


def _narrow(readings: Readings, part: str, width: int, generation: int) -> None:
    """Show what a link has left; one at rest stays at rest."""
    if width:
        for name in ("width", "current_width"):
            if (part, name) in readings:
                readings[part, name] = float(width)
    if generation:
        if (part, "speed_gts") in readings:
            readings[part, "speed_gts"] = min(readings[part, "speed_gts"], GTS[generation])
        if (part, "generation") in readings:
            readings[part, "generation"] = min(readings[part, "generation"], float(generation))


def _forget(readings: Readings, gpu: str) -> None:
    """Leave out what only the driver tells of a GPU."""
    for within, name in [key for key in readings if key[0] == gpu or key[0].startswith(f"{gpu}/")]:
        if not name.startswith("aer_"):
            del readings[within, name]


def _take_off_the_bus(readings: Readings, gpu: Gpu) -> None:
    """NVML answers `GPU is lost`; of PCIe only what the kernel itself counted is left; the port above has no link."""
    _forget(readings, gpu.name)
    readings[gpu.name, "nvml_error"] = GPU_IS_LOST
    readings[f"pcie/{gpu.path[-1]}", "speed_gts"] = GTS[1]
    readings[f"pcie/{gpu.path[-1]}", "current_width"] = 0.0
