"""What goes wrong on the way is told in one sentence that says what, where and what next."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from pathlib import Path
from shlex import join, quote

import asyncssh
import pytest

from .conftest import SICK, Fleet
from .program import PROGRAM, Ended, run


def localize(config: Path, cases: Path, host: str = "sim1", *more: str) -> Ended:
    return run("localize", "-F", config, host, "--yes", "--cases", cases, *more)


def test_an_unknown_host_is_named_with_what_to_check(tmp_path: Path) -> None:
    ended = run("localize", "no-such-host.invalid", "--yes", "--cases", tmp_path)
    assert ended.code == 3
    assert ended.says_one_sentence("no-such-host.invalid", "not found", "DNS")


def test_a_refused_port_is_told_as_refused(fleet: Fleet, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ended = localize(fleet.altered(r"Port \d+", f"Port {closed.getsockname()[1]}"), tmp_path)
    assert ended.code == 3
    assert ended.says_one_sentence("sim1", "refused")


def test_a_key_the_node_does_not_take_is_told_as_a_refused_log_in(fleet: Fleet, tmp_path: Path) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(tmp_path / "other")
    ended = localize(fleet.altered(r"IdentityFile .*", f'IdentityFile "{tmp_path}/other"'), tmp_path)
    assert ended.code == 3
    assert ended.says_one_sentence("sim1", "key")


def test_a_changed_host_key_is_never_passed_over(fleet: Fleet, tmp_path: Path) -> None:
    lines = fleet.known_hosts.read_text().splitlines()
    keys = [line.partition(" ")[2] for line in lines]
    swapped = [f"{line.partition(' ')[0]} {key}" for line, key in zip(lines, keys[1:] + keys[:1], strict=True)]
    (tmp_path / "known").write_text("\n".join(swapped) + "\n")
    config = fleet.altered(r"UserKnownHostsFile .*", f'UserKnownHostsFile "{tmp_path}/known"')
    ended = localize(config, tmp_path, "sim1", "--accept-new")
    assert ended.code == 3
    assert ended.says_one_sentence("sim1", "key", "known")


def test_an_unknown_host_key_is_refused_with_its_fingerprint(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "known").touch()
    config = fleet.altered(r"UserKnownHostsFile .*", f'UserKnownHostsFile "{tmp_path}/known"')
    ended = localize(config, tmp_path)
    assert ended.code == 3
    assert ended.says_one_sentence("sim1", "SHA256:", "--accept-new")


@pytest.mark.parametrize("hosts", ["gpu[1-", "gpu[5-x]", "", "-oProxyCommand=x", "@no-such-group"])
def test_a_host_set_that_cannot_be_read_is_quoted(hosts: str, tmp_path: Path) -> None:
    ended = run("localize", "--yes", "--cases", tmp_path, "--", hosts)
    assert ended.code == 64
    assert ended.says_one_sentence("host")


def test_a_missing_ssh_config_is_named(tmp_path: Path) -> None:
    ended = localize(tmp_path / "nowhere", tmp_path)
    assert ended.code == 64
    assert ended.says_one_sentence(str(tmp_path / "nowhere"))


def test_a_node_without_python_is_watched_and_not_probed(fleet: Fleet, tmp_path: Path) -> None:
    ended = localize(fleet.ssh_config, tmp_path, "sim3")
    assert ended.code == 3
    assert "1 of 1 nodes live" in ended.err
    assert ended.says_one_sentence("sim3", "python3")


def test_a_node_that_lets_nobody_in_costs_the_others_nothing(fleet: Fleet, tmp_path: Path) -> None:
    out = tmp_path / "x.zip"
    ended = run("collect", "-F", fleet.ssh_config, "sim[1-2]", "--yes", "--out", out, "--cases", tmp_path)
    assert ended.code == 2
    assert "sim2" in ended.err
    assert "1 of 2 nodes live" in ended.err
    assert out.exists()


async def test_garbage_from_a_node_is_shown_as_garbage(tmp_path: Path) -> None:
    host_key, key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    key.write_private_key(tmp_path / "id")
    key.write_public_key(tmp_path / "authorized")

    async def talk_nonsense(process: asyncssh.SSHServerProcess[str]) -> None:
        process.stdout.write("<html>502 Bad Gateway</html>\n" * 1000)
        process.exit(0)

    server = await asyncssh.create_server(
        asyncssh.SSHServer,
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=str(tmp_path / "authorized"),
        process_factory=talk_nonsense,
    )
    port = server.get_port()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {host_key.export_public_key().decode()}")
    (tmp_path / "config").write_text(
        f"Host n1\n HostName 127.0.0.1\n Port {port}\n"
        f" IdentityFile {tmp_path}/id\n UserKnownHostsFile {tmp_path}/known\n"
    )
    try:
        ended = await asyncio.to_thread(localize, tmp_path / "config", tmp_path, "n1")
    finally:
        server.close()
    assert ended.code == 3
    assert ended.says_one_sentence("n1", "502 Bad Gateway")


def test_a_bad_scenario_is_named_by_table_and_key(tmp_path: Path) -> None:
    scenario = tmp_path / "S.toml"
    scenario.write_text('nodes = 2\n[[fault]]\ncomponent = "sim1/gpu0/nvlink3"\nkind = "hard"\ndutty = 0.5\n')
    ended = run("sim", "check", scenario)
    assert ended.code == 64
    assert ended.says_one_sentence(str(scenario), "fault", "dutty")


def test_probing_asks_first_and_nobody_is_there_to_ask(fleet: Fleet, tmp_path: Path) -> None:
    ended = run("localize", "-F", fleet.ssh_config, "sim1", "--cases", tmp_path)
    assert ended.code == 64
    assert ended.says_one_sentence("--yes", "--plan")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["connect", "gpu1"], ["connect", "gpu[001-064]", "--ascii"]])
def test_screens_without_a_terminal_are_refused(command: list[str]) -> None:
    ended = run(*command)
    assert ended.code == 64
    assert ended.out == ""
    assert ended.says_one_sentence("terminal", "localize")


@pytest.mark.parametrize("budget", ["-3", "0", "nan", "soon"])
def test_a_budget_is_a_number_of_seconds(budget: str) -> None:
    ended = run("localize", "gpu1", "--yes", "--budget", budget)
    assert ended.code == 64
    assert "above 0" in ended.err


def test_cases_that_cannot_be_kept_are_told_before_any_node_is_bothered(fleet: Fleet) -> None:
    ended = localize(fleet.ssh_config, Path("/proc/cases"))
    assert ended.code == 64
    assert ended.says_one_sentence("/proc/cases", "name another folder")


@pytest.mark.parametrize("command", [["collect", "gpu1", "--yes"], ["demo", "--headless"]])
def test_an_out_that_cannot_be_written_is_told_before_any_node_is_bothered(command: list[str]) -> None:
    ended = run(*command, "--out", "/no/such/folder/x.evb.zip")
    assert ended.code == 64
    assert ended.says_one_sentence("/no/such/folder", "name another")
    assert len(ended.err.splitlines()) == 1


def test_an_unexpected_word_is_usage() -> None:
    assert run("heal", "gpu1").code == 64
    assert run().code == 64


@pytest.mark.parametrize("arguments", ["--help", f"sim check {quote(str(SICK))}", f"sim check {quote(str(SICK))} 2>&1"])
def test_a_reader_that_leaves_early_causes_no_complaint(arguments: str) -> None:
    command = f"{join(map(str, PROGRAM))} {arguments} | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=30, check=False)
    assert done.stderr == ""
