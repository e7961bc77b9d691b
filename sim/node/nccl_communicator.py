"""One rank of a simulated communicator: from meeting the other rank to the last operation."""

from __future__ import annotations

import os
import select

import msgspec

from ..ledger import CudaError, Transfer
from ..nccl_program import JOIN_SECONDS
from . import nccl_log
from .beside import Beside
from .copies import BUSY_AFTER
from .cuda import Cuda
from .library import SUCCESS, Failed
from .machine import Machine
from .nccl_meeting import LOOK, Agreed, Door, Member, Visit, copies_of_others
from .nccl_traffic import Flow, Traffic, by_nics

CUDA_ERROR, SYSTEM_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS = 1, 2, 4, 5, 6, 7
CODES = {"ncclInvalidUsage": INVALID_USAGE, "ncclRemoteError": REMOTE_ERROR}
JOINS = "ncclCommInit"


class Trouble(Failed):
    """A result other than success, with the sentence that `ncclGetLastError` gives."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code)
        self.text = text


class Communicator:
    """`state` is what `ncclCommGetAsyncError` gives, `text` its sentence."""

    def __init__(self, machine: Machine, cuda: Cuda, rank: int, way: Door | bytes | None) -> None:
        """`way`: rank 0's door, or the id by which another finds it."""
        self._machine = machine
        self._cuda = cuda
        self.rank = rank
        self.state, self.text = IN_PROGRESS, ""
        self._traffic: Traffic | None = None
        self._refusal: CudaError | None = None
        self._me, self._nonce = self._present()
        self._way: Door | Visit
        if isinstance(way, Door):
            self._way = way
        elif way is None:
            raise Trouble(INVALID_USAGE, "rank 0 of the simulated world is the process that made the id, once")
        else:
            self._way = self._visit(way)

    def look(self) -> None:
        """Get on with what is to be waited for, for a moment."""
        if self.state != IN_PROGRESS:
            return
        if self._traffic is not None:  # the other rank fails: we hear nothing of it
            select.select([], [], [], LOOK)
            return
        try:
            agreed = self._meet()
        except (OSError, msgspec.DecodeError) as error:
            self._fail(REMOTE_ERROR, f"the other rank left: {error}")
            return
        if agreed is not None:
            self._begin(agreed)

    def check(self) -> None:
        """Raise what an operation fails of."""
        error = self._refusal or (self._traffic.error if self._traffic is not None else None)
        if error is not None:
            self._fail(*_said(error))
        if self.state not in (SUCCESS, IN_PROGRESS):
            raise Trouble(self.state, self.text)

    def flow(self, sends: bool, receives: bool) -> Flow:
        """What this rank's part of an operation belongs to; of what goes both ways, rank 0 is the source."""
        assert self._traffic is not None
        both = sends and receives
        return self._traffic.flow(0 if both else self.rank if sends else 1 - self.rank, both)

    def settle(self) -> None:
        """Write what has been moved so far into the node's ledger."""
        if self._traffic is not None:
            self._traffic.settle()

    def close(self) -> None:
        """Part from the other rank."""
        self._way.close()
        if self._traffic is not None:
            self._traffic.end()

    def _present(self) -> tuple[Member, int]:
        """This rank as the other one will know it, and a nonce; its GPU shows load from now on."""
        gpu = self._cuda.current_gpu().name
        machine = self._machine
        with machine.ledger_file.changing() as change:
            nonce, clock = change.ledger.trials, change.ledger.load_clock
            change.ledger = change.ledger.after([Transfer(gpus=(gpu,))], 0.0, machine.true_time() + BUSY_AFTER)
        beside = copies_of_others(Beside(f"{machine.folder}/copies"), machine.name)
        return Member(self.rank, machine.name, gpu, clock, _off("P2P") and _off("SHM"), beside), nonce

    def _visit(self, unique: bytes) -> Visit:
        try:
            return Visit(unique, self._me)
        except OSError as error:
            raise Trouble(SYSTEM_ERROR, f"socketStartConnect: Connect failed : {error.strerror}") from None

    def _meet(self) -> Agreed | None:
        if isinstance(self._way, Door):
            return self._way.meet(self._me, self._nonce, self._machine.true_time())
        return self._way.meet()

    def _begin(self, agreed: Agreed) -> None:
        """Be joined, or fail; a rank with nothing wrong at its own end waits, as long as the other does not go on."""
        self._way.close()
        if why := self._refused(agreed):
            self._fail(INVALID_USAGE, why)
            return
        self._cuda.pass_time(0.8 * JOIN_SECONDS)
        self._traffic = Traffic(self._machine, agreed, self.rank)
        errors = self._traffic.begin()
        mine, other = errors[self.rank], errors[1 - self.rank]
        if mine is not None and mine.call.startswith(JOINS):
            self._fail(*_said(mine))
            return
        if other is not None and other.call.startswith(JOINS):
            return
        self._refusal = mine or other
        nccl_log.write(nccl_log.joined(self._machine, agreed, self.rank, self._nic(), self._allowed()))
        self.state = SUCCESS

    def _refused(self, agreed: Agreed) -> str:
        """Why these two can't be joined, empty where they can."""
        first, second = agreed.members
        if (first.rank, second.rank) != (0, 1):
            return "the ranks of the simulated world are 0 and 1"
        if (first.node, first.gpu) == (second.node, second.gpu):
            return "Duplicate GPU detected : rank 0 and rank 1 both on one device"
        if not by_nics(agreed):
            return "the simulated world has no NCCL through host memory" if _off("P2P") else ""
        if os.environ.get("NCCL_NET", "IB") != "IB":
            return "the simulated world has no network of NCCL but IB"
        if self._nic() not in self._allowed():
            return f"the simulated world's {self._me.gpu} leaves by {self._nic()} alone"
        return ""

    def _nic(self) -> str:
        """The NIC beside our GPU."""
        hardware = self._machine.hardware
        return self._machine.world.network.nic_beside(hardware, hardware.gpu(self._me.gpu)).name

    def _allowed(self) -> list[str]:
        """NICs that NCCL_IB_HCA leaves; those in its order where it names some."""
        asked = os.environ.get("NCCL_IB_HCA", "").lstrip("=")
        nics = [nic.name for nic in self._machine.hardware.board.compute_nics]
        if not asked:
            return nics
        named = [name.partition(":")[0] for name in asked.split(",")]
        return [name for name in named if name in nics]

    def _fail(self, code: int, text: str) -> None:
        self.state, self.text = code, text
        nccl_log.write([f"WARN {text}"])


def _said(error: CudaError) -> tuple[int, str]:
    return CODES.get(error.name, CUDA_ERROR), error.text


def _off(transport: str) -> bool:
    return os.environ.get(f"NCCL_{transport}_DISABLE", "0") == "1"
