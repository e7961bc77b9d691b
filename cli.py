"""The commands; thin. One JSON document or one report goes to stdout, progress and errors to stderr."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .incident.errors import Altered, Denied, EvidenceError, InputError, LanescopeError, Unsafe
from .streams import asked, asked_meanwhile, has_terminal, say, tell

EXIT_CODES = """exit codes: 0 good / nothing found, 1 fault found / altered, 2 undecided / unsigned / failed node,
3 could not tell or run, 4 unsafe input, 64 usage, 70 a defect of ours, 130 interrupted"""
INTERRUPTED = 130
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end what runs in good order: nothing stays on a node, the case is closed."""
TERMINAL_LOOK = 2.0
"""Seconds between two looks whether the terminal is still there."""
KEYBOARD_READER = "textual-input"
"""Thread of the screens that reads the terminal; where that broke while they ended it reads on for ever."""
EXIT_AGAIN = 0.5
"""Seconds after which screens that were told to end while they began are told again."""


def script() -> int:
    """The `lanescope` program: once the work is done, a late Ctrl-C no longer changes how it ended."""
    code = main()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if any(thread.name == KEYBOARD_READER for thread in threading.enumerate()):
        os._exit(code)
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `lanescope` command; returns its exit code."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return 64 if stop.code == 2 else int(stop.code or 0)
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        say("lanescope: interrupted")
        return INTERRUPTED
    except LanescopeError as error:
        say(f"lanescope: {error}")
        return _code_of(error)
    except Exception as error:  # the border of the program: shown, never a bare traceback
        say(f"lanescope: a defect of ours: {type(error).__name__}: {error}; please report it with this:")
        say("".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip())
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
    localize.add_argument(
        "--plan",
        action="store_true",
        help="show what the probes can tell apart, the first round and its cost; run nothing",
    )
    localize.add_argument("--drained", action="store_true", help="nobody else uses the nodes: small losses count too")
    localize.add_argument("--without", action="append", default=[], metavar="PROBE", help="don't run this probe")
    localize.add_argument(
        "--exclude", action="append", default=[], metavar="NODES", help="watch these, but don't probe them"
    )
    localize.add_argument("--budget", type=_seconds, metavar="SECONDS", help="probing seconds to spend at most")

    collect = _command(commands, "collect", _collect, "collect evidence and write a bundle; no screen")
    _fleet_options(collect)
    collect.add_argument("--out", type=Path, required=True, metavar="X.evb.zip")
    collect.add_argument("--yes", action="store_true", help="collect without asking")

    _probe_options(_command(commands, "probe", _probe, "run one probe that you choose; no screen"))

    drift = _command(
        commands, "drift", _drift, "in what equal nodes and parts differ, and who is the odd one; no screen"
    )
    _fleet_options(drift, "HOSTS|PATH", "host sets, or files and folders of tools' outputs")
    drift.add_argument("--json", action="store_true", help="print one JSON document")

    topo = _command(commands, "topo", _topo, "the fabric of nodes, or of outputs that you have; no screen")
    _fleet_options(topo, "HOSTS|PATH", "host sets, or files and folders of tools' outputs")
    topo.add_argument("--inventory", type=Path, metavar="F.toml", help="racks and rails, as people wrote them down")
    topo.add_argument("--node", help="the node to write with --nccl-xml, where there are several")
    form = topo.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document")
    form.add_argument("--dot", action="store_true", help="print a Graphviz graph")
    form.add_argument("--graphml", action="store_true", help="print GraphML")
    form.add_argument("--nccl-xml", action="store_true", help="print one node as NCCL's NCCL_TOPO_FILE")

    diagnose = _command(commands, "diagnose", _diagnose, "what files that you have say is wrong; no screen")
    diagnose.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="outputs, logs, archives, bug reports, or folders of them"
    )
    diagnose.add_argument("--symptom", default="", metavar="TEXT", help="what people saw; told, never believed")
    diagnose.add_argument("--hardware", default="", metavar="TEXT", help="what it runs on; told, never believed")
    diagnose.add_argument("--json", action="store_true", help="print one JSON document")

    opened = _command(commands, "open", _open, "show files that you have as a read-only incident, on the screens")
    opened.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="as for diagnose")
    _screen_options(opened)

    explain = _command(
        commands,
        "explain",
        _explain,
        "what an Xid, a counter or a log line means; or how a bundle's verdict came to be",
    )
    explain.add_argument(
        "what", nargs="+", metavar="WHAT", help="xid 79, sxid 20009, link_downed, a whole log line, or X.evb.zip"
    )
    explain.add_argument("--suspect", metavar="PART", help="of a bundle: the part to account for, not those convicted")
    explain.add_argument("--json", action="store_true", help="of a bundle: print one JSON document")

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


def _probe_options(parser: argparse.ArgumentParser) -> None:
    name = parser.add_argument("probe", metavar="NAME", help="p2p, rdma_write, rdma_write@gid=3,tc=106: see --list")
    hosts = _fleet_options(parser)
    parser.add_argument("--list", action=_InPlaceOf, of=(name, hosts), help="list all probes, with what each costs")
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="PARTS",
        help="gpu-017/gpu3,gpu-017/gpu5; may be said again; without it: what the probe could be aimed at",
    )
    parser.add_argument("--repeat", type=_count, default=1, metavar="N", help="run it N times at each")
    parser.add_argument("--yes", action="store_true", help="run it without asking")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


class _InPlaceOf(argparse.Action):
    """A flag with which some arguments may be left away."""

    def __init__(self, *, of: Sequence[argparse.Action], **rest: Any) -> None:
        super().__init__(nargs=0, default=False, **rest)
        self._of = of

    def __call__(self, _parser: Any, options: argparse.Namespace, _values: Any, _option: str | None = None) -> None:
        setattr(options, self.dest, True)
        for action in self._of:
            action.required = False


def _fleet_options(
    parser: argparse.ArgumentParser, metavar: str = "HOSTS", text: str = "host sets, as gpu[001-064] or @group"
) -> argparse.Action:
    hosts = parser.add_argument("hosts", nargs="+", metavar=metavar, help=text)
    parser.add_argument("-F", dest="ssh_config", type=Path, metavar="FILE", help="ssh_config to use")
    parser.add_argument("--known-hosts", type=Path, metavar="FILE", help="known_hosts to check host keys against")
    parser.add_argument("--accept-new", action="store_true", help="trust and remember host keys not seen before")
    _case_option(parser)
    return hosts


def _case_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=Path, metavar="DIR", help="folder of the cases (default: the user's data)")


def _screen_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    parser.add_argument("--light", action="store_true", help="for terminals with a light ground")
    parser.add_argument("--mouse", action=argparse.BooleanOptionalAction, help="default: off over SSH")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, not {text!r}")
    return seconds


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:6]) <= 1000 or len(text) > 4:
        raise argparse.ArgumentTypeError(f"expected a count from 1 to 1000, not {text!r}")
    return int(text)


def _connect(options: argparse.Namespace) -> int:
    if not has_terminal():
        raise InputError(
            "connect draws screens: stdin, stdout and stderr must be a terminal; localize and collect need none"
        )
    return _run(_on_screen(options, _ssh_session(options)))


def _localize(options: argparse.Namespace) -> int:
    from .session.allowed import allowed_probes

    allowed_probes(options.without)
    if not (options.yes or options.plan or asked("Run probes that load GPUs and links of these nodes?")):
        raise InputError("probes load GPUs and links: say --yes to run them, or --plan to see what they could tell")
    return _run(_localize_hosts(options))


def _collect(options: argparse.Namespace) -> int:
    if not (options.yes or asked("Run read-only commands on these nodes and write a bundle?")):
        raise InputError("collecting runs read-only commands on the nodes: say --yes to run them")
    _check_folder_of(options.out)
    return _run(_collect_hosts(options))


def _probe(options: argparse.Namespace) -> int:
    from .probes.catalogue import CATALOGUE, probe_named
    from .session.probe_document import catalogue_document
    from .session.probe_report import catalogue_report

    if options.list:
        probes = [probe_named(options.probe)] if options.probe else list(CATALOGUE.values())
        tell(
            json.dumps(catalogue_document(probes), indent=2) if options.json else catalogue_report(probes).rstrip("\n")
        )
        return 0
    probe = probe_named(options.probe)
    if options.at and not options.yes and not sys.stdin.isatty():
        raise InputError(f"{probe.name} runs on the nodes and may load them: say --yes to run it")
    return _run(_probe_hosts(options, probe))


def _topo(options: argparse.Namespace) -> int:
    paths = _paths_among(options.hosts)
    if not paths:
        return _run(_topo_of_hosts(options))
    from .session.topo import topology_of_paths

    return _tell_topology(options, topology_of_paths(paths, options.inventory))


def _drift(options: argparse.Namespace) -> int:
    paths = _paths_among(options.hosts)
    if not paths:
        return _run(_drift_of_hosts(options))
    from .session.drift import drift_of_paths

    return _tell_drift(options, drift_of_paths(paths))


def _paths_among(targets: Sequence[str]) -> Sequence[Path]:
    """What is there as paths; nothing where all are host sets."""
    paths = [Path(target) for target in targets]
    there = [path for path in paths if path.exists()]
    if there and len(there) < len(paths):
        others = ", ".join(str(path) for path in paths if path not in there)
        raise InputError(f"{there[0]} is a path and {others} is none; name paths or hosts, not both")
    source = "hosts" if not there else "paths" if len(paths) > 1 else "the path"
    say(f"reading from {source}: {' '.join(targets)}")
    return there


def _explain(options: argparse.Namespace) -> int:
    from .session.recorded import is_bundle
    from .signals.explain import explain

    first = Path(options.what[0])
    if len(options.what) == 1 and (is_bundle(first) or (first.suffix == ".zip" and first.is_file())):
        return _explain_bundle(options, first)
    if len(options.what) == 1 and first.suffix == ".zip":
        raise InputError(f"{first} is not a file; name an existing bundle")
    if options.suspect is not None or options.json:
        raise InputError("--suspect and --json are for bundles; name one X.evb.zip")
    tell(explain(" ".join(options.what)).rstrip("\n"))
    return 0


def _diagnose(options: argparse.Namespace) -> int:
    from .session.files.diagnosis import diagnose
    from .session.files.document import diagnosis_document
    from .session.files.report import diagnosis_report

    found = diagnose(options.paths, options.symptom, options.hardware)
    tell(json.dumps(diagnosis_document(found), indent=2) if options.json else diagnosis_report(found).rstrip("\n"))
    if found.exit_code == 3:
        say("nothing in these files could be read; name outputs of tools, logs, or archives of them")
    return found.exit_code


def _open(options: argparse.Namespace) -> int:
    return _run(_on_screen(options, _file_session(options)))


def _explain_bundle(options: argparse.Namespace, bundle: Path) -> int:
    from .session.recompute import recompute
    from .session.recompute_json import explain_document
    from .session.recompute_text import explain_report

    found = recompute(bundle, options.suspect)
    tell(json.dumps(explain_document(found), indent=2) if options.json else explain_report(found).rstrip("\n"))
    return found.exit_code


def _verify(options: argparse.Namespace) -> int:
    from .evidence.verify import verify

    verification = verify(options.bundle)
    tell(json.dumps(verification.document(), indent=2) if options.json else verification.report())
    return verification.exit_code


def _demo(options: argparse.Namespace) -> int:
    _check_folder_of(options.out)
    if options.headless or options.json or not has_terminal():
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

    tell(check(options.scenario))
    return 0


async def _served(serving: Awaitable[None]) -> int:
    await serving
    return 0


async def _localize_hosts(options: argparse.Namespace) -> int:
    from .fleet.hosts import expand
    from .session.allowed import chosen_nodes
    from .session.contract import localize_document
    from .session.headless import exit_code, localize, settle
    from .session.report import report

    excluded = expand(options.exclude) if options.exclude else ()
    nodes = chosen_nodes(expand(options.hosts), excluded)
    async with _ssh_session(options) as session:
        await settle(session, say)
        if options.plan:
            return await _tell_plan(options, session, nodes, excluded)
        await localize(session, nodes, options.budget, say, options.without, options.drained)
        document, snapshot = localize_document(session), session.snapshot()
    tell(json.dumps(document, indent=2) if options.json else report(snapshot))
    return exit_code(snapshot)


async def _tell_plan(options: argparse.Namespace, session: Any, nodes: Sequence[Any], excluded: Sequence[Any]) -> int:
    from .session.contract import localize_document, plan_document
    from .session.plan import look_ahead
    from .session.plan_text import plan_report

    found = await look_ahead(session, nodes, excluded, options.budget, options.without, options.drained)
    document = localize_document(session) | plan_document(found.proposal, found)
    tell(json.dumps(document, indent=2) if options.json else plan_report(found).rstrip("\n"))
    return 0


async def _probe_hosts(options: argparse.Namespace, probe: Any) -> int:
    from .session.equals import compared
    from .session.headless import settle
    from .session.probe_document import outcome_document, targets_document
    from .session.probe_report import outcome_report, targets_report
    from .session.probe_targets import aimed_at, possible
    from .session.probing import Aimed, exit_code, run_probe, usable

    async with _ssh_session(options) as session:
        await settle(session, say)
        fabric, nodes = session.fabric(), session.source.nodes
        if not options.at:
            can = possible(fabric, probe, nodes)
            tell(json.dumps(targets_document(probe, can), indent=2) if options.json else targets_report(probe, can))
            return 0 if can.targets else 3
        chosen = [aimed_at(fabric, probe, nodes, text) for text in options.at]
        for targets in chosen:
            usable(session.snapshot(), targets)
        if not (options.yes or await _agreed(probe, chosen, options.repeat)):
            raise Denied(f"{probe.name} was not run: you did not say yes")
        measured = [
            await run_probe(session, Aimed(probe, targets, probe.expected(fabric, targets)), options.repeat, say)
            for targets in chosen
        ]
        snapshot = session.snapshot()
    outcomes = compared(measured, lambda part: snapshot.nodes[part.node].fact(part, "name"))
    document = outcome_document(probe, outcomes)
    tell(json.dumps(document, indent=2) if options.json else outcome_report(outcomes))
    return exit_code(outcomes)


async def _agreed(probe: Any, chosen: Sequence[Any], repeat: int) -> bool:
    """Ask with the cost of each aim; the nodes keep being watched meanwhile."""
    times = f", {repeat} times" if repeat > 1 else ""
    costs = "\n".join(f"  {probe.cost(targets)}{times}" for targets in chosen)
    return await asked_meanwhile(f"{probe.title}:\n{costs}\nRun it?")


async def _topo_of_hosts(options: argparse.Namespace) -> int:
    from .session.headless import settle
    from .session.topo import topology_of_session

    async with _ssh_session(options) as session:
        await settle(session, say)
        topology = await topology_of_session(session, options.inventory)
    return _tell_topology(options, topology)


async def _drift_of_hosts(options: argparse.Namespace) -> int:
    from .session.drift import drift_of_session
    from .session.headless import settle

    async with _ssh_session(options) as session:
        await settle(session, say)
        found = await drift_of_session(session)
    return _tell_drift(options, found)


def _tell_drift(options: argparse.Namespace, found: Any) -> int:
    tell(json.dumps(found.document(), indent=2) if options.json else found.text().rstrip("\n"))
    return int(found.exit_code)


def _tell_topology(options: argparse.Namespace, topology: Any) -> int:
    from .topology.exports import dot, graphml
    from .topology.nccl_xml import nccl_xml
    from .topology.text import text

    fabric = topology.fabric
    if topology.exit_code == 3:
        say("nothing that was read says anything about a fabric")
    if options.nccl_xml:
        nodes = [str(node) for node in fabric.nodes]
        if options.node is None and len(nodes) != 1:
            raise InputError(f"--nccl-xml writes one node: say --node, one of {', '.join(nodes[:20]) or 'none'}")
        tell(nccl_xml(fabric, options.node or nodes[0]).rstrip("\n"))
    elif options.json:
        tell(json.dumps(topology.document(), indent=2))
    elif options.dot or options.graphml:
        tell((dot(fabric) if options.dot else graphml(fabric)).rstrip("\n"))
    else:
        tell(text(fabric, topology.deviations, topology.unused, topology.remarks).rstrip("\n"))
    return int(topology.exit_code)


async def _collect_hosts(options: argparse.Namespace) -> int:
    from .session.headless import settle

    async with _ssh_session(options) as session:
        await settle(session, say)
        written = await session.bundle(options.out, progress=say)
        snapshot = session.snapshot()
    tell(f"{written.path}\nid {written.root}\ncheck it: lanescope verify {written.path}")
    if not snapshot.up():
        return 3
    return 0 if snapshot.up() == len(snapshot.nodes) else 2


async def _demo_headless(options: argparse.Namespace) -> int:
    from .demo import demo_scenario, judge_demo, walk
    from .session.contract import demo_document
    from .session.report import report

    expected = demo_scenario().expected
    async with _demo_session(options) as session:
        bundle, verified = await walk(session, options.out, say)
        snapshot = session.snapshot()
        document = demo_document(session, bundle, verified)
    judgement = judge_demo(snapshot, expected)
    tell(json.dumps(document, indent=2) if options.json else report(snapshot))
    say(f"demo: {judgement.sentence()}; bundle {'verified' if verified.intact else 'NOT intact'}")
    return 0 if judgement.is_right and verified.intact else 1


async def _on_screen(options: argparse.Namespace, opening: contextlib.AbstractAsyncContextManager[Any]) -> int:
    from .tui.environment import prepare

    mouse = prepare(mouse=options.mouse)
    from .tui.app import LanescopeApp

    async with opening as session:
        app = LanescopeApp(session, ascii_only=options.ascii, light=options.light)
        told = asyncio.Event()
        _on_ending_signals(told.set)
        watching = asyncio.create_task(_exit_when_told(app, told))
        await app.run_async(mouse=mouse)
        watching.cancel()
    if session.source.kind == "files":
        return app.return_code or 0
    say(f"everything gathered is in {session.case_path}")
    if bundle := session.snapshot().bundle:
        say(f"check the bundle: lanescope verify {bundle}")
    return app.return_code or 0


async def _exit_when_told(app: Any, told: asyncio.Event) -> None:
    """End the screens on a signal, and when their terminal closes, which only tells the processes it controls."""
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(told.wait(), TERMINAL_LOOK)
        if told.is_set() or not has_terminal():
            app.exit(return_code=INTERRUPTED)
            await asyncio.sleep(EXIT_AGAIN)


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
    session = Session(source, Case.create(options.cases))
    async with _telling_where(session.case_path), running(session):
        yield session


@contextlib.asynccontextmanager
async def _demo_session(options: argparse.Namespace) -> AsyncIterator[Any]:
    from dataclasses import replace

    from .demo import DemoFleet, demo_scenario, hint
    from .evidence.case import Case
    from .session.session import Session, running

    scenario = demo_scenario()
    if options.seed is not None:
        scenario = replace(scenario, seed=options.seed)
    session = Session(DemoFleet(scenario), Case.create(options.cases), hint=hint)
    async with _telling_where(session.case_path), running(session):
        yield session


@contextlib.asynccontextmanager
async def _file_session(options: argparse.Namespace) -> AsyncIterator[Any]:
    """The case is kept in a folder that is gone at the end: the files themselves are the record."""
    from .evidence.case import Case
    from .session.files.source import FileSource
    from .session.session import Session, running

    source = await asyncio.to_thread(FileSource, options.paths)
    with tempfile.TemporaryDirectory(prefix="lanescope-") as folder:
        session = Session(source, Case.create(Path(folder)), fabric=source.fabric)
        async with running(session):
            yield session


@contextlib.asynccontextmanager
async def _telling_where(case: Path) -> AsyncIterator[None]:
    """Who is interrupted learns where everything gathered so far is."""
    try:
        yield
    except asyncio.CancelledError:
        say(f"what was gathered so far is in {case}")
        raise


def _run(work: Any) -> int:
    """Run a coroutine; the signals that end us cancel it, so that nothing is left on a node."""

    async def guarded() -> int:
        task = asyncio.current_task()
        assert task is not None
        _on_ending_signals(task.cancel)
        return int(await work)

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _on_ending_signals(act: Callable[[], object]) -> None:
    """What happens on them from now on; one that our caller ignores, as nohup does, stays ignored."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, act)


def _check_folder_of(out: Path | None) -> None:
    """Said before nodes are bothered, not after."""
    if out is not None and not os.access(out.absolute().parent, os.W_OK | os.X_OK):
        raise InputError(f"can't write {out}: {out.absolute().parent} is no folder you may write to; name another")


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
