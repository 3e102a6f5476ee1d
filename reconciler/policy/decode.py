"""From any text or value to a policy, or to every mistake in it with file and line.

A file, a stack's output, a pack's configuration: all come through `decode`, so that no place accepts what another one
refuses. Errors name the key path, and the line where there is a text; they never repeat a value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from reconciler.config.errors import Problem
from reconciler.config.lines import line_of
from reconciler.config.settings import KeyPath
from reconciler.kernel.errors import ConfigError
from reconciler.kernel.text import visible
from reconciler.model.policy import Policy, RequiredKeys
from reconciler.policy.build import build
from reconciler.policy.document import (
    ExceptionTable,
    KindError,
    MappingTable,
    PolicyDocument,
    RuleTable,
    SeverityError,
    rule_tables,
)
from reconciler.policy.patterns import PatternError, glob
from reconciler.policy.tags import values_of, written
from reconciler.policy.text import Read, TextError, read_text

_REFERENCE: Final = "docs/policy.md has every rule with an example."
_PATTERNS: Final = "Patterns are RE2: https://github.com/google/re2/wiki/Syntax. One fits a whole tag or value."


class InvalidPolicy(ConfigError):
    """At least one mistake; the message has all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        text = "; ".join(str(problem) for problem in self.problems[:20])
        more = len(self.problems) - 20
        super().__init__(text + (f" (and {more} more)" if more > 0 else ""), code=first.code, hint=first.hint)


def load_policy(path: Path) -> Policy:
    """A policy file: TOML by its name, else YAML (of which JSON is a part).

    Raises ConfigError RC0830 (it cannot be read) and InvalidPolicy with every mistake.
    """
    text = read_file(path)
    return parse_policy(text, source=str(path), is_toml=path.suffix == ".toml")


def read_file(path: Path) -> str:
    """Raises ConfigError RC0830."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8") from None


def read_bytes(path: Path) -> bytes:
    """Raises ConfigError RC0830."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from None


def _unreadable(path: Path, reason: str) -> ConfigError:
    text = f"{visible(str(path))} cannot be read: {reason}"
    return ConfigError(text, code="RC0830", hint="Check the path.")


def parse_policy(text: str, *, source: str, is_toml: bool = False) -> Policy:
    """Raises InvalidPolicy."""
    return decode(read(text, source=source, is_toml=is_toml), source=source)


def read(text: str, *, source: str, is_toml: bool) -> Read:
    """The values of a text, unchecked. Raises InvalidPolicy."""
    try:
        return read_text(text, is_toml=is_toml)
    except TextError as error:
        place = f"{visible(source)}:{error.line}" if error.line is not None else visible(source)
        raise InvalidPolicy(
            [Problem(code=error.code, path=error.path, message=error.message, hint=_REFERENCE, where=place)]
        ) from None


def decode(given: Read, *, source: str) -> Policy:
    """Raises InvalidPolicy."""
    try:
        document = PolicyDocument.model_validate(given.value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        problems = [_problem(one, given, source) for one in details]
        # A misspelt key is missing under its right name as well; what was misspelt says more.
        raise InvalidPolicy(sorted(problems, key=lambda one: one.code != "RC0834")) from None
    policy = build(document, source=source)
    problems = [*_across(document, given, source), *_never_settled(policy, given, source)]
    if problems:
        raise InvalidPolicy(problems)
    return policy


def decode_value(value: object, *, source: str) -> Policy:
    """A value that comes without a text: a stack's output, a pack's configuration. Raises InvalidPolicy."""
    return decode(Read(value=value, lines={}), source=source)


def _across(document: PolicyDocument, given: Read, source: str) -> Iterable[Problem]:
    """What takes two keys to see."""
    seen: set[str] = set()
    for number, rule in enumerate(document.rules):
        if rule.id in seen:
            message = "another rule has this id"
            yield _at(("rules", number, "id"), "RC0837", message, "An id names one rule.", given, source)
        seen.add(rule.id)
    for number, exception in enumerate(document.exceptions):
        if not any(glob(tuple(exception.rules), rule.id) for rule in document.rules):
            message = "no rule has such an id, so this exception could never count"
            hint = f"Rules: {', '.join(sorted(seen)) or 'none'}."
            yield _at(("exceptions", number, "rules"), "RC0838", message, hint, given, source)


def _never_settled(policy: Policy, given: Read, source: str) -> Iterable[Problem]:
    """Defaults whose tag would not be read back as the value of their key: it would be added again and again, and the
    rule would stay broken."""
    for number, rule in enumerate(policy.rules):
        defaults = rule.check.defaults if isinstance(rule.check, RequiredKeys) else ()
        for key, value in defaults:
            tag = written(key, value, policy)
            if tag is not None and value not in values_of(key, (tag,), policy):
                message = "the tag that gives this key its default is not read back as that value"
                hint = "`pattern` of a mapping must fit what `write` makes, and a key holds no `separator`."
                yield _at(("rules", number, "defaults", key), "RC0829", message, hint, given, source)


def _problem(details: Mapping[str, Any], given: Read, source: str) -> Problem:
    path = _path(details["loc"])
    match details["type"]:
        case "extra_forbidden":
            return _at(path, "RC0834", "unknown key", _closest(path, given.value), given, source)
        case "missing":
            return _at(path, "RC0835", "this key is missing", _REFERENCE, given, source)
        case "union_tag_invalid" | "union_tag_not_found":
            where = (*path, "check")
            return _at(where, "RC0835", "there is no such check", _close_check(where, given.value), given, source)
        case "value_error":
            code, hint, more = _of_ours(details["ctx"]["error"])
            return _at((*path, *more), code, str(details["ctx"]["error"]), hint, given, source)
        case _:
            message = details["msg"]
            return _at(path, "RC0835", message[:1].lower() + message[1:], _REFERENCE, given, source)


def _of_ours(error: ValueError) -> tuple[str, str, KeyPath]:
    """Code, hint and what is to be added to the path, for what our own validators refuse."""
    match error:
        case PatternError():
            return "RC0836", _PATTERNS, ()
        case KindError():
            return "RC0835", f"One of: {', '.join(error.choices)}.", ("kinds",)
        case SeverityError():
            return (
                "RC0835",
                "Rules that can be: required-tags, ownership, required-keys with `defaults`.",
                ("severity",),
            )
        case _:
            return "RC0835", _REFERENCE, ()


def _at(path: KeyPath, code: str, message: str, hint: str, given: Read, source: str) -> Problem:
    line = line_of(path, given.lines)
    where = f"{visible(source)}:{line}" if line is not None else visible(source)
    return Problem(code=code, path=path, message=message, hint=hint, where=where)


def _path(loc: Sequence[int | str]) -> KeyPath:
    """pydantic names the member of the union between a rule's number and its key."""
    parts = list(loc)
    if len(parts) > 2 and parts[0] == "rules" and parts[2] in rule_tables():
        del parts[2]
    return tuple(parts)


def _table_at(path: KeyPath, value: Any) -> type[PolicyDocument | RuleTable | MappingTable | ExceptionTable] | None:
    match path[:-1]:
        case ():
            return PolicyDocument
        case ("rules", int(number)):
            try:
                return rule_tables().get(value["rules"][number]["check"])
            except (LookupError, TypeError):
                return None
        case ("mappings", int()):
            return MappingTable
        case ("exceptions", int()):
            return ExceptionTable
        case _:
            return None


def _closest(path: KeyPath, value: Any) -> str:
    table = _table_at(path, value)
    close = difflib.get_close_matches(str(path[-1]), list(table.model_fields) if table else [], n=1)
    return f"Did you mean `{close[0]}`?" if close else _REFERENCE


def _close_check(path: KeyPath, value: Any) -> str:
    names = sorted(rule_tables())
    try:
        given = value[path[0]][path[1]][path[2]]
    except (LookupError, TypeError):
        given = ""
    close = difflib.get_close_matches(str(given), names, n=1)
    return f"Did you mean `{close[0]}`?" if close else f"One of: {', '.join(names)}."
