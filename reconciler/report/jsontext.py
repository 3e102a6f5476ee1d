"""JSON as text.

Everything outside ASCII is written as a JSON escape: control, bidirectional and surrogate characters in a tag can
then neither steer a terminal that shows the file nor reorder what a reviewer sees, and every parser gives them back.
"""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    """Indented JSON with a newline at its end. Raises ValueError for NaN and infinities, which are no JSON."""
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
