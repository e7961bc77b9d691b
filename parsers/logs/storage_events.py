"""What file system clients say in the kernel log of servers that don't answer, and that they answer again.

Source: Linux net/sunrpc/clnt.c (`nfs: server X not responding`), net/ceph/messenger.c and fs/ceph/mds_client.c;
Lustre ptlrpc/import.c and client.c (operations manual, "Common Lustre problems").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StorageServer:
    """A client's word on one server or target."""

    system: str
    """`nfs`, `lustre` or `ceph`."""
    server: str
    """As named: an address, or a target such as `fs1-OST0003`."""
    answers: bool
    """True where it answers again."""


_NFS = re.compile(r"nfs: server (\S{1,200}) (not responding, (?:still trying|timed out)|OK)")
_TARGET = r"Lustre(?:Error)?: .{0,60}?([\w.-]{1,64}-(?:OST|MDT)[0-9a-f]{4})\S{0,80}: "
_LUSTRE_LOST = re.compile(
    rf"{_TARGET}(?:Connection to .{{1,160}} was lost|operation \w{{1,40}} to node .{{1,120}} failed)"
)
_LUSTRE_BACK = re.compile(rf"{_TARGET}Connection restored to ")
_DAEMON = r"ceph: (?:\[.{1,120}\]: )?((?:mon|osd|mds)\d{1,5})\b.{0,120}?"
_CEPH_LOST = re.compile(rf"{_DAEMON}(?:socket closed|hung|session lost|down)")
_CEPH_BACK = re.compile(rf"{_DAEMON}(?:session established|came back|caps renewed|up$)")


def _nfs(message: str) -> StorageServer | None:
    found = _NFS.search(message)
    return StorageServer("nfs", found[1], found[2] == "OK") if found else None


def _lustre(message: str) -> StorageServer | None:
    if found := _LUSTRE_BACK.search(message):
        return StorageServer("lustre", found[1], True)
    found = _LUSTRE_LOST.search(message)
    return StorageServer("lustre", found[1], False) if found else None


def _ceph(message: str) -> StorageServer | None:
    if found := _CEPH_BACK.search(message):
        return StorageServer("ceph", found[1], True)
    found = _CEPH_LOST.search(message)
    return StorageServer("ceph", found[1], False) if found else None


READERS: tuple[tuple[str, Callable[[str], StorageServer | None]], ...] = (
    ("nfs: server", _nfs),
    ("Lustre", _lustre),
    ("ceph: ", _ceph),
)
"""A word that is cheap to look for, and who reads the line when it is there."""
