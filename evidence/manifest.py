"""BagIt manifests (RFC 8493): lines of `<sha256>  <path>`, as sha256sum writes and checks them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..incident.errors import Altered

PAYLOAD = "manifest-sha256.txt"
TAGS = "tagmanifest-sha256.txt"
"""Its sha256 is the bundle's id (the root)."""
_LINE = re.compile(r"([0-9a-f]{64})  (\S[^\r\n]*)")


def manifest(hashes: Mapping[str, str]) -> bytes:
    """Path -> hash as text, sorted by path."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes)).encode()


def parse_manifest(data: bytes, name: str) -> dict[str, str]:
    """Path -> hash; raises Altered for lines of another form or a path listed twice."""
    found: dict[str, str] = {}
    lines = data.decode(errors="replace").split("\n")
    for number, line in enumerate(lines[:-1], 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in found:
            raise Altered(f"{name} line {number} is not one sha256 and one path of its own")
        found[match[2]] = match[1]
    if lines[-1]:
        raise Altered(f"{name} does not end with a line")
    return found
