"""What each probe does and what it takes from others, in words, for the dialog that asks before it runs."""

from __future__ import annotations


def probe_titles() -> dict[str, str]:
    """What each probe does and what it takes from others, for the consent dialog."""
    from ..probes.catalogue import CATALOGUE

    return {name: f"{probe.title}; loads {disturbed(str(probe.disturbs))}" for name, probe in CATALOGUE.items()}


def disturbed(flags: str) -> str:
    """`Disturbs.GPU|NVLINK` in words."""
    words = {"GPU": "the GPUs", "NVLINK": "NVLink", "PCIE": "PCIe", "HOST_MEMORY": "host memory"}
    words |= {"NETWORK": "the network", "POWER": "power up to the limit", "NOTHING": "nothing"}
    return ", ".join(words.get(flag, flag) for flag in flags.partition(".")[2].split("|"))
