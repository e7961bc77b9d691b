"""How the program ends when its screens could not end all of themselves."""

from __future__ import annotations

import subprocess
import sys

LEFT_BEHIND = """
import threading, time
from lanescope import cli
cli.main = lambda: 3
threading.Thread(target=time.sleep, args=(600,), name=cli.KEYBOARD_READER).start()
raise SystemExit(cli.script())
"""


def test_a_reader_of_a_terminal_that_is_gone_does_not_keep_the_program_alive() -> None:
    ended = subprocess.run([sys.executable, "-c", LEFT_BEHIND], timeout=60, check=False)
    assert ended.returncode == 3
