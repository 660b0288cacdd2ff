"""Neutral cells with a type on Beam's state, each with the coder of its type.

Beam's coder for a moment takes Beam's own ``Timestamp``, so a ``datetime`` becomes one on the way in, and a
``datetime`` on the way out. All else goes in as the program gives it. A date has no coder of its own (Beam 2.77.0);
Beam's coder for any value carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from apache_beam import coders
from apache_beam.coders.coders import DecimalCoder, ListCoder, SinglePrecisionFloatCoder
from apache_beam.transforms import userstate
from apache_beam.utils.timestamp import Timestamp as Moment

from conformance.engines.map_in_a_value import MapInAValue
from conformance.model import types
from conformance.model.program import Cell, EngineFault

SCALARS: Mapping[type[types.Type], Callable[[], Any]] = {
    types.Boolean: coders.BooleanCoder,
    types.Int: getattr(coders.coders, "VarInt32Coder", coders.VarIntCoder),  # 2.62.0 has none of 32 bits
    types.Long: coders.VarIntCoder,
    types.Float: SinglePrecisionFloatCoder,
    types.Double: coders.FloatCoder,
    types.Decimal: DecimalCoder,
    types.String: coders.StrUtf8Coder,
    types.Binary: coders.BytesCoder,
    types.Date: coders.FastPrimitivesCoder,
    types.Timestamp: coders.TimestampCoder,
}


def coder(kind: types.Type) -> Any:
    """Beam's coder of a type. What is within a value may be null."""
    if isinstance(kind, types.Array):
        return ListCoder(coders.NullableCoder(coder(kind.element)))
    if isinstance(kind, types.Map):
        return coders.MapCoder(coder(kind.key), coders.NullableCoder(coder(kind.value)))
    if isinstance(kind, types.Struct):
        return coders.TupleCoder([coders.NullableCoder(coder(each)) for _, each in kind.fields])
    return SCALARS[type(kind)]()


def given(kind: types.Type, value: Any) -> Any:
    """What is handed to Beam: each ``datetime`` where a moment belongs is a Timestamp."""

    def change(inner: types.Type, each: Any) -> Any:
        moment = isinstance(inner, types.Timestamp) and isinstance(each, datetime)
        return Moment(micros=types.micros(each)) if moment else each

    return _changed(kind, value, change)


def found(kind: types.Type, value: Any) -> Any:
    """What Beam gave: each Timestamp is a ``datetime``, if Python has one for it."""

    def change(_: types.Type, each: Any) -> Any:
        try:
            return types.EPOCH + timedelta(microseconds=each.micros) if isinstance(each, Moment) else each
        except OverflowError:
            return each

    return _changed(kind, value, change)


def _changed(kind: types.Type, value: Any, change: Callable[[types.Type, Any], Any]) -> Any:
    """A value with its moments changed. What has none is the very same object, so that the engine alone says who shares
    it."""
    if not _has_moments(kind):
        return value
    try:
        return types.changed(kind, value, change)
    except (TypeError, ValueError, AttributeError):
        return value  # no value of the type: Beam is to say so


def _has_moments(kind: types.Type) -> bool:
    within = [getattr(kind, name, None) for name in ("element", "key", "value")]
    within += [each for _, each in getattr(kind, "fields", ())]
    return isinstance(kind, types.Timestamp) or any(_has_moments(each) for each in within if each is not None)


class TypedValue:
    """ReadModifyWriteState with the coder of a type. ``call`` and ``write`` call Beam, and raise EngineFault where Beam
    fails."""

    def __init__(self, state: Any, kind: types.Type, call: Callable[..., Any], write: Callable[..., Any]) -> None:
        self._state, self._type, self._call, self._write = state, kind, _refusing(call), _refusing(write)

    def get(self, default: Any = None) -> Any:
        stored = self._call(self._state.read)
        return default if stored is None else found(self._type, stored)

    def set(self, value: Any) -> None:
        self._write(self._state.write, given(self._type, value))

    def clear(self) -> None:
        self._write(self._state.clear)


class TypedBag(TypedValue):
    """BagState with the coder of a type."""

    def add(self, value: Any) -> None:
        self._write(self._state.add, given(self._type, value))

    def set(self, value: Any) -> None:
        self.clear()
        for each in value:
            self.add(each)

    def get(self, default: Any = None) -> Any:
        return [found(self._type, each) for each in self._call(lambda: list(self._state.read()))]


class TypedMap(MapInAValue):
    """No such state in Beam Python 2.77.0: a dictionary in a ReadModifyWriteState, with the coder of a map."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(TypedValue(*arguments))


def _refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    def refusing(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except EngineFault as fault:
            raise types.Refused(type(fault.__cause__).__name__, str(fault)) from fault

    return refusing


TYPED: Mapping[Cell, Callable[..., Any]] = {Cell.VALUE: TypedValue, Cell.BAG: TypedBag, Cell.MAP: TypedMap}


def spec(name: str, cell: Cell, kind: types.Type) -> Any:
    """The state spec of a cell with a type."""
    made = userstate.BagStateSpec if cell is Cell.BAG else userstate.ReadModifyWriteStateSpec
    return made(name, coder(kind))
