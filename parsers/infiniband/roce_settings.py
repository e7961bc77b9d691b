"""How RoCE is set up: `cma_roce_mode`, `mlnx_qos` and `dcb pfc show` (priority flow control), `ethtool -a` (pause).

Source: scripts cma_roce_mode and mlnx_qos of MLNX_OFED; iproute2 dcb/dcb_pfc.c; ethtool.c do_gpause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class RoceMode:
    """The version that connections by rdma_cm use."""

    version: str
    """`v1` or `v2`."""


@dataclass(frozen=True, slots=True)
class FlowControl:
    """Priority flow control of one interface: whether senders are stopped before the switch drops."""

    interface: str
    """Empty where the output does not name it."""
    priorities: tuple[int, ...]
    """Those it is on for; empty where it is off."""
    trust: str = ""
    """`dscp` or `pcp`, by which packets are sorted into priorities; empty where not printed."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Global pause frames of one interface, which priority flow control replaces."""

    interface: str
    receive: bool
    send: bool


_MODE = re.compile(r"\s{0,8}(?:IB/)?RoCE (v[12])\s*")
_TRUST = re.compile(r"Priority trust state: (\w{1,16})\s*")
_ENABLED = re.compile(r"\s{1,12}enabled\s{1,12}([01](?:\s{1,8}[01]){7})\s*")
_PRIORITY = re.compile(r"\s{1,12}priority\s{1,12}0(?:\s{1,8}[1-7]){7}\s*")
_DCB = re.compile(r"\s{0,12}prio-pfc ((?:[0-7]:(?:on|off) ?){8})\s*")
_DCB_PRIORITY = re.compile(r"([0-7]):on")
_INTERFACE = re.compile(r"dev (\S{1,40})\s*")
_PAUSE_HEADING = re.compile(r"Pause parameters for ([\w.@:-]{1,64}):\s*")
_PAUSE = re.compile(r"(RX|TX):\s{1,12}(on|off)\s*")


def parse_roce_mode(text: str) -> Parsed[RoceMode]:
    """Read the one line it is."""
    parsed = Parsed[RoceMode]()
    for number, line in _lines(text):
        if found := _MODE.fullmatch(line):
            parsed.add(RoceMode(found[1]))
        else:
            parsed.cannot_read(number, line)
    return parsed


def parse_flow_control(text: str) -> Parsed[FlowControl]:
    """Read all interfaces; what else `mlnx_qos` prints is passed over."""
    parsed = Parsed[FlowControl]()
    interface = trust = ""
    for _, line in _lines(text):
        if found := _TRUST.fullmatch(line):
            trust = found[1]
        elif found := _INTERFACE.fullmatch(line):
            interface = found[1]
        elif found := _ENABLED.fullmatch(line):
            parsed.add(
                FlowControl(interface, tuple(at for at, one in enumerate(found[1].split()) if one == "1"), trust)
            )
        elif found := _DCB.fullmatch(line):
            parsed.add(FlowControl(interface, tuple(map(int, _DCB_PRIORITY.findall(found[1]))), trust))
    return parsed


def parse_pause(text: str) -> Parsed[Pause]:
    """Read all interfaces."""
    parsed = Parsed[Pause]()
    interface, said = "", dict[str, bool]()
    for _, line in _lines(text):
        if found := _PAUSE_HEADING.fullmatch(line):
            interface, said = found[1], {}
        elif interface and (found := _PAUSE.fullmatch(line)):
            said[found[1]] = found[2] == "on"
            if len(said) == 2:
                parsed.add(Pause(interface, said["RX"], said["TX"]))
                interface = ""
    return parsed


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in numbered(without_escapes(text)) if line.strip() and not prompt_of(line)]


def _is_mode(head: str) -> bool:
    lines = _lines(head)
    return 0 < len(lines) <= 64 and all(_MODE.fullmatch(line) for _, line in lines)


def _is_flow_control(head: str) -> bool:
    lines = [line for _, line in _lines(head)]
    is_mlnx_qos = any(map(_PRIORITY.fullmatch, lines)) and any(map(_ENABLED.fullmatch, lines))
    return is_mlnx_qos or any(map(_DCB.fullmatch, lines))


def _is_pause(head: str) -> bool:
    return any(_PAUSE_HEADING.fullmatch(line) for _, line in _lines(head))


TOOLS: tuple[Tool, ...] = (
    Tool(
        "cma_roce_mode",
        _is_mode,
        parse_roce_mode,
        file_names=("*cma_roce*", "*roce*mode*"),
        unconfirmed="the scripts of MLNX_OFED",
    ),
    Tool(
        "mlnx_qos",
        _is_flow_control,
        parse_flow_control,
        file_names=("*mlnx_qos*", "*pfc*"),
        unconfirmed="the scripts of MLNX_OFED and the source of iproute2",
    ),
    Tool("ethtool -a", _is_pause, parse_pause, file_names=("*ethtool-a*",), unconfirmed="the source of ethtool"),
)
