"""`ibstat`: adapters and their ports."""

from __future__ import annotations

import sys

from ..machine import Machine
from ..sysfs import PHYSICAL_STATES

STATES = {1: "Down", 2: "Initializing", 3: "Armed", 4: "Active"}


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Print all adapters, or those named; `-l` lists their names."""
    names = [nic.name for nic in machine.hardware.nics]
    if "-l" in arguments:
        print("\n".join(names))
        return 0
    wanted = [argument for argument in arguments if not argument.startswith("-") and not argument.isdigit()]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        sys.stderr.write(f"ibpanic: [1] main: '{unknown[0]}' IB device can't be found: (No such file or directory)\n")
        return 255
    for name in wanted or names:
        _adapter(machine, name)
    return 0


def _adapter(machine: Machine, name: str) -> None:
    facts = machine.facts[name]
    guid = "0x" + str(facts["node_guid"]).replace(":", "")
    infiniband = facts["link_layer"] == "InfiniBand"
    state, physical = (int(machine.reading(name, field)) for field in ("port_state", "phys_state"))
    print(f"CA '{name}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: {facts['firmware']}")
    print(f"\tHardware version: 0\n\tNode GUID: {guid}\n\tSystem image GUID: {guid}\n\tPort 1:")
    print(f"\t\tState: {STATES.get(state, state)}\n\t\tPhysical state: {PHYSICAL_STATES.get(physical, physical)}")
    print(f"\t\tRate: {machine.reading(name, 'rate_gbps'):g}")
    print(f"\t\tBase lid: {int(str(facts['bus_address'])[5:7], 16) + 16 if infiniband else 0}\n\t\tLMC: 0")
    print(f"\t\tSM lid: {int(infiniband)}\n\t\tCapability mask: {'0xa751e848' if infiniband else '0x00010000'}")
    print(f"\t\tPort GUID: {guid}\n\t\tLink layer: {facts['link_layer']}")
