"""Everything we raise on purpose, named by what the caller can do about it.

LanescopeError                 str() is one sentence for the operator: what was expected, found, where, what next
├── InputError                 the operator can fix it: host set, scenario, playbook, configuration
├── NodeError                  a node can't be used now
│   ├── Unreachable            no route, refused, silent, name not found
│   │   └── BastionLost        the jump host in front of it: one incident for all nodes behind
│   ├── Refused                authentication failed or the account may not log in
│   ├── HostKeyChanged         the key is not the one known; never overridden silently
│   ├── HostKeyUnknown         nobody has vouched for this key yet
│   ├── NoPython               nothing on the node can run the collector
│   └── Hung                   a call on the node does not return
├── ProbeError                 a probe could not be run or trusted
│   ├── Busy                   somebody else holds the node, or compute processes run on it
│   ├── Denied                 the operator or the node said no
│   ├── Deadline               it did not end in time
│   ├── NotTested              the node lacks what the probe needs; names it
│   └── Unparsable             it answered something that is no measurement
└── EvidenceError              a bundle can't be believed or opened
    ├── Altered                bytes differ from what was sealed
    ├── Unsafe                 opening it could do harm
    └── Unresolved             a statement names evidence that is not there
"""

from __future__ import annotations


class LanescopeError(Exception):
    """Base of all errors raised on purpose."""

    code = "error"


class InputError(LanescopeError):
    """The operator can fix it."""

    code = "input"


class NodeError(LanescopeError):
    """A node can't be used now."""

    code = "node"


class Unreachable(NodeError):
    """No route, refused, silent, or its name is not found."""

    code = "unreachable"


class BastionLost(Unreachable):
    """The jump host in front of the node can't be used or is gone: one incident for all nodes behind it."""

    code = "bastion"


class Refused(NodeError):
    """Authentication failed, or the account may not log in."""

    code = "refused"


class HostKeyChanged(NodeError):
    """The host key is not the one known."""

    code = "host-key-changed"


class HostKeyUnknown(NodeError):
    """Nobody has vouched for this host key yet."""

    code = "host-key-unknown"


class NoPython(NodeError):
    """Nothing on the node can run the collector."""

    code = "no-python"


class Hung(NodeError):
    """A call on the node does not return."""

    code = "hung"


class ProbeError(LanescopeError):
    """A probe could not be run or trusted."""

    code = "probe"


class Busy(ProbeError):
    """Somebody else holds the node, or compute processes run on it."""

    code = "busy"


class Denied(ProbeError):
    """The operator or the node said no."""

    code = "denied"


class Deadline(ProbeError):
    """It did not end in time."""

    code = "deadline"


class NotTested(ProbeError):
    """The node lacks what the probe needs; the sentence names it, and the package it comes in."""

    code = "not-tested"


class Unparsable(ProbeError):
    """It answered something that is no measurement."""

    code = "unparsable"


class EvidenceError(LanescopeError):
    """A bundle can't be believed or opened."""

    code = "evidence"


class Altered(EvidenceError):
    """Bytes differ from what was sealed."""

    code = "altered"


class Unsafe(EvidenceError):
    """Opening it could do harm."""

    code = "unsafe"


class Unresolved(EvidenceError):
    """A statement names evidence that is not there."""

    code = "unresolved"
