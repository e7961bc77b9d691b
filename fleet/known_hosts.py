"""Whose host key is known: the operator's known_hosts files, and ours for keys accepted here.

An unknown key is refused until the operator vouches for it; a changed one is refused always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import asyncssh
import platformdirs

from ..incident.errors import HostKeyChanged, HostKeyUnknown, NodeError

Matches = tuple[Sequence[asyncssh.SSHKey], ...]

USUAL_FILES = (Path("~/.ssh/known_hosts"), Path("~/.ssh/known_hosts2"), Path("/etc/ssh/ssh_known_hosts"))
SSH_PORT = 22


def own_file() -> Path:
    """Where the keys accepted in Lanescope are kept."""
    return platformdirs.user_data_path("lanescope") / "known_hosts"


class HostKeys:
    """Answers for the host keys of a fleet."""

    def __init__(self, known_hosts: Path | None = None, own: Path | None = None, accept_new: bool = False) -> None:
        self._given = known_hosts
        self._own = own or own_file()
        self._accept_new = accept_new
        self._read: dict[Path, tuple[float, asyncssh.SSHKnownHosts]] = {}

    def files(self, configured: Iterable[str] | None) -> tuple[Path, ...]:
        """The files that speak for a host: the one given, or those its configuration names, or the usual ones; ours."""
        if self._given is not None:
            named: Iterable[Path] = (self._given,)
        elif configured is not None:
            named = (Path(name) for name in configured if name != "none")
        else:
            named = USUAL_FILES
        return (*(path.expanduser() for path in named), self._own)

    def matches(self, files: Iterable[Path], host: str, addr: str, port: int | None) -> Matches:
        """Trusted keys, trusted CAs, revoked keys, and the same of X.509, as asyncssh wants them."""
        found: list[list[asyncssh.SSHKey]] = [[] for _ in range(7)]
        for path in files:
            for kept, more in zip(found, self._load(path).match(host, addr, port), strict=True):
                kept += more  # type: ignore[arg-type]
        return tuple(found)

    def judge(
        self, node: str, files: Sequence[Path], host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> NodeError | None:
        """What is wrong with a key that no file vouches for; None when it was accepted and stored."""
        where = None if port == SSH_PORT else port
        known = self.matches(files, host, addr, where)[0]
        if known:
            old = ", ".join(fingerprint(one) for one in known)
            return HostKeyChanged(
                f"{node}: its host key changed: known {old}, offered {fingerprint(key)}. If it was reinstalled, "
                f"remove the old key from {files[0]}; if not, somebody may stand in between. Refused"
            )
        if not self._accept_new:
            return HostKeyUnknown(
                f"{node}: its host key {fingerprint(key)} is not known. Compare it with the node's own "
                "(ssh-keygen -lf on its console), then connect with --accept-new or add it to known_hosts"
            )
        self._store(host, port, key)
        return None

    def known(self, files: Iterable[Path], host: str, port: int) -> Sequence[asyncssh.SSHKey]:
        """The keys known of a host."""
        return self.matches(files, host, "", None if port == SSH_PORT else port)[0]

    def _store(self, host: str, port: int, key: asyncssh.SSHKey) -> None:
        name = host if port == SSH_PORT else f"[{host}]:{port}"
        self._own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._own.open("a") as file:
            file.write(f"{name} {key.export_public_key().decode().strip()}\n")

    def _load(self, path: Path) -> asyncssh.SSHKnownHosts:
        """The entries of a file, read again when it changed; lines that can't be read are passed over."""
        try:
            changed = path.stat().st_mtime
        except OSError:
            return asyncssh.import_known_hosts("")
        held = self._read.get(path)
        if held is not None and held[0] == changed:
            return held[1]
        entries = asyncssh.import_known_hosts("")
        for line in path.read_text(errors="replace").splitlines():
            try:
                entries.load(line)
            except ValueError:
                continue
        self._read[path] = (changed, entries)
        return entries


def fingerprint(key: asyncssh.SSHKey) -> str:
    """`ssh-ed25519 SHA256:...`."""
    return f"{key.get_algorithm()} {key.get_fingerprint()}"


class CheckedClient(asyncssh.SSHClient):
    """One connection's view of the host key check; keeps what was wrong, for a better sentence than asyncssh's."""

    def __init__(self, node: str, keys: HostKeys, files: Sequence[Path]) -> None:
        self._node = node
        self._keys = keys
        self._files = files
        self.problem: NodeError | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Asked for a key that no file vouches for."""
        self.problem = self._keys.judge(self._node, self._files, host, addr, port, key)
        return self.problem is None
