"""`nvidia-smi`: the subcommands and options that this program's users and collectors call."""

from __future__ import annotations

import sys

from ..machine import Machine
from .boards import GPU_LOST_STATUS, boards, chosen, first_lost
from .smi_log import log_text, log_xml
from .smi_nvlink import nvlink
from .smi_query import query
from .smi_table import table
from .smi_topology import topology

USAGE = 'Invalid combination of input arguments. Please run "nvidia-smi -h" for help.'


def run(machine: Machine, _name: str, arguments: list[str]) -> int:
    """Run one command line."""
    options, words = _parse(arguments)
    try:
        which = [board.gpu.index for board in chosen(machine, options.get("-i"))]
    except LookupError as error:
        print(f"No devices were found: {error.args[0]}")
        return 6
    if words[:1] == ["topo"]:
        return topology(machine, arguments)
    if words[:1] == ["nvlink"]:
        return nvlink(machine, arguments, which)
    if "--version" in options:
        return _version(machine)
    if "-L" in options:
        return _list(machine)
    if "--query-gpu" in options:
        return query(machine, options["--query-gpu"], options.get("--format", ""), which)
    if "-h" in options or "--help" in options or words or set(options) - {"-i", "-q", "-x", "-d", "-f"}:
        print(USAGE)
        return 2
    if (lost := first_lost(machine)) is not None:
        print(lost.complaint)
        return GPU_LOST_STATUS
    if "-q" in options:
        sys.stdout.write(log_xml(machine, which) if "-x" in options else log_text(machine, which))
    else:
        sys.stdout.write(table(machine, which))
    return 0


WITH_VALUE = ("-i", "-d", "-f", "-l", "-lms")


def _parse(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options with their values, and words. `--id=0` is `-i 0`, `-qx` is `-q -x`."""
    options: dict[str, str] = {}
    words: list[str] = []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        name, equals, value = argument.partition("=")
        name = {"--id": "-i", "--list-gpus": "-L", "--query": "-q", "--xml-format": "-x"}.get(name, name)
        if name in WITH_VALUE and not equals:
            value = waiting.pop(0) if waiting else ""
        if name in ("-qx", "-xq"):
            options.update({"-q": "", "-x": ""})
        elif name.startswith("-"):
            options[name] = value
        else:
            words.append(argument)
    return options, words


def _list(machine: Machine) -> int:
    status = 0
    for board in boards(machine):
        if board.lost:
            status = GPU_LOST_STATUS
        print(board.complaint if board.lost else board.heading)
    return status


def _version(machine: Machine) -> int:
    print(f"NVIDIA-SMI version  : {machine.driver_version}")
    print(f"NVML version        : {machine.nvml_version.partition('.')[2]}")
    print(f"DRIVER version      : {machine.driver_version}")
    print(f"CUDA Version        : {machine.facts['']['cuda_driver_version']}")
    return 0
