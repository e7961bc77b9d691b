"""Which NIC at a bus address is meant by a name in `topo -m`, where no tool tells both.

A NIC that is as close to every GPU as the matrix says, and no other at an address is, is the one. Those that nothing
tells apart (two ports of one card) stay apart: a guess could send somebody to the wrong card.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ...parsers.nvidia_smi.topo import Connection
from ...parsers.pcie.lspci import PciDevice
from ..closeness import closeness_of
from .pci_chains import chains_of

WITHIN = {"PHB": "NODE"}
"""Whose host bridge a root port belongs to is not ours to tell."""


def names_by_closeness(
    readings: Iterable[object], gpus: Mapping[int, str], nics: Iterable[str], taken: Iterable[str]
) -> dict[str, str]:
    """Names of NICs by bus address; `gpus`: addresses by index, `nics`: addresses without a name, `taken`: names
    whose address is known."""
    known = list(readings)
    claimed = _claimed((one for one in known if isinstance(one, Connection)), set(taken))
    devices = {one.address: one for one in known if isinstance(one, PciDevice)}
    addresses = [address for address in nics if address in devices]
    asked = sorted({gpu for name in claimed.values() for gpu in name if gpu in gpus and gpus[gpu] in devices})
    if not claimed or not addresses or not asked:
        return {}
    chains = {address: tuple(one.address for one in chain) for address, chain in chains_of(devices.values()).items()}
    by_name = _alike({name: tuple(words.get(gpu, "") for gpu in asked) for name, words in claimed.items()})
    by_address = _alike({nic: tuple(_closeness(nic, gpus[gpu], devices, chains) for gpu in asked) for nic in addresses})
    return dict(_pairs(by_name, by_address))


def _claimed(connections: Iterable[Connection], taken: set[str]) -> Mapping[str, dict[int, str]]:
    """How close each NIC is to each GPU by index."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for connection in connections:
        for one, other in ((connection.here, connection.there), (connection.there, connection.here)):
            gpu = other.removeprefix("GPU")
            if other != gpu and gpu.isdecimal() and not one.startswith("GPU") and one not in taken:
                found[one][int(gpu)] = WITHIN.get(connection.kind, connection.kind)
    return found


def _closeness(nic: str, gpu: str, devices: Mapping[str, PciDevice], chains: Mapping[str, tuple[str, ...]]) -> str:
    sockets = (devices[nic].numa, devices[gpu].numa)
    word = closeness_of(chains[nic], chains[gpu], sockets) or ""
    return WITHIN.get(word, word)


def _alike(words: Mapping[str, tuple[str, ...]]) -> Mapping[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one, said in words.items():
        found[said].append(one)
    return found


def _pairs(
    by_name: Mapping[tuple[str, ...], list[str]], by_address: Mapping[tuple[str, ...], list[str]]
) -> Iterator[tuple[str, str]]:
    for words, names in by_name.items():
        addresses = by_address.get(words, [])
        if len(names) == len(addresses) == 1 and "PIX" in words:
            yield addresses[0], names[0]
