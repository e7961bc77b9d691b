"""What the simulated NCCL writes where NCCL_DEBUG_FILE says: the lines by which one tells the transport and the NICs.

The form is that of NCCL 2.23; source: the captures that parsers/nccl/log.py reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from .machine import Machine
from .nccl_meeting import Agreed
from .nccl_traffic import by_nics

CHANNELS = 2
OF_THE_LOG = "NCCL_DEBUG"


def write(lines: Sequence[str]) -> None:
    """Append lines, where the environment asks for them; raises OSError where they can't be written there."""
    path = os.environ.get("NCCL_DEBUG_FILE", "")
    if not path or os.environ.get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
        return
    head = f"{os.uname().nodename}:{os.getpid()}:{os.getpid()} [0] NCCL "
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, "".join(f"{head}{line}\n" for line in lines).encode())
    finally:
        os.close(descriptor)


def joined(machine: Machine, agreed: Agreed, rank: int, nic: str, allowed: Sequence[str]) -> list[str]:
    """What is said of a communicator that has been joined; `allowed`: the NICs it may use."""
    return [
        *_settings(),
        f"INFO NET/IB : Using {_devices(machine, allowed)} [RO]; OOB lo:127.0.0.1<0>",
        f"INFO Using network {'IB' if allowed else 'Socket'}",
        *_channels(agreed, rank, allowed.index(nic) if nic in allowed else 0),
    ]


def _settings() -> Iterator[str]:
    for name, value in sorted(os.environ.items()):
        if name.startswith("NCCL_") and not name.startswith(OF_THE_LOG):
            yield f"INFO {name} set by environment to {value[:60]}."


def _devices(machine: Machine, allowed: Sequence[str]) -> str:
    """`[0]mlx5_0:1/IB [1]mlx5_3:1/IB`."""
    kinds = {"InfiniBand": "IB"}
    layers = [kinds.get(str(machine.facts[nic].get("link_layer")), "RoCE") for nic in allowed]
    return " ".join(
        f"[{number}]{nic}:1/{layer}" for number, (nic, layer) in enumerate(zip(allowed, layers, strict=True))
    )


def _channels(agreed: Agreed, rank: int, device: int) -> Iterator[str]:
    for channel in range(CHANNELS):
        for source, word in ((rank, "send"), (1 - rank, "receive")):
            ranks = f"{source}[0] -> {1 - source}[0]"
            if by_nics(agreed):
                yield f"INFO Channel {channel:02d}/0 : {ranks} [{word}] via NET/IB/{device}/GDRDMA"
            elif word == "send":
                yield f"INFO Channel {channel:02d}/0 : {ranks} via P2P/CUMEM"
