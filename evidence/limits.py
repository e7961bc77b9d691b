"""How large a bundle may be: the writer keeps to it, and the reader refuses what does not."""

from __future__ import annotations

ARCHIVE_BYTES = 2 << 30
MEMBERS = 20_000
MEMBER_BYTES = 256 << 20
UNPACKED_BYTES = 4 << 30
RATIO = 1000
"""Unpacked to packed, per member; deflate itself ends at 1032."""
NAME_BYTES = 240
NAME_DEPTH = 12
DOCUMENT_BYTES = 16 << 20
"""Manifests and JSON documents that are read whole."""
