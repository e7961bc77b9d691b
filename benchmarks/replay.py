"""Nodes that replay what one node says, behind a real SSH server: `python -m lanescope.benchmarks.replay FOLDER N`.

They cost next to nothing, so that what is measured is the operator's side. All of them answer on one port, in a process
of its own: what is asked to start a collector gets the recorded frames once a second, at the second's own part at which
it was asked; `cat state.txt` gets the same readings as text.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import msgspec

from .busy import Node

POLL = "cat state.txt"
READY_WITHIN = 20.0


class _Anybody(asyncssh.SSHServer):
    """Lets in whoever comes: it listens on loopback alone, for the length of a benchmark."""

    def begin_auth(self, username: str) -> bool:
        return False


@contextlib.contextmanager
def replayed_fleet(node: Node, count: int) -> Iterator[tuple[Path, list[str]]]:
    """A folder with `ssh_config` and `known_hosts`, and the names of the nodes, while the server runs."""
    names = [f"r{number:03}" for number in range(1, count + 1)]
    with tempfile.TemporaryDirectory(prefix="lanescope-bench-") as place:
        folder = Path(place)
        (folder / "node").write_bytes(msgspec.msgpack.encode(node))
        server = subprocess.Popen(
            [sys.executable, "-m", "lanescope.benchmarks.replay", place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            _write_client_files(folder, names, port)
            yield folder, names
        finally:
            server.stdin.close()
            try:
                server.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()


def _write_client_files(folder: Path, names: list[str], port: int) -> None:
    public = (folder / "host_key.pub").read_text().strip()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
    (folder / "ssh_config").write_text(
        "".join(f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n" for name in names)
        + f"Host *\n  User benchmark\n  IdentityAgent none\n  UserKnownHostsFile {folder}/known_hosts\n"
    )


async def _serve(folder: Path) -> None:
    node = msgspec.msgpack.decode((folder / "node").read_bytes(), type=Node)
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_public_key(folder / "host_key.pub")

    async def answer(process: asyncssh.SSHServerProcess[bytes]) -> None:
        with contextlib.suppress(OSError, asyncssh.Error, asyncio.IncompleteReadError):
            await _answer(process, node)

    server = await asyncssh.create_server(
        _Anybody, "127.0.0.1", 0, server_host_keys=[key], process_factory=answer, encoding=None, gss_host=None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


async def _answer(process: asyncssh.SSHServerProcess[bytes], node: Node) -> None:
    if process.command == POLL:
        process.stdout.write(node.text)
        process.exit(0)
        return
    await process.stdin.readexactly(int(await process.stdin.readexactly(8)))
    for line in node.opening:
        process.stdout.write(line)
    beating = asyncio.create_task(_beat(process, node))
    try:
        async for line in process.stdin:
            word, _, token = line.decode().strip().partition(" ")
            if word == "k":
                process.stdout.write(b'["C","%s",%.6f]\n' % (token.encode(), time.time()))
            elif word == "q":
                return
    finally:
        beating.cancel()
        process.exit(0)


async def _beat(process: asyncssh.SSHServerProcess[bytes], node: Node) -> None:
    due = time.monotonic()
    for tick in itertools.cycle(node.ticks):
        due += 1.0
        await asyncio.sleep(due - time.monotonic())
        stamp = b"%.3f" % time.time()
        process.stdout.write(b"".join(head + stamp + rest for head, rest in tick))


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
