"""The Pulumi engine and the Scaleway plugin for tests: `python tools/toolchain.py ensure | status`.

`ensure` gets what the machine lacks and prints one line, a directory to put before PATH; the line is empty when
PATH has everything. `status` says what there is and where it is from, and gets nothing. Standard library only, so
that it works before anything is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

if __name__ == "__main__":  # started as a script: the tree, not this directory, is where modules are
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tools.console import Stopwatch, ToolError, say
from tools.resolve import SOURCES, Found, Resolver


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolchain.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    ensure = commands.add_parser("ensure", help="get what is missing; print the directory to put before PATH")
    status = commands.add_parser("status", help="say what there is; exit 1 if something is missing")
    for command in (ensure, status):
        command.add_argument("--source", choices=SOURCES, help="only this one, instead of the first that works")
    status.add_argument("--json", action="store_true", help="{tool: {version, source, path} or null}")
    return parser


def _status(resolver: Resolver, *, as_json: bool) -> int:
    found = resolver.status()
    if as_json:
        print(json.dumps({tool: entry.described() if entry else None for tool, entry in found.items()}, indent=2))
    else:
        for tool, entry in found.items():
            print(f"{tool:25} {_line(entry)}")
    return 0 if all(found.values()) else 1


def _line(found: Found | None) -> str:
    return f"{found.version:28} {found.source:9} {found.path}" if found else "missing: `make toolchain` gets it"


def _ensure(resolver: Resolver) -> int:
    watch = Stopwatch()
    tools = resolver.ensure()
    directory = resolver.directory(tools)
    say(
        "toolchain: "
        + ", ".join(f"{tool} {found.version} ({found.source})" for tool, found in tools.items())
        + f"; {watch}"
    )
    print(directory or "")
    return 0


def terminate(number: int, _frame: FrameType | None) -> None:
    # As an exception, so that the compilers are ended and half-made directories are removed.
    raise SystemExit(128 + number)


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        resolver = Resolver(environment, source=options.source)
        if options.command == "status":
            return _status(resolver, as_json=options.json)
        return _ensure(resolver)
    except ToolError as error:
        return error.report()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminate)
    sys.exit(main(sys.argv[1:], os.environ))
