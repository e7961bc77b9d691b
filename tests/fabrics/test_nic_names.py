"""NICs that one tool knows by address and another by name are one NIC where their place in the node tells which."""

from __future__ import annotations

from .gathering import fabric_of_texts

ROOT = """0000:{bus:02x}:01.0 PCI bridge: Intel Corporation Device 352a
\tNUMA node: 0
\tBus: primary={bus:02x}, secondary={next:02x}, subordinate={last:02x}, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00

0000:{next:02x}:00.0 PCI bridge: Broadcom / LSI PEX890xx
\tBus: primary={next:02x}, secondary={port:02x}, subordinate={last:02x}, sec-latency=0
\tCapabilities: [40] Express (v2) Upstream Port, MSI 00
"""
PORT = """
0000:{bus:02x}:{slot:02x}.0 PCI bridge: Broadcom / LSI PEX890xx
\tBus: primary={bus:02x}, secondary={below:02x}, subordinate={below:02x}, sec-latency=0
\tCapabilities: [40] Express (v2) Downstream Port (Slot-), MSI 00

0000:{below:02x}:00.0 {what}
\tNUMA node: 0
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
"""
GPU = "3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]"
NIC = "Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]"


def switch(bus, *devices):
    """A root port on `bus`, a switch below it and a device below each of its ports."""
    text = ROOT.format(bus=bus, next=bus + 1, port=bus + 2, last=bus + 9)
    for slot, what in enumerate(devices):
        text += PORT.format(bus=bus + 2, slot=slot, below=bus + 3 + slot, what=what)
    return text + "\n"


def matrix(first, second):
    """Two GPUs, two NICs: how close each NIC is to GPU0 and GPU1."""
    return f"""\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\t{first[0]}\t{second[0]}\t0-55\t0
GPU1\tNV18\t X \t{first[1]}\t{second[1]}\t0-55\t0
NIC0\t{first[0]}\t{first[1]}\t X \tNODE
NIC1\t{second[0]}\t{second[1]}\tNODE\t X

NIC Legend:

  NIC0: mlx5_7
  NIC1: mlx5_3
"""


def nics(fabric):
    return {str(nic): fabric.bus_address(nic) for nic in fabric.nics("n")}


def test_a_nic_that_shares_a_switch_with_one_gpu_alone_is_the_one_the_matrix_names_there():
    lspci = switch(0x10, GPU, NIC) + switch(0x30, GPU, NIC)
    fabric = fabric_of_texts(("lspci.txt", lspci), ("topo.txt", matrix(("NODE", "PIX"), ("PIX", "NODE"))))
    assert nics(fabric) == {"n/mlx5_3": "0000:14:00.0", "n/mlx5_7": "0000:34:00.0"}
    assert fabric.switch_above("n/mlx5_3") == fabric.switch_above("n/gpu0")
    assert fabric.contradictions == ()


def test_two_nics_that_nothing_tells_apart_are_not_guessed():
    lspci = switch(0x10, GPU, NIC, NIC) + switch(0x30, GPU)
    fabric = fabric_of_texts(("lspci.txt", lspci), ("topo.txt", matrix(("PIX", "NODE"), ("PIX", "NODE"))))
    assert fabric.bus_address("n/mlx5_3") is None
    assert fabric.bus_address("n/mlx5_7") is None


def test_a_matrix_that_agrees_with_no_address_names_none():
    lspci = switch(0x10, GPU) + switch(0x30, GPU, NIC)
    fabric = fabric_of_texts(("lspci.txt", lspci), ("topo.txt", matrix(("PIX", "NODE"), ("SYS", "SYS"))))
    assert {address for address in nics(fabric).values() if address} == {"0000:34:00.0"}
    assert fabric.bus_address("n/mlx5_7") is None
