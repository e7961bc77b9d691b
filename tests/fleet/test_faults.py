"""What a node can do to us once we are connected, and what we make of it."""

from __future__ import annotations

import asyncio
import os
import resource
import signal

import pytest
from lanescope.incident.events import DomainFailed, DomainHung, DomainResumed, NodeState, SampleTaken

from .rig import left_of  # noqa: TID251 (this folder, not the room)

DOWN = (NodeState.FAILED, NodeState.BACKOFF, NodeState.LOST)
HELLO = '["H",{"protocol":1}]\\n["S","ib","ib-1",[],{}]\\n["T","ib","ib-1",1,"K",[]]\\n'


def saying(script: str) -> list[str]:
    """A login shell that runs `script` whatever it is told."""
    return ["/bin/sh", "-c", script]


def supervisor_of(run: str) -> int:
    """The collector's first process: the parent of its workers."""
    return min(left_of(run))


async def test_garbage_in_place_of_a_collector_is_shown_as_garbage(operator, watching) -> None:
    node = operator.node(shell=saying("while echo '<html>502 Bad Gateway</html>'; do sleep 0.001; done"))
    async with operator.serving(node), watching(operator.source()) as watch:
        state = await watch.state(*DOWN)
        assert state.code == "node"
        assert "garbage" in state.reason
        assert "502 Bad Gateway" in state.reason


async def test_junk_between_frames_is_passed_over(operator, watching) -> None:
    junk = "\\377\\376 {\\n[[[\\n"
    script = f'printf \'{HELLO}\'; printf \'{junk}\'; printf \'["T","ib","ib-1",2,"D",[]]\\n\'; cat >/dev/null'
    async with operator.serving(operator.node(shell=saying(script))), watching(operator.source()) as watch:
        await watch.until(lambda item: sum(isinstance(one, SampleTaken) for one in watch.items) == 2)


async def test_a_line_of_two_megabytes_is_cut_off_and_costs_no_memory(operator, watching) -> None:
    script = f"printf '{HELLO}'; head -c 2000000000 /dev/zero; cat >/dev/null"
    async with operator.serving(operator.node(shell=saying(script))), watching(operator.source()) as watch:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        state = await watch.state(*DOWN)
        assert "more than 1024 KiB without a line end" in state.reason
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


async def test_an_end_in_the_middle_of_a_line_is_told_with_status_and_last_words(operator, watching) -> None:
    script = f"printf '{HELLO}'; printf '[\"T\",\"ib\"'; echo 'disk I/O error' >&2; exit 3"
    async with operator.serving(operator.node(shell=saying(script))), watching(operator.source()) as watch:
        state = await watch.state(*DOWN)
        assert "exit status 3" in state.reason
        assert "disk I/O error" in state.reason
        assert "middle of a line" in state.reason


async def test_a_node_that_says_good_bye_on_its_own_is_not_left_as_live(operator, watching) -> None:
    script = f"printf '{HELLO}'; sleep 0.4; printf '[\"Q\",\"quit\"]\\n'"
    async with operator.serving(operator.node(shell=saying(script))), watching(operator.source()) as watch:
        await watch.state(NodeState.LIVE)
        assert "the collector ended (quit)" in (await watch.state(*DOWN)).reason


async def test_a_stopped_supervisor_is_stale_within_three_ticks_and_live_again_when_it_goes_on(
    operator, watching, patient
) -> None:
    source = operator.source(settings=patient)
    async with operator.serving(operator.node()), watching(source) as watch:
        await watch.state(NodeState.LIVE)
        supervisor = supervisor_of(source.run)
        os.kill(supervisor, signal.SIGSTOP)
        stopped = asyncio.get_running_loop().time()
        state = await watch.state(NodeState.STALE)
        assert asyncio.get_running_loop().time() - stopped < 3.0
        assert "nothing heard for" in state.reason
        past = len(watch.items)
        os.kill(supervisor, signal.SIGCONT)
        await watch.state(NodeState.LIVE, past=past)


async def test_a_supervisor_that_stays_stopped_is_given_up_and_another_started(operator, watching) -> None:
    source = operator.source()
    async with operator.serving(operator.node()), watching(source) as watch:
        await watch.state(NodeState.LIVE)
        os.kill(supervisor_of(source.run), signal.SIGSTOP)
        lost = await watch.state(NodeState.LOST)
        assert lost.code == "hung"
        await watch.state(NodeState.LIVE, past=watch.items.index(lost))


async def test_a_killed_supervisor_takes_its_workers_along_and_is_started_anew(operator, watching) -> None:
    source = operator.source()
    async with operator.serving(operator.node()), watching(source) as watch:
        await watch.state(NodeState.LIVE)
        before = set(left_of(source.run))
        os.kill(supervisor_of(source.run), signal.SIGKILL)
        lost = await watch.state(NodeState.LOST)
        assert "signal KILL" in lost.reason
        await watch.state(NodeState.LIVE, past=watch.items.index(lost))
        assert not before & set(left_of(source.run))


def worker_of(run: str) -> list[int]:
    """The collector's workers, oldest first: nvml, ib, pci, kmsg."""
    supervisor = supervisor_of(run)
    return sorted(pid for pid in left_of(run) if pid != supervisor)


async def test_a_stopped_worker_is_named_within_four_seconds_while_the_others_keep_reporting(
    operator, watching, patient
) -> None:
    source = operator.source(settings=patient)
    async with operator.serving(operator.node()), watching(source) as watch:
        await watch.state(NodeState.LIVE)
        await asyncio.sleep(0.5)  # the nvml worker found no driver and is gone
        worker = worker_of(source.run)[0]
        os.kill(worker, signal.SIGSTOP)
        hung = await watch.until(lambda item: isinstance(item, DomainHung))
        assert 3.0 <= hung.seconds < 4.0
        assert hung.process_state == "T"
        past = len(watch.items)
        await watch.until(lambda item: isinstance(item, SampleTaken) and item.domain != hung.domain, past=past)
        assert NodeState.STALE not in watch.states()
        os.kill(worker, signal.SIGCONT)
        await watch.until(lambda item: isinstance(item, DomainResumed) and item.domain == hung.domain)


async def test_a_worker_that_dies_is_started_anew_and_the_death_told(operator, watching) -> None:
    source = operator.source()
    async with operator.serving(operator.node()), watching(source) as watch:
        await watch.state(NodeState.LIVE)
        await asyncio.sleep(0.5)
        os.kill(worker_of(source.run)[0], signal.SIGKILL)
        died = await watch.until(lambda item: isinstance(item, DomainFailed) and "signal 9" in item.reason)
        past = watch.items.index(died)
        await watch.until(lambda item: isinstance(item, DomainResumed) and item.domain == died.domain, past=past)
        await watch.until(lambda item: isinstance(item, SampleTaken) and item.domain == died.domain, past=past)


async def test_a_black_hole_is_lost_after_four_keepalives_without_an_answer(operator, watching, patient) -> None:
    node = operator.node()
    async with operator.serving(node):
        relay = await hole_in_front_of(node.port)
        operator.config.write_text(operator.config.read_text().replace(f"Port {node.port}", f"Port {relay.port}"))
        operator.known_hosts.write_text(node.known_hosts_line.replace(str(node.port), str(relay.port)))
        source = operator.source(settings=patient)
        async with watching(source) as watch:
            await watch.state(NodeState.LIVE)
            relay.swallow()
            began = asyncio.get_running_loop().time()
            lost = await watch.state(NodeState.LOST)
            assert asyncio.get_running_loop().time() - began < 3.0
            assert "no keepalive answer" in lost.reason
            await relay.close()


class Relay:
    """Passes bytes on until told to swallow them."""

    def __init__(self, to: int) -> None:
        self.port = 0
        self._to = to
        self._swallows = False
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def swallow(self) -> None:
        self._swallows = True

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers += [writer, far_writer]
        self._tasks += [
            asyncio.create_task(self._pump(reader, far_writer)),
            asyncio.create_task(self._pump(far_reader, writer)),
        ]

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if not self._swallows:
                writer.write(data)
        if not self._swallows:
            writer.close()


async def hole_in_front_of(port: int) -> Relay:
    relay = Relay(port)
    await relay.start()
    return relay


@pytest.mark.parametrize("signal_number", [signal.SIGSTOP, signal.SIGKILL])
async def test_leaving_ends_everything_on_the_node_whatever_state_it_is_in(operator, watching, signal_number) -> None:
    source = operator.source()
    async with operator.serving(operator.node()), watching(source) as watch:
        await watch.state(NodeState.LIVE)
        os.kill(worker_of(source.run)[0], signal_number)
        began = asyncio.get_running_loop().time()
        await watch.end()
        assert asyncio.get_running_loop().time() - began < 3.0
