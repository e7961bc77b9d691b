"""`modinfo`: the file of a kernel module, or that there is none.

Source: kmod tools/modinfo.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A module that could be loaded, loaded or not; `path` is empty where none was found."""

    name: str
    """With underscores, as lsmod has it."""
    path: str = ""
    version: str = ""


_FILE = re.compile(r"filename:\s{1,20}(/\S{1,400}?/)([\w-]{1,80})(\.ko(?:\.\w{1,4})?)\s*")
_VERSION = re.compile(r"version:\s{1,20}(\S{1,80})\s*")
_NONE = re.compile(r"modinfo: ERROR: Module (?:alias )?([\w-]{1,80}) not found\.\s*")
_FIELD = re.compile(r"[a-z]\w{1,30}:\s{1,20}.*|\s{8,60}[0-9A-F:]{2,200}")


def parse_module_files(text: str) -> Parsed[ModuleFile]:
    """Read all modules, each from its `filename:` on."""
    parsed = Parsed[ModuleFile]()
    name = path = version = ""
    for number, line in numbered(without_escapes(text)):
        if found := _NONE.fullmatch(line):
            parsed.add(ModuleFile(_name(found[1])))
        elif found := _FILE.fullmatch(line):
            if name:
                parsed.add(ModuleFile(name, path, version))
            name, path, version = _name(found[2]), "".join(found.groups()), ""
        elif found := _VERSION.fullmatch(line):
            version = found[1]
        elif not _FIELD.fullmatch(line[:2000]) and line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    if name:
        parsed.add(ModuleFile(name, path, version))
    return parsed


def _name(text: str) -> str:
    return text.replace("-", "_")


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head))]
    return any(_FILE.fullmatch(line) or _NONE.fullmatch(line) for line in lines)


TOOL = Tool("modinfo", _recognizes, parse_module_files, file_names=("*modinfo*",), unconfirmed="the source of kmod")
