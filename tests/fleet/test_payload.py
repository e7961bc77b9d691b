"""What is sent to a node, and the rules of this room that a reader of the code can't see at a glance."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import lanescope
import pytest
from lanescope.fleet import bootstrap
from lanescope.fleet.bootstrap import (
    COLLECTOR_MODULES,
    collector_payload,
    collector_program,
    launch_command,
    pruned_pynvml,
)

ROOM = Path(lanescope.__file__).parent / "fleet"


def test_the_collector_is_at_most_16_kilobytes_on_the_wire() -> None:
    assert len(collector_payload("0123456789abcdef", 1.0, 20.0)) <= 16 * 1024


def test_everything_sent_to_nodes_is_python_3_6() -> None:
    for name in (*COLLECTOR_MODULES, "boot", "runner"):
        ast.parse((ROOM / "node" / f"{name}.py").read_text(), feature_version=(3, 6))
    ast.parse(collector_program(), feature_version=(3, 6))


def test_pynvml_pruned_to_what_is_called_still_runs_and_names_its_errors() -> None:
    text = pruned_pynvml(COLLECTOR_MODULES)
    code = f"import sys, types; m = sys.modules['pynvml'] = types.ModuleType('pynvml'); exec({text!r}, m.__dict__)\n"
    code += "try: m.nvmlInit()\nexcept m.NVMLError as error: print(error)"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=20, check=False
    )
    assert ended.returncode == 0, ended.stderr[-300:]


def test_the_copyright_notice_of_pynvml_travels_with_it() -> None:
    assert "Redistribution" in pruned_pynvml(COLLECTOR_MODULES)


def test_every_call_of_pynvml_that_the_collector_names_is_in_what_is_sent() -> None:
    sent = {node.name for node in ast.walk(ast.parse(pruned_pynvml(COLLECTOR_MODULES))) if hasattr(node, "name")}
    assert {"nvmlInit", "nvmlDeviceGetNvLinkState", "c_nvmlFieldValue_t", "_nvmlCheckReturn"} <= sent
    assert "nvmlDeviceSetPowerManagementLimit" not in sent


def test_nothing_sent_can_change_the_state_of_a_gpu() -> None:
    assert "nvmlDeviceSet" not in collector_program()
    assert "nvmlDeviceReset" not in collector_program()


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "tcsh", "fish"])
def test_every_login_shell_takes_the_first_line(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = bootstrap.framed("import os; print(os.environ['LANESCOPE_RUN'])")
    ended = subprocess.run(
        [shell, "-c", launch_command("r7")], input=program, capture_output=True, timeout=20, check=False
    )
    assert ended.stdout == b"r7\n"


def test_the_first_line_is_one_line() -> None:
    assert "\n" not in launch_command("r7")


def _calls() -> list[tuple[str, ast.Call]]:
    trees = [(path.name, ast.parse(path.read_text())) for path in ROOM.glob("*.py")]
    return [(name, node) for name, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_no_connection_is_made_without_checking_the_host_key() -> None:
    for path, call in _calls():
        for word in call.keywords:
            unchecked = word.arg == "known_hosts" and isinstance(word.value, ast.Constant) and word.value.value is None
            assert not unchecked, path


def test_a_tunnel_is_never_put_into_an_options_object_where_it_would_be_dropped() -> None:
    for path, call in _calls():
        name = ast.unparse(call.func)
        assert not (name.endswith("ConnectionOptions") and any(word.arg == "tunnel" for word in call.keywords)), path


def test_no_channel_is_read_with_readline_which_knows_no_bound() -> None:
    assert not [path for path, call in _calls() if ast.unparse(call.func).endswith(".readline")]
