"""The `wiring` domain: which port of which NVSwitch each lane ends at, as `nvidia-smi nvlink -R` prints it, once.

NVML has no call for the far port. The text goes to the operator's side verbatim; a tool that is missing or fails says
nothing, and then the ports are not known.
"""

from workers import start_tool

ARGV = ["nvidia-smi", "nvlink", "-R"]
MOST = 200000


def tell(voice, orders):
    """Send the tool's output."""
    try:
        child = start_tool(ARGV)
    except OSError:
        return
    text = child.stdout.read(MOST).decode("utf-8", "replace")
    child.stdout.close()
    child.wait()
    if text:
        voice.say("O", " ".join(ARGV), text)
