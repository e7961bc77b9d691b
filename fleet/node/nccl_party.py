"""What the ranks of one trial say to each other before and after NCCL connects them; the operator's side relays it.

Each step is said by every rank, and a rank goes on when it has heard the step from all others.
Runs on the node: Python 3.6+, standard library only.
"""

import socket

import cuda
import watch

STEPS = ("ready", "first", "warm", "finished")
REACH_LIMIT = 1.0  # seconds
AF_INET, AF_INET6 = 2, 10
MAGIC = slice(0, 8)  # of an id: what a rank says first when it connects to rank 0


class Party(object):
    """All ranks of a trial, as one of them hears them."""

    def __init__(self, bench, rank, ranks):
        self.bench, self.rank, self.ranks = bench, rank, ranks
        self.heard = {step: {} for step in STEPS}
        self.invitation = None

    def invite(self, unique, version):
        """As rank 0: give the others the id, and the version that made it."""
        self.bench.tell(step="id", rank=self.rank, id=unique.hex(), version=version)

    def invited(self):
        """As another rank: wait for the id. -> 128 bytes, version"""
        while self.invitation is None:
            self.hear()
        return self.invitation

    def say(self, step, **more):
        """Tell the others that this rank is through with a step."""
        self.bench.tell(step=step, rank=self.rank, **more)

    def gather(self, step):
        """Wait until all others are through with a step. -> {rank: message}"""
        while len(self.heard[step]) < self.ranks - 1:
            self.hear()
        return self.heard[step]

    def hear(self):
        """Take in the next message; raises Failed when another rank failed, Deadline when nothing comes.

        A message has crossed another node: what is not one of ours is left."""
        message = self.bench.told()
        rank, step = message.get("rank"), message.get("step")
        if type(rank) is not int or not 0 <= rank < self.ranks or rank == self.rank:
            return
        if step == "id" and rank == 0:
            self.invitation = unpacked(message)
        elif step in STEPS:
            self.heard[step][rank] = message


def unpacked(message):
    """The id and the version in an invitation."""
    try:
        unique, version = bytes.fromhex(message["id"]), message["version"]
    except (KeyError, TypeError, ValueError):
        unique, version = b"", ""
    if len(unique) != 128 or not isinstance(version, str):
        raise cuda.Failed("ncclGetUniqueId", "BAD_ID", text="rank 0 told something else than an id")
    return unique, version


def address(unique):
    """Where rank 0 listens: an id is 8 random bytes, then a sockaddr. -> family, host, port; None for another layout

    Source: NVIDIA/nccl src/include/bootstrap.h; the same from 2.14 to 2.32."""
    family, port = unique[8] | unique[9] << 8, unique[10] << 8 | unique[11]
    if family == AF_INET:
        return family, socket.inet_ntop(socket.AF_INET, unique[12:16]), port
    if family == AF_INET6:
        return family, socket.inet_ntop(socket.AF_INET6, unique[16:32]), port
    return None


def reach(unique):
    """Connect to where rank 0 listens, within a second: that tells a firewall from a dead link.

    Never a bare connection: rank 0 of an older NCCL (seen with 2.18.3) takes one that closes without a word for an
    error of its own and lets no rank in any more. One that opens with a wrong magic is passed over by all (seen with
    2.18.3 and 2.27.7). Source: NVIDIA/nccl src/bootstrap.cc bootstrapRoot, src/misc/socket.cc."""
    found = address(unique)
    if found is None:
        return
    family, host, port = found
    scope = int.from_bytes(unique[32:36], "little")
    where = (host, port) if family == AF_INET else (host, port, 0, scope)
    watch.entering("connect to rank 0")
    with socket.socket(socket.AF_INET if family == AF_INET else socket.AF_INET6, socket.SOCK_STREAM) as door:
        door.settimeout(REACH_LIMIT)
        try:
            door.connect(where)
            door.sendall(bytes(bytearray(byte ^ 0xFF for byte in unique[MAGIC])))
        except OSError as error:
            why = error.strerror or "no answer within %.0f s" % REACH_LIMIT
            shown = "%s:%d" % (host, port) if family == AF_INET else "[%s]:%d" % (host, port)
            text = "rank 0 listens on %s: %s; look at firewalls and NCCL_SOCKET_IFNAME" % (shown, why)
            raise cuda.Failed("connect", "UNREACHABLE", text=text)
