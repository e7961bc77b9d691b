"""Outputs, kept by their sha256 as files of the case folder."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from ..incident.errors import Altered, Unresolved
from ..incident.events import Blob
from .durable import PRIVATE_FOLDER, write_file


class BlobStore:
    """The folder `blobs/` of a case."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, data: bytes) -> Blob:
        """Write the bytes if they are not there yet; the file is whole before its name can stand in an event."""
        blob = Blob(sha256(data).hexdigest(), len(data))
        path = self.path_of(blob)
        if not path.exists():
            self._folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            write_file(path, data)
        return blob

    def bytes_of(self, blob: Blob) -> bytes:
        """The bytes; raises Unresolved where they are missing and Altered where they are others."""
        try:
            data = self.path_of(blob).read_bytes()
        except FileNotFoundError:
            raise Unresolved(f"the case holds no output {blob.sha256[:16]}… of {blob.size} bytes") from None
        if sha256(data).hexdigest() != blob.sha256:
            raise Altered(f"{self.path_of(blob)} no longer holds the output it is named for")
        return data

    def path_of(self, blob: Blob) -> Path:
        """Where its bytes are, or would be; raises Unresolved for a name that is no sha256."""
        if len(blob.sha256) != 64 or not blob.sha256.isalnum() or not blob.sha256.isascii():
            raise Unresolved(f"{blob.sha256[:80]!r} is no sha256, so no output is kept under it")
        return self._folder / blob.sha256
