"""`python -m reconciler_fleet`: the JSON schema of the stack output, as schema.json has it."""

from __future__ import annotations

import json

from reconciler_fleet.output import schema

print(json.dumps(schema(), indent=2))
