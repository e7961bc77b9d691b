"""What stands behind the NVLink fabric on this node: driver, fabric manager, NVSwitch and IMEX nodes, multicast.

One line, `state`. Where a thing can be absent, `is` says how: `yes` or `no` was found; `missing` is what the node lacks
to tell, `not applicable` what this board has no use for; `failed` is a call that gave an error; `why` has the words.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import os
import re
import subprocess

import cuda
import tool_words
import watch

DRIVER = "/proc/driver/nvidia/version"
SERVICE = "nvidia-fabricmanager"
MANAGER = "nv-fabricmanager"
NODES = "/dev"
IMEX_CHANNELS = "/dev/nvidia-caps-imex-channels"
ASK_LIMIT = 4.0  # seconds for a command
MULTICAST_SUPPORTED = 132  # CUdevice_attribute
MOST_GPUS = 64
cuda.SIGNATURES.update(
    {
        "cuDeviceGet": "pi",
        "cuDeviceGetPCIBusId": "pii",
        "cuDeviceGetAttribute": "pii",
        "cuMulticastGetGranularity": "ppi",
        "cuMulticastCreate": "pp",
        "cuMulticastAddDevice": "di",
        "cuMemRelease": "d",
    }
)


class MulticastProperties(ctypes.Structure):
    """CUmulticastObjectProp_v1, of CUDA 12.1 and later."""

    _fields_ = [
        ("numDevices", ctypes.c_uint),
        ("size", ctypes.c_size_t),
        ("handleTypes", ctypes.c_ulonglong),
        ("flags", ctypes.c_ulonglong),
    ]


FILE_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR: what NCCL asks for within a node
MINIMUM = 0  # CU_MULTICAST_GRANULARITY_MINIMUM


def run(arguments, bench):
    """Look, and say all of it in one line."""
    bench.pass_barrier()
    switches = nodes_named(NODES, r"nvidia-nvswitch\d+$")
    state = {
        "driver": driver_version(),
        "nvswitches": switches,
        "fabric_manager": fabric_manager(switches),
        "imex_channels": nodes_named(IMEX_CHANNELS, r"channel\d+$"),
        "multicast": multicast(bench),
    }
    bench.emit(state=state)


def nodes_named(folder, pattern):
    """Device nodes in a folder, in the order of their numbers; none where there is no such folder."""
    try:
        names = [name for name in os.listdir(folder) if re.match(pattern, name)]
    except OSError:
        return []
    return sorted(names, key=lambda name: int(re.search(r"\d+$", name).group()))


def driver_version():
    """The kernel module's version and the line it stands in; empty where the module is not loaded."""
    try:
        with open(DRIVER) as file:
            line = file.readline(400).strip()
    except OSError:
        return {"version": "", "line": ""}
    found = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", line)
    return {"version": found.group(1) if found else "", "line": line}


def fabric_manager(switches):
    """Whether the fabric manager runs; without it and without a switch that this node sees, it need not."""
    pid = running(MANAGER)
    version = manager_version()
    unit = active_state()
    found = {"is": "yes" if pid or unit == "active" else "no", "pid": pid, "unit": unit, "version": version, "why": ""}
    if found["is"] == "no" and not version:
        if switches:
            found.update({"is": "missing", "why": "%s (package: nvidia-fabricmanager)" % MANAGER})
        else:
            found.update({"is": "not applicable", "why": "this node sees no NVSwitch and has no fabric manager"})
    elif found["is"] == "no":
        found["why"] = "%s is %s" % (SERVICE, unit or "not known to systemd")
    return found


def running(name):
    """Pid of a process by its command name; None where there is none."""
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open("/proc/%s/comm" % pid) as file:
                    if file.read(64).strip() == name[:15]:
                        return int(pid)
            except (OSError, ValueError):
                continue
    return None


def active_state():
    """What systemd says of the service: active, inactive, failed ...; empty where it has nothing to say."""
    said = answer(["systemctl", "is-active", SERVICE])
    return said if re.match(r"[a-z-]{1,20}$", said) else ""


def manager_version():
    """Version of the installed fabric manager; empty where it is not installed."""
    found = re.search(r"(\d{3}\.\d+(?:\.\d+)?)", answer([MANAGER, "--version"]))
    return found.group(1) if found else ""


def answer(argv):
    """What a command prints first; empty where it is missing or takes too long."""
    path = tool_words.found(argv[0])
    if not path:
        return ""
    watch.entering(" ".join(argv))
    try:
        said = subprocess.run(
            [path] + argv[1:],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ASK_LIMIT,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = said.decode("utf-8", "replace").splitlines()
    return lines[0].strip()[:200] if lines else ""


def multicast(bench):
    """Whether the GPUs can multicast (NVLS), and whether an object over all of them can be made."""
    found = {"is": "", "why": "", "gpus": {}, "object": "not applicable"}
    try:
        driver = bench.driver()
        devices = [numbered(driver, number) for number in range(min(driver.device_count(), MOST_GPUS))]
        found["gpus"] = {bus: attribute(driver, device, MULTICAST_SUPPORTED) == 1 for bus, device in devices}
        if not devices or not all(found["gpus"].values()):
            found.update({"is": "no" if devices else "not applicable", "why": "" if devices else "no GPU is visible"})
        elif len(devices) < 2:
            found.update({"is": "yes", "why": "one GPU alone has nobody to multicast to"})
        else:
            found["is"] = "yes"
            found["object"] = "failed"
            join_all(driver, devices)
            found["object"] = "yes"
    except cuda.Failed as failure:
        report = failure.report
        lacks = report["name"] in ("NO_LIBCUDA", "NO_SYMBOL")
        found["is"] = found["is"] or ("missing" if lacks else "failed")
        if lacks and found["object"] == "failed":
            found["object"] = "missing"
        found["why"] = "%s: %s %s" % (report["call"], report["name"], report["text"])
    return found


def numbered(driver, number):
    """The GPU of a number. -> bus address, CUdevice"""
    device, bus = ctypes.c_int(), ctypes.create_string_buffer(16)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetPCIBusId(bus, 16, device.value)
    return bus.value.decode("ascii", "replace").lower(), device.value


def attribute(driver, device, which):
    """One attribute of a GPU."""
    value = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(value), which, device)
    return value.value


def join_all(driver, devices):
    """Make a multicast object of the smallest size, let every GPU join it, and release it; raises Failed."""
    properties = MulticastProperties(len(devices), 0, FILE_DESCRIPTOR, 0)
    grain = ctypes.c_size_t()
    driver.cuMulticastGetGranularity(ctypes.byref(grain), ctypes.byref(properties), MINIMUM)
    properties.size = grain.value
    handle = ctypes.c_ulonglong()
    driver.cuMulticastCreate(ctypes.byref(handle), ctypes.byref(properties))
    try:
        for _, device in devices:
            driver.cuMulticastAddDevice(handle.value, device)
    finally:
        driver.cuMemRelease(handle.value)
