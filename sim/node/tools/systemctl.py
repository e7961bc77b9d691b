"""`systemctl is-active` of the services a GPU node has, and `nv-fabricmanager --version`."""

from __future__ import annotations

from ..machine import Machine

RUNNING = ("nvidia-persistenced", "nvidia-dcgm", "sshd")
FABRIC_MANAGER = "nvidia-fabricmanager"
NOT_RUNNING = 3
"""Exit status of `is-active` for a service that is not."""


def run(machine: Machine, name: str, arguments: list[str]) -> int:
    """Answer for services; all those that the node's hardware needs are up."""
    if name == "nv-fabricmanager":
        print(f"Fabric Manager version is : {machine.driver_version}")
        return 0
    if arguments[:1] != ["is-active"]:
        print("Unknown command verb.")
        return 1
    up = RUNNING + ((FABRIC_MANAGER,) if machine.hardware.platform.nvswitches else ())
    states = ["active" if unit.removesuffix(".service") in up else "inactive" for unit in arguments[1:]]
    print("\n".join(states))
    return 0 if "inactive" not in states else NOT_RUNNING
