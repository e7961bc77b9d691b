"""`nvidia-smi` without arguments: the table."""

from __future__ import annotations

import time

from ..machine import Machine
from .boards import Board, boards

HEAD = """+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
ROW_END = "+-----------------------------------------+------------------------+----------------------+\n"
PROCESSES = """
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
"""
RULE = "+-----------------------------------------------------------------------------------------+\n"


def table(machine: Machine, which: list[int]) -> str:
    """The whole table."""
    driver = machine.driver_version
    out = time.strftime("%a %b %e %H:%M:%S %Y       \n", time.gmtime(machine.now())) + RULE
    cuda = machine.facts[""]["cuda_driver_version"]
    out += f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {cuda:<8} |\n" + HEAD
    shown = [board for board in boards(machine) if board.gpu.index in which]
    out += "".join(_row(board) + ROW_END for board in shown)
    return out + PROCESSES + _processes(shown) + RULE


def _row(board: Board) -> str:
    used = f"{board.value('memory_used_bytes') / 2**20:.0f}MiB / {board.memory_mib}MiB"
    power = f"{board.value('power_w'):.0f}W / {board.value('power_limit_w'):>4.0f}W"
    state = f"P{board.whole('performance_state')}"
    ecc = board.whole("ecc_uncorrected", "/hbm")
    mig = "Enabled" if board.fact("mig") else "Disabled"
    return (
        f"| {board.gpu.index:>3}  {board.fact('name'):<31}On  |{board.bus:>19} Off |{ecc:>21} |\n"
        f"| N/A  {board.whole('temperature_c'):>3}C    {state:<3}{power:>23} |{used:>23} "
        f"|{board.whole('utilization_pct'):>7}%      Default |\n"
        f"|{'':41}|{'':24}|{mig:>21} |\n"
    )


def _processes(shown: list[Board]) -> str:
    rows = [
        f"|{board.gpu.index:>5}   N/A  N/A{pid:>17}      C   {'python3':<38}{used >> 20:>8}MiB |\n"
        for board in shown
        for pid, used in board.machine.compute_processes(board.gpu)
    ]
    return "".join(rows) or f"|  {'No running processes found':<87}|\n"
