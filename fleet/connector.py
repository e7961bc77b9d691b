"""Opens SSH connections: ssh configuration, host keys, jump hosts, and how many at once.

Jump hosts are opened here and shared, because asyncssh opens one for every target, and takes `tunnel` as an argument
of connect() only: inside an options object it is dropped without a word and the connection goes past the bastion.
"""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
from asyncssh.config import SSHClientConfig

from ..incident.errors import BastionLost, HostKeyChanged, HostKeyUnknown, InputError, NodeError, Refused
from .known_hosts import SSH_PORT, CheckedClient, HostKeys
from .reasons import Place, explain, no_key_of_known_kind
from .settings import Settings

KEX_ALGORITHMS = (
    "mlkem768x25519-sha256",
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group14-sha256",
)
"""Without group-exchange: it blocks the event loop for 0.6 s a connection."""

CLIENT_VERSION = "Lanescope"
"""What operators find in auth.log when they look for us."""

USUAL_CONFIG = Path("~/.ssh/config")


@dataclass(frozen=True, slots=True)
class Hop:
    """One stop of a ProxyJump: `user@host:port`, the parts that were left out empty."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        return f"{self.user + '@' if self.user else ''}{self.host}{f':{self.port}' if self.port else ''}"


def parse_hops(text: str) -> tuple[Hop, ...]:
    """The stops of a ProxyJump option, first one first; none for `none`."""
    return () if text.lower() == "none" else tuple(_parse_hop(stop.strip()) for stop in text.split(","))


def _parse_hop(stop: str) -> Hop:
    user, _, place = stop.removeprefix("ssh://").rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, port = place, ""
    if port and not port.isdigit():
        raise InputError(f"ProxyJump {stop!r}: expected user@host:port")
    return Hop(host.strip("[]"), user or None, int(port) if port else None)


@dataclass(frozen=True, slots=True)
class Way:
    """How a host is reached, as its configuration says."""

    place: Place
    host: str
    """Name in the configuration."""
    user: str | None
    port: int | None
    known_hosts_name: str
    known_hosts_port: int
    files: tuple[Path, ...]
    hops: tuple[Hop, ...]


@dataclass(slots=True)
class _Bastion:
    connection: asyncssh.SSHClientConnection | None = None


class Connector:
    """Opens connections for one fleet; holds the shared ones to its bastions."""

    def __init__(self, config: Path | None, keys: HostKeys, settings: Settings) -> None:
        self._config = [config] if config is not None else _usual_config()
        self._keys = keys
        self._settings = settings
        self._gate = asyncio.Semaphore(settings.connecting_at_once)
        self._bastions: dict[tuple[Hop, ...], _Bastion] = {}
        self._locks: dict[tuple[Hop, ...], asyncio.Lock] = {}
        self._gates: dict[tuple[Hop, ...], asyncio.Semaphore] = {}

    async def connect(self, node: str) -> tuple[asyncssh.SSHClientConnection, Place]:
        """A connection to a node; raises NodeError with a sentence for why there is none."""
        way = self._way(node, Hop(node))
        async with self._turn(way.hops):
            tunnel = await self._bastion(way.hops)
            async with self._gate:
                return await self._open(way, tunnel), way.place

    def bastion_is_gone(self, node: str) -> bool:
        """Whether a node is reached through a shared connection that is down."""
        bastion = self._bastions.get(self._way(node, Hop(node)).hops)
        return bastion is not None and (bastion.connection is None or bastion.connection.is_closed())

    def abort(self) -> None:
        """Drop the shared connections."""
        for bastion in self._bastions.values():
            if bastion.connection is not None:
                bastion.connection.abort()
        self._bastions.clear()

    def _way(self, node: str, hop: Hop, behind: tuple[Hop, ...] = ()) -> Way:
        """How a host is reached; `behind` are the hosts that are reached through it. Raises InputError."""
        if hop in behind:
            raise InputError(f"{node}: the ProxyJump of {hop} leads back to itself; see the ssh configuration")
        try:
            config = SSHClientConfig.load(
                None,
                list(self._config),
                False,
                False,
                False,
                getpass.getuser(),
                hop.user or (),
                hop.host,
                hop.port or (),
            )
            jump = str(config.get("ProxyJump") or "none")
            host, port = str(config.get("Hostname", hop.host)), int(str(hop.port or config.get("Port", SSH_PORT)))
        except (OSError, ValueError, asyncssh.ConfigParseError) as error:
            raise InputError(f"ssh configuration {', '.join(map(str, self._config))}: {error}") from None
        hops = parse_hops(jump)
        if hops:
            # the first stop may have a ProxyJump of its own
            hops = (*self._way(node, hops[0], (*behind, hop)).hops, *hops)
        user = str(hop.user or config.get("User", getpass.getuser()))
        named = config.get("UserKnownHostsFile")
        return Way(
            Place(node, host, port, user, "" if jump == "none" else jump),
            hop.host,
            hop.user,
            hop.port,
            str(config.get("HostKeyAlias") or host),
            port,
            self._keys.files([str(path) for path in named] if isinstance(named, list) else None),
            hops,
        )

    @asynccontextmanager
    async def _turn(self, hops: tuple[Hop, ...]) -> AsyncIterator[None]:
        """Wait for a turn behind one bastion; nodes without one only share the gate of all."""
        if not hops:
            yield
            return
        gate = self._gates.setdefault(hops, asyncio.Semaphore(self._settings.connecting_per_bastion))
        async with gate:
            yield

    async def _bastion(self, hops: tuple[Hop, ...]) -> asyncssh.SSHClientConnection | None:
        """The shared connection at the end of a chain of hops; opened where there is none that lives."""
        if not hops:
            return None
        async with self._locks.setdefault(hops, asyncio.Lock()):
            bastion = self._bastions.setdefault(hops, _Bastion())
            if bastion.connection is None or bastion.connection.is_closed():
                bastion.connection = None
                way = self._way(hops[-1].host, hops[-1])
                tunnel = await self._bastion(hops[:-1])
                try:
                    bastion.connection = await self._open(way, tunnel)
                except NodeError as error:
                    waits = isinstance(error, Refused | HostKeyChanged | HostKeyUnknown)
                    kind = type(error) if waits else BastionLost
                    raise kind(f"the bastion can't be used: {error}") from None
            return bastion.connection

    async def _open(self, way: Way, tunnel: asyncssh.SSHClientConnection | None) -> asyncssh.SSHClientConnection:
        client = CheckedClient(way.place.node, self._keys, way.files)
        settings = self._settings
        try:
            return await asyncssh.connect(
                way.host,
                way.port or (),
                tunnel=tunnel or None,
                config=list(self._config),
                username=way.user or (),
                client_factory=lambda: client,
                known_hosts=lambda host, addr, port: self._keys.matches(way.files, host, addr, port),
                kex_algs=KEX_ALGORITHMS,
                keepalive_interval=settings.keepalive,
                # one more behind a bastion: when that hangs, its own keepalive is the first to say so
                keepalive_count_max=settings.keepalive_count + (tunnel is not None),
                connect_timeout=settings.connect_timeout,
                login_timeout=settings.connect_timeout,
                agent_forwarding=False,
                x11_forwarding=False,
                client_version=CLIENT_VERSION,
                password_auth=False,
                kbdint_auth=False,
            )
        except ValueError as error:
            raise InputError(f"{way.place.node}: its ssh configuration or keys can't be used: {error}") from None
        except (OSError, asyncssh.Error) as error:
            if client.problem is not None:
                raise client.problem from None
            if isinstance(error, asyncssh.KeyExchangeFailed) and (known := self._known(way)):
                raise no_key_of_known_kind(way.place, known[0], await self._offered(way, tunnel)) from None
            raise explain(error, way.place, settings.connect_timeout) from None

    def _known(self, way: Way) -> Sequence[asyncssh.SSHKey]:
        return self._keys.known(way.files, way.known_hosts_name, way.known_hosts_port)

    async def _offered(self, way: Way, tunnel: asyncssh.SSHClientConnection | None) -> asyncssh.SSHKey | None:
        """The host key the node shows to somebody who knows none."""
        try:
            async with asyncio.timeout(self._settings.connect_timeout):
                return await asyncssh.get_server_host_key(
                    way.host, way.port or (), tunnel=tunnel or None, config=list(self._config), kex_algs=KEX_ALGORITHMS
                )
        except (OSError, asyncssh.Error):
            return None


def _usual_config() -> list[Path]:
    usual = USUAL_CONFIG.expanduser()
    return [usual] if usual.is_file() else []
