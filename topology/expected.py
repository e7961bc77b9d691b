"""A fabric against what its platform should have: what is missing, what is narrower or slower, what is so by design.

Only what does not change with load is compared: counts, widths, the speed a link is capable of, lanes that are down.
What no source tells is unknown and never missing. Source of what is expected: platforms.toml and boards.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..incident.ids import ComponentId, NodeId, gpu_id
from ..incident.platforms import Platform
from .agreement import GTS_OF_GENERATION
from .claims import Source
from .components import LinkState
from .fabric import Fabric


class Standing(StrEnum):
    """How what is seen differs from what is expected."""

    MISSING = "missing"
    """It ought to be there and something says that it is not."""
    DOWNGRADED = "downgraded"
    """It is there with fewer lanes, or can do less."""
    BY_DESIGN = "by design"
    """It differs, and this board or this node is built so."""
    UNKNOWN = "unknown"
    """Nobody says."""

    @property
    def is_fault(self) -> bool:
        """Whether somebody ought to look at it."""
        return self in (Standing.MISSING, Standing.DOWNGRADED)


@dataclass(frozen=True, slots=True)
class Deviation:
    """One way in which a node is not as its platform says."""

    component: ComponentId
    what: str
    """`GPUs`, `NVSwitches`, `NVLinks`, `NICs`, `PCIe width`, `PCIe speed`, `rate`, `state`, `device`, `platform`."""
    standing: Standing
    expected: str
    seen: str
    reason: str
    source: Source | None = None
    """Who said what is seen; None where nobody did."""

    @property
    def sentence(self) -> str:
        """`PCIe width: x8 where x16 is expected (downgraded): ...`."""
        return f"{self.what}: {self.seen} where {self.expected} is expected ({self.standing}): {self.reason}"


def compare(fabric: Fabric) -> tuple[Deviation, ...]:
    """All deviations of all nodes, in their order; none for what is as expected."""
    found: list[Deviation] = []
    for node in fabric.nodes:
        platform = fabric.platform_of(node)
        if platform is not None:
            found.extend(_of_node(fabric, node, platform))
        elif fabric.gpus(node):
            found.append(_no_platform(fabric, node))
        found.extend(_silent(fabric, node))
        found.extend(_cables(fabric, node))
    return tuple(found)


def missing_parts(fabric: Fabric, node: NodeId) -> tuple[Deviation, ...]:
    """GPUs and NVSwitches that a node has too few of; empty where its platform is not known."""
    platform = fabric.platform_of(node)
    if platform is None:
        return ()
    return (*_gpus(fabric, node, platform), *_nvswitches(fabric, node, platform))


def _of_node(fabric: Fabric, node: NodeId, platform: Platform) -> Iterator[Deviation]:
    yield from missing_parts(fabric, node)
    yield from _nvlinks(fabric, node, platform)
    yield from _pcie(fabric, node, platform)
    yield from _nics(fabric, node, platform)


def _no_platform(fabric: Fabric, node: NodeId) -> Deviation:
    models = sorted({str(model) for gpu in fabric.gpus(node) if (model := fabric.facts(gpu).get("model"))})
    reason = f"no known platform has {', '.join(models)}" if models else "no source tells the model of its GPUs"
    return Deviation(node, "platform", Standing.UNKNOWN, "a known platform", "none", reason)


def _gpus(fabric: Fabric, node: NodeId, platform: Platform) -> Iterator[Deviation]:
    """Baseboards have a fixed number; cards stand in any number, so that none can be missed."""
    seen = _described(fabric, node)
    fixed = platform.gpus == platform.gpus_most and platform.gpus > 1
    if not fixed or len(seen) >= platform.gpus:
        return
    absent = [gpu_id(node, index) for index in range(platform.gpus) if gpu_id(node, index) not in seen]
    named = ", ".join(gpu.within for gpu in absent) if len(seen) + len(absent) == platform.gpus else "not told which"
    reason = "lost, not given to this machine, or not in this output: " + named
    yield Deviation(node, "GPUs", Standing.MISSING, str(platform.gpus), str(len(seen)), reason)


def _described(fabric: Fabric, node: NodeId) -> list[ComponentId]:
    """GPUs of which something is told; one that others merely name may be gone."""
    return [gpu for gpu in fabric.gpus(node) if fabric.is_known(gpu) or "model" in fabric.facts(gpu)]


def _nvswitches(fabric: Fabric, node: NodeId, platform: Platform) -> Iterator[Deviation]:
    """Switches of a rack belong to no node; in a virtual machine and from HGX B200 on no PCI device shows them."""
    expected, seen = len(platform.switch_lanes), len(fabric.nvswitches(node))
    if not expected or platform.switch_trays or seen >= expected:
        return
    if seen == 0:
        reason = "no source shows them: they are hidden in a virtual machine, and where NVLink itself manages them"
        yield Deviation(node, "NVSwitches", Standing.UNKNOWN, str(expected), "none", reason)
    elif not all(fabric.inferred(switch) for switch in fabric.nvswitches(node)):
        reason = "the others don't answer, or the output was cut"
        yield Deviation(node, "NVSwitches", Standing.MISSING, str(expected), str(seen), reason)


def _nvlinks(fabric: Fabric, node: NodeId, platform: Platform) -> Iterator[Deviation]:
    if not platform.lanes_per_gpu:
        return
    gpus = _described(fabric, node)
    states = {gpu: fabric.lane_states(gpu) for gpu in gpus}
    down = {gpu: tuple(lane for lane, state in states[gpu].items() if state == "down") for gpu in gpus}
    for gpu in gpus:
        up = sum(state == "up" for state in states[gpu].values())
        if fabric.facts(gpu).get("nvlinks_inactive") and up == 0:
            reason = "nvidia-smi says that all its links are inactive: fabric manager, then seating, then the board"
            yield Deviation(gpu, "NVLinks", Standing.MISSING, str(platform.lanes_per_gpu), "0 up", reason)
        elif down[gpu]:
            yield _down(gpu, down, up, platform)
        elif up == 0 and fabric.lane_count(gpu) == 0:
            reason = "no source tells them: not asked, MIG mode, or a board without its bridges"
            yield Deviation(gpu, "NVLinks", Standing.UNKNOWN, str(platform.lanes_per_gpu), "none", reason)
        elif fabric.lane_count(gpu) < platform.lanes_per_gpu:
            yield _fewer(fabric, gpu, platform)


def _down(gpu: ComponentId, down: Mapping[ComponentId, tuple[int, ...]], up: int, platform: Platform) -> Deviation:
    """Lanes that are down: by design where the board has no NVSwitch and all its equals lack the very same ones."""
    names = "link " + ", ".join(map(str, down[gpu]))
    alike = len(down) > 1 and len(set(down.values())) == 1
    if not platform.switch_lanes and alike and up in (0, platform.lanes_per_gpu):
        reason = f"{platform.title} wires {up} of {up + len(down[gpu])}: {names} inactive on every GPU alike"
        return Deviation(gpu, "NVLinks", Standing.BY_DESIGN, f"{up + len(down[gpu])}", f"{up} up", reason)
    if alike and up == 0:
        reason = "down on every GPU of the node: look at the fabric manager before any part"
        return Deviation(gpu, "NVLinks", Standing.MISSING, str(platform.lanes_per_gpu), "0 up", reason)
    return Deviation(gpu, "NVLinks", Standing.MISSING, str(platform.lanes_per_gpu), f"{up} up", f"{names} down")


def _fewer(fabric: Fabric, gpu: ComponentId, platform: Platform) -> Deviation:
    """Fewer lanes than the board has: cards are bridged as their owner likes, a baseboard is not."""
    seen = fabric.lane_count(gpu)
    if platform.switch_lanes:
        reason = "the others are told by no source, or are not up"
        return Deviation(gpu, "NVLinks", Standing.MISSING, str(platform.lanes_per_gpu), str(seen), reason)
    reason = "cards have as many as the bridges between them"
    return Deviation(gpu, "NVLinks", Standing.BY_DESIGN, str(platform.lanes_per_gpu), str(seen), reason)


def _pcie(fabric: Fabric, node: NodeId, platform: Platform) -> Iterator[Deviation]:
    """GPUs against the platform; idle links slow down to save power, so that only what they are capable of counts."""
    links = {gpu: link for gpu in fabric.gpus(node) if (link := fabric.link(gpu / "pcie")) is not None}
    for gpu, link in links.items():
        if platform.c2c_gbs:
            if link.width is not None and link.width < platform.pcie_width:
                reason = "the GPU is on NVLink-C2C; its PCIe link only manages it"
                yield _width(gpu, link, platform.pcie_width, Standing.BY_DESIGN, reason)
            continue
        yield from _width_of(gpu, link, list(links.values()), platform)
        yield from _speed_of(gpu, link, platform)


def _width_of(gpu: ComponentId, link: LinkState, links: Sequence[LinkState], platform: Platform) -> Iterator[Deviation]:
    """A narrow link; on boards for any slot, all of them alike are a split slot and no fault."""
    most = link.max_width or platform.pcie_width
    if link.width is None or link.width >= platform.pcie_width:
        return
    alike = len(links) > 1 and all(other.width == link.width for other in links)
    if alike and platform.gpus == 1:
        reason = "all GPUs of the node are alike: the slots share their lanes"
        yield _width(gpu, link, platform.pcie_width, Standing.BY_DESIGN, reason)
    elif link.width < most:
        reason = f"the link could have x{most}: power off and on once, then seating, riser, retimer, slot"
        yield _width(gpu, link, platform.pcie_width, Standing.DOWNGRADED, reason)
    else:
        reason = f"the slot or the port above has only x{most}"
        yield _width(gpu, link, platform.pcie_width, Standing.BY_DESIGN, reason)


def _width(gpu: ComponentId, link: LinkState, expected: int, standing: Standing, reason: str) -> Deviation:
    return Deviation(
        gpu / "pcie", "PCIe width", standing, f"x{expected}", f"x{link.width}", reason, link.said.get("width")
    )


def _speed_of(gpu: ComponentId, link: LinkState, platform: Platform) -> Iterator[Deviation]:
    expected = GTS_OF_GENERATION[platform.pcie_generation]
    if link.max_speed is None or link.max_speed >= expected:
        return
    reason = "neither the device nor the port above can do more: an older slot or switch"
    yield Deviation(
        gpu / "pcie", "PCIe speed", Standing.BY_DESIGN, f"{expected:g} GT/s", f"{link.max_speed:g} GT/s", reason,
        link.said.get("max_speed"),
    )  # fmt: skip


def _nics(fabric: Fabric, node: NodeId, platform: Platform) -> Iterator[Deviation]:
    """Vendors build in other numbers of NICs, so that a lower one is worth a word and no fault."""
    seen = len(fabric.nics(node))
    if 0 < seen < platform.nics:
        reason = "the vendor may build in fewer, or a NIC does not answer: compare with a node of the same kind"
        yield Deviation(node, "NICs", Standing.UNKNOWN, str(platform.nics), str(seen), reason)


def _silent(fabric: Fabric, node: NodeId) -> Iterator[Deviation]:
    """Devices that stand on the bus and answer every read with ones, and GPUs of which NVML tells only the place."""
    reason = "it is off the bus: see the kernel log for what came before, then power off and on"
    for part in (*fabric.gpus(node), *fabric.nvswitches(node), *fabric.nics(node)):
        if fabric.facts(part).get("answers") is False:
            said = fabric.source_of(part, "answers")
            yield Deviation(part, "device", Standing.MISSING, "an answer", "ones only", reason, said)
        elif part.kind == "gpu" and _nvml_is_mute_on(fabric, part):
            said = fabric.source_of(part, "bus_address")
            yield Deviation(part, "device", Standing.MISSING, "an answer", "none through NVML", reason, said)


def _nvml_is_mute_on(fabric: Fabric, gpu: ComponentId) -> bool:
    """Whether NVML names the model of other GPUs of the node, and of this one no more than its bus address."""
    if fabric.source_of(gpu, "bus_address") is not Source.NVML or {"model", "uuid"} & fabric.facts(gpu).keys():
        return False
    return any(fabric.source_of(other, "model") is Source.NVML for other in fabric.gpus(gpu.node))


def _cables(fabric: Fabric, node: NodeId) -> Iterator[Deviation]:
    """Cables slower or narrower than both their ends can be, and those that are down."""
    for nic in fabric.nics(node):
        cable = fabric.cable_of(nic)
        link = fabric.link(cable) if cable else None
        if link is None:
            continue
        if link.state == "down":
            yield Deviation(link.component, "state", Standing.MISSING, "up", "down", "no link", link.said.get("state"))
        elif link.speed is not None and link.max_speed is not None and link.speed < link.max_speed:
            reason = "both ends could do more: cable, module or a port that was set slower"
            yield Deviation(
                link.component, "rate", Standing.DOWNGRADED, f"{link.max_speed:g} Gb/s", f"{link.speed:g} Gb/s", reason,
                link.said.get("speed"),
            )  # fmt: skip
