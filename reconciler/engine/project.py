"""The project directory that `pulumi refresh` wants, although it runs no program.

A configured directory is used as it is. Without one a temporary directory does (tried with the real engine, explicit
providers and secrets included): `Pulumi.yaml` with the name, and `Pulumi.<stack>.yaml` with the encryption settings
that the state itself names. Without the second file the CLI would mint a new salt and encrypt the whole state with it.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from reconciler.engine.shapes import RawSecretsProvider
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import EngineError


@contextmanager
def project_directory(
    name: StackName, secrets: RawSecretsProvider, *, configured: Mapping[str, Path], default: Path
) -> Iterator[Path]:
    """A directory in which `pulumi refresh --stack NAME` works: the configured one, `default` if it is this project's,
    else a made-up one that is gone afterwards. Raises EngineError RC0515 for a configured one of another project."""
    chosen = configured.get(name.project)
    if chosen is not None:
        if (why := _unfit(chosen, name.project)) is not None:
            raise _wrong(chosen, name.project, why)
        yield chosen
        return
    if _unfit(default, name.project) is None:
        yield default
        return
    with tempfile.TemporaryDirectory(prefix="reconciler-project-") as made:
        directory = Path(made)
        _write(directory / "Pulumi.yaml", {"name": name.project, "runtime": "python"})
        _write(directory / f"Pulumi.{name.stack}.yaml", stack_settings(secrets))
        yield directory


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")


def stack_settings(secrets: RawSecretsProvider) -> dict[str, str]:
    """The encryption part of `Pulumi.<stack>.yaml` for the secrets manager that a state names. It holds no secret: a
    passphrase manager's salt, or a key that a KMS has wrapped. Pulumi Cloud's own manager needs nothing."""
    state = secrets.state or {}
    if secrets.type == "passphrase" and isinstance(state.get("salt"), str):
        return {"encryptionsalt": state["salt"]}
    if secrets.type == "cloud" and isinstance(state.get("url"), str):
        key = state.get("encryptedkey")
        return {"secretsprovider": state["url"]} | ({"encryptedkey": key} if _is_base64(key) else {})
    return {}


def _is_base64(key: object) -> bool:
    if not isinstance(key, str) or not key:
        return False
    try:
        base64.b64decode(key, validate=True)
    except binascii.Error:
        return False
    return True


def _unfit(directory: Path, project: str) -> str | None:
    """Why a directory is not this project's; None when it is."""
    for file in ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json"):
        try:
            content = yaml.safe_load((directory / file).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeError, yaml.YAMLError) as error:
            return f"{file} cannot be read ({type(error).__name__})"
        named = content.get("name") if isinstance(content, dict) else None
        return None if named == project else f"its project is {named!r}"
    return "it holds no Pulumi.yaml"


def _wrong(directory: Path, project: str, why: str) -> EngineError:
    return EngineError(
        f"{directory} is not the directory of the project {project}: {why}",
        code="RC0515",
        hint="Correct [state] projects, or leave it out: a refresh needs no program.",
    )
