"""What the machine around the GPUs says: BMC, NUMA, neighbours, driver files."""

from __future__ import annotations

from ..tool import Tool
from . import ipmitool, lldp, numactl, proc_nvidia, redfish

TOOLS: tuple[Tool, ...] = (
    ipmitool.SENSOR,
    ipmitool.SDR_ELIST,
    ipmitool.SDR_LIST,
    ipmitool.SEL,
    redfish.TOOL,
    lldp.TOOL,
    lldp.JSON0,
    numactl.TOOL,
    proc_nvidia.GPU_INFORMATION,
    proc_nvidia.DRIVER_VERSION,
)
