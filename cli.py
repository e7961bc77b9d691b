"""The commands; thin. One JSON document or one report goes to stdout, progress and errors to stderr."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .incident.errors import Altered, EvidenceError, InputError, LanescopeError, Unsafe

EXIT_CODES = """exit codes: 0 good / nothing found, 1 fault found / altered, 2 undecided / unsigned / failed node,
3 could not tell or run, 4 unsafe input, 64 usage, 70 a defect of ours, 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `lanescope` command; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:
        return 64 if stop.code == 2 else int(stop.code or 0)
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        _say("interrupted; what was gathered is in the case folder")
        return 130
    except LanescopeError as error:
        _say(f"lanescope: {error}")
        return _code_of(error)
    except BrokenPipeError:
        return 0
    except Exception as error:  # the border of the program: shown, never a bare traceback
        _say(f"lanescope: a defect of ours: {type(error).__name__}: {error}; please report it with this:")
        _say("".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip())
        return 70


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lanescope",
        description="Find the failing part of a GPU cluster during an incident, and hand over proof.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lanescope {__version__}")
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    connect = _command(commands, "connect", _connect, "open the screens on nodes, over SSH")
    _fleet_options(connect)
    _screen_options(connect)

    localize = _command(commands, "localize", _localize, "find the faulty part by probing; no screen")
    _fleet_options(localize)
    localize.add_argument("--json", action="store_true", help="print one JSON document")
    localize.add_argument("--yes", action="store_true", help="run the probes without asking")
    localize.add_argument("--plan", action="store_true", help="show the first round and its cost; run nothing")
    localize.add_argument("--budget", type=float, metavar="SECONDS", help="probing seconds to spend at most")

    collect = _command(commands, "collect", _collect, "collect evidence and write a bundle; no screen")
    _fleet_options(collect)
    collect.add_argument("--out", type=Path, required=True, metavar="X.evb.zip")
    collect.add_argument("--yes", action="store_true", help="collect without asking")

    verify = _command(commands, "verify", _verify, "check a bundle")
    verify.add_argument("bundle", type=Path)
    verify.add_argument("--json", action="store_true", help="print one JSON document")

    demo = _command(commands, "demo", _demo, "walk through an incident on a simulated fleet")
    demo.add_argument("--headless", action="store_true", help="no screen (the default without a terminal on stdout)")
    demo.add_argument("--json", action="store_true", help="print one JSON document (with --headless)")
    demo.add_argument("--seed", type=int, help="another world with the same faults")
    demo.add_argument("--out", type=Path, metavar="X.evb.zip", help="where to write the bundle")
    _case_option(demo)
    _screen_options(demo)

    sim = commands.add_parser("sim", help="serve or check a simulated fleet").add_subparsers(required=True)
    up = _command(sim, "up", _sim_up, "serve a simulated fleet over SSH until stopped")
    up.add_argument("--nodes", type=int, help="how many nodes (default: as the scenario says)")
    up.add_argument("--scenario", type=Path, metavar="S.toml", help="default: the demo's")
    up.add_argument("--ssh-config", type=Path, required=True, metavar="F", help="written: hosts sim1, sim2, ...")
    check = _command(sim, "check", _sim_check, "check a scenario and list its faults")
    check.add_argument("scenario", type=Path, metavar="S.toml")
    return parser


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(command=run)
    return parser


def _fleet_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("hosts", nargs="+", metavar="HOSTS", help="host sets, as gpu[001-064] or @group")
    parser.add_argument("-F", dest="ssh_config", type=Path, metavar="FILE", help="ssh_config to use")
    parser.add_argument("--known-hosts", type=Path, metavar="FILE", help="known_hosts to check host keys against")
    parser.add_argument("--accept-new", action="store_true", help="trust and remember host keys not seen before")
    _case_option(parser)


def _case_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=Path, metavar="DIR", help="folder of the cases (default: the user's data)")


def _screen_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    parser.add_argument("--light", action="store_true", help="for terminals with a light ground")
    parser.add_argument("--mouse", action=argparse.BooleanOptionalAction, help="default: off over SSH")


def _connect(options: argparse.Namespace) -> int:
    return _run(_on_screen(options, _ssh_session(options)))


def _localize(options: argparse.Namespace) -> int:
    if not (options.yes or options.plan or _asked("Run probes that load GPUs and links of these nodes?")):
        raise InputError("probes load GPUs and links: say --yes to run them, or --plan to see the first round")
    return _run(_localize_hosts(options))


def _collect(options: argparse.Namespace) -> int:
    if not (options.yes or _asked("Run read-only commands on these nodes and write a bundle?")):
        raise InputError("collecting runs read-only commands on the nodes: say --yes to run them")
    return _run(_collect_hosts(options))


def _verify(options: argparse.Namespace) -> int:
    from .evidence.verify import verify

    verification = verify(options.bundle)
    print(json.dumps(verification.document(), indent=2) if options.json else verification.report())
    return verification.exit_code


def _demo(options: argparse.Namespace) -> int:
    if options.headless or options.json or not sys.stdout.isatty():
        return _run(_demo_headless(options))
    return _run(_on_screen(options, _demo_session(options)))


def _sim_up(options: argparse.Namespace) -> int:
    from .demo import demo_scenario
    from .sim.fleet import serve_until_stopped
    from .sim.scenario import load_scenario

    scenario = load_scenario(options.scenario) if options.scenario else demo_scenario()
    return _run(_served(serve_until_stopped(scenario, options.nodes, options.ssh_config)))


def _sim_check(options: argparse.Namespace) -> int:
    from .sim.scenario import check

    print(check(options.scenario))
    return 0


async def _served(serving: Awaitable[None]) -> int:
    await serving
    return 0


async def _localize_hosts(options: argparse.Namespace) -> int:
    from .session.contract import localize_document, plan_document
    from .session.headless import exit_code, localize, propose, settle
    from .session.report import plan_report, report

    async with _ssh_session(options) as session:
        nodes = session.source.nodes
        await settle(session, _say)
        if options.plan:
            investigation = await propose(session, nodes, options.budget)
            document = localize_document(session) | plan_document(investigation.proposal)
            print(json.dumps(document, indent=2) if options.json else plan_report(investigation.proposal))
            return 0
        await localize(session, nodes, options.budget, _say)
        document, snapshot = localize_document(session), session.snapshot()
    print(json.dumps(document, indent=2) if options.json else report(snapshot))
    return exit_code(snapshot)


async def _collect_hosts(options: argparse.Namespace) -> int:
    from .session.headless import settle

    async with _ssh_session(options) as session:
        await settle(session, _say)
        written = await session.bundle(options.out, progress=_say)
        snapshot = session.snapshot()
    print(f"{written.path}\nid {written.root}\ncheck it: lanescope verify {written.path}")
    if not snapshot.up():
        return 3
    return 0 if snapshot.up() == len(snapshot.nodes) else 2


async def _demo_headless(options: argparse.Namespace) -> int:
    from .demo import demo_scenario, judge_demo, walk
    from .session.contract import demo_document
    from .session.report import report

    expected = demo_scenario().expected
    async with _demo_session(options) as session:
        bundle, verified = await walk(session, options.out, _say)
        snapshot = session.snapshot()
        document = demo_document(session, bundle, verified)
    judgement = judge_demo(snapshot, expected)
    print(json.dumps(document, indent=2) if options.json else report(snapshot))
    _say(f"demo: {judgement.sentence()}; bundle {'verified' if verified.intact else 'NOT intact'}")
    return 0 if judgement.is_right and verified.intact else 1


async def _on_screen(options: argparse.Namespace, opening: contextlib.AbstractAsyncContextManager[Any]) -> int:
    from .tui.environment import prepare

    mouse = prepare(mouse=options.mouse)
    from .tui.app import LanescopeApp

    async with opening as session:
        app = LanescopeApp(session, ascii_only=options.ascii, light=options.light)
        await app.run_async(mouse=mouse)
        case = session.case_path
    _say(f"everything gathered is in {case}")
    return 0


@contextlib.asynccontextmanager
async def _ssh_session(options: argparse.Namespace) -> AsyncIterator[Any]:
    from .evidence.case import Case
    from .fleet.hosts import expand
    from .fleet.source import SshSource
    from .session.session import Session, running

    for path in (options.ssh_config, options.known_hosts):
        if path is not None and not path.is_file():
            raise InputError(f"{path} is not a file; name an existing ssh_config or known_hosts")
    source = SshSource(
        expand(options.hosts),
        ssh_config=options.ssh_config,
        known_hosts=options.known_hosts,
        accept_new=options.accept_new,
    )
    async with running(Session(source, Case.create(options.cases))) as session:
        yield session


@contextlib.asynccontextmanager
async def _demo_session(options: argparse.Namespace) -> AsyncIterator[Any]:
    from dataclasses import replace

    from .demo import demo_scenario, hint
    from .evidence.case import Case
    from .fleet.source import SshSource
    from .session.session import Session, running
    from .sim.fleet import SimFleet

    scenario = demo_scenario()
    if options.seed is not None:
        scenario = replace(scenario, seed=options.seed)
    async with SimFleet(scenario) as fleet:
        source = SshSource(fleet.hosts, ssh_config=fleet.ssh_config, known_hosts=fleet.known_hosts)
        async with running(Session(source, Case.create(options.cases), hint=hint)) as session:
            yield session


def _run(work: Any) -> int:
    """Run a coroutine; Ctrl-C and SIGTERM both cancel it, so that nothing is left on a node."""

    async def guarded() -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        return int(await work)

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _asked(question: str) -> bool:
    """Ask a person; without a terminal there is nobody to ask."""
    if not sys.stdin.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _code_of(error: LanescopeError) -> int:
    match error:
        case InputError():
            return 64
        case Unsafe():
            return 4
        case Altered():
            return 1
        case EvidenceError():
            return 3
        case _:
            return 3


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
