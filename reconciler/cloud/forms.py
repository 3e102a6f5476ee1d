"""From the bytes of an answer to the frozen values of `model.resources`, in one pass.

A list of ten thousand workers is seventy thousand objects. Decoded into shapes of their own and copied over, they cost
twice what fetching and `json.loads` do; so pydantic fills the model's dataclasses itself, from a description of where
each field stands in the JSON. That description is pydantic's core schema, which is plain data; the functions here
write it.

What a description does not name is ignored. A field without `default` is required: an answer that lacks it is not
read at all (ValueError), because what says who uses an object must not be missing quietly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, TypeAlias

from pydantic import GetPydanticSchema, TypeAdapter

from reconciler.cloud.wire import Page
from reconciler.kernel.clock import parse_instant

Form: TypeAlias = dict[str, Any]  # a core schema

_REQUIRED: Final = object()

TEXT: Final[Form] = {"type": "str"}
FLAG: Final[Form] = {"type": "bool"}
NUMBER: Final[Form] = {"type": "int"}
COUNT: Final[Form] = {"type": "int", "ge": 0}


def nullable(form: Form) -> Form:
    return {"type": "nullable", "schema": form}


def list_of(form: Form) -> Form:
    return {"type": "list", "items_schema": form}


def dict_of(form: Form) -> Form:
    return {"type": "dict", "keys_schema": TEXT, "values_schema": form}


def then(form: Form, function: Callable[[Any], Any]) -> Form:
    """The value of `form`, given to `function`, which may raise ValueError."""
    return {"type": "function-after", "function": {"type": "no-info", "function": function}, "schema": form}


def parts(**form: Form) -> Form:
    """Some keys of a JSON object, as a dict; all required."""
    named = {name: {"type": "typed-dict-field", "schema": part, "required": True} for name, part in form.items()}
    return {"type": "typed-dict", "fields": named}


def some_parts(form: Form, **defaults: tuple[Form, Any]) -> Form:
    """`form` (of `parts`) with further keys, each with its default."""
    named = {
        name: {
            "type": "typed-dict-field",
            "schema": {"type": "default", "schema": part, "default": default},
            "required": False,
        }
        for name, (part, default) in defaults.items()
    }
    return {**form, "fields": {**form["fields"], **named}}


@dataclass(frozen=True, slots=True)
class At:
    """Where a field of the model stands: a key of the object or a path of keys, its form, and what its absence means.

    A path ends in absence wherever an object on it is missing or null.
    """

    key: str | tuple[str, ...]
    form: Form
    default: Any = _REQUIRED


def constant(value: Any) -> At:
    """A field that no key of the API gives."""
    return At("\0", {"type": "any"}, value)


def into(cls: type, **places: At) -> Form:
    """The object as a value of the dataclass `cls`, every field of which has a place."""
    missing = {field.name for field in fields(cls)} ^ places.keys()
    if missing:
        raise TypeError(f"{cls.__name__}: no place for {sorted(missing)}")
    arguments = [
        {
            "type": "dataclass-field",
            "name": name,
            "schema": place.form
            if place.default is _REQUIRED
            else {"type": "default", "schema": place.form, "default": place.default},
            "kw_only": True,
            "validation_alias": place.key if isinstance(place.key, str) else [list(place.key)],
        }
        for name, place in places.items()
    ]
    return {
        "type": "dataclass",
        "cls": cls,
        "schema": {"type": "dataclass-args", "dataclass_name": cls.__name__, "fields": arguments},
        "fields": list(places),
        "slots": True,
    }


def _link(value: dict[str, str] | None) -> str | None:
    return None if value is None else value["id"]


def _texts(value: tuple[str, ...] | None) -> tuple[str, ...]:
    return value or ()


TIME: Final = then(TEXT, parse_instant)
TEXTS: Final = then(nullable({"type": "tuple", "items_schema": [TEXT], "variadic_item_index": 0}), _texts)
LINK: Final = then(nullable(parts(id=TEXT)), _link)  # the id of what a key links to, or None


class Reader:
    """Reads one form. The machinery behind it is built at the first use, in a millisecond or two."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._adapter: TypeAdapter[Any] | None = None

    def __call__(self, body: bytes) -> Any:
        """Raises ValueError for a body that does not fit."""
        if self._adapter is None:
            form = self._form
            self._adapter = TypeAdapter(Annotated[Any, GetPydanticSchema(lambda _type, _handler: form)])
        return self._adapter.validate_json(body)


def one_of(key: str, form: Form) -> Callable[[bytes], Any]:
    """The object under `key` of an answer to a GET by id."""
    reader = Reader(parts(**{key: form}))
    return lambda body: reader(body)[key]


def page_of(key: str, form: Form) -> Callable[[bytes], Page]:
    """A page whose objects stand under `key`."""
    reader = Reader(
        some_parts(
            parts(**{key: list_of(form)}),
            total_count=(nullable(COUNT), None),
            next_page_token=(nullable(TEXT), None),
        )
    )

    def read(body: bytes) -> Page:
        found = reader(body)
        return Page(items=tuple(found[key]), total=found["total_count"], next_token=found["next_page_token"] or None)

    return read
