"""From what a tool printed to the readings that rules judge by."""

from __future__ import annotations

import io

from ..incident.source import CommandOutput, ReadOutput
from ..parsers.intake import read
from ..signals.readings import Moment, Output


def outputs_of_command(id_: str, output: CommandOutput) -> tuple[Output, ...]:
    """What a command printed on a live node; nothing of one that failed or printed what nobody knows."""
    if output.exit_status != 0 or not output.stdout:
        return ()
    command = " ".join(output.argv)
    return tuple(
        Output(id_, output.node, section.tool.name, command, Moment(time=output.ended), tuple(section.parsed.readings))
        for section in read(command, io.BytesIO(output.stdout))
        if section.tool is not None and section.parsed is not None
    )


def output_of_file(id_: str, item: ReadOutput) -> Output:
    """One output in a file that somebody handed in."""
    event = item.event
    where = f"{event.path}:{event.first_line}" if event.first_line > 1 else event.path
    return Output(id_, event.node, event.tool, where, Moment(event.moment, event.taken), item.readings)
