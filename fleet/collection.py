"""One collector on one node: started over an open connection, watched, and its frames handed on until it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from itertools import count

import asyncssh

from ..incident.errors import Hung, NodeError, NoPython, Refused
from ..incident.events import NodeState
from .bootstrap import NO_PYTHON, collector_payload, launch_command, shell_collector, shell_command
from .decode import Decoder
from .intake import Intake
from .reasons import Place, lost
from .settings import Settings
from .shell_decode import ShellDecoder
from .stream import LineSession, one_line

LOOK_EVERY = 0.25
MOST_NOISE = 200
"""Lines of a login script that are passed over before the collector's greeting."""
FIRST_CLOCKS = 3
"""Questions for the clock in the first seconds: the node is busy starting, and the first answer is the worst."""
NOT_A_SHELL = frozenset({1, 2, 126, 127, 255, None})
"""What /bin/false, nologin and restricted shells leave as exit status."""

Announce = Callable[[NodeState, str, str], None]


class Collection:
    """Runs a collector to its end. `announce` hears of live and stale."""

    def __init__(
        self, connection: asyncssh.SSHClientConnection, place: Place, intake: Intake, settings: Settings, run: str
    ) -> None:
        self._connection = connection
        self._place = place
        self._intake = intake
        self._settings = settings
        self._run = run
        self._decoder: Decoder | ShellDecoder
        self._session: LineSession
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._heard = 0.0
        self._stale = False
        self._live = False
        self._asked_to_quit = False

    async def run(self, decoder: Decoder, announce: Announce) -> None:
        """Start and watch the Python collector; without Python on the node, the shell one. Always ends by raising
        NodeError, unless it was asked to quit."""
        payload = collector_payload(self._run, self._settings.period, self._settings.lease)
        try:
            await self._watch(launch_command(self._run), payload, decoder, announce, "")
        except NoPython:
            script = shell_collector()
            await self._watch(
                shell_command(self._run, script),
                script.encode(),
                ShellDecoder(decoder),
                announce,
                f"{self._place.node}: no python3: reduced readings",
            )

    def quit(self) -> None:
        """Ask the collector to end."""
        self._asked_to_quit = True
        self._say("q")

    async def _watch(
        self, command: str, payload: bytes, decoder: Decoder | ShellDecoder, announce: Announce, limited: str
    ) -> None:
        self._decoder = decoder
        self._session = LineSession(self._take, self._settings.longest_line)
        self._live = self._stale = False
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                self._channel, _ = await self._connection.create_session(
                    lambda: self._session,
                    command,
                    encoding=None,
                    window=self._settings.collector_window,
                    request_pty=False,
                )
            with contextlib.suppress(BrokenPipeError):  # it has ended already, and its last words tell why
                self._channel.write(payload)
            await self._look_after(announce, limited)
        except TimeoutError:
            raise Hung(f"{self._place.node}: it takes no command within {self._settings.start_timeout:g} s") from None
        except asyncssh.ChannelOpenError as error:
            raise NodeError(
                f"{self._place.node}: the login works but no command may run ({one_line(error.reason)}); "
                "is the account restricted, or MaxSessions reached?"
            ) from None
        except asyncssh.Error as error:
            raise lost(error, self._place) from None
        finally:
            for event in decoder.forget():
                self._intake.put(event)
            if self._channel is not None:
                self._channel.abort()

    async def _look_after(self, announce: Announce, limited: str) -> None:
        """Renew the lease and judge the silence until the channel closes."""
        began = self._heard = time.monotonic()
        lease_due = 0.0
        tokens = count(1)
        while not self._session.ended.is_set():
            now = time.monotonic()
            late = now - began > self._settings.start_timeout
            if self._decoder.greeting is None and (late or self._decoder.junk > MOST_NOISE):
                raise self._never_began()
            if self._decoder.greeting is not None and now >= lease_due:
                token = next(tokens)
                lease_due = now + (self._settings.lease_every if token > FIRST_CLOCKS else 1.0)
                self._decoder.ask_clock(str(token))
                self._say(f"k {token}")
            if self._decoder.wants_key:
                self._decoder.wants_key = False
                self._say("K")
            self._judge(now, announce, limited)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):  # wait_for would make a task each time
                    await self._session.ended.wait()
        if (error := self._why_it_ended()) is not None:
            raise error

    def _judge(self, now: float, announce: Announce, limited: str) -> None:
        """Live, stale, or silent for too long."""
        if self._intake.crowded:
            self._heard = now  # it is we who do not listen
        silent = now - self._heard
        if self._decoder.samples and (not self._live or (self._stale and silent < 1.0)):
            self._live, self._stale = True, False
            announce(NodeState.LIVE, limited, "no-python" if limited else "")
        elif self._live and not self._stale and silent > self._settings.stale_ticks * self._settings.period:
            self._stale = True
            announce(
                NodeState.STALE,
                f"{self._place.node}: nothing heard for {silent:.1f} s while SSH answers; the collector is stopped or "
                f"the node overloaded. Started anew after {self._settings.silent_limit:g} s",
                Hung.code,
            )
        elif self._live and silent > self._settings.silent_limit:
            raise Hung(f"{self._place.node}: the collector said nothing for {silent:.0f} s and was given up")

    def _take(self, line: bytes) -> None:
        before = self._decoder.samples
        for event in self._decoder.feed(line):
            self._intake.put(event)
        if self._decoder.samples != before:
            self._heard = time.monotonic()
        if self._intake.crowded:
            self._session.pause()
            self._intake.when_eased(self._session.resume)

    def _say(self, text: str) -> None:
        if self._channel is not None and not self._channel.is_closing():
            self._channel.write(text.encode() + b"\n")

    def _never_began(self) -> NodeError:
        node, seconds = self._place.node, self._settings.start_timeout
        if self._decoder.junk:
            return NodeError(
                f"{node}: garbage in place of a collector: {self._decoder.last_junk!r}; does a rc file loop?"
            )
        return Hung(f"{node}: the login works but nothing ran within {seconds:g} s; a rc file or the disk hangs")

    def _why_it_ended(self) -> NodeError | None:
        """Why the channel closed; None when that was our wish."""
        node, session, decoder = self._place.node, self._session, self._decoder
        if session.too_long:
            most = self._settings.longest_line >> 10
            return NodeError(f"{node}: it sent more than {most} KiB without a line end; the channel was cut")
        if self._asked_to_quit:
            return None
        if isinstance(session.lost, Exception):
            return lost(session.lost, self._place)
        if decoder.greeting is None:
            return self._why_it_never_began()
        if decoder.goodbye is not None:
            return NodeError(f"{node}: the collector ended ({decoder.goodbye})")
        rest = f", in the middle of a line ({len(session.rest)} bytes)" if session.rest else ""
        return NodeError(f"{node}: the collector died: {session.how_it_ended()}{rest}")

    def _why_it_never_began(self) -> NodeError:
        node, session = self._place.node, self._session
        if session.exit_status == NO_PYTHON:
            return NoPython(f"{node}: no python3 on the node")
        said = one_line(session.rest.decode("utf-8", "replace")) or self._decoder.last_junk
        if session.exit_status in NOT_A_SHELL and not session.stderr.startswith(b"Traceback"):
            said = said or one_line(session.stderr.decode("utf-8", "replace"))
            return Refused(
                f"{node}: user {self._place.user} may log in but run nothing (exit status {session.exit_status}"
                f"{': ' + said if said else ''}); its login shell is nologin, false or restricted"
            )
        words = f"; in place of a collector it said: {said}" if said else ""
        return NodeError(f"{node}: the collector did not start: {session.how_it_ended()}{words}")
