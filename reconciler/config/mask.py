"""How a value may be shown: URLs without their passwords.

Passwords may hold any character, and people paste them unencoded. So the rule is not that of a URL parser, which would
take `p` for the password in `user:p/w@host`: all between the first colon and the last `@` is hidden, and a URL in which
that cannot be told is hidden as a whole.
"""

from __future__ import annotations

import re
from typing import Final

from reconciler.config.settings import KeyPath

MASK: Final = "***"
_URLS: Final = frozenset({"database_url", "backend_url"})
_PORTLESS: Final = re.compile(r"[^/\[]*:(?!\d+(/|$))")  # a colon that no port follows: a user and a password, perhaps
_SECRET_KEY: Final = re.compile(r"pass|pwd|secret|token|key|sig|cred|auth", re.IGNORECASE)


def shown(path: KeyPath, value: object) -> object:
    """The value of this key as it may be printed."""
    return masked_url(value) if path and path[-1] in _URLS and isinstance(value, str) else value


def masked_url(text: str) -> str:
    """The URL with `***` for its password and for query values that may be secret; `***` for what is no URL."""
    scheme, slashes, rest = text.partition("://")
    if not slashes:
        return MASK
    before, mark, query = rest.partition("?")
    user, at, host = before.rpartition("@")
    if "@" in query or (not at and _PORTLESS.match(before)):
        return f"{scheme}://{MASK}"
    name, colon, _ = user.partition(":")
    pairs = "&".join(_masked_pair(pair) for pair in query.split("&"))
    return f"{scheme}://{name}{colon and colon + MASK}{at}{host}{mark}{pairs}"


def _masked_pair(pair: str) -> str:
    key, equals, _ = pair.partition("=")
    return f"{key}={MASK}" if equals and _SECRET_KEY.search(key) else pair
