"""A small fleet told through the real fold: what its nodes read and log, second by second."""

import io

import numpy as np
import pytest
from lanescope.incident.events import (
    ClockMeasured,
    DomainFailed,
    DomainHung,
    Entry,
    Fact,
    FactsRead,
    Field,
    FindingRaised,
    LogRead,
    NodeState,
    NodeStateChanged,
    SampleTaken,
    SchemaDeclared,
    Ticked,
)
from lanescope.incident.fold import Incident
from lanescope.incident.ids import ComponentId, NodeId, bridge_id, gpu_id, lane_id, nvswitch_id
from lanescope.incident.platforms import platform
from lanescope.parsers.intake import read
from lanescope.signals.judge import judge
from lanescope.signals.readings import Moment, Output, Readings
from lanescope.topology.sources.facts import build_fabric

NAN = float("nan")
START = 1_790_000_000.0
GPU_READINGS = {"temperature_c": 40, "utilization_pct": 0, "nvml_error": 0, "clocks_event_reasons": 0}
LANE_READINGS = {"state": 1, "speed_mbps": 26562, "replay_errors": 0, "recovery_errors": 0, "crc_errors": 0}
HBM_READINGS = {"ecc_corrected": 0, "ecc_uncorrected": 0, "remap_pending": 0, "remap_failure": 0}
NIC_READINGS = {
    "port_state": 4, "phys_state": 5, "rate_gbps": 400, "symbol_error": 0, "link_downed": 0,
    "port_xmit_data": 0, "port_rcv_data": 0,
}  # fmt: skip
LINK_READINGS = {"speed_gts": 32, "current_width": 16, "aer_correctable": 0, "aer_nonfatal": 0, "aer_fatal": 0}


class Story:
    """Nodes of one platform that tick together."""

    def __init__(self, nodes=1, kind="h100_hgx"):
        self.platform = platform(kind)
        self.incident = Incident()
        self.now = START
        self.values = {}
        self.events = 0
        self.samples = {}
        for number in range(1, nodes + 1):
            self.add_node(NodeId(f"n{number}"))

    def add_node(self, node, without=""):
        """A node with all that its platform has, but for the part `without`."""
        facts = [fact for fact in facts_of(node, self.platform) if not lies_in(fact.component, without)]
        self.values[node] = {
            domain: {key: value for key, value in values.items() if not lies_in(key[0], without)}
            for domain, values in readings_of(node, self.platform).items()
        }
        self.tell(NodeStateChanged(time=self.now, node=node, state=NodeState.LIVE))
        self.tell(ClockMeasured(time=self.now, node=node, offset=0.0, uncertainty=0.002))
        self.tell(FactsRead(time=self.now, node=node, source="test", facts=tuple(facts)))
        self.declare(node)

    def declare(self, node):
        for domain, values in self.values[node].items():
            fields = tuple(Field(component, name) for component, name in values)
            schema = f"{domain}{self.events}"
            self.tell(SchemaDeclared(time=self.now, node=node, domain=domain, schema=schema, fields=fields))
            self.samples[node, domain] = schema

    def tell(self, event):
        self.events += 1
        self.incident.apply(Entry(self.events, f"J{self.events}", event))

    def fact(self, component, key, value):
        component = ComponentId(component)
        fact = Fact(component, key, value)
        self.tell(FactsRead(time=self.now, node=component.node, source="test", facts=(fact,)))

    def state(self, node, state, reason=""):
        self.tell(NodeStateChanged(time=self.now, node=NodeId(node), state=state, reason=reason))

    def put(self, component, **values):
        """Set readings of a part; they hold until set again."""
        component = ComponentId(component)
        domains = self.values[component.node]
        for name, value in values.items():
            next(of for of in domains.values() if (component, name) in of)[component, name] = value

    def rise(self, component, name, step=1):
        component = ComponentId(component)
        for of in self.values[component.node].values():
            if (component, name) in of:
                of[component, name] += step

    def silence(self, component):
        """Every reading of a part and its parts goes missing."""
        for domain in self.values[ComponentId(component).node].values():
            for key in domain:
                if key[0] == component or key[0].startswith(component + "/"):
                    domain[key] = NAN

    def tick(self, seconds=1, quiet=()):
        """Pass seconds with a sample of every domain in each; nodes in `quiet` say nothing."""
        for _ in range(seconds):
            self.now += 1
            for (node, domain), schema in self.samples.items():
                if node not in quiet:
                    values = np.array(list(self.values[node][domain].values()), dtype=float)
                    self.tell(SampleTaken(self.now, node, domain, schema, values))
            self.tell(Ticked(time=self.now))
        return self

    def log(self, node, text, after=0.0):
        at = self.now + after
        self.tell(LogRead(time=at, node=NodeId(node), source="kmsg", text=text, node_time=at))

    def hang(self, node, domain, seconds=4.0):
        self.tell(
            DomainHung(
                time=self.now, node=NodeId(node), domain=domain, seconds=seconds, process_state="D", wchan="rm_wait"
            )
        )

    def fail(self, node, domain, reason):
        self.tell(DomainFailed(time=self.now, node=NodeId(node), domain=domain, reason=reason))

    def keep(self):
        """Let the findings of now stand, as a session does."""
        for finding in self.findings():
            self.tell(FindingRaised(time=self.now, finding=finding))

    @property
    def snapshot(self):
        return self.incident.snapshot()

    @property
    def ids(self):
        """All event ids there are."""
        samples = {id_ for view in self.snapshot.nodes.values() for one in view.series.values() for id_ in one.ids}
        return samples | {f"J{number}" for number in range(1, self.events + 1)}

    def judged_on(self):
        snapshot = self.snapshot
        return snapshot, build_fabric(snapshot.nodes.values())

    def findings(self):
        return judge(*self.judged_on())

    def faults(self):
        return [finding for finding in self.findings() if finding.is_fault]

    def only(self):
        """The one fault there is."""
        (finding,) = self.faults()
        assert set(finding.evidence) <= self.ids
        return finding


def lies_in(component, part):
    return bool(part) and (component.within == part or component.within.startswith(f"{part}/"))


def facts_of(node, kind):
    def link(component, width=16):
        yield Fact(component, "max_width", width)
        yield Fact(component, "max_speed_gts", 32.0)

    for index, address in enumerate(kind.nvswitches):
        yield Fact(nvswitch_id(node, index), "bus_address", address)
    for group in kind.groups:
        for bridge in group.chain:
            yield from link(bridge_id(node, bridge))
        for device in group.devices:
            part = ComponentId(f"{node}/{device.name}")
            yield Fact(part, "bus_address", device.address)
            yield Fact(part, "numa", group.numa)
            yield Fact(part, "pcie_path", "/".join((*group.chain, device.port)))
            yield from link(part / "pcie")
            yield from link(bridge_id(node, device.port))
            if part.kind == "nic":
                yield Fact(part, "link_layer", "InfiniBand")
    for gpu in range(kind.gpus):
        yield Fact(gpu_id(node, gpu), "name", "NVIDIA H100 80GB HBM3")
        for lane in range(kind.lanes_per_gpu):
            here = lane_id(gpu_id(node, gpu), lane)
            yield Fact(here, "remote_type", "switch")
            yield Fact(here, "remote_address", kind.nvswitches[kind.switch_of_lane(lane)])
            yield Fact(here, "remote_port", 18 * gpu + lane)


def readings_of(node, kind):
    nvml, ib, pci = {}, {}, {}

    def put(domain, component, readings):
        for name, value in readings.items():
            domain[component, name] = float(value)

    for index in range(kind.gpus):
        gpu = gpu_id(node, index)
        put(nvml, gpu, GPU_READINGS)
        put(nvml, gpu / "hbm", HBM_READINGS)
        put(nvml, gpu / "pcie", {"replays": 0, "generation": 5, "width": 16})
        for lane in range(kind.lanes_per_gpu):
            put(nvml, lane_id(gpu, lane), LANE_READINGS)
    for group in kind.groups:
        for bridge in (*group.chain, *(device.port for device in group.devices)):
            put(pci, bridge_id(node, bridge), LINK_READINGS)
        for device in group.devices:
            part = ComponentId(f"{node}/{device.name}")
            put(pci, part / "pcie", LINK_READINGS)
            if part.kind == "nic":
                put(ib, part, NIC_READINGS)
    return {"nvml": nvml, "ib": ib, "pci": pci}


@pytest.fixture
def story():
    return Story().tick(3)


@pytest.fixture
def fleet():
    """Eight nodes of eight GPUs."""
    return Story(nodes=8).tick(3)


@pytest.fixture
def begin():
    return Story


@pytest.fixture
def judged():
    """What rules find in texts that tools printed, each a node's at a moment: `(node, "t0", text)`."""

    def judge_texts(*told):
        outputs = tuple(
            Output(f"J{at}", NodeId(node), section.tool.name, f"file {at}", moment_of(moment), readings_in(section))
            for at, (node, moment, text) in enumerate(told, start=1)
            for section in read("file", io.BytesIO(text.encode()))
            if section.tool is not None
        )
        return judge(*Story().judged_on(), Readings(outputs))

    return judge_texts


def moment_of(told):
    return Moment(told) if isinstance(told, str) else Moment(time=told)


def readings_in(section):
    return tuple(section.parsed.readings)
