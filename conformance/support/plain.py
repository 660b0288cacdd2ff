"""Dataclasses as plain JSON, and back: an object with a key for each field. A field that has its default is left out.

A reader of a file checks the file against its schema first.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from conformance.model.values import Json

P = TypeVar("P", bound="Plain")

SCALARS = frozenset({NoneType, bool, int, float, str})


class Plain:
    """A dataclass whose fields are JSON, enums, or values with ``to_json`` and ``from_json``; or tuples, lists, sets
    and mappings of these."""

    def to_json(self) -> Json:
        kind: Any = type(self)
        given = ((name, getattr(self, name), default) for name, default in _defaults(kind).items())
        return {name: _told(value) for name, value, default in given if value != default}

    @classmethod
    def from_json(cls: type[P], data: Json) -> P:
        """Reads what ``to_json`` wrote. Other keys are left out. Raises as the fields' own ``from_json`` do."""
        kind: Any = cls
        known = _readers(kind)
        return cls(**{name: known[name](value) for name, value in data.items() if name in known})


def _told(value: Any) -> Json:
    if type(value) in SCALARS:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {name: _told(item) for name, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(_told, value))
    return [_told(item) for item in value] if isinstance(value, (tuple, list)) else value.to_json()


@cache
def _defaults(kind: type[Any]) -> dict[str, Any]:
    """Name of a field -> its default, MISSING where it has none."""

    def default(field: Field[Any]) -> Any:
        return field.default if field.default_factory is MISSING else field.default_factory()

    return {field.name: default(field) for field in fields(kind)}


@cache
def _readers(kind: type[Any]) -> dict[str, Callable[[Json], Any]]:
    """Name of a field -> what reads its value."""
    hints = get_type_hints(kind)
    return {field.name: _reader(hints[field.name]) for field in fields(kind)}


def _reader(hint: Any) -> Callable[[Json], Any]:
    origin, of = get_origin(hint), [_reader(part) for part in get_args(hint) if part not in (NoneType, ...)]
    if origin in (Union, UnionType):
        return lambda value: None if value is None else of[0](value)
    if origin in (tuple, list, frozenset):
        return lambda value: origin(map(of[0], value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return lambda value: {name: of[-1](item) for name, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return getattr(hint, "from_json", lambda value: value)
