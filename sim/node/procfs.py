"""What a simulated node shows of itself outside /sys: the driver's files in /proc, its name, its kernel, its uptime."""

from __future__ import annotations

import time
import uuid

from ..hardware import Gpu
from .machine import Machine
from .tree import Tree

KERNEL_BUILD = "#54-Ubuntu SMP"


def add_procfs(tree: Tree, machine: Machine) -> None:
    """Add the node's files outside /sys."""
    tree.text("/etc/hostname", machine.hostname)
    tree.text("/proc/sys/kernel/hostname", machine.hostname)
    tree.text("/proc/sys/kernel/osrelease", machine.kernel)
    tree.text("/proc/sys/kernel/random/boot_id", uuid.uuid5(uuid.NAMESPACE_DNS, f"{machine.name} {machine.boot_time}"))
    tree.text("/proc/cmdline", machine.kernel_cmdline)
    tree.text("/proc/version", f"Linux version {machine.kernel} (buildd@builder) {KERNEL_BUILD}")
    tree.live("/proc/uptime", lambda: f"{machine.now() - machine.boot_time:.2f} 0.00")
    tree.text(
        "/proc/driver/nvidia/version",
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {machine.driver_version}  Release Build\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)",
    )
    tree.text("/proc/driver/nvidia/params", "RegisterForACPIEvents: 1\nEnableMSI: 1\nModifyDeviceFiles: 1")
    for gpu in machine.hardware.gpus:
        tree.text(f"/proc/driver/nvidia/gpus/{gpu.address}/information", _information(machine, gpu))
        tree.text(f"/dev/nvidia{gpu.index}", "")
    for name in ("nvidiactl", "nvidia-uvm"):
        tree.text(f"/dev/{name}", "")


def uname(machine: Machine) -> tuple[str, str, str, str, str]:
    """What `uname` says: system, node, release, version, machine."""
    built = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(machine.boot_time - 90 * 86400))
    return "Linux", machine.hostname, machine.kernel, f"{KERNEL_BUILD} {built}", "x86_64"


def _information(machine: Machine, gpu: Gpu) -> str:
    facts = machine.facts[gpu.name]
    return "\n".join(
        (
            f"Model: \t\t {facts['name']}",
            f"IRQ:   \t\t {300 + gpu.index}",
            f"GPU UUID: \t {facts['uuid']}",
            f"Video BIOS: \t {facts['vbios']}",
            "Bus Type: \t PCIe",
            "DMA Size: \t 52 bits",
            "DMA Mask: \t 0xfffffffffffff",
            f"Bus Location: \t {gpu.address}",
            f"Device Minor: \t {gpu.index}",
            f"GPU Firmware: \t {machine.driver_version}",
            "GPU Excluded:\t No",
        )
    )
