"""`dcgmi diag -r 1|2|3`, as a table or with -j as JSON, in DCGM 3's layout; `dcgmi --version`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from ..machine import Machine
from .boards import Board, boards

VERSION = "3.3.9"
FAILED = 226
"""Exit status when a test has failed."""
SECONDS = {1: 3.0, 2: 120.0, 3: 900.0}
SOFTWARE = (
    "Denylist",
    "NVML Library",
    "CUDA Main Library",
    "Permissions and OS Blocks",
    "Persistence Mode",
    "Environment Variables",
    "Page Retirement/Row Remap",
    "Graphics Processes",
    "Inforom",
)
HARDWARE = {
    2: (("Integration", "PCIe"), ("Hardware", "GPU Memory")),
    3: (
        ("Integration", "PCIe"),
        ("Hardware", "GPU Memory"),
        ("Hardware", "Diagnostic"),
        ("Stress", "Targeted Stress"),
        ("Stress", "Targeted Power"),
        ("Stress", "Memory Bandwidth"),
    ),
}
CELL = 46
CHUNK = 45


@dataclass(frozen=True)
class Verdict:
    """How one test ended on one GPU."""

    gpu: int
    warning: str = ""


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Run a level."""
    if arguments[:1] in (["--version"], ["-v"]):
        print(f"dcgmi  version: {VERSION}")
        return 0
    if arguments[:1] != ["diag"]:
        print("Error: Invalid Command")
        return 1
    values = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    level = int(values.get("-r") or values.get("--run") or "1")
    if level not in SECONDS:
        print(f'Error: requested test "{level}" was not found among possible test choices.')
        return 1
    time.sleep(SECONDS[level] / machine.speed)
    present = [board for board in boards(machine) if not board.lost]
    tests = {
        (category, test): [_verdict(test, board) for board in present] for category, test in HARDWARE.get(level, ())
    }
    if "-j" in arguments or "--json" in arguments:
        print(json.dumps(_document(machine, tests)))
    else:
        print(_table(machine, tests))
    return FAILED if any(verdict.warning for each in tests.values() for verdict in each) else 0


def _verdict(test: str, board: Board) -> Verdict:
    """What shows in the readings of the GPU's PCIe link."""
    if test != "PCIe":
        return Verdict(board.gpu.index)
    width, most = board.value("current_width", "/pcie"), float(board.fact("max_width", "/pcie"))
    if width < most:
        return Verdict(
            board.gpu.index,
            f"GPU {board.gpu.index} is running at PCI link width {width:.0f}X, which is below the minimum allowed link "
            f"width of {most:.0f} (parameter 'min_pci_width')",
        )
    return Verdict(board.gpu.index)


def _document(machine: Machine, tests: dict[tuple[str, str], list[Verdict]]) -> dict[str, object]:
    categories: dict[str, list[dict[str, object]]] = {
        "Deployment": [{"name": name, "results": [{"status": "Pass"}]} for name in SOFTWARE]
    }
    for (category, name), verdicts in tests.items():
        results: list[dict[str, object]] = []
        for verdict in verdicts:
            result: dict[str, object] = {"gpu_id": str(verdict.gpu), "status": "Fail" if verdict.warning else "Pass"}
            results.append(result | ({"warnings": [verdict.warning]} if verdict.warning else {}))
        categories.setdefault(category, []).append({"name": name, "results": results})
    return {
        "DCGM GPU Diagnostic": {
            "version": VERSION,
            "Driver Version Detected": machine.driver_version,
            "test_categories": [{"category": name, "tests": each} for name, each in categories.items()],
        }
    }


def _table(machine: Machine, tests: dict[tuple[str, str], list[Verdict]]) -> str:
    rule = f"+{'-' * 27}+{'-' * 48}+"
    lines = ["Successfully ran diagnostic for group.", rule, _row("Diagnostic", "Result"), rule.replace("-", "=")]
    lines += [
        _heading("Metadata"),
        _row("DCGM Version", VERSION),
        _row("Driver Version Detected", machine.driver_version),
    ]
    lines += [_heading("Deployment"), *(_row(name, "Pass") for name in SOFTWARE)]
    last = ""
    for (category, name), verdicts in tests.items():
        if category != last:
            lines.append(_heading(category))
            last = category
        lines += _results(name, verdicts)
    return "\n".join((*lines, rule))


def _results(name: str, verdicts: list[Verdict]) -> list[str]:
    failed = [verdict for verdict in verdicts if verdict.warning]
    if not failed:
        return [_row(name, "Pass - All")]
    lines = [_row(name, f"Fail - GPU: {verdict.gpu}") for verdict in failed[:1]]
    for verdict in failed:
        chunks = [verdict.warning[at : at + CHUNK] for at in range(0, len(verdict.warning), CHUNK)]
        lines += [_row("Warning" if not at else "", chunk) for at, chunk in enumerate(chunks)]
    return lines


def _row(name: str, cell: str) -> str:
    return f"| {name:<25} | {cell:<{CELL}} |"


def _heading(name: str) -> str:
    return f"|-----  {name}  {'-' * (18 - len(name))}+{'-' * 48}|"
