"""Bugs of typed keys: two keys are taken for one, or one key for two."""

from __future__ import annotations

from datetime import datetime, time, timedelta, timezone
from decimal import Decimal as Number
from struct import pack, unpack
from typing import Any, ClassVar
from unicodedata import normalize

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.model import types
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.schedule import Deliver, Event
from conformance.model.types import EPOCH, changed, micros, shown
from conformance.model.values import canonical


class _Grouped(CaseRun):
    """Groups by a changed value of keys of some types, within structs as well. The operator is handed the first key of
    its group."""

    of: ClassVar[tuple[type[types.Type], ...]] = (types.Type,)

    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.keys)

    def change(self, value: Any) -> Any:
        raise NotImplementedError

    def identity(self, name: str) -> str:
        key = self.program.keys.get(name)
        if key is None:
            return super().identity(name)

        def part(kind: types.Type, value: Any) -> Any:
            return self.change(value) if isinstance(kind, self.of) and value is not None else value

        told = shown(changed(key.type, key.type.fitted(key.value), part))
        identity = canonical([str(key.type), told])
        self.keys.setdefault(identity, key)
        return identity


@bug("keys of a whole number type are grouped by 32 bits")
class KeysOf32Bits(_Grouped):
    of = (types.Int,)

    def change(self, value: Any) -> Any:
        return value % 2**32


@bug("keys that are whole numbers are grouped by their double")
class WholeKeysAsDoubles(_Grouped):
    of = (types.Int,)

    def change(self, value: Any) -> Any:
        return float(value)


@bug("keys that are whole numbers lose their sign")
class KeysWithoutSign(_Grouped):
    of = (types.Int,)

    def change(self, value: Any) -> Any:
        return abs(value)


@bug("keys that are whole numbers are grouped by their lowest byte")
class KeysOfOneByte(_Grouped):
    of = (types.Int,)

    def change(self, value: Any) -> Any:
        return value % 256


@bug("keys that are doubles are grouped by their float")
class KeysAsFloats(_Grouped):
    of = (types.Double,)

    def change(self, value: Any) -> Any:
        try:
            return unpack("f", pack("f", value))[0]
        except OverflowError:
            return value


@bug("keys that are infinite are one")
class OneInfinity(_Grouped):
    of = (types.Double,)

    def change(self, value: Any) -> Any:
        return abs(value) if value in (float("inf"), float("-inf")) else value


@bug("a key that is not a number equals none")
class NanEqualsNothing(CaseRun):
    def identity(self, name: str) -> str:
        identity = super().identity(name)
        if self.program.keys and (key := self.program.keys[name]).value != key.value:
            identity += str(len(self.keys))
            self.keys[identity] = key
        return identity


@bug("keys that are 0.0 and -0.0 are one in a bundle that has both")
class ZerosMeetInABundle(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        self._there = {event.key for event in bundle.events}
        return super().attempt(bundle)

    def identity(self, name: str) -> str:
        zeros = [zero for zero in ("0.0", "-0.0") if zero in self.program.keys]
        return super().identity(zeros[0] if name in zeros and self._there.issuperset(zeros) else name)


@bug("decimals of another scale are other keys in later bundles")
class ScalesPartLater(CaseRun):
    def identity(self, name: str) -> str:
        identity = super().identity(name)
        key = self.program.keys.get(name)
        first = next((bundle.id for bundle in self.case.schedule.bundles if bundle.events), 0)
        if key and isinstance(key.value, Number) and shown(key.value) != shown(key.type.fitted(key.value)):
            identity += name if self.step > first else ""
            self.keys.setdefault(identity, key)
        return identity


@bug("keys that are decimals are grouped by their whole part")
class KeysWithoutPlaces(_Grouped):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return value.to_integral_value()


@bug("keys that are decimals are grouped by their double")
class DecimalKeysAsDoubles(_Grouped):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return float(value)


@bug("keys that are decimals are grouped by their digits, whatever their scale")
class KeysOfDigits(_Grouped):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return "".join(map(str, value.normalize().as_tuple().digits))


@bug("keys that are texts are grouped in lower case")
class TextKeysInLowerCase(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.lower()


@bug("keys that are texts are grouped by Unicode's normal form NFC")
class TextKeysComposed(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return normalize("NFC", value)


@bug("keys that are texts are grouped by Unicode's compatible form NFKC")
class TextKeysCompatible(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return normalize("NFKC", value)


@bug("keys that are texts are grouped without blanks around them")
class TextKeysTrimmed(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.strip(" ")


@bug("keys that are texts are grouped up to a NUL")
class TextKeysEndAtNul(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.partition("\0")[0]


@bug("keys that are texts are grouped by their ASCII")
class TextKeysInAscii(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.encode("ascii", "replace").decode()


@bug("keys that are texts of digits are grouped by their number")
class TextKeysAsNumbers(_Grouped):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        try:
            return float(value)
        except ValueError:
            return value


@bug("keys that are texts or binaries are grouped by their first 255")
class KeysOf255(_Grouped):
    of = (types.String, types.Binary)

    def change(self, value: Any) -> Any:
        return value[:255]


@bug("keys that are texts or binaries are grouped by their first 65,535")
class KeysOf64KiB(_Grouped):
    of = (types.String, types.Binary)

    def change(self, value: Any) -> Any:
        return value[:65_535]


@bug("keys that are binaries are grouped up to a zero byte")
class BinaryKeysEndAtZero(_Grouped):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value.partition(b"\0")[0]


@bug("keys that are binaries are grouped by their text")
class BinaryKeysAsText(_Grouped):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value.decode("utf-8", "replace")


@bug("keys that are dates before 1970 are grouped by how far they are from 1970")
class DateKeysMirrored(_Grouped):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        return abs((datetime.combine(value, time(), timezone.utc) - EPOCH).days)


@bug("keys that are dates are grouped by the nanoseconds of a 64 bit number")
class DateKeysAsNanoseconds(_Grouped):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        days = (datetime.combine(value, time(), timezone.utc) - EPOCH).days
        return min(days, 2**63 // (86_400 * 10**9))


@bug("keys that are timestamps are grouped by milliseconds")
class KeysOfMilliseconds(_Grouped):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return EPOCH + timedelta(milliseconds=micros(value) // 1000)


@bug("keys that are timestamps before 1970 are grouped as 1970")
class KeysFrom1970(_Grouped):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return max(value, EPOCH)


@bug("keys that are timestamps are grouped by the hour of a clock that is put back in October")
class KeysOfALocalHour(_Grouped):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        back = datetime(2026, 10, 25, 1, tzinfo=timezone.utc)
        return value - timedelta(hours=1) if back <= value < back + timedelta(days=150) else value


@bug("keys that are structs are grouped by all fields but the last")
class StructsWithoutLastField(_Grouped):
    of = (types.Struct,)

    def change(self, value: Any) -> Any:
        return value[:-1]


@bug("null fields of keys that are structs are grouped as the zero of their type")
class NullFieldsAreZero(_Grouped):
    of = (types.Struct,)

    def change(self, value: Any) -> Any:
        number, text = value
        return number or 0, text or ""


@bug("a null key is the zero of its type")
class NullKeysAreZero(CaseRun):
    def taken(self, key: TypedKey) -> TypedKey:
        zeros: dict[type[types.Type], Any] = {
            types.String: "",
            types.Int: 0,
            types.Double: 0.0,
            types.Binary: b"",
            types.Boolean: False,
            types.Timestamp: EPOCH,
        }
        return TypedKey(key.type, zeros[type(key.type)]) if key.value is None and type(key.type) in zeros else key


@bug("a null key is the text null")
class NullKeysAreTexts(CaseRun):
    def taken(self, key: TypedKey) -> TypedKey:
        return TypedKey(key.type, "null") if key.value is None and isinstance(key.type, types.String) else key


@bug("elements with a null key have an empty state each")
class NullKeysNeverMeet(CaseRun):
    def process(self, event: Event) -> None:
        if self.program.keys and self.program.keys[event.key].value is None:
            self.state.pop(self.scope(event), None)
        super().process(event)


@bug("keys of all types are grouped by Python's equality")
class KeysEqualInPython(CaseRun):
    def identity(self, name: str) -> str:
        identity = super().identity(name)
        if not self.program.keys:
            return identity
        mine = self.keys[identity].value
        return next((known for known, key in self.keys.items() if key.value == mine and mine is not None), identity)
