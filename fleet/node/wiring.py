"""The `wiring` domain: which port of which NVSwitch each lane ends at, as `nvidia-smi nvlink -R` prints it, once.

NVML has no call for the far port. The text goes to the operator's side verbatim; a tool that is missing or fails says
nothing, and then the ports are not known.
"""

import signal
import subprocess

from workers import die_with_parent

ARGV = ["nvidia-smi", "nvlink", "-R"]
MOST = 200000


def tell(voice, orders):
    """Send the tool's output."""
    try:
        child = subprocess.Popen(
            ARGV,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL),
        )
    except OSError:
        return
    text = child.stdout.read(MOST).decode("utf-8", "replace")
    child.stdout.close()
    child.wait()
    if text:
        voice.say("O", " ".join(ARGV), text)
