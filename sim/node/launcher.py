"""What `python3` and the tools of a simulated node start: an interpreter to which this machine looks like the node.

    launcher.py NODE_FOLDER --python [-I -S -u …] (-c CODE | -m MODULE | SCRIPT | -) [ARGUMENT…]
    launcher.py NODE_FOLDER --tool TOOL NAME [ARGUMENT…]

It is started with `-I -S`, so it loads the simulator by its place in the file system and leaves no trace of that on
`sys.path`: code run here sees the standard library alone, as on a bare node.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys

PACKAGE = "lanescope"


def load_package() -> None:
    """Make the package that this file is part of importable under its name."""
    root = __file__.rsplit("/", 3)[0]
    spec = importlib.util.spec_from_file_location(PACKAGE, f"{root}/__init__.py", submodule_search_locations=[root])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main(folder: str, role: str, arguments: list[str]) -> None:
    """Become the node, then run what was asked for."""
    gc.disable()  # nothing of what is loaded here goes away again: looking for it is a tenth of the start
    sys.path[:] = [entry for entry in sys.path if entry != __file__.rpartition("/")[0]]
    load_package()
    with open(f"{folder}/node.json", "rb") as file:
        packages = json.load(file)["packages"]
    sys.path += packages
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read once, at its first import; threads would not survive a fork
    from lanescope.sim.node.machine import Machine

    del sys.path[-len(packages) :], os.environ["OPENBLAS_NUM_THREADS"]
    machine = Machine(folder)
    if role == "--tool":
        from lanescope.sim.node.tool import run_tool

        sys.exit(run_tool(machine, arguments[0], arguments[1], arguments[2:]))
    from lanescope.sim.node.become import become
    from lanescope.sim.node.interpreter import run_python

    become(machine)
    machine.prepare()
    gc.freeze()
    gc.enable()
    run_python(f"{folder}/bin/python3", arguments)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
