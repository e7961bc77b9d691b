"""The `nvml` domain: GPUs and their NVLink lanes through the driver's management library.

One GPU that is lost or answers nothing costs the others nothing.
"""

import ctypes
import time

import pci
import pynvml
from fields import Fields
from workers import Unreadable

NOT_INITIALISED, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, TOO_SMALL, NOT_LOADED, NO_FUNCTION = 1, 3, 4, 6, 7, 9, 13
LOST, RESET_REQUIRED, MISMATCH = 15, 16, 18
BY_DESIGN = (NOT_SUPPORTED, NO_PERMISSION, NO_FUNCTION)
"""Codes that say "not here", not "broken"."""
UNUSABLE = (LOST, RESET_REQUIRED)
GONE = (NOT_INITIALISED, NOT_LOADED, MISMATCH)
"""Codes after which the library has to be opened anew."""
ASK_AGAIN = 60
"""Ticks after which a reading that is not there by design is asked for again."""
ASK_AGAIN_SOON = 10
"""The same of one that failed on a single lane."""
PER_LANE = ("state", "counter")

MOST_LANES = 18
LINK_COUNT = 91
LANE_ERRORS = (
    ("state", 165),
    ("speed_mbps", 164),
    ("replay_errors", 161),
    ("recovery_errors", 162),
    ("crc_errors", 163),
)
LANE_TRAFFIC = (("tx_kib", 138), ("rx_kib", 139))
LEGACY_COUNTERS = {2: 0, 3: 1, 4: 2}
"""Position in LANE_ERRORS -> nvmlNvLinkErrorCounter of drivers that don't know the fields."""
LATE = 0.3
"""Share of the period that a reading may take before the traffic counters are read less often."""

GPU_NAMES = [
    "temperature_c",
    "power_w",
    "power_limit_w",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "utilization_pct",
    "memory_used_bytes",
    "clocks_event_reasons",
    "performance_state",
    "energy_j",
    "compute_processes",
    "nvml_error",
]
HBM_NAMES = [
    "ecc_corrected",
    "ecc_uncorrected",
    "remapped_correctable",
    "remapped_uncorrectable",
    "remap_pending",
    "remap_failure",
]
PCIE_NAMES = ["replays", "generation", "width"]
SCALES = {"power_w": 0.001, "power_limit_w": 0.001, "energy_j": 0.001}
FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
REMOTE_TYPES = {0: "gpu", 2: "switch"}


def _compute_processes(handle):
    """How many processes compute on the GPU; the list itself is not asked for."""
    count = ctypes.c_uint(0)
    code = pynvml._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses_v3")(handle, ctypes.byref(count), None)
    if code not in (0, TOO_SMALL):
        raise pynvml.NVMLError(code)
    return count.value


BASIC = [
    lambda handle: pynvml.nvmlDeviceGetTemperature(handle, 0),
    lambda handle: pynvml.nvmlDeviceGetPowerUsage(handle),
    lambda handle: pynvml.nvmlDeviceGetPowerManagementLimit(handle),
    lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, 1),
    lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, 2),
    lambda handle: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
    lambda handle: pynvml.nvmlDeviceGetMemoryInfo(handle).used,
    lambda handle: pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
    lambda handle: pynvml.nvmlDeviceGetPerformanceState(handle),
    lambda handle: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle),
    _compute_processes,
]
MEMORY = [
    lambda handle: pynvml.nvmlDeviceGetTotalEccErrors(handle, 0, 0),
    lambda handle: pynvml.nvmlDeviceGetTotalEccErrors(handle, 1, 0),
]
LINK = [
    lambda handle: pynvml.nvmlDeviceGetPcieReplayCounter(handle),
    lambda handle: pynvml.nvmlDeviceGetCurrPcieLinkGeneration(handle),
    lambda handle: pynvml.nvmlDeviceGetCurrPcieLinkWidth(handle),
]


def ask(call, *arguments):
    """The answer of a call, or None; for facts, where a missing one is only missing."""
    try:
        return call(*arguments)
    except pynvml.NVMLError:
        return None


def short_address(bus_id):
    """`0000:19:00.0` of NVML's `00000000:19:00.0`."""
    text = (bus_id.decode() if isinstance(bus_id, bytes) else bus_id).lower()
    return text[4:] if len(text) == 16 else text


class Gpu(object):
    """One GPU: its handle or the code that stands in its place, and what it answers."""

    def __init__(self, number, handle, error, address):
        self.number = number
        self.name = "gpu%d" % number
        self.handle = handle
        self.error = error
        self.address = address
        self.lanes = self._count_lanes()
        self.legacy = False
        self.silent = {}
        """Reading -> tick from which it is asked again."""

    def _count_lanes(self):
        if self.handle is None:
            return None
        try:
            answer = pynvml.nvmlDeviceGetFieldValues(self.handle, [LINK_COUNT])[0]
            if answer.nvmlReturn == 0:
                return min(answer.value.uiVal, MOST_LANES)
        except pynvml.NVMLError as error:
            if error.value in UNUSABLE:
                return None
        states = [ask(pynvml.nvmlDeviceGetNvLinkState, self.handle, lane) for lane in range(MOST_LANES)]
        return max([lane + 1 for lane, state in enumerate(states) if state is not None] or [0])

    def prepare(self, lanes):
        """Build the arrays once it is known how many lanes there are."""
        self.lanes = lanes
        self.errors = Fields([field for _, field in LANE_ERRORS], lanes)
        self.traffic = Fields([field for _, field in LANE_TRAFFIC], lanes)
        self.last_traffic = [None] * (len(LANE_TRAFFIC) * lanes)

    def read(self, turn, with_traffic):
        """All values of the GPU, in the order of its schema."""
        self.code = self.error if self.handle is None else 0
        basic = [self.value(turn, ("basic", i), call) for i, call in enumerate(BASIC)]
        basic_code = self.code
        memory = [self.value(turn, ("memory", i), call) for i, call in enumerate(MEMORY)]
        rows = self.value(turn, "rows", pynvml.nvmlDeviceGetRemappedRows)
        memory += list(rows) if rows else [None] * 4
        link = [self.value(turn, ("link", i), call) for i, call in enumerate(LINK)]
        return basic + [basic_code] + memory + link + self._read_lanes(turn, with_traffic)

    def value(self, turn, name, call):
        """The answer of one call; None where it fails, and then it is not asked at every tick."""
        if self.code in UNUSABLE or self.handle is None or self.silent.get(name, 0) > turn:
            return None
        try:
            return call(self.handle)
        except pynvml.NVMLError as error:
            if error.value in BY_DESIGN:
                self.silent[name] = turn + ASK_AGAIN
            elif name[0] in PER_LANE:
                self.silent[name] = turn + ASK_AGAIN_SOON
            elif not self.code:
                self.code = error.value
            return None

    def _read_lanes(self, turn, with_traffic):
        errors = self.value(turn, "lanes", self.errors.read) or [None] * self.errors.count
        if self.handle is not None and self.code not in UNUSABLE:
            self._fill(turn, errors)
        if with_traffic or self.code in UNUSABLE:
            self.last_traffic = self.value(turn, "traffic", self.traffic.read) or [None] * self.traffic.count
        return errors + self.last_traffic

    def _fill(self, turn, errors):
        """Ask the older calls for what the fields don't answer: the state of a lane, and its three counters."""
        width = len(LANE_ERRORS)
        for lane in range(self.lanes):
            base = lane * width
            if errors[base] is None:
                errors[base] = self.value(
                    turn, ("state", lane), lambda handle, lane=lane: pynvml.nvmlDeviceGetNvLinkState(handle, lane)
                )
            for position, counter in LEGACY_COUNTERS.items():
                if errors[base + position] is None and errors[base]:
                    errors[base + position] = self.value(
                        turn,
                        ("counter", lane, counter),
                        lambda handle, lane=lane, counter=counter: pynvml.nvmlDeviceGetNvLinkErrorCounter(
                            handle, lane, counter
                        ),
                    )

    def facts(self):
        """What the GPU is; only its place where it can't be asked."""
        known = {"bus_address": self.address}
        if self.handle is not None:
            handle = self.handle
            memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
            mig = ask(pynvml.nvmlDeviceGetMigMode, handle)
            known.update(
                name=ask(pynvml.nvmlDeviceGetName, handle),
                uuid=ask(pynvml.nvmlDeviceGetUUID, handle),
                serial=ask(pynvml.nvmlDeviceGetSerial, handle),
                part_number=ask(pynvml.nvmlDeviceGetBoardPartNumber, handle),
                vbios=ask(pynvml.nvmlDeviceGetVbiosVersion, handle),
                memory_bytes=memory.total if memory else None,
                mig=bool(mig and mig[0]),
            )
            known.update(self._fabric())
        facts = [[self.name, key, value] for key, value in sorted(known.items()) if value is not None]
        if self.handle is not None:
            facts += self._link_facts()
        return facts

    def _fabric(self):
        """State of the GPU in its NVLink fabric, and the fabric it belongs to where that spans nodes."""
        info = pynvml.c_nvmlGpuFabricInfo_v2_t()
        if ask(pynvml.nvmlDeviceGetGpuFabricInfoV, self.handle, ctypes.byref(info)) is None:
            return {}
        known = {"fabric_state": FABRIC_STATES.get(info.state & 0xFF)}
        if any(info.clusterUuid):
            digits = "".join("%02x" % byte for byte in info.clusterUuid)
            pieces = [digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))]
            known.update(cluster_uuid="-".join(pieces), clique_id=info.cliqueId)
        return known

    def _link_facts(self):
        link = self.name + "/pcie"
        facts = [
            [link, "max_generation", ask(pynvml.nvmlDeviceGetMaxPcieLinkGeneration, self.handle)],
            [link, "max_width", ask(pynvml.nvmlDeviceGetMaxPcieLinkWidth, self.handle)],
        ]
        for lane in range(self.lanes):
            name = "%s/nvlink%d" % (self.name, lane)
            remote = ask(pynvml.nvmlDeviceGetNvLinkRemotePciInfo, self.handle, lane)
            kind = ask(pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, self.handle, lane)
            if remote is not None and remote.busId:
                facts.append([name, "remote_address", short_address(remote.busId)])
            facts.append([name, "remote_type", REMOTE_TYPES.get(kind)])
        return [fact for fact in facts if fact[2] is not None]


class NvmlReader(object):
    """All GPUs of the node. One that is lost costs the others nothing."""

    def __init__(self, period):
        self.period = period
        self.turn = 0
        self.slow = False
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            raise Unreadable("NVML: %s" % error)
        self.gpus = self._open(count)
        lanes = max([gpu.lanes or 0 for gpu in self.gpus] or [0])
        for gpu in self.gpus:
            # a GPU that can't be asked has the lanes of its equals, so that they read missing and not absent
            gpu.prepare(lanes if gpu.lanes is None else gpu.lanes)

    def _open(self, count):
        """The GPUs numbered in the order of their bus addresses, as sysfs numbers them in the `pci` domain too."""
        found = [self._handle(index) for index in range(count)]
        seen = pci.gpu_addresses()
        if not {address for _, _, address in found if address} <= set(seen) or len(seen) < count:
            return [Gpu(number, *one) for number, one in enumerate(found)]
        without = [one for one in found if not one[2]]
        by_address = {address: one for one in found for address in [one[2]] if address}
        gpus = []
        for number, address in enumerate(seen):
            handle, error, _ = by_address.get(address) or (without.pop(0) if without else (None, NOT_FOUND, None))
            gpus.append(Gpu(number, handle, error, address))
        return gpus

    def _handle(self, index):
        """(handle, error code, bus address) of the GPU at an index of NVML's."""
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        except pynvml.NVMLError as error:
            return None, error.value, None
        place = ask(pynvml.nvmlDeviceGetPciInfo, handle)
        return handle, 0, short_address(place.busId) if place else None

    def changed(self):
        """Never under way: NVML shows no GPU that came after nvmlInit."""
        return False

    def schema(self):
        """The fields, GPU by GPU."""
        groups = []
        for gpu in self.gpus:
            groups += [[gpu.name, GPU_NAMES], [gpu.name + "/hbm", HBM_NAMES], [gpu.name + "/pcie", PCIE_NAMES]]
            for fields in (LANE_ERRORS, LANE_TRAFFIC):
                names = [name for name, _ in fields]
                groups += [["%s/nvlink%d" % (gpu.name, lane), names] for lane in range(gpu.lanes)]
        return groups, SCALES

    def facts(self):
        """Versions, and what each GPU is."""
        cuda = ask(pynvml.nvmlSystemGetCudaDriverVersion)
        facts = [
            ["", "driver_version", ask(pynvml.nvmlSystemGetDriverVersion)],
            ["", "nvml_version", ask(pynvml.nvmlSystemGetNVMLVersion)],
            ["", "cuda_driver_version", "%d.%d" % (cuda // 1000, cuda % 1000 // 10) if cuda else None],
            ["", "gpu_count", len(self.gpus)],
        ]
        facts = [fact for fact in facts if fact[2] is not None]
        for gpu in self.gpus:
            facts += gpu.facts()
        return facts

    def read(self):
        """The values of the schema; traffic only at every fifth tick where reading is slow."""
        began = time.monotonic()
        with_traffic = not self.slow or self.turn % 5 == 0
        values = []
        for gpu in self.gpus:
            values += gpu.read(self.turn, with_traffic)
        if self.gpus and all(gpu.code in GONE for gpu in self.gpus):
            raise Unreadable("NVML: the driver went away (return code %d)" % self.gpus[0].code)
        self.turn += 1
        self.slow = self.slow or time.monotonic() - began > LATE * self.period
        return values
