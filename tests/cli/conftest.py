"""A simulated fleet with sick nodes among the sound, served by `lanescope sim up` as an operator would."""

from __future__ import annotations

import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

from .program import Ended, Started, run

SICK = Path(str(files("lanescope.sim.scenarios") / "sick_nodes.toml"))


@dataclass(frozen=True)
class Fleet:
    """sim1 and sim7 are sound; sim2 refuses, sim3 has no python."""

    ssh_config: Path
    folder: Path

    @property
    def known_hosts(self) -> Path:
        named = re.search(r'UserKnownHostsFile "(.+)"', self.ssh_config.read_text())
        assert named is not None
        return Path(named[1])

    @property
    def served_from(self) -> str:
        """What stands in the environment of everything that runs on these nodes, and of nothing else."""
        return f"SIM_DIRECTORY={self.known_hosts.parent}"

    def altered(self, old: str, new: str) -> Path:
        """The ssh_config with a pattern replaced, in a file of its own."""
        text, count = re.subn(old, new, self.ssh_config.read_text())
        assert count
        path = Path(tempfile.mkdtemp(dir=self.folder)) / "config"
        path.write_text(text)
        return path


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    folder = Path(tempfile.mkdtemp(prefix="cli-"))
    serving = Started(folder, "sim", "up", "--scenario", SICK, "--ssh-config", folder / "F", TMPDIR=str(folder))
    try:
        serving.until(lambda said: "Ctrl-C ends them" in said)
        yield Fleet(folder / "F", folder)
    finally:
        serving.end(signal.SIGTERM)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def collected(fleet: Fleet) -> tuple[Ended, Path]:
    """A bundle of one node, and how the command that wrote it ended."""
    out = fleet.folder / "one.evb.zip"
    return run("collect", "sim1", "-F", fleet.ssh_config, "--yes", "--out", out, "--cases", fleet.folder), out
