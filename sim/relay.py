"""A TCP relay in front of a node that falls silent: from then on nothing passes and nobody is told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable


async def start_relay(port: int, silent: Callable[[], bool]) -> int:
    """Listen on a port of loopback and pass everything on to `port` until `silent`; the port listened on."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, inner_writer, silent))
                group.create_task(_pass_on(inner_reader, writer, silent))
        finally:
            for side in (writer, inner_writer):
                side.close()

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    listening: int = server.sockets[0].getsockname()[1]
    return listening


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent: Callable[[], bool]) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            if silent():
                await asyncio.Event().wait()
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()
