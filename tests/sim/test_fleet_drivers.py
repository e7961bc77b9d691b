"""The driver libraries of a simulated node: the real pynvml over its NVML, and ctypes programs over its CUDA."""

from __future__ import annotations

import ctypes
import json
import pickle
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pynvml
import pytest
from lanescope.sim.hosts import Host, prepare
from lanescope.sim.node.machine import Machine
from lanescope.sim.scenario import load_scenario

SCENARIO = """
platform = "h100_hgx"
nodes = 1
speed = 100.0
[world]
tenants = 0.0
herrings = 0.0
background = 0.0
noise = 0.01
path_bias = 0.0
outliers = 0.0
[[fault]]
component = "sim1/gpu3/nvlink7"
kind = "degraded"
slowdown = 0.5
share = "gate"
counters = { recovery_errors = { rate = 20, trials = 1.0 } }
from = 0.0
[[fault]]
component = "sim1/gpu6"
kind = "hard"
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "one.toml").write_text(SCENARIO, "utf-8")
    scenario = load_scenario(tmp_path / "one.toml")
    (tmp_path / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    return prepare(tmp_path, scenario, "sim1", time.time())


@pytest.fixture
def machine(host: Host) -> Machine:
    return Machine(str(host.folder))


@pytest.fixture
def nvml(machine: Machine) -> Iterator[ModuleType]:
    """The real pynvml, over the node's library."""
    pynvml.nvmlLib = machine.nvml_library()
    pynvml._nvmlGetFunctionPointer_cache.clear()
    pynvml.nvmlInit()
    yield pynvml
    pynvml.nvmlShutdown()
    pynvml.nvmlLib = None
    pynvml._nvmlGetFunctionPointer_cache.clear()


def test_pynvml_reads_what_a_board_is(nvml: ModuleType, machine: Machine) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(3)
    assert nvml.nvmlSystemGetDriverVersion() == machine.driver_version
    assert nvml.nvmlSystemGetCudaDriverVersion() == 12080
    assert nvml.nvmlDeviceGetCount() == 8
    assert nvml.nvmlDeviceGetUUID(handle) == machine.facts["gpu3"]["uuid"]
    assert nvml.nvmlDeviceGetSerial(handle) == machine.facts["gpu3"]["serial"]
    assert nvml.nvmlDeviceGetPciInfo(handle).busId == "00000000:5D:00.0"
    assert nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle) == 5
    assert nvml.nvmlDeviceGetMigMode(handle) == [0, 0]
    by_bus = nvml.nvmlDeviceGetHandleByPciBusId("00000000:5D:00.0")
    assert ctypes.addressof(by_bus.contents) == ctypes.addressof(handle.contents) == 4


def test_pynvml_reads_what_a_board_does(nvml: ModuleType, machine: Machine) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    assert 20 <= nvml.nvmlDeviceGetTemperature(handle, 0) <= 90
    assert nvml.nvmlDeviceGetTemperatureV(handle, 0) == nvml.nvmlDeviceGetTemperature(handle, 0)
    assert nvml.nvmlDeviceGetPowerUsage(handle) < nvml.nvmlDeviceGetPowerManagementLimit(handle) == 700_000
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    assert memory.used + memory.free == memory.total == machine.facts["gpu0"]["memory_bytes"]
    assert nvml.nvmlDeviceGetRemappedRows(handle) == (0, 0, 0, 0)
    assert nvml.nvmlDeviceGetComputeRunningProcesses(handle) == []
    fabric = nvml.c_nvmlGpuFabricInfo_v2_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(fabric))
    assert (fabric.state, fabric.status) == (3, 0)


def test_a_lane_tells_its_state_its_counters_and_its_far_end(nvml: ModuleType) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetNvLinkState(handle, 17) == 1
    assert nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, 17).busId == "00000000:86:00.0"
    assert nvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, 17) == nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
    with pytest.raises(nvml.NVMLError) as raised:
        nvml.nvmlDeviceGetNvLinkState(handle, 18)
    assert raised.value.value == nvml.NVML_ERROR_INVALID_ARGUMENT


def test_field_values_come_in_one_call_and_nvlink_5_fields_are_not_supported(nvml: ModuleType) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    values = nvml.nvmlDeviceGetFieldValues(handle, [(164, 2), (165, 2), (161, 2), (203, 2)])
    assert [(value.nvmlReturn, value.value.ullVal) for value in values[:3]] == [(0, 26562), (0, 1), (0, 0)]
    assert values[3].nvmlReturn == nvml.NVML_ERROR_NOT_SUPPORTED


def test_a_call_that_the_library_lacks_is_a_function_not_found(nvml: ModuleType) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(nvml.NVMLError) as raised:
        nvml.nvmlDeviceGetFanSpeed(handle)
    assert raised.value.value == nvml.NVML_ERROR_FUNCTION_NOT_FOUND


def test_a_gpu_off_the_bus_is_lost_by_index_and_by_handle(nvml: ModuleType) -> None:
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetHandleByIndex(6)
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetTemperature(ctypes.cast(7, nvml.c_nvmlDevice_t), 0)


COPY = """
import ctypes as C, json, sys, time
cu = C.CDLL("libcuda.so.1")
def call(name, *arguments):
    code = getattr(cu, name)(*arguments)
    assert code == 0, (name, code)
call("cuInit", 0)
contexts, memory = [], []
for bus in sys.argv[1:]:
    device, context, address = C.c_int(), C.c_void_p(), C.c_uint64()
    call("cuDeviceGetByPCIBusId", C.byref(device), bus.encode())
    call("cuDevicePrimaryCtxRetain", C.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", C.byref(address), C.c_size_t(64 << 20))
    contexts.append(context); memory.append(address)
stream, events = C.c_void_p(), []
call("cuStreamCreate", C.byref(stream), 1)
began = time.monotonic()
for window in range(17):
    event = C.c_void_p(); call("cuEventCreate", C.byref(event), 0)
    if window:
        for _ in range(100):
            call("cuMemcpyPeerAsync", memory[1], contexts[1], memory[0], contexts[0], C.c_size_t(64 << 20), stream)
    call("cuEventRecord", event, stream); events.append(event)
waits = 0
while cu.cuEventQuery(events[-1]) == 600:
    time.sleep(5e-4); waits += 1
rates = []
for one, other in zip(events, events[1:]):
    ms = C.c_float(); call("cuEventElapsedTime", C.byref(ms), one, other); rates.append(6.4 * 1.048576 / ms.value * 1e3)
call("cuStreamDestroy_v2", stream)
print(json.dumps([sorted(rates)[8], time.monotonic() - began, waits > 0]))
"""


def copy(host: Host, *buses: str) -> list[float]:
    done = subprocess.run(
        [host.folder / "bin" / "python3", "-c", COPY, *buses],
        env=host.environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[float] = json.loads(done.stdout)
    return found


def test_copies_measure_what_the_world_says_in_simulated_seconds(host: Host) -> None:
    began = time.monotonic()
    healthy, seconds, waited = copy(host, "0000:19:00.0", "0000:3b:00.0")
    slow, longer, _ = copy(host, "0000:19:00.0", "0000:5d:00.0")
    assert healthy == pytest.approx(397, rel=0.03)
    assert slow == pytest.approx(397 / 2, rel=0.03)
    assert seconds == pytest.approx(16 * 6.7109 / 397, rel=0.05)
    assert longer == pytest.approx(2 * seconds, rel=0.05)
    assert waited
    assert time.monotonic() - began < 10.0


def test_what_a_copy_does_is_seen_by_the_nodes_other_processes(host: Host, machine: Machine) -> None:
    before = machine.reading("gpu3/nvlink7", "recovery_errors")
    copy(host, "0000:19:00.0", "0000:5d:00.0")
    assert machine.reading("gpu3/nvlink7", "recovery_errors") > before
    assert machine.reading("gpu3/nvlink8", "recovery_errors") == 0
    assert machine.ledger_file.load().load_clock == pytest.approx(2 * 16 * 6.7109 / 397, rel=0.1)
    assert machine.reading("gpu3/pcie", "speed_gts") == 32.0, "a GPU that has just worked is not idle"
    assert machine.reading("gpu1/pcie", "speed_gts") == 2.5


def test_cuda_numbers_only_the_gpus_that_are_on_the_bus(host: Host) -> None:
    code = """
import ctypes as C
cu = C.CDLL("libcuda.so.1"); count, device = C.c_int(), C.c_int()
print(cu.cuDeviceGetCount(C.byref(count)), cu.cuInit(0), cu.cuDeviceGetCount(C.byref(count)), count.value)
print(cu.cuDeviceGetByPCIBusId(C.byref(device), b"0000:cb:00.0"))
name = C.c_char_p(); cu.cuGetErrorName(101, C.byref(name)); print(name.value.decode())
print(hasattr(cu, "cuMemAlloc"))
"""
    done = subprocess.run(
        [host.folder / "bin" / "python3", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.split("\n")[:4] == ["3 0 0 7", "101", "CUDA_ERROR_INVALID_DEVICE", "False"]


def test_a_fork_of_a_process_that_initialized_cuda_can_not_use_it(host: Host) -> None:
    code = """
import ctypes as C, os
cu = C.CDLL("libcuda.so.1"); count = C.c_int(); cu.cuInit(0)
if os.fork() == 0:
    print(cu.cuDeviceGetCount(C.byref(count)), flush=True); os._exit(0)
os.wait()
"""
    done = subprocess.run(
        [host.folder / "bin" / "python3", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "3\n"
