"""`nvidia-smi nvlink`: -s (speeds), -e (error counters), -R (far ends)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..machine import Machine
from .boards import GPU_LOST_STATUS, Board, boards


def nvlink(machine: Machine, arguments: list[str], which: list[int]) -> int:
    """Run `nvidia-smi nvlink …`."""
    views: dict[str, Callable[[Board], Iterator[str]]] = {
        "-s": _status,
        "--status": _status,
        "-e": _errors,
        "--errorcounters": _errors,
        "-R": _remotes,
        "--remotelinkinfo": _remotes,
    }
    view = next((views[argument] for argument in arguments if argument in views), None)
    if view is None:
        print("Usage: nvidia-smi nvlink [-i <gpu>] (-s | -e | -R)")
        return 2
    status = 0
    for board in boards(machine):
        if board.gpu.index not in which:
            continue
        if board.lost:
            print(board.complaint)
            status = GPU_LOST_STATUS
            continue
        print(board.heading)
        for line in view(board):
            print(line)
    return status


def _status(board: Board) -> Iterator[str]:
    lanes = board.machine.hardware.lanes()
    if not any(_up(board, lane) for lane in lanes):
        yield "NVML: Unable to retrieve NVLink information as all links are inactive"
        return
    for lane in lanes:
        speed = (
            f"{int(board.value('speed_mbps', f'/nvlink{lane}')) / 1000:.3f} GB/s" if _up(board, lane) else "<inactive>"
        )
        yield f"\t Link {lane}: {speed}"


def _errors(board: Board) -> Iterator[str]:
    for lane in board.machine.hardware.lanes():
        for title, field in (("Replay", "replay_errors"), ("Recovery", "recovery_errors"), ("CRC", "crc_errors")):
            yield f"\t Link {lane}: {title} Errors: {board.whole(field, f'/nvlink{lane}')}"
        yield ""


def _remotes(board: Board) -> Iterator[str]:
    for lane in board.machine.hardware.lanes():
        part = f"/nvlink{lane}"
        if _up(board, lane):
            address = f"0000{board.fact('remote_address', part)}".upper()
            yield f"\t Link {lane}: Remote Device {address}: Link {board.fact('remote_port', part)}"


def _up(board: Board, lane: int) -> bool:
    return board.value("state", f"/nvlink{lane}") == 1
