"""Bugs of typed keys that an operator compares by itself: by a hash, as SQL compares, or with what is left in a
buffer."""

from collections.abc import Iterable
from typing import Any

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug, bug_of, family
from conformance.engines.mutants.typed.typed_keys import Grouped
from conformance.model import types
from conformance.model.keys import TypedKey
from conformance.model.schedule import Event

grouped = family(__name__, Grouped)


def _text_keys_by_hash(value: Any) -> Any:
    found = 0
    for unit in memoryview(value.encode("utf-16-le")).cast("H"):
        found = (31 * found + unit) % 2**32
    return found


def _long_keys_by_hash(value: Any) -> Any:
    bits = value % 2**64
    return (bits ^ bits >> 32) % 2**32


grouped(
    "TextKeysByHash",
    "keys that are texts are grouped by the 32 bits of their hash in Java",
    _text_keys_by_hash,
    types.String,
)
grouped(
    "LongKeysByHash",
    "keys that are longs are grouped by the 32 bits of their hash in Java",
    _long_keys_by_hash,
    types.Long,
)
grouped("WholeKeysByHash", "keys that are whole numbers are grouped by their hash in Python", hash, types.Int)


@bug("keys that are 0.0 and -0.0 are one in the first bundle that has any, and two in later ones")
class ZerosPartLater(CaseRun):
    def identity(self, name: str) -> str:
        key = self.program.keys.get(name)
        if key is None or not isinstance(key.type, types.Double) or key.value != 0:
            return super().identity(name)
        self._first = getattr(self, "_first", self.step)
        zero = TypedKey(key.type, 0.0 if self.step == self._first else key.value)
        self.keys.setdefault(zero.identity, zero)
        return zero.identity


@bug("elements with a null key are dropped")
class NullKeysDropped(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return [event for event in super().arrange(events) if not self._null(event.key)]

    def _null(self, name: str) -> bool:
        return bool(self.program.keys) and self.program.keys[name].value is None


@bug_of(CaseRun.identity, "a key that is a struct with a null field equals none, as in SQL's comparison")
def null_fields_equal_nothing(run: CaseRun, name: str) -> str:
    identity = CaseRun.identity(run, name)
    key = run.program.keys.get(name)
    if key and isinstance(key.type, types.Struct) and key.value is not None and None in key.value:
        identity += str(len(run.keys))
        run.keys[identity] = key
    return identity


@bug("a typed key comes out as the one before of its type, which is left in a buffer")
class KeysOfTheCallBefore(CaseRun):
    def handed(self, identity: str) -> str | TypedKey:
        key = super().handed(identity)
        if isinstance(key, str):
            return key
        buffers = self.__dict__.setdefault("_buffers", {})
        before = buffers.get(key.type, key)
        buffers[key.type] = key
        return before if isinstance(before, TypedKey) else key
