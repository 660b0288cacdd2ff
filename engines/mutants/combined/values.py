"""Bugs of single values: what a coder that few values meet makes of them. They differ in one function."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from conformance.engines.mutants.registry import cell_bug, family
from conformance.engines.reference_cells import Bag, Map, Value
from conformance.model.program import Cell
from conformance.model.values import Json

GONE = object()
"""What becomes of a value that is not kept at all."""

BYTES = 2**16


class _ChangedValue(Value):
    change: Callable[[Json], Any]

    def set(self, value: Json) -> None:
        super().set(self.change(value))


class _ChangedBag(Bag):
    change: Callable[[Json], Any]

    def set(self, value: Json) -> None:
        super().set([kept for kept in map(self.change, value) if kept is not GONE])


class _ChangedMap(Map):
    change: Callable[[Json], Any]

    def put(self, key: str, value: Json) -> None:
        kept = self.change(value)
        if kept is GONE:
            self.remove(key)
        else:
            super().put(key, kept)


value = family(__name__, _ChangedValue, mark=partial(cell_bug, kind=Cell.VALUE, plain=True))
element = family(__name__, _ChangedBag, mark=partial(cell_bug, kind=Cell.BAG, plain=True))
entry = family(__name__, _ChangedMap, mark=partial(cell_bug, kind=Cell.MAP, plain=True))


def _not_null(value: Json) -> Any:
    return GONE if value is None else value


def _cut(value: Json) -> Json:
    return int(value) if isinstance(value, float) and not value.is_integer() else value


def _as_number(value: Json) -> Json:
    return int(value) if isinstance(value, bool) else value


def _through_a_double(value: Json) -> Json:
    return int(float(value)) if type(value) is int else value


def _null_if_empty(value: Json) -> Json:
    return None if value == "" else value


def _two_question_marks(value: Json) -> Json:
    return re.sub("[\U00010000-\U0010ffff]", "??", value) if isinstance(value, str) else value


def _read_as_number(value: Json) -> Json:
    return int(value) if isinstance(value, str) and re.fullmatch("-?[0-9]{1,18}", value) else value


def _length_in_16_bits(value: Json) -> Json:
    if not isinstance(value, str) or len(written := value.encode("utf-8", "surrogatepass")) < BYTES:
        return value
    return written[: len(written) % BYTES].decode("utf-8", "ignore")


def _without_null_fields(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_null_fields(each) for name, each in value.items() if each is not None}
    return [_without_null_fields(each) for each in value] if isinstance(value, list) else value


entry("NullRemovesTheEntry", "a null that is put into a map removes the entry", _not_null)
element("NullIsNotAppended", "a null that is added to a bag is not in it", _not_null)
element("FractionsOfABagCut", "a fraction that is added to a bag is cut to a whole number", _cut)
element("BooleansOfABagAreNumbers", "true and false in a bag are read as 1 and 0", _as_number)
entry("EntriesThroughDoubles", "a whole number in a map goes through a double", _through_a_double)
entry("EmptyEntriesAreNull", "an empty text in a map is read as null", _null_if_empty)
entry("EntriesOfSurrogatesLost", "a character beyond U+FFFF in a map is read as ??", _two_question_marks)
entry("EntriesReadAsNumbers", "a text of digits in a map is read as a number", _read_as_number)
value("LengthsInTwoBytes", "a value keeps 16 bits of the length of a text in bytes", _length_in_16_bits)
value("NullFieldsOfAValueDropped", "an object in a value loses its fields that are null", _without_null_fields)
