"""Runs the builder of a fake tree in a process of its own: `driver.py TREE`, with variables from the environment."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tools import modules, toolchain
from tools.console import ToolError
from tools.pins import PULUMI, Pins, cache_directory
from tools.shelf import Shelf


def main() -> int:
    # The real build's need of space is not the fake one's.
    modules.NEEDED_BYTES[PULUMI] = 0
    signal.signal(signal.SIGTERM, toolchain.terminate)
    builder = modules.ModuleBuilder(Pins(Path(sys.argv[1])), Shelf(cache_directory(os.environ)), os.environ)
    try:
        builder.build([PULUMI])
    except ToolError as error:
        return error.report()
    print(builder.built(PULUMI))
    return 0


if __name__ == "__main__":
    sys.exit(main())
