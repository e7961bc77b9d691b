"""Why a node can't be reached, in one sentence: what, where, what next. One text each for what people mix up."""

from __future__ import annotations

import errno
import socket

import asyncssh

from ..incident.errors import BastionLost, HostKeyChanged, HostKeyUnknown, NodeError, Refused, Unreachable
from .known_hosts import fingerprint
from .stream import one_line

NO_ROUTE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN})


class Place:
    """A node and where it is looked for, for sentences."""

    def __init__(self, node: str, host: str, port: int, user: str, through: str = "") -> None:
        self.node = node
        self.user = user
        at = host if port == 22 else f"{host}:{port}"
        self.at = f"{at} through {through}" if through else at
        self.through = through


def explain(error: BaseException, place: Place, seconds: float) -> NodeError:
    """The error of a connect attempt as one of ours."""
    match error:
        case NodeError():
            return error
        case asyncssh.PermissionDenied():
            return Refused(
                f"{place.node}: {place.at} refused every key for user {place.user} (permission denied); "
                "check User and IdentityFile, and that the account may log in"
            )
        case asyncssh.KeyExchangeFailed():
            return NodeError(f"{place.node}: no common key exchange with {place.at}: {one_line(error.reason)}")
        case asyncssh.HostKeyNotVerifiable():
            return HostKeyUnknown(f"{place.node}: the host key of {place.at} is not accepted: {one_line(error.reason)}")
        case asyncssh.ChannelOpenError():
            return Unreachable(
                f"{place.node}: the bastion {place.through} can't reach it ({one_line(error.reason)}); "
                "is the node up, and may the bastion forward?"
            )
        case asyncssh.DisconnectError():
            return Unreachable(
                f"{place.node}: {place.at} closed the connection before login ({one_line(error.reason)}); "
                "a full or throttling sshd (MaxStartups) does this, or no sshd at all"
            )
        case _:
            return _explain_network(error, place, seconds)


def _explain_network(error: BaseException, place: Place, seconds: float) -> NodeError:
    match error:
        case TimeoutError():
            return Unreachable(
                f"{place.node}: {place.at} did not answer within {seconds:g} s (silent); "
                "is the node up, and does a firewall drop packets?"
            )
        case socket.gaierror():
            return Unreachable(
                f"{place.node}: the name {place.at} is not found ({error.strerror}); "
                "check the spelling, DNS, or HostName in the ssh configuration"
            )
        case ConnectionRefusedError():
            return Unreachable(f"{place.node}: nothing listens on {place.at} (connection refused); is sshd running?")
        case OSError() if error.errno in NO_ROUTE:
            return Unreachable(f"{place.node}: no route to {place.at} ({error.strerror}); check the network")
        case OSError():
            return Unreachable(f"{place.node}: can't connect to {place.at}: {one_line(str(error))}")
        case _:
            return NodeError(f"{place.node}: {type(error).__name__}: {one_line(str(error))}")


def no_key_of_known_kind(place: Place, known: asyncssh.SSHKey, offered: asyncssh.SSHKey | None) -> HostKeyChanged:
    """The node offers no host key of the kind that is known: as good as a changed one."""
    seen = fingerprint(offered) if offered else "none of that kind"
    return HostKeyChanged(
        f"{place.node}: its host key changed: known {fingerprint(known)}, offered {seen}. If it was reinstalled, "
        "remove the old key from known_hosts; if not, somebody may stand in between. Refused"
    )


def bastion_gone(place: Place) -> BastionLost:
    """The node's connection went down together with the one to its bastion."""
    return BastionLost(
        f"{place.node}: lost: the bastion {place.through} is gone or hangs, and with it all nodes behind it; "
        "look there first"
    )


def lost(error: BaseException | None, place: Place) -> NodeError:
    """Why a connection that stood is gone."""
    if isinstance(error, asyncssh.ConnectionLost) and "eepalive" in str(error):
        return Unreachable(f"{place.node}: lost: no keepalive answer from {place.at}; the node or its network hangs")
    said = f" ({one_line(str(error))})" if error is not None and str(error) else ""
    return Unreachable(f"{place.node}: lost: the connection to {place.at} closed{said}; sshd or the node went down")
