"""The case that `simulate new` writes: commented, valid, and it holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from reconciler.kernel.errors import UsageError
from reconciler.kernel.text import visible

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")

TEMPLATE: Final = """\
# A case: what each ledger says, what happens, and what must hold. docs/cases.md is the reference.
# Run it with: reconciler simulate run {name}.yaml

# What happened, and what must never happen again.
why: An address of ours that nothing holds goes after its grace, and a stranger's address stays.
# Reports or claims that it covers, and the rules that it holds (docs/rules.md).
# source: R121
rules: [9]

# Keys of the scope, or tables of reconciler.toml. Here: the project belongs to the fleet, so owner tags are proof.
settings:
  ownership: tags

# What exists. With a fleet and a slot a server is in the cloud and in the state, with owner tags on all its parts.
# `in: cloud` takes it out of the state; `gone: 2h` took it out of the cloud two hours before the start.
resources:
  - server: {{name: w1, fleet: ci, slot: 0, ip: yes}}
  - ip: {{name: leak, tags: owned ci/1, age: 5m}}
  - ip: {{name: theirs}}

# What happens, in order: run, advance, do, faults, stacks, key.
steps:
  - run: drift
    exit: 0
    # All findings but `unmanaged` ones: KIND SUBJECT: VERDICT ACTION.
    findings:
      detached leak: wait destroy
  - advance: 10m
  - run: apply -y
    exit: 0
    # All that this step removes from the cloud.
    deletes: leak

# What must hold at the end. Whatever `deletes` does not name must still be there.
expect:
  survive: [w1, w1-ip, theirs]
  state: {{ci/prod: [w1, w1-ip]}}
"""


def write(name: str, folder: Path) -> Path:
    """Write the template as `NAME.yaml`. Raises UsageError RC0814 for a name that is none, or is taken."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{visible(name)!r} is no name of a case", code="RC0814", hint="Lower-case letters, digits and hyphens."
        )
    path = folder / f"{name}.yaml"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(name=name))
    except OSError as error:
        why = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(
            f"cannot write {visible(str(path))}: {why}", code="RC0814", hint="Nothing was written."
        ) from None
    return path
