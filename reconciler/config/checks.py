"""What takes more than one key to see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.config.document import Document, MatchTable
from reconciler.config.errors import Problem
from reconciler.config.layers import Layers
from reconciler.config.problems import too_short
from reconciler.config.settings import KeyPath

_DUPLICATE_HINT = "Rename one of the two."


def check(document: Document, layers: Layers) -> list[Problem]:
    """All mistakes of a document that pydantic has accepted."""
    found = [*_scopes(document), *_fleets(document), *_database(document, layers)]
    if document.scope and not document.state.stacks:
        found.append(
            _problem(
                "RC0124",
                ("state", "stacks"),
                "no stack is named, so nothing could ever be proved to be left over",
                'Name every stack that may own something in the project, as in stacks = ["ci/*"].',
            )
        )
    return [replace(one, where=layers.nearest(one.path).where) for one in found]


def _problem(code: str, path: KeyPath, message: str, hint: str) -> Problem:
    return Problem(code=code, path=path, message=message, hint=hint)


def _scopes(document: Document) -> Iterator[Problem]:
    for index, scope in enumerate(document.scope):
        if scope.grace <= scope.create_deadline:
            # A create that is still in flight looks exactly like a leftover.
            yield _problem(
                "RC0115",
                ("scope", index, "grace"),
                too_short(scope.grace, scope.create_deadline),
                "Make the grace longer: what a create may still be working on must not be called left over.",
            )
        for key in ("name", "uuid"):
            earlier = [getattr(other, key) for other in document.scope[:index]]
            if getattr(scope, key) in earlier:
                other = document.scope[earlier.index(getattr(scope, key))]
                yield _problem(
                    "RC0117", ("scope", index, key), f"the scope {other.name!r} has the same {key}", _DUPLICATE_HINT
                )


def _fleets(document: Document) -> Iterator[Problem]:
    scopes = [scope.name for scope in document.scope]
    seen: set[tuple[str, str]] = set()
    for index, fleet in enumerate(document.fleet):
        home = fleet.scope if fleet.scope is not None else scopes[0] if len(scopes) == 1 else None
        yield from _match(fleet.match, index)
        if home is None:
            hint = f"Scopes are: {', '.join(scopes)}." if scopes else "Declare a [[scope]]."
            yield _problem("RC0121", ("fleet", index, "scope"), "this key is missing", hint)
        elif home not in scopes:
            hint = f"Scopes are: {', '.join(scopes)}." if scopes else "Declare a [[scope]]."
            yield _problem("RC0119", ("fleet", index, "scope"), f"there is no scope {home!r}", hint)
        elif (home, fleet.name) in seen:
            yield _problem(
                "RC0118",
                ("fleet", index, "name"),
                f"the scope {home!r} has another fleet of this name",
                _DUPLICATE_HINT,
            )
        if home is not None:
            seen.add((home, fleet.name))


def _match(match: MatchTable, index: int) -> Iterator[Problem]:
    signals = sum(bool(values) for values in (match.urn, match.tags, match.name, match.security_group))
    if match.require > signals:
        yield _problem(
            "RC0123",
            ("fleet", index, "match", "require"),
            f"{match.require} signals are required and {signals} declared, so nothing could ever match",
            "Signals are urn, tags, name and security_group; each counts once.",
        )


def _database(document: Document, layers: Layers) -> Iterator[Problem]:
    if document.database_url is None or document.database_url_file is None:
        return
    url, file = layers.origin(("database_url",)), layers.origin(("database_url_file",))
    if url.layer is file.layer:
        yield _problem(
            "RC0122",
            ("database_url_file",),
            "both `database_url` and `database_url_file` are set in the same place",
            "Keep one of the two.",
        )
