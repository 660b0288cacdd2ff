"""Typed keys: the values that the keys of events stand for, and which of them are equal.

Two keys are equal if they have the same type and equal values. Texts are equal if they have the same code points,
binaries if they have the same bytes, moments if they are the same microsecond, decimals if they are the same number,
structs field by field. A null equals a null and nothing else. A NaN equals a NaN. 0.0 and -0.0 are equal numbers that
are written otherwise, as are decimals of another scale: engines may take them for one key or for two.
"""

from dataclasses import dataclass
from typing import Any

from conformance.model.types import Type, shown
from conformance.model.values import Json, canonical


@dataclass(frozen=True, slots=True)
class TypedKey:
    """A key: a value that fits its type. None is a null."""

    type: Type
    value: Any

    @property
    def identity(self) -> str:
        """A text that two keys share if they are equal. It tells 0.0 from -0.0."""
        return canonical([str(self.type), shown(self.type.fitted(self.value))])

    @property
    def spellings(self) -> tuple[Json, ...]:
        """What the key is shown as: by its own value, and by the value that its type makes of it."""
        return tuple(map(shown, (self.value, self.type.fitted(self.value))))


def seen(key: str | TypedKey) -> Any:
    """A key as a program's callback sees it: a text, or the value of a typed key."""
    return key.value if isinstance(key, TypedKey) else key
