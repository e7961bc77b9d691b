"""All probes, by name."""

from __future__ import annotations

from collections.abc import Mapping

from .bidir import BothWaysCopy
from .checksum import Checksum
from .d2h import DeviceToHostCopy
from .dcgm_diag import DCGM_PROBES
from .fabric_state import FabricState
from .h2d import HostToDeviceCopy
from .h2d_group import HostToDeviceGroup
from .h2d_verify import HostToDeviceVerify
from .memory_check import MemoryCheck
from .nccl_collective import COLLECTIVES
from .nccl_pair import NetworkPair, PeerSend, PeerSendByNics
from .nccl_tests import NCCL_TESTS_PROBES
from .nvbandwidth import NVBANDWIDTH_PROBES
from .p2p import PeerCopy
from .p2p_verify import PeerVerify
from .power_load import PowerLoad
from .probe import Probe
from .rdma import RDMA_PROBES
from .variants import variant

_PROBES: tuple[Probe, ...] = (
    PeerCopy(),
    HostToDeviceCopy(),
    NetworkPair(),
    PeerSend(),
    PeerSendByNics(),
    *COLLECTIVES,
    *RDMA_PROBES,
    *NVBANDWIDTH_PROBES,
    *NCCL_TESTS_PROBES,
    *DCGM_PROBES,
    FabricState(),
    DeviceToHostCopy(),
    BothWaysCopy(),
    HostToDeviceGroup(),
    HostToDeviceVerify(),
    PeerVerify(),
    MemoryCheck(),
    Checksum(),
    PowerLoad(),
)

CATALOGUE: Mapping[str, Probe] = {probe.name: probe for probe in _PROBES}


def probe_named(name: str) -> Probe:
    """The probe of a name, variants such as `rdma_write@gid=3,tc=106` included; raises InputError for any other."""
    return variant(name, CATALOGUE)
