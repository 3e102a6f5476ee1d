"""One run of a Python program for the engine: what `pulumi-language-python-exec` does in a process of its own.

The language host lives for one operation, so the program runs inside it. What a user sees is the same: the
program's stdout as messages, an unhandled exception as "Program failed with an unhandled exception" with the
part of the traceback that is the user's, and the same error strings for exit codes.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pulumi
from pulumi.runtime import Settings, configure, run_in_stack, set_all_config
from pulumi.runtime.proto import language_pb2

INTERPRETER_VARIABLE = "RECONCILER_TOOLCHAIN_PYTHON"


def wrong_interpreter(request: Any) -> str | None:
    """What is wrong when the project names an environment and this is not it; None when all is well."""
    options = dict(request.info.options)
    name = options.get("virtualenv")
    if not isinstance(name, str) or os.environ.get(INTERPRETER_VARIABLE):
        return None
    wanted = (Path(request.info.root_directory) / name).resolve()
    if wanted == Path(sys.prefix).resolve():
        return None
    return f"the project asks for the virtualenv {wanted}, but this language host runs in {sys.prefix}"


def _configure(request: Any, engine_address: str) -> None:
    configure(
        Settings(
            project=request.project,
            stack=request.stack,
            monitor=request.monitor_address,
            engine=engine_address,
            parallel=request.parallel,
            dry_run=request.dryRun,
            organization=request.organization or "organization",
            root_directory=request.info.root_directory,
        )
    )
    set_all_config(dict(request.config), list(request.configSecretKeys))


def user_traceback(program: str) -> str:
    """The current exception's traceback from the program's first frame on; all of it if it never got there."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    mains = {Path(program).resolve(), Path(program, "__main__.py").resolve()}
    for index, frame in enumerate(frames):
        if Path(frame.filename).resolve() in mains:
            return traceback.format_exc(limit=index - len(frames))
    return traceback.format_exc()


def _failed(message: str, *, bail: bool) -> Any:
    pulumi.log.error(message)
    if bail:  # shown already: the engine is to say nothing more
        return language_pb2.RunResponse(bail=True)
    return language_pb2.RunResponse(error="program exited with non-zero exit code: 1")


def _run(loop: asyncio.AbstractEventLoop, program: str) -> Any:
    def main() -> None:
        if Path(program).is_dir() and not Path(program, "__main__.py").is_file():
            raise pulumi.RunError(f"unable to find main python program `__main__.py` in `{Path(program).resolve()}`")
        runpy.run_path(program, run_name="__main__")

    try:
        loop.run_until_complete(run_in_stack(main))
    except pulumi.RunError as error:
        return _failed(str(error), bail=False)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAVAILABLE:  # the engine has stopped listening: it has its reasons
            return language_pb2.RunResponse()
        return _failed("Program failed with an unhandled exception:\n" + user_traceback(program), bail=True)
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        if code == 0:
            return language_pb2.RunResponse()
        if isinstance(leave.code, str):
            print(leave.code, file=sys.stderr)
        return language_pb2.RunResponse(error=f"program exited with non-zero exit code: {code}")
    except Exception:
        return _failed("Program failed with an unhandled exception:\n" + user_traceback(program), bail=True)
    return language_pb2.RunResponse()


def _close(loop: asyncio.AbstractEventLoop, executor: ThreadPoolExecutor) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            loop.run_until_complete(task)
    executor.shutdown(wait=True)
    loop.close()
    sys.stdout.flush()
    sys.stderr.flush()


def run_program(request: Any, *, engine_address: str) -> Any:
    """Run the program of a `RunRequest` and return a `RunResponse`; never raises for what the program did."""
    wrong = wrong_interpreter(request)
    if wrong:
        return language_pb2.RunResponse(error=wrong)
    # Futures that nobody awaits are part of Pulumi's programming model; asyncio would complain about each.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # Settings live in context variables: a copy keeps one run from seeing another's.
    return contextvars.copy_context().run(_run_in_context, request, engine_address)


def _run_in_context(request: Any, engine_address: str) -> Any:
    _configure(request, engine_address)
    program = str(Path(request.info.program_directory) / (request.info.entry_point or "."))
    sys.argv = [program, *request.args]
    if request.pwd:
        os.chdir(request.pwd)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    executor = ThreadPoolExecutor(max_workers=max(request.parallel, 1) * 4)
    loop.set_default_executor(executor)
    try:
        return _run(loop, program)
    finally:
        _close(loop, executor)
