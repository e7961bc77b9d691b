"""PCIe links as outputs tell them that run narrower or slower than an end of them could, and what decides whether they
ought to.

`lspci` tells each function's link and limits, `nvidia-smi -q` a GPU's, and the kernel says at boot which link limits a
device. A device alone doesn't tell whether its slot has as many lanes: the port above it does, or equal devices.
Source: captures pcie/lspci-*, kernel-log/dmesg-pcie-limited-*; Linux drivers/pci/pci.c `pcie_bandwidth_available`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..incident.ids import ComponentId, NodeId, bridge_id, gpu_id
from ..parsers.logs.kernel_log import KernelLine
from ..parsers.logs.pcie_events import PcieLimited
from ..parsers.nvidia_smi.gpu_report import GpuReport
from ..parsers.pcie.lspci import LEAD_DOWN, PciDevice
from ..topology.agreement import GTS_OF_GENERATION
from ..topology.fabric import Fabric
from .logs import Burst
from .pci_tree import PciTree, pci_tree, short
from .readings import Readings, Witness

WIDTH, SPEED = "width", "speed"
DRIVERS_OF_NICS = ("mlx5_core", "mlx4_core", "bnxt_en", "ice", "efa")
"""Kernel drivers by which an address that nothing names is known to be a NIC's."""


@dataclass(frozen=True, slots=True)
class ToldLink:
    """One link and in what it runs below what an end of it could."""

    id: ComponentId
    what: str
    """`width` (lanes) or `speed` (GT/s a lane)."""
    now: float
    could: float
    place: str
    """For people: `of gpu3 (5d:00.0)`, `at 97:01.0 above mlx5_6 (9c:00.0)`."""
    devices: tuple[ComponentId, ...]
    """GPUs and NICs whose traffic crosses it, as far as known."""
    evidence: tuple[str, ...]
    port: float | None = None
    """What the port above could; None where nobody says."""
    alike: int = 0
    """Equal devices of the node that run no better."""
    better: int = 0
    """Equal devices of the node that run better."""
    carries: tuple[float, float] | None = None
    """Gb/s that it lets through and that the device could take, where the kernel says."""

    @property
    def is_by_design(self) -> bool:
        """Whether the port above has no more, or all equal devices are alike."""
        return self.port <= self.now if self.port else self.alike > 0 and not self.better

    @property
    def is_below_its_port(self) -> bool:
        """Whether the port above is known to have more."""
        return self.port is not None and self.port > self.now


def told_links(readings: Readings, fabric: Fabric, bursts: Iterable[Burst]) -> tuple[ToldLink, ...]:
    """Such links of all nodes, each once for width and once for speed."""
    found: dict[tuple[ComponentId, str], ToldLink] = {}
    limits = _limits(readings, bursts)
    for node in dict.fromkeys((*readings.nodes, *(of for of, _, _ in limits))):
        tree = pci_tree(readings, fabric, node)
        lines = [(limit, id_) for of, limit, id_ in limits if of == node]
        for link in (*_of_devices(tree), *_of_bridges(tree, lines), *_of_limits(tree, lines), *_of_gpus(tree)):
            before = found.get((link.id, link.what))
            found[link.id, link.what] = link if before is None else _joined(before, link)
    return tuple(found.values())


def _joined(one: ToldLink, other: ToldLink) -> ToldLink:
    return replace(
        one,
        evidence=tuple(dict.fromkeys((*one.evidence, *other.evidence))),
        devices=one.devices or other.devices,
        port=one.port or other.port,
        carries=one.carries or other.carries,
    )


def _of_devices(tree: PciTree) -> Iterator[ToldLink]:
    """Links right above GPUs and NICs, of which lspci was printed."""
    for address, part in tree.peers.items():
        told = tree.devices.get(address)
        if told is None or not told.reading.answers:
            continue
        above = tree.above(address)
        port = tree.devices[above[-1]].reading if above and above[-1] in tree.devices else None
        equals = [one.reading for one in tree.devices.values() if _is_equal(one.reading, told.reading)]
        for what in (WIDTH, SPEED):
            now, could = _of(told.reading, what)
            if now and could and now < could:
                yield ToldLink(
                    id=part / "pcie", what=what, now=now, could=could, devices=(part,), evidence=(told.id,),
                    place=f"of {part.within} ({short(address)})",
                    port=_of(port, what)[1] if port else None,
                    alike=sum(0 < (_of(one, what)[0] or 0) <= now for one in equals),
                    better=sum((_of(one, what)[0] or 0) > now for one in equals),
                )  # fmt: skip


def _is_equal(one: PciDevice, other: PciDevice) -> bool:
    return one.address != other.address and one.name == other.name and one.device_id == other.device_id


def _of(device: PciDevice, what: str) -> tuple[float | None, float | None]:
    """What a function's link does now, and what the function could."""
    if what == WIDTH:
        return device.width, device.max_width
    return device.speed_gts, device.max_speed_gts


def _of_bridges(tree: PciTree, limits: Iterable[tuple[PcieLimited, str]]) -> Iterator[ToldLink]:
    """Links of bridges that are narrow by their own account, and lead to a GPU or NIC.

    The link below a port that leads down is judged by what stands below, unless the kernel names that port. A bridge's
    speed rests with the device below it, so that only width is told.
    """
    named = {limit.at: limit for limit, _ in limits}
    for address, told in tree.devices.items():
        bridge = told.reading
        now, could = _of(bridge, WIDTH)
        below = tree.below(address) or (_parts(tree, named[address]) if address in named else ())
        leads_down = bridge.port_type in LEAD_DOWN and address not in named
        if "bridge" not in bridge.class_name.lower() or leads_down or not below:
            continue
        if now and could and now < could and bridge.width_downgraded is not False:
            yield ToldLink(
                bridge_id(tree.node, address), WIDTH, now, could, _above(tree, address, below), below, (told.id,), could
            )


def _of_limits(tree: PciTree, limits: Iterable[tuple[PcieLimited, str]]) -> Iterator[ToldLink]:
    """Links that the kernel named when it found a device behind them."""
    lines = list(limits)
    for limit, id_ in lines:
        what = WIDTH if limit.width < limit.capable_width else SPEED
        now, could = _limited(limit, what)
        parts = _parts(tree, limit)
        is_peer = parts[0].kind in ("gpu", "nic") or limit.driver in DRIVERS_OF_NICS
        if not (is_peer and 0 < now < could):
            continue
        own = limit.at == limit.pci
        told = tree.devices.get(limit.at)
        yield ToldLink(
            id=parts[0] / "pcie" if own else bridge_id(tree.node, limit.at),
            what=what, now=now, could=could, devices=parts, evidence=(id_,),
            place=f"of {parts[0].within} ({short(limit.pci)})" if own else _above(tree, limit.at, parts),
            port=_of(told.reading, what)[1] if told and not own else None,
            alike=sum(other.pci != limit.pci and _limited(other, what) == (now, could) for other, _ in lines),
            carries=(limit.available_gbps, limit.capable_gbps),
        )  # fmt: skip


def _limited(limit: PcieLimited, what: str) -> tuple[float, float]:
    if what == WIDTH:
        return limit.width, limit.capable_width
    return limit.speed_gts, limit.capable_speed_gts


def _parts(tree: PciTree, limit: PcieLimited) -> tuple[ComponentId, ...]:
    return (tree.part_at(limit.pci),)


def _above(tree: PciTree, bridge: str, parts: tuple[ComponentId, ...]) -> str:
    """`at 97:01.0 above mlx5_6 (9c:00.0, the NIC of gpu4)`."""
    addresses = {part: address for address, part in tree.peers.items()}
    names = []
    for part in parts[:3]:
        user = next((one.reading.gpu for one in tree.places if one.reading.address == addresses.get(part)), None)
        of_gpu = f"the NIC of gpu{user}" if user is not None and part.kind == "nic" else ""
        known = ", ".join(filter(None, (short(addresses.get(part, "")), of_gpu)))
        names.append(f"{part.within} ({known})" if known else part.within)
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    return f"at {short(bridge)} above {', '.join(names)}{more}"


def _of_gpus(tree: PciTree) -> Iterator[ToldLink]:
    """Links of GPUs, as the driver tells them: what it calls the most is what GPU and slot can do together."""
    reports = tree.readings.of(GpuReport, tree.node)
    for told in reports:
        gpu = reported_gpu(tree.fabric, told)
        for what in (WIDTH, SPEED):
            now, could = _reported(told.reading, what)
            if gpu is None or not 0 < now < could:
                continue
            equals = [one.reading for one in reports if one is not told and one.reading.name == told.reading.name]
            yield ToldLink(
                gpu / "pcie", what, now, could, f"of {gpu.within}", (gpu,), (told.id,),
                alike=sum(0 < _reported(one, what)[0] <= now for one in equals),
                better=sum(_reported(one, what)[0] > now for one in equals),
            )  # fmt: skip


def reported_gpu(fabric: Fabric, told: Witness[GpuReport]) -> ComponentId | None:
    """The GPU that a report is about; None of an excerpt that does not say."""
    report = told.reading
    if report.index is not None:
        return gpu_id(told.node, report.index)
    return fabric.component_at(told.node, report.bus_address) if report.bus_address else None


def _reported(report: GpuReport, what: str) -> tuple[float, float]:
    if what == WIDTH:
        return report.pcie_width or 0, report.pcie_width_max or 0
    generations = (report.pcie_generation or 0, report.pcie_generation_max or 0)
    return GTS_OF_GENERATION.get(generations[0], 0.0), GTS_OF_GENERATION.get(generations[1], 0.0)


def _limits(readings: Readings, bursts: Iterable[Burst]) -> list[tuple[NodeId, PcieLimited, str]]:
    """What kernels said, of streamed logs and of printed ones, each line once."""
    found: dict[tuple[NodeId, PcieLimited], str] = {}
    for burst in bursts:
        if isinstance(burst.reading, PcieLimited):
            found.setdefault((burst.node, burst.reading), burst.ids[0])
    for line in readings.of(KernelLine):
        if isinstance(line.reading.reading, PcieLimited):
            found.setdefault((line.node, line.reading.reading), line.id)
    return [(node, limit, id_) for (node, limit), id_ in found.items()]
