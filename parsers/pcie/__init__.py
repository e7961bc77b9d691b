"""PCIe: lspci, setpci, lists of addresses, and the files of /sys."""

from __future__ import annotations

from ..tool import Tool
from . import device_places, setpci
from .lspci import parse_lspci, prints_devices
from .lspci_tree import parse_lspci_tree, prints_tree

TOOLS: tuple[Tool, ...] = (
    Tool("lspci", prints_devices, parse_lspci, file_names=("*lspci*",)),
    Tool(
        "lspci -t",
        prints_tree,
        parse_lspci_tree,
        file_names=("*lspci*t*", "*pci*tree*"),
        unconfirmed="pciutils ls-tree.c; NVIDIA/nccl issue 246",
    ),
    setpci.TOOL,
    device_places.TOOL,
)
