"""NVLinks that are up at a lower speed than the other links of their node.

Source: counters.toml, NVML_FI_DEV_NVLINK_GET_SPEED: each generation has one speed, and any other is bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import gpu_id, lane_id
from ...parsers.nvidia_smi.nvlink import LinkState
from ..frus import fru_of
from ..readings import Output
from ..scene import Scene

RULE = "links_slow"
LEAST = 0.05
"""Share by which a speed lies below the usual one at least: ways of rounding differ between drivers."""
FEWEST = 4
"""Links that are up below which there is no usual speed."""
MOST = 0.25
"""Share of links above which slow ones are another kind of GPU rather than a fault."""


def links_slow(scene: Scene) -> Iterator[Finding]:
    """One finding for each link, from the latest output of each node."""
    latest: dict[str, Output] = {}
    for output in scene.readings.printed_by("nvidia-smi nvlink -s"):
        before = latest.get(output.node)
        if before is None or not output.moment.is_before(before.moment):
            latest[output.node] = output
    for output in latest.values():
        yield from _in_output(output)


def _in_output(output: Output) -> Iterator[Finding]:
    up = [one for one in output.readings if isinstance(one, LinkState) and one.gbs]
    if len(up) < FEWEST:
        return
    usual, of_links = Counter(one.gbs or 0.0 for one in up).most_common(1)[0]
    slow = [one for one in up if (one.gbs or 0.0) < usual * (1 - LEAST)]
    if len(slow) > MOST * len(up):
        return
    for one in slow:
        link = lane_id(gpu_id(output.node, one.gpu), one.link)
        yield Finding(
            component=link,
            fru=fru_of(link),
            fault_class="nvlink-link/downtrained",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            title=(
                f"NVLink {one.link} of GPU {one.gpu} of {output.node} runs at {one.gbs:g} GB/s, {of_links} others at "
                f"{usual:g}"
            ),
            evidence=(output.id,),
            argues_against=("either end may be at fault: the GPU's port, the connector or board, or the far port",),
            next="Save logs and counters, reset the GPU when idle and read the speed again; then look at both ends.",
            rule=RULE,
        )
