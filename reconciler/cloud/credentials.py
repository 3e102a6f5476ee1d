"""Where the key comes from: `SCW_*` variables, then the active profile of the scw config file.

The order and the names are those of Scaleway's own tools, so that whoever can run `scw` or the Pulumi provider can
run this. A value in the environment wins over the file, one by one. Every error names the variable, or the file and
the key in it, and never the value of a secret.

`SCW_SECRET_KEY_FILE` names a file that holds the secret (a mounted secret of a container). A program that keeps
separate keys for reading and for writing passes other variable names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reconciler.cloud.profile import Profile, read_profile
from reconciler.kernel.errors import AuthenticationError, ConfigError
from reconciler.kernel.text import visible

DEFAULT_API_URL: Final = "https://api.scaleway.com"
_ACCESS_KEY: Final = re.compile(r"SCW[A-Z0-9]{17}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SECRET_FILE_LIMIT: Final = 4096  # a UUID and a newline; more is the wrong file


class Secret:
    """A text that shows itself only through `reveal()`; repr, str and format give stars."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A checked key. `api_url` has a scheme and a host and no trailing slash; `project` and the secret are UUIDs."""

    secret_key: Secret
    project: str
    access_key: str | None = None
    api_url: str = DEFAULT_API_URL


@dataclass(frozen=True, slots=True)
class _Found:
    value: str
    origin: str  # the variable, or "key in file", for error messages


def load_credentials(
    environ: Mapping[str, str],
    *,
    project: str | None = None,
    access_key_env: str = "SCW_ACCESS_KEY",
    secret_key_env: str = "SCW_SECRET_KEY",  # noqa: S107  # the name of a variable
    allow_plain_http: bool = False,
) -> Credentials:
    """Read and check a key.

    `project` (from reconciler.toml) wins over `SCW_DEFAULT_PROJECT_ID` and the profile. `allow_plain_http` permits
    `http://` to a host that is not loopback. Raises AuthenticationError RC0301 when there is no key, ConfigError
    RC0302..RC0308 when one is malformed or a file cannot be read.
    """
    profile = read_profile(environ)
    secret = _secret(environ, profile, secret_key_env)
    if secret is None:
        raise AuthenticationError(
            f"no Scaleway secret key: {secret_key_env} is not set, nor {secret_key_env}_FILE, nor secret_key"
            f" in {profile.where}",
            code="RC0301",
            hint=f"Set {access_key_env}, {secret_key_env} and SCW_DEFAULT_PROJECT_ID, or run `scw init`.",
        )
    access = _find(environ, profile, access_key_env, "access_key")
    url = _find(environ, profile, "SCW_API_URL", "api_url") or _Found(DEFAULT_API_URL, "the default")
    found_project = _Found(project, "the scope's project") if project else _project(environ, profile)
    return Credentials(
        secret_key=Secret(_matching(secret, _UUID, what="a UUID", code="RC0303", secret=True).lower()),
        access_key=None
        if access is None
        else _matching(access, _ACCESS_KEY, what="SCW and 17 capital letters or digits", code="RC0302", secret=True),
        project=_matching(found_project, _UUID, what="a UUID", code="RC0304").lower(),
        api_url=check_api_url(url.value, origin=url.origin, allow_plain_http=allow_plain_http),
    )


def _find(environ: Mapping[str, str], profile: Profile, variable: str, key: str) -> _Found | None:
    value = environ.get(variable, "").strip()
    if value:
        return _Found(value, variable)
    from_file = profile.values.get(key)
    return None if from_file is None else _Found(from_file, f"{key} in {profile.where}")


def _secret(environ: Mapping[str, str], profile: Profile, variable: str) -> _Found | None:
    named = environ.get(f"{variable}_FILE", "").strip()
    if environ.get(variable, "").strip() or not named:
        return _find(environ, profile, variable, "secret_key")
    try:
        with Path(named).open(encoding="utf-8") as file:
            text = file.read(_SECRET_FILE_LIMIT).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{variable}_FILE names {visible(named)}, which cannot be read: {type(error).__name__}",
            code="RC0305",
            hint="The file holds the secret key and nothing else, and this user may read it.",
        ) from None
    return _Found(text, f"the file that {variable}_FILE names")


def _project(environ: Mapping[str, str], profile: Profile) -> _Found:
    found = _find(environ, profile, "SCW_DEFAULT_PROJECT_ID", "default_project_id")
    if found is None:
        raise ConfigError(
            "no Scaleway project: SCW_DEFAULT_PROJECT_ID is not set, nor default_project_id in " + profile.where,
            code="RC0306",
            hint="Name the project in reconciler.toml, in the variable or in the profile.",
        )
    return found


def _matching(found: _Found, pattern: re.Pattern[str], *, what: str, code: str, secret: bool = False) -> str:
    if pattern.fullmatch(found.value):
        return found.value
    shown = "its value is not" if secret else f"{visible(found.value, limit=60)!r} is not"
    raise ConfigError(
        f"{found.origin}: {shown} {what}", code=code, hint="Copy it again from the Scaleway console, whole."
    )


def is_loopback(host: str) -> bool:
    return host in _LOOPBACK or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))


def check_api_url(text: str, *, origin: str, allow_plain_http: bool = False) -> str:
    """The URL as `scheme://host[:port]`. Plain http would show the token to the network, so it is for loopback only.

    Raises ConfigError RC0307 (not a URL of that form) or RC0308 (plain http).
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    wrong = parts.scheme not in ("http", "https") or not host or parts.path.strip("/") or parts.query
    if wrong or parts.fragment or parts.username or parts.password or host is None:
        raise ConfigError(
            f"{origin}: the API's URL must be a scheme, a host and at most a port",
            code="RC0307",
            hint=f"For example {DEFAULT_API_URL}.",
        )
    if parts.scheme == "http" and not is_loopback(host) and not allow_plain_http:
        raise ConfigError(
            f"{origin}: plain http to {visible(host)} would send the secret key unencrypted",
            code="RC0308",
            hint="Use https; plain http is for loopback.",
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port is not None else "")
