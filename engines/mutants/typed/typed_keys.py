"""Bugs of typed keys: two keys are taken for one, or one key for two, or a program is handed another key than the one
that went in."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal as Number
from struct import pack, unpack
from typing import Any, ClassVar
from unicodedata import normalize

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug, bug_of, family
from conformance.model import types
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.schedule import Deliver, Event
from conformance.model.types import EPOCH, changed, micros, shown
from conformance.model.values import canonical


class Grouped(CaseRun):
    """Groups by a changed value of keys of some types, within structs as well. The operator is handed the first key of
    its group."""

    of: ClassVar[tuple[type[types.Type], ...]] = (types.Type,)
    change: Callable[[Any], Any]

    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.keys)

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


whole = family(__name__, Grouped, types.Int)
doubles = family(__name__, Grouped, types.Double)
decimals = family(__name__, Grouped, types.Decimal)
texts = family(__name__, Grouped, types.String)
texts_or_binaries = family(__name__, Grouped, types.String, types.Binary)
binaries = family(__name__, Grouped, types.Binary)
dates = family(__name__, Grouped, types.Date)
timestamps = family(__name__, Grouped, types.Timestamp)
structs = family(__name__, Grouped, types.Struct)


def _keys_as_floats(value: Any) -> Any:
    try:
        return unpack("f", pack("f", value))[0]
    except OverflowError:
        return value


def _text_keys_as_numbers(value: Any) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


def _date_keys_as_nanoseconds(value: Any) -> Any:
    days = (datetime.combine(value, time(), timezone.utc) - EPOCH).days
    return min(days, 2**63 // (86_400 * 10**9))


def _keys_of_a_local_hour(value: Any) -> Any:
    back = datetime(2026, 10, 25, 1, tzinfo=timezone.utc)
    return value - timedelta(hours=1) if back <= value < back + timedelta(days=150) else value


def _null_fields_are_zero(value: Any) -> Any:
    number, text = value
    return number or 0, text or ""


whole("KeysOf32Bits", "keys of a whole number type are grouped by 32 bits", lambda value: value % 2**32)
whole("WholeKeysAsDoubles", "keys that are whole numbers are grouped by their double", float)
whole("KeysWithoutSign", "keys that are whole numbers lose their sign", abs)
whole("KeysOfOneByte", "keys that are whole numbers are grouped by their lowest byte", lambda value: value % 256)
doubles("KeysAsFloats", "keys that are doubles are grouped by their float", _keys_as_floats)
doubles(
    "OneInfinity",
    "keys that are infinite are one",
    lambda value: abs(value) if value in (float("inf"), float("-inf")) else value,
)


@bug_of(CaseRun.identity, "a key that is not a number equals none")
def nan_equals_nothing(run: CaseRun, name: str) -> str:
    identity = CaseRun.identity(run, name)
    if run.program.keys and (key := run.program.keys[name]).value != key.value:
        identity += str(len(run.keys))
        run.keys[identity] = key
    return identity


@bug("keys that are 0.0 and -0.0 are one in a bundle that has both")
class ZerosMeetInABundle(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        self._there = {event.key for event in bundle.events}
        return super().attempt(bundle)

    def identity(self, name: str) -> str:
        zeros = [zero for zero in ("0.0", "-0.0") if zero in self.program.keys]
        return super().identity(zeros[0] if name in zeros and self._there.issuperset(zeros) else name)


@bug_of(CaseRun.identity, "decimals of another scale are other keys in later bundles")
def scales_part_later(run: CaseRun, name: str) -> str:
    identity = CaseRun.identity(run, name)
    key = run.program.keys.get(name)
    first = next((bundle.id for bundle in run.case.schedule.bundles if bundle.events), 0)
    if key and isinstance(key.value, Number) and shown(key.value) != shown(key.type.fitted(key.value)):
        identity += name if run.step > first else ""
        run.keys.setdefault(identity, key)
    return identity


decimals(
    "KeysWithoutPlaces",
    "keys that are decimals are grouped by their whole part",
    lambda value: value.to_integral_value(),
)
decimals("DecimalKeysAsDoubles", "keys that are decimals are grouped by their double", float)
decimals(
    "KeysOfDigits",
    "keys that are decimals are grouped by their digits, whatever their scale",
    lambda value: "".join(map(str, value.normalize().as_tuple().digits)),
)
texts("TextKeysInLowerCase", "keys that are texts are grouped in lower case", lambda value: value.lower())
texts(
    "TextKeysComposed",
    "keys that are texts are grouped by Unicode's normal form NFC",
    lambda value: normalize("NFC", value),
)
texts(
    "TextKeysCompatible",
    "keys that are texts are grouped by Unicode's compatible form NFKC",
    lambda value: normalize("NFKC", value),
)
texts("TextKeysTrimmed", "keys that are texts are grouped without blanks around them", lambda value: value.strip(" "))
texts("TextKeysEndAtNul", "keys that are texts are grouped up to a NUL", lambda value: value.partition("\0")[0])
texts(
    "TextKeysInAscii",
    "keys that are texts are grouped by their ASCII",
    lambda value: value.encode("ascii", "replace").decode(),
)
texts("TextKeysAsNumbers", "keys that are texts of digits are grouped by their number", _text_keys_as_numbers)
texts_or_binaries(
    "KeysOf255", "keys that are texts or binaries are grouped by their first 255", lambda value: value[:255]
)
texts_or_binaries(
    "KeysOf64KiB", "keys that are texts or binaries are grouped by their first 65,535", lambda value: value[:65_535]
)
binaries(
    "BinaryKeysEndAtZero",
    "keys that are binaries are grouped up to a zero byte",
    lambda value: value.partition(b"\0")[0],
)
binaries(
    "BinaryKeysAsText",
    "keys that are binaries are grouped by their text",
    lambda value: value.decode("utf-8", "replace"),
)
dates(
    "DateKeysMirrored",
    "keys that are dates before 1970 are grouped by how far they are from 1970",
    lambda value: abs((datetime.combine(value, time(), timezone.utc) - EPOCH).days),
)
dates(
    "DateKeysAsNanoseconds",
    "keys that are dates are grouped by the nanoseconds of a 64 bit number",
    _date_keys_as_nanoseconds,
)
timestamps(
    "KeysOfMilliseconds",
    "keys that are timestamps are grouped by milliseconds",
    lambda value: EPOCH + timedelta(milliseconds=micros(value) // 1000),
)
timestamps("KeysFrom1970", "keys that are timestamps before 1970 are grouped as 1970", lambda value: max(value, EPOCH))
timestamps(
    "KeysOfALocalHour",
    "keys that are timestamps are grouped by the hour of a clock that is put back in October",
    _keys_of_a_local_hour,
)
structs(
    "StructsWithoutLastField", "keys that are structs are grouped by all fields but the last", lambda value: value[:-1]
)
structs(
    "NullFieldsAreZero",
    "null fields of keys that are structs are grouped as the zero of their type",
    _null_fields_are_zero,
)


@bug_of(CaseRun.taken, "a null key is the zero of its type")
def null_keys_are_zero(run: CaseRun, key: TypedKey) -> TypedKey:
    zeros: dict[type[types.Type], Any] = {
        types.String: "",
        types.Int: 0,
        types.Double: 0.0,
        types.Binary: b"",
        types.Boolean: False,
        types.Timestamp: EPOCH,
    }
    return TypedKey(key.type, zeros[type(key.type)]) if key.value is None and type(key.type) in zeros else key


@bug_of(CaseRun.taken, "a null key is the text null")
def null_keys_are_texts(run: CaseRun, key: TypedKey) -> TypedKey:
    return TypedKey(key.type, "null") if key.value is None and isinstance(key.type, types.String) else key


@bug_of(CaseRun.process, "elements with a null key have an empty state each")
def null_keys_never_meet(run: CaseRun, event: Event) -> None:
    if run.program.keys and run.program.keys[event.key].value is None:
        run.state.pop(run.scope(event), None)
    CaseRun.process(run, event)


@bug_of(CaseRun.identity, "keys of all types are grouped by Python's equality")
def keys_equal_in_python(run: CaseRun, name: str) -> str:
    identity = CaseRun.identity(run, name)
    if not run.program.keys:
        return identity
    mine = run.keys[identity].value
    return next((known for known, key in run.keys.items() if key.value == mine and mine is not None), identity)


class _Handed(CaseRun):
    """Hands over a changed value of keys of some types. Groups are as they should be."""

    of: ClassVar[tuple[type[types.Type], ...]] = (types.Type,)
    change: Callable[[Any], Any]

    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.keys)

    def handed(self, identity: str) -> str | TypedKey:
        key = super().handed(identity)
        if isinstance(key, str) or not isinstance(key.type, self.of):
            return key
        return TypedKey(key.type, None if key.value is None else self.change(key.value))


handed = family(__name__, _Handed)


def _milliseconds(value: datetime) -> datetime:
    return EPOCH + timedelta(milliseconds=micros(value) // 1000)


def _moment(value: date) -> datetime:
    return datetime.combine(value, time(), timezone.utc)


handed("KeysHandedAsTexts", "a typed key is handed over as a text", str)
handed("DecimalKeysHandedAsDoubles", "a key that is a decimal is handed over as a double", float, types.Decimal)
handed("BooleanKeysHandedAsNumbers", "a key that is a boolean is handed over as a number", int, types.Boolean)
handed("DateKeysHandedAsTimestamps", "a key that is a date is handed over as a timestamp", _moment, types.Date)
handed(
    "KeysHandedInMilliseconds",
    "a key that is a timestamp is handed over in milliseconds",
    _milliseconds,
    types.Timestamp,
)
handed(
    "StructKeysHandedAsMaps",
    "a key that is a struct is handed over as a map",
    lambda value: dict(enumerate(value)),
    types.Struct,
)
handed(
    "BinaryKeysHandedAsTexts",
    "a key that is a binary is handed over as a text",
    lambda value: value.decode("latin-1"),
    types.Binary,
)
