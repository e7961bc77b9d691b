"""What the machine around the GPUs says: BMC, NUMA, neighbours, driver files."""

from __future__ import annotations

from .. import kernel_command_line
from ..tool import Tool
from . import ipmitool, lldp, lscpu, numactl, proc_nvidia, redfish

TOOLS: tuple[Tool, ...] = (
    ipmitool.SENSOR,
    ipmitool.SDR_ELIST,
    ipmitool.SDR_LIST,
    ipmitool.SEL,
    redfish.TOOL,
    lldp.TOOL,
    lldp.JSON0,
    numactl.TOOL,
    lscpu.TOOL,
    kernel_command_line.TOOL,
    proc_nvidia.GPU_INFORMATION,
    proc_nvidia.DRIVER_VERSION,
)
