"""A made-up incident for the screens: real events through the real fold, values without a world behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from lanescope.incident.events import (
    AnyJournalEvent,
    BeliefUpdated,
    Entry,
    Event,
    Fact,
    FactsRead,
    Field,
    FindingRaised,
    LogRead,
    NodeState,
    NodeStateChanged,
    RoundEnded,
    RoundPlanned,
    SampleTaken,
    SchemaDeclared,
    SessionOpened,
    Ticked,
    Trial,
    TrialEnded,
    VerdictReached,
)
from lanescope.incident.findings import Confidence, CounterMove, Exclusion, Finding, Severity, Suspect, Verdict
from lanescope.incident.fold import Incident
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id, nvswitch_id
from lanescope.incident.platforms import Platform, platform
from lanescope.incident.snapshot import Snapshot

START = 1_796_047_400.0
"""2026-11-30 14:03:20 UTC."""
LANE_COUNTERS = ("replay_errors", "recovery_errors", "crc_errors")
NIC_COUNTERS = ("symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards", "out_of_sequence")


@dataclass
class Node:
    """What a node's readings are; change it between ticks."""

    id: NodeId
    platform: Platform
    down: set[ComponentId] = field(default_factory=set)
    lost: set[ComponentId] = field(default_factory=set)
    rising: dict[tuple[ComponentId, str], float] = field(default_factory=dict)
    """Errors a second."""
    width: dict[ComponentId, int] = field(default_factory=dict)
    silent: bool = False
    totals: dict[tuple[ComponentId, str], float] = field(default_factory=dict)
    standing: dict[object, npt.NDArray[np.float64]] = field(default_factory=dict)


class MadeUp:
    """An incident fed by hand."""

    def __init__(
        self, nodes: int = 8, layout: str | Platform = "h100_hgx", prefix: str = "sim", first: int = 1
    ) -> None:
        board = platform(layout) if isinstance(layout, str) else layout
        self.incident = Incident()
        self.now = START
        self.sequence = 0
        width = len(str(nodes)) if prefix == "sim" else 3
        ids = [NodeId(f"{prefix}{number:0{width}}") for number in range(first, first + nodes)]
        self.nodes = {id_: Node(id_, board) for id_ in ids}
        self.take(SessionOpened(time=self.now, case="4711", version="0.1.0", hosts=tuple(ids), source="sim"))
        for node in self.nodes.values():
            self._introduce(node)

    def take(self, event: Event) -> None:
        self.sequence += 1
        name = f"{event.node}#{self.sequence}" if isinstance(event, SampleTaken) else f"J{self.sequence}"
        self.incident.apply(Entry(self.sequence, name, event))

    def snapshot(self) -> Snapshot:
        return self.incident.snapshot()

    def tick(self, times: int = 1) -> MadeUp:
        for _ in range(times):
            self.now += 1.0
            for node in self.nodes.values():
                if not node.silent:
                    self._sample(node)
            self.take(Ticked(time=self.now))
        return self

    def say(self, node: str, text: str) -> None:
        self.take(LogRead(time=self.now, node=NodeId(node), source="kmsg", text=text, node_time=self.now))

    def state(self, node: str, state: NodeState, reason: str = "", code: str = "") -> None:
        self.take(NodeStateChanged(time=self.now, node=NodeId(node), state=state, reason=reason, code=code))

    def find(self, component: str, title: str, fault_class: str, fru: str, severity: Severity, next_: str = "") -> None:
        self.take(
            FindingRaised(
                time=self.now,
                finding=Finding(
                    component=ComponentId(component),
                    fru=fru,
                    fault_class=fault_class,
                    severity=severity,
                    confidence=Confidence.POSSIBLE,
                    title=title,
                    evidence=("J1",),
                    next=next_,
                    rule="made_up",
                ),
            )
        )

    def _introduce(self, node: Node) -> None:
        self.take(FactsRead(time=self.now, node=node.id, source="collector", facts=tuple(facts_of(node))))
        for domain, fields in fields_of(node).items():
            self.take(SchemaDeclared(time=self.now, node=node.id, domain=domain, schema=f"{domain}1", fields=fields))
        self.state(node.id, NodeState.LIVE)

    def _sample(self, node: Node) -> None:
        for domain, fields in fields_of(node).items():
            values = self._standing(node, domain).copy()
            for at, column in enumerate(fields) if node.rising else ():
                key = (column.component, column.name)
                if key in node.rising:
                    node.totals[key] = node.totals.get(key, 0.0) + round(node.rising[key] * _unsteady(self.now))
                    values[at] = node.totals[key]
            self.take(SampleTaken(self.now, node.id, domain, f"{domain}1", values))

    def _standing(self, node: Node, domain: str) -> npt.NDArray[np.float64]:
        """The values that don't change from tick to tick, made anew when somebody broke something."""
        broken = (domain, frozenset(node.down), frozenset(node.lost), frozenset(node.width.items()))
        if broken not in node.standing:
            node.standing[broken] = np.array([self._value(node, column) for column in fields_of(node)[domain]])
        return node.standing[broken]

    def _value(self, node: Node, column: Field) -> float:
        part, name = column.component, column.name
        gpu = next((piece for piece in (part, part.parent, part.parent.parent) if piece.kind == "gpu"), None)
        if gpu in node.lost and part.kind != "pcie":
            return 15.0 if name == "nvml_error" else float("nan")
        if name == "state":
            return 0.0 if part in node.down else 1.0
        if name == "current_width":
            return float(node.width.get(part, 16))
        if name == "utilization_pct":
            return 97.0 + part.number % 3
        if name == "temperature_c":
            return 58.0 + part.number * 2 % 9
        return _STEADY.get(name, 0.0)


def _unsteady(now: float) -> float:
    return (0.2, 0.9, 1.4, 1.0, 1.5)[int(now) % 5]


_STEADY = {
    "power_w": 652.0,
    "power_limit_w": 700.0,
    "sm_clock_mhz": 1980.0,
    "memory_clock_mhz": 2619.0,
    "speed_mbps": 26562.0,
    "memory_used_bytes": 71e9,
    "generation": 5.0,
    "width": 16.0,
    "speed_gts": 32.0,
    "port_state": 4.0,
    "phys_state": 5.0,
    "rate_gbps": 400.0,
}


def fields_of(node: Node) -> dict[str, tuple[Field, ...]]:
    kept = _FIELDS.get(node.id + node.platform.key)
    if kept is None:
        kept = _FIELDS[node.id + node.platform.key] = {
            "nvml": tuple(Field(part, name) for part, name in _nvml(node)),
            "ib": tuple(Field(part, name) for part, name in _ib(node)),
            "pci": tuple(Field(part, name) for part, name in _pci(node)),
        }
    return kept


_FIELDS: dict[str, dict[str, tuple[Field, ...]]] = {}


def _nvml(node: Node) -> Iterator[tuple[ComponentId, str]]:
    for index in range(node.platform.gpus):
        gpu = gpu_id(node.id, index)
        for name in (
            "nvml_error",
            "temperature_c",
            "power_w",
            "power_limit_w",
            "sm_clock_mhz",
            "memory_clock_mhz",
            "utilization_pct",
            "memory_used_bytes",
            "clocks_event_reasons",
            "compute_processes",
        ):
            yield gpu, name
        for name in ("ecc_corrected", "ecc_uncorrected", "remap_pending", "remap_failure"):
            yield gpu / "hbm", name
        for name in ("replays", "generation", "width"):
            yield gpu / "pcie", name
        for lane in range(node.platform.lanes_per_gpu):
            for name in ("state", "speed_mbps", *LANE_COUNTERS):
                yield lane_id(gpu, lane), name


def _ib(node: Node) -> Iterator[tuple[ComponentId, str]]:
    for group in node.platform.groups:
        for nic in group.nics:
            for name in ("port_state", "phys_state", "rate_gbps", *NIC_COUNTERS):
                yield node.id / nic.name, name


def _pci(node: Node) -> Iterator[tuple[ComponentId, str]]:
    for group in node.platform.groups:
        for device in group.devices:
            for name in ("speed_gts", "current_width", "aer_correctable", "aer_nonfatal", "aer_fatal"):
                yield node.id / device.name / "pcie", name


def facts_of(node: Node) -> Iterator[Fact]:
    yield Fact(node.id, "driver_version", "570.124.06")
    yield Fact(node.id, "gpu_count", node.platform.gpus)
    for index, address in enumerate(node.platform.nvswitches):
        yield Fact(nvswitch_id(node.id, index), "bus_address", address)
    for group in node.platform.groups:
        for device in group.devices:
            part = node.id / device.name
            yield Fact(part, "bus_address", device.address)
            yield Fact(part, "numa", group.numa)
            yield Fact(part, "pcie_path", "/".join((*group.chain, device.port)))
            yield Fact(part / "pcie", "max_speed_gts", 32.0)
            yield Fact(part / "pcie", "max_width", 16)
    for index in range(node.platform.gpus):
        gpu = gpu_id(node.id, index)
        yield Fact(gpu, "name", "NVIDIA H100 80GB HBM3")
        yield Fact(gpu, "serial", f"16520230{index:02}511")
        yield Fact(gpu, "vbios", "96.00.74.00.1A")
        for lane in range(node.platform.lanes_per_gpu):
            if node.platform.nvswitches:
                yield Fact(lane_id(gpu, lane), "remote_type", "switch")
                address = node.platform.nvswitches[node.platform.switch_of_lane(lane)]
                yield Fact(lane_id(gpu, lane), "remote_address", address)


def with_faults(made: MadeUp) -> MadeUp:
    """The demo's three: a lane whose recoveries rise, a NIC at x8, a GPU off the bus; and one node that is silent."""
    names = list(made.nodes)
    lane_node, nic_node, gpu_node = made.nodes[names[2]], made.nodes[names[4]], made.nodes[names[5]]
    lane = lane_id(gpu_id(lane_node.id, 5), 9)
    lane_node.rising[lane, "recovery_errors"] = 2.0
    lane_node.rising[lane, "replay_errors"] = 9.0
    nic = nic_node.platform.groups[1].nics[0].name
    nic_node.width[nic_node.id / nic / "pcie"] = 8
    gpu_node.lost.add(gpu_id(gpu_node.id, 0))
    made.tick(25)
    made.find(
        lane,
        "NVLink recoveries rise: 50 in 25 s, none on the other 143 lanes",
        "nvlink-link/marginal",
        "gpu-module",
        Severity.WARNING,
        "localize on this node",
    )
    made.find(
        nic_node.id / nic / "pcie",
        "PCIe x8, expected x16: half the NIC's bandwidth",
        "pcie-link/width-degraded",
        "nic",
        Severity.WARNING,
    )
    made.find(
        gpu_id(gpu_node.id, 0),
        "GPU fell off the bus: Xid 79 at 14:03:41, the driver says it is lost",
        "gpu-off-bus",
        "gpu-module",
        Severity.CRITICAL,
        "keep the logs before anyone resets it",
    )
    made.say(
        gpu_node.id, "NVRM: Xid (PCI:0000:19:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    )
    made.say(gpu_node.id, "NVRM: GPU 0000:19:00.0: GPU has fallen off the bus.")
    if len(names) > 6:
        made.nodes[names[6]].silent = True
        made.state(names[6], NodeState.LOST, "no answer over ssh: the connection timed out", "unreachable")
    return made.tick(5)


def rounds_on(made: MadeUp, node: str, beliefs: Sequence[tuple[float, float, float]]) -> MadeUp:
    """Rounds of probing with what was believed after each: of the lane, of its GPU, of nothing."""
    lane = lane_id(gpu_id(node, 5), 9)
    for number, (first, second, nothing) in enumerate(beliefs, start=1):
        made.take(plan(number, node))
        made.tick()
        end_trials(made, plan(number, node), lane)
        made.take(RoundEnded(time=made.now, round=number, seconds=1.4))
        port = nvswitch_id(node, 2) / "port12"
        suspects = [
            Suspect(
                component=lane,
                members=(lane, port),
                posterior=first,
                bad=number // 2,
                clean=number * 3,
                nats=number * 1.7,
                strikes=number // 3,
            ),
            Suspect(component=gpu_id(node, 5), members=(gpu_id(node, 5),), posterior=second, bad=1, clean=9, nats=1.1),
            Suspect(
                component=nvswitch_id(node, 2), members=(nvswitch_id(node, 2),), posterior=second / 3, bad=1, clean=40
            ),
            Suspect(component=gpu_id(node, 2) / "pcie", members=(gpu_id(node, 2) / "pcie",), posterior=0.007, clean=11),
        ]
        made.take(
            BeliefUpdated(
                time=made.now,
                round=number,
                suspects=tuple(suspects),
                no_fault=nothing,
                parts=211,
                probes=number * 8,
                seconds=number * 1.4,
                noise=0.043,
                outliers=0.004,
                burst=1.6,
            )
        )
    return made


def end_trials(made: MadeUp, planned: RoundPlanned, lane: ComponentId) -> None:
    """All trials of a round; in every second round the lane's recoveries move in the first trial."""
    for number, trial in enumerate(planned.trials):
        bad = number == 0 and planned.round % 2 == 0
        move = CounterMove(component=lane, counter="recovery_errors", before=50.0, after=52.0 if bad else 50.0)
        windows = tuple(391.0 + (k * 7 + number) % 9 - (120.0 if bad and k == 5 else 0.0) for k in range(16))
        made.take(
            TrialEnded(
                time=made.now,
                trial=trial,
                round=planned.round,
                windows=windows,
                moves=(move,) if number == 0 else (),
                started=made.now - 0.9,
                ended=made.now,
                measured_by="cuda_copy",
            )
        )


def plan(number: int, node: str) -> RoundPlanned:
    pairs = [(0, 5), (1, 4), (2, 7), (3, 6)]
    trials = tuple(
        Trial(
            id=f"R{number}T{k}", probe="p2p", node=NodeId(node), targets=(gpu_id(node, a), gpu_id(node, b)), seconds=0.9
        )
        for k, (a, b) in enumerate(pairs, start=1)
    )
    return RoundPlanned(
        time=START + number,
        round=number,
        trials=trials,
        seconds=1.4,
        gain=0.82,
        reason="is it a lane of GPU5, or GPU5 itself",
    )


def verdict_on(made: MadeUp, node: str) -> AnyJournalEvent:
    lane = lane_id(gpu_id(node, 5), 9)
    verdict = Verdict(
        component=lane,
        fru="gpu-module",
        fault_class="nvlink-link/marginal",
        alternatives=(nvswitch_id(node, 2) / "port12",),
        posterior=0.967,
        confidence=Confidence.LIKELY,
        duty=(0.03, 0.09),
        drop=(0.0, 0.0),
        by="counters",
        why=(
            "its recovery counter moved in 4 of 31 trials that loaded it, those of its 17 equals in none: +11.2 nats",
            "acquits GPU5: 27 clean trials used it on other lanes",
            "acquits NVSW2: 40 clean trials crossed its other ports",
        ),
        next="swap GPU5 with GPU4: if lane 9 of the moved GPU goes on failing it is the GPU, else the baseboard",
        evidence=("J10",),
    )
    return VerdictReached(
        time=made.now,
        outcome="localized",
        verdicts=(verdict,),
        excludes=(
            Exclusion(family="gpu", duty=0.05, drop=0.25, by="bandwidth"),
            Exclusion(family="nvlink", duty=0.05, drop=0.0, by="counters"),
        ),
        untestable=(ComponentId(f"{node}/psu1"),),
        reason="the posterior passed 0.95 with three strikes",
        rounds=9,
        probes=72,
        seconds=12.6,
    )


def nothing_found(made: MadeUp) -> AnyJournalEvent:
    return VerdictReached(
        time=made.now,
        outcome="none",
        verdicts=(),
        reason="every family has clean trials enough",
        excludes=(
            Exclusion(family="gpu", duty=0.05, drop=0.25, by="bandwidth"),
            Exclusion(family="nvlink", duty=0.05, drop=0.0, by="counters"),
            Exclusion(family="pcie", duty=0.05, drop=0.25, by="bandwidth"),
            Exclusion(family="nvswitch", duty=0.02, drop=0.25, by="bandwidth"),
        ),
        untestable=(),
        rounds=44,
        probes=352,
        seconds=61.0,
    )
