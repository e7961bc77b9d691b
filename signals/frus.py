"""The unit a technician would exchange for a part: the level at which a verdict is useful."""

from __future__ import annotations

from collections.abc import Mapping

from ..incident.ids import ComponentId

_BY_KIND: Mapping[str, str] = {
    "gpu": "gpu-module",
    "hbm": "gpu-module",
    "nvlink": "gpu-module",
    "nvswitch": "baseboard",
    "port": "baseboard",
    "bridge": "baseboard",
    "nic": "nic",
    "psu": "power",
    "cable": "cable",
    "numa": "cpu-board",
    "host": "cpu-board",
    "service": "software",
}


def fru_of(component: ComponentId) -> str:
    """The unit to exchange first; a PCIe link goes by its device, and a lane by its GPU (which is reseated first)."""
    return _BY_KIND.get(component.parent.kind if component.kind == "pcie" else component.kind, "none")
