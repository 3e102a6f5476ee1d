"""The way in: find the files, put the layers together, check them, and hand out frozen settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from reconciler.config.build import build
from reconciler.config.checks import check
from reconciler.config.discover import discover, read, user_file
from reconciler.config.document import Document
from reconciler.config.errors import InvalidConfig, Problem
from reconciler.config.layers import Layers, from_environment, from_file, from_flags
from reconciler.config.problems import from_pydantic
from reconciler.config.settings import Layer, Settings
from reconciler.kernel.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings, with what `config show` needs to say where each came from."""

    settings: Settings
    document: Document = field(repr=False)
    layers: Layers


def load_settings(
    start: Path,
    *,
    environ: Mapping[str, str],
    config: Path | None = None,
    flags: Mapping[str, object] | None = None,
    need_scopes: bool = True,
) -> Settings:
    """The settings that count in `start`. See `load`."""
    return load(start, environ=environ, config=config, flags=flags, need_scopes=need_scopes).settings


def load(
    start: Path,
    *,
    environ: Mapping[str, str],
    config: Path | None = None,
    flags: Mapping[str, object] | None = None,
    need_scopes: bool = True,
) -> Loaded:
    """All layers, merged and checked.

    `config` is the file of `--config`; `flags` maps dotted keys to values, None for a flag that was not given.
    `need_scopes` False is for commands that work before there is anything to look at (`db upgrade`, `doctor`).

    Raises ConfigError: RC0111 (no configuration, or one without a scope, where scopes are needed), RC0112, RC0125,
    RC0126 (files), RC0127 (database), and `InvalidConfig` with every mistake in the documents.
    """
    found = discover(start, environ=environ, explicit=config)
    personal = user_file(environ)
    environment, strays = from_environment(environ)
    sources = [
        *([from_file(read(personal), layer=Layer.USER)] if personal and personal.is_file() else []),
        *([from_file(found, layer=Layer.FILE)] if found else []),
        environment,
        from_flags(flags or {}),
    ]
    layers = Layers(tuple(sources))
    document = _validated(layers, strays=strays)
    if need_scopes and not document.scope:
        raise _nothing_to_look_at(found.path if found else None)
    settings = build(document, layers, source=found.path if found else None, start=start, environ=environ)
    return Loaded(settings=settings, document=document, layers=layers)


def _validated(layers: Layers, *, strays: list[Problem]) -> Document:
    try:
        document = Document.model_validate(layers.merged())
    except ValidationError as error:
        raise InvalidConfig([*from_pydantic(error, layers), *strays]) from None
    problems = [*check(document, layers), *strays]
    if problems:
        raise InvalidConfig(problems)
    return document


def _nothing_to_look_at(path: Path | None) -> ConfigError:
    what = "there is no configuration" if path is None else f"{path} declares no scope"
    return ConfigError(
        what, code="RC0111", hint="`reconciler config init` writes a commented reconciler.toml with a fresh scope."
    )
