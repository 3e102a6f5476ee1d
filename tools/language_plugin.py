"""Plugins written in Python that the engine runs through the language host.

A policy pack is a plugin of kind `analyzer`: `python -m pulumi.policy ENGINE DIRECTORY` in the pack's own
environment, for `pulumi_policy` pins a protobuf that the project's environment does not have. Every other kind
(tool, resource, converter) is a directory with `__main__.py`, or an installed package that `pulumi.run.plugin`
starts. Output is streamed line by line: the engine reads the plugin's port from the first one.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pulumi.runtime.proto import language_pb2

_TERMINATE_SECONDS = 5.0


def interpreter(request: Any) -> str:
    """The Python of the plugin's own environment; without one, the one that runs this."""
    root = Path(request.info.root_directory or request.info.program_directory)
    name = dict(request.info.options).get("virtualenv")
    candidates = [root / name] if isinstance(name, str) else [root / "venv", root / ".venv"]
    for candidate in candidates:
        python = candidate / "bin" / "python"
        if python.exists():
            return str(python)
    if isinstance(name, str):
        raise FileNotFoundError(f"the plugin asks for the virtualenv {candidates[0]}, which is not there")
    return sys.executable


def command(request: Any) -> list[str]:
    """The command line for a `RunPluginRequest`. Raises FileNotFoundError for a plugin that cannot be run."""
    python = interpreter(request)
    directory = request.info.program_directory or request.program
    if request.kind == "analyzer":
        return [python, "-u", "-m", "pulumi.policy", *request.args, directory]
    if (Path(directory) / "__main__.py").is_file():
        return [python, "-u", directory, *request.args]
    project = Path(directory) / "pyproject.toml"
    if not project.is_file():
        raise FileNotFoundError(f"{directory} has neither __main__.py nor pyproject.toml")
    name = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["name"]
    return [python, "-u", "-m", "pulumi.run.plugin", str(name), *request.args]


def _environment(request: Any) -> dict[str, str]:
    return {**os.environ, **dict(item.split("=", 1) for item in request.env if "=" in item)}


def _pump(stream: IO[bytes], field: str, lines: queue.Queue[tuple[str, bytes] | None]) -> None:
    for line in stream:
        lines.put((field, line))
    lines.put(None)


class PluginRunner:
    """Runs plugins and ends those that still run when the host ends."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, request: Any, context: Any) -> Iterator[Any]:
        """Stream the output of the plugin, line by line; the last message is its exit code."""
        try:
            process = self._start(request)
        except (OSError, KeyError, ValueError) as error:
            yield language_pb2.RunPluginResponse(stderr=f"cannot run the plugin: {error}\n".encode())
            yield language_pb2.RunPluginResponse(exitcode=1)
            return
        # A cancelled call is the engine's way of ending a plugin.
        context.add_callback(lambda: self._terminate(process))
        try:
            yield from self._stream(process)
        finally:
            self._terminate(process)

    def _start(self, request: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command(request),
            cwd=request.pwd or None,
            env=_environment(request),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with self._lock:
            self._running.add(process)
        return process

    def _stream(self, process: subprocess.Popen[bytes]) -> Iterator[Any]:
        lines: queue.Queue[tuple[str, bytes] | None] = queue.Queue()
        for stream, field in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            assert stream is not None
            threading.Thread(target=_pump, args=(stream, field, lines), daemon=True).start()
        open_streams = 2
        while open_streams:
            line = lines.get()
            if line is None:
                open_streams -= 1
            elif line[0] == "stdout":
                yield language_pb2.RunPluginResponse(stdout=line[1])
            else:
                yield language_pb2.RunPluginResponse(stderr=line[1])
        yield language_pb2.RunPluginResponse(exitcode=process.wait())

    def _terminate(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.discard(process)
        if process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(timeout=_TERMINATE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        with self._lock:
            running = list(self._running)
        for process in running:
            self._terminate(process)
