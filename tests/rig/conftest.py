"""Nodes behind real sshd, and an operator who has a key, an ssh configuration and a known_hosts file for them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lanescope.evidence.case import Case
from lanescope.fleet.settings import Settings
from lanescope.fleet.source import SshSource
from lanescope.session.session import Session, running

from .nodes import SBIN, SshdNode, make_key, may_separate, wait_until

HERE = Path(__file__).parent
LIBRARIES = {"libnvidia-ml.so.1": "nvml.c", "libcuda.so.1": "simulated_libcuda.c"}
QUICK = Settings(connect_timeout=3.0, start_timeout=8.0, backoff=(0.3, 0.3, 0.6))
GONE_WITHIN = 4.0


@dataclass
class Rig:
    """The nodes of a test."""

    folder: Path
    libraries: Path
    operator: Path
    apart: bool
    nodes: list[SshdNode] = field(default_factory=list)

    @property
    def ssh_config(self) -> Path:
        """How to reach the nodes."""
        return self.folder / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        """Whose keys are known."""
        return self.folder / "known_hosts"

    @property
    def own_known_hosts(self) -> Path:
        """Where keys accepted under way are kept, by the product in this process and by its commands."""
        return self.folder / "data" / "lanescope" / "known_hosts"

    def add(self, name: str) -> SshdNode:
        """One more node, not started."""
        node = SshdNode(name, self.folder / name, self.libraries, self.operator, self.apart)
        self.nodes.append(node)
        return node

    def up(self, *names: str) -> list[SshdNode]:
        """Nodes that are up and known."""
        nodes = [self.add(name) for name in names]
        for node in nodes:
            node.start()
        self.introduce()
        return nodes

    def up_with_a_marginal_lane(self, name: str, left: float = 0.97) -> SshdNode:
        """A node where copies from and to GPU 3 have that share of their rate left in a sixteenth of the time; its
        lane 7 recovers then."""
        node = self.add(name)
        node.gpu_rules += [f"slow p2p 3 * {left}", f"slow p2p * 3 {left}"]
        node.rule(f"gpu3/nvlink7 recovery_errors+ {node.marks}")
        node.start()
        self.introduce()
        return node

    def introduce(self) -> None:
        """Write the operator's ssh configuration and known_hosts."""
        self.ssh_config.write_text("".join(node.config_entry() for node in self.nodes))
        self.known_hosts.write_text("".join(node.known_hosts_line() for node in self.nodes))

    def use_another_key(self) -> None:
        """Log in with a key that no node knows."""
        key = self.folder / "another"
        make_key(key)
        self.ssh_config.write_text(self.ssh_config.read_text().replace(str(self.operator), str(key)))

    def source(self, *hosts: str, accept_new: bool = False) -> SshSource:
        """A live fleet of these hosts."""
        return SshSource(hosts, self.ssh_config, self.known_hosts, accept_new, self.own_known_hosts, QUICK)

    @contextlib.asynccontextmanager
    async def session(self, *hosts: str, accept_new: bool = False) -> AsyncIterator[Session]:
        """An incident on these hosts, running; none of its processes may outlive it."""
        source = self.source(*hosts, accept_new=accept_new)
        async with running(Session(source, Case.create(self.folder / "cases"))) as session:
            yield session
        self.expect_nothing_left()

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        """`lanescope ...` for these nodes, as a process of its own."""
        name, *rest = arguments
        files = {"-F": self.ssh_config, "--known-hosts": self.known_hosts, "--cases": self.folder / "cases"}
        known = [str(word) for option in files.items() for word in option]
        return subprocess.Popen(
            [sys.executable, "-m", "lanescope", name, *known, *rest],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )

    def expect_nothing_left(self) -> None:
        """Hold the product to leaving nothing on any node."""
        for node in self.nodes:
            self.expect_nothing_left_on(node)

    def expect_nothing_left_on(self, node: SshdNode) -> None:
        """Hold the product to leaving nothing on this one."""

        def left() -> list[int]:
            return node.processes("LANESCOPE_RUN")

        wait_until(lambda: not left(), GONE_WITHIN, lambda: f"left on {node.name}: {left()}")


def missing_tools() -> list[str]:
    """What the rig can't do without, and isn't here."""
    return [name for name in ("sshd", "ssh-keygen", "cc") if shutil.which(name, path=SBIN) is None]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated driver libraries, built once."""
    if missing := missing_tools():
        pytest.skip(f"real sshd nodes need {', '.join(missing)}, not found here (package openssh-server, gcc)")
    folder = tmp_path_factory.mktemp("libraries")
    for library, source in LIBRARIES.items():
        build = ["cc", "-O1", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", str(folder / library)]
        built = subprocess.run([*build, str(HERE / source)], capture_output=True, text=True)
        if built.returncode:
            pytest.fail(f"{source} does not build: {built.stderr}")
    return folder


@pytest.fixture(scope="session")
def operator_key(tmp_path_factory: pytest.TempPathFactory, libraries: Path) -> Path:
    """The operator's key, without a passphrase."""
    path = tmp_path_factory.mktemp("operator") / "id"
    make_key(path)
    return path


@pytest.fixture(scope="session")
def apart() -> bool:
    """Whether nodes get namespaces of their own."""
    return may_separate()


@pytest.fixture
def rig(tmp_path: Path, libraries: Path, operator_key: Path, apart: bool) -> Iterator[Rig]:
    """Nodes to bring up; whatever becomes of the test, none of their processes stays."""
    rig = Rig(tmp_path, libraries, operator_key, apart)
    try:
        yield rig
    finally:
        for node in rig.nodes:
            node.stop()


@pytest.fixture
def with_devices(apart: bool) -> None:
    """For tests of what sysfs, the kernel log or a second node's lock show."""
    if not apart:
        pytest.skip("needs root: a node's own /sys and kernel log lie in a mount namespace")
