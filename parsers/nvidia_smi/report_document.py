"""One document of `nvidia-smi -q`, as text or XML: the driver's head, its GPUs, their MIG devices and processes."""

from __future__ import annotations

from typing import TypeAlias

from ..parsed import SHOWN, Parsed
from ..pci import bus_address
from .draft import MOST_OTHERS, Draft
from .errors import Complaint, GpuLost
from .gpu_fields import Names
from .gpu_report import Driver, GpuProcess, GpuReport, MigDevice
from .printed_value import whole, word

ReportReading: TypeAlias = Driver | GpuReport | MigDevice | GpuProcess | Complaint

_SAYS_NOTHING = frozenset({"", "none", "n/a"})


class ReportDocument:
    """Takes what a document says in the order in which it says it, and gives readings when it ends."""

    def __init__(self, parsed: Parsed[ReportReading], gpu: Names, mig: Names, process: Names) -> None:
        """`gpu`, `mig` and `process` are the fields by the names of this form of output."""
        self._parsed = parsed
        self._names, self._mig_names, self._process_names = gpu, mig, process
        self._head: dict[str, str] = {}
        self._gpus: list[Draft] = []
        self._migs: list[tuple[Draft, Draft]] = []
        self._processes: list[tuple[Draft, Draft]] = []
        self._lost = False

    @property
    def has_gpus(self) -> bool:
        """Whether a GPU's block has begun."""
        return bool(self._gpus)

    def head(self, name: str, text: str) -> None:
        """A value of the driver's, by the name in lower case with underscores."""
        if len(self._head) < MOST_OTHERS:
            self._head[name] = text[:SHOWN]

    def begin_gpu(self, address: str) -> None:
        """What follows is about another GPU."""
        self._gpus.append(Draft())
        if address:
            self._gpus[-1].set(bus_address=bus_address(address))

    def begin_mig(self) -> None:
        """What follows is about another MIG device of the GPU."""
        self._migs.append((self._gpus[-1], Draft()))

    def begin_process(self) -> None:
        """What follows is about another process on the GPU."""
        self._processes.append((self._gpus[-1], Draft()))

    def process_has(self, name: str) -> bool:
        """Whether that is known of the last process; true where there is none."""
        return not self._processes or self._processes[-1][1].get(name) is not None

    def gpu_value(self, name: str, text: str, number: int) -> None:
        """A value of the GPU's own."""
        self._take(self._gpus[-1], self._names, name, text, number)

    def mig_value(self, name: str, text: str, number: int) -> None:
        """A value of the last MIG device."""
        if self._migs:
            self._take(self._migs[-1][1], self._mig_names, name, text, number)

    def process_value(self, name: str, text: str, number: int) -> None:
        """A value of the last process."""
        if self._processes:
            self._take(self._processes[-1][1], self._process_names, name, text, number)

    def _take(self, draft: Draft, names: Names, name: str, text: str, number: int) -> None:
        if not draft.take(names, name, text):
            self._parsed.cannot_read(number, f"{name}: {text}", "is no such value")

    def complaint(self, complaint: Complaint) -> None:
        """A complaint between the lines."""
        self._parsed.add(complaint)
        self._lost = self._lost or isinstance(complaint, GpuLost)

    def close(self) -> None:
        """Give what the document said as readings."""
        if not self._head and not self._gpus:
            return
        driver = self._driver()
        if driver.attached == len(self._gpus) and not self._lost:
            for index, gpu in enumerate(self._gpus):
                gpu.set(index=index)
        self._parsed.add(driver)
        for gpu in self._gpus:
            self._parsed.add(gpu.finished(GpuReport))
        for gpu, mig in self._migs:
            mig.set(gpu_index=gpu.get("index"), gpu_address=gpu.get("bus_address"))
            self._parsed.add(mig.finished(MigDevice))
        for gpu, process in self._processes:
            process.set(gpu_index=gpu.get("index"), gpu_address=gpu.get("bus_address"))
            self._parsed.add(process.finished(GpuProcess))

    def _driver(self) -> Driver:
        head = dict(self._head)
        return Driver(
            version=word(head.pop("driver_version", "")) or word(head.pop("kmd_version", "")),
            cuda_version=word(head.pop("cuda_version", "")) or word(head.pop("cuda_umd_version", "")),
            attached=whole(head.pop("attached_gpus", "")),
            time=word(head.pop("timestamp", "")),
            reported=len(self._gpus),
            other=head,
        )


def says_nothing(text: str) -> bool:
    """Whether a list was printed as empty: `Processes : None`."""
    return text.lower() in _SAYS_NOTHING
