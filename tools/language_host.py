"""A stand-in for `pulumi-language-python`, the process that runs Python programs and plugins for the engine.

The engine starts it with its own address as the last argument, reads one line (a port) from its stdout, and
calls it by gRPC; whatever it prints afterwards the engine shows as a diagnostic. It lives for one operation.
The real host is a Go program whose module no proxy serves, so where it is not installed tests use this one.

Two ways to end: the engine sends SIGINT when it is done, and any traceback then would be shown to the user as a
warning; or the engine dies (a killed `pulumi up`), and the host must not outlive it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

if __name__ == "__main__":
    # A program must not be able to import this directory's modules by accident.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import grpc  # type: ignore[import-untyped]
from pulumi.runtime.proto import LanguageRuntimeServicer, language_pb2, language_pb2_grpc, plugin_pb2

from tools.language_plugin import PluginRunner
from tools.language_program import run_program

POLL_SECONDS = 0.5
GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


# The names are those of the gRPC service, and each call takes a context.
# ruff: noqa: N802, ARG002


class LanguageHost(LanguageRuntimeServicer):
    """The calls that `up`, `preview`, `refresh`, `destroy`, `about`, policy packs and tool plugins make."""

    def __init__(self, engine_address: str) -> None:
        self._engine_address = engine_address
        self._plugins = PluginRunner()

    def Handshake(self, request: Any, context: Any) -> Any:
        return language_pb2.LanguageHandshakeResponse()

    def Run(self, request: Any, context: Any) -> Any:
        return run_program(request, engine_address=self._engine_address)

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        return self._plugins.run(request, context)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version="0.0.0")

    def About(self, request: Any, context: Any) -> Any:
        version = ".".join(str(part) for part in sys.version_info[:3])
        return language_pb2.AboutResponse(executable=sys.executable, version=version)

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        # Packages are found when the program registers their resources: plugins come from PATH.
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
        return language_pb2.GetRequiredPluginsResponse()

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        return language_pb2.GetProgramDependenciesResponse()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        # `make setup` installs; an engine that installs by itself would change the locked environment.
        return iter(())

    def close(self) -> None:
        self._plugins.close()


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host or "127.0.0.1", int(port)), timeout=5):
            return True
    except (OSError, ValueError):
        return False


def _end(host: LanguageHost, status: int) -> None:
    # Python's own way out would print tracebacks of interrupted threads, and wait for a program that hangs.
    host.close()
    os._exit(status)


def _leave_with_engine(host: LanguageHost, parent: int, engine_address: str) -> None:
    """End this process when its parent, the engine, is gone: a killed engine says goodbye to nobody."""
    # The parent may have died before its id was read; then only its address tells.
    if engine_address and not _answers(engine_address):
        _end(host, 1)
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(POLL_SECONDS)
    _end(host, 1)


def main(arguments: list[str]) -> None:
    parent = os.getppid()
    positional = [argument for argument in arguments if not argument.startswith("-")]
    engine_address = positional[-1] if positional else ""
    host = LanguageHost(engine_address)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        _end(host, 0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=GRPC_OPTIONS)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    threading.Thread(target=_leave_with_engine, args=(host, parent, engine_address), daemon=True).start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main(sys.argv[1:])
