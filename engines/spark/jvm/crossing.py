"""Values of a type on the way to the JVM and back, as JSON that the type alone gives a meaning to. Values.java is the
other end.

A float or a double is its bits, a decimal its text, a binary is in base 64, a date is days and a timestamp microseconds
since the epoch, a struct and an array are lists, and a map is a list of pairs.
"""

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal as Number
from typing import Any, NamedTuple

from conformance.model.types import EPOCH, Array, Decimal, Map, Struct, Type, micros
from conformance.model.values import Json


class Ends(NamedTuple):
    """What becomes of a value on the way there, and on the way back."""

    there: Callable[[Any], Json]
    back: Callable[[Any], Any]


def _bits(number: str, whole: str) -> Ends:
    """The bits of a number that ``struct`` knows by the letter ``number``, as a whole number of the letter
    ``whole``."""
    return Ends(
        lambda value: struct.unpack(whole, struct.pack(number, value))[0],
        lambda bits: struct.unpack(number, struct.pack(whole, bits))[0],
    )


ENDS: Mapping[str, Ends] = {
    "float": _bits(">f", ">i"),
    "double": _bits(">d", ">q"),
    "binary": Ends(lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "date": Ends(lambda value: (value - EPOCH.date()).days, lambda days: EPOCH.date() + timedelta(days=days)),
    "timestamp": Ends(micros, lambda found: EPOCH + timedelta(microseconds=found)),
}
"""Type -> its ends, where JSON has no such value."""


def there(kind: Type, value: Any) -> Json:
    """What the JVM is told of a value."""
    if value is None:
        return None
    if isinstance(kind, Map):
        return [[there(kind.key, key), there(kind.value, each)] for key, each in value.items()]
    if isinstance(kind, Array | Struct):
        return [there(each, part) for each, part in kind.parts(value)]
    if isinstance(kind, Decimal):
        return format(value, "f")
    ends = ENDS.get(str(kind))
    return ends.there(value) if ends else value


def back(kind: Type, told: Any) -> Any:
    """The value that the JVM told of."""
    if told is None:
        return None
    if isinstance(kind, Map):
        return {back(kind.key, key): back(kind.value, each) for key, each in told}
    if isinstance(kind, Array | Struct):
        return kind.rebuilt(told, back)
    if isinstance(kind, Decimal):
        return Number(told)
    ends = ENDS.get(str(kind))
    return ends.back(told) if ends else told
