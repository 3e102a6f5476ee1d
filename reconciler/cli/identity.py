"""Who runs this command, as far as a process can tell: the CI's word for the person, else the account.

It goes into the record of an approval. It is a claim, as the author of a git commit is: whoever can write to the
database can write any name there.
"""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Mapping
from typing import Final

from reconciler.model.approval import Approver

# (variable that names the CI, variables that name the person, variables that name the job), first of each that is set
_CI: Final = (
    ("GITHUB_ACTIONS", ("GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR"), ()),
    ("GITLAB_CI", ("GITLAB_USER_LOGIN",), ("CI_JOB_URL",)),
    ("BUILDKITE", ("BUILDKITE_UNBLOCKER", "BUILDKITE_BUILD_CREATOR"), ("BUILDKITE_BUILD_URL",)),
    ("JENKINS_URL", ("BUILD_USER_ID",), ("BUILD_URL",)),
)


def approver(environ: Mapping[str, str]) -> Approver:
    """The person and the job, of this process."""
    account = _account(environ)
    for flag, people, jobs in _CI:
        if environ.get(flag):
            name = _first(environ, people)
            job = _github_run(environ) if flag == "GITHUB_ACTIONS" else _first(environ, jobs)
            return Approver(name=name or account, host=socket.gethostname(), ci_job=job or flag)
    return Approver(name=account, host=socket.gethostname())


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _github_run(environ: Mapping[str, str]) -> str | None:
    parts = [environ.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    server, repository, run = parts
    return f"{server}/{repository}/actions/runs/{run}" if all(parts) else run


def _account(environ: Mapping[str, str]) -> str:
    """The account by its number, which no variable changes; with `sudo`, also who called it."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    caller = environ.get("SUDO_USER")
    return f"{caller} as {name}" if caller and caller != name else name
