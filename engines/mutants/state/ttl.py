"""Bugs of the time to live."""

from typing import Any

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug_of, ttl_bug
from conformance.engines.reference_cells import CELLS, EXPIRING, ExpiringBag, ExpiringMap, ExpiringValue, Value
from conformance.model.program import Cell, Output
from conformance.model.schedule import Wait
from conformance.model.values import Json, canonical


@bug_of(CaseRun.cell, "what has a TTL is kept for ever")
def ttl_ignored(run: CaseRun, kind: Cell, stored: dict[str, Json], name: str) -> Any:
    return CELLS[kind](stored, name)


@bug_of(CaseRun.cell, "what has a TTL is gone after half of it")
def ttl_halved(run: CaseRun, kind: Cell, stored: dict[str, Json], name: str) -> Any:
    if name in run.program.ttl:
        return EXPIRING[kind](stored, name, run.now, run.program.ttl[name] // 2)
    return CaseRun.cell(run, kind, stored, name)


@bug_of(CaseRun.wait, "a key whose value has expired puts something out")
def expiry_is_told(run: CaseRun, step: Wait) -> None:
    before, after = run.now, run.now + step.ms
    CaseRun.wait(run, step)
    values = [(name, ttl) for name, ttl in run.program.ttl.items() if run.program.cells[name] is Cell.VALUE]
    for (key, _), stored in run.state.items():
        for name, ttl in values:
            at = (
                stored[name]["at"] if isinstance(stored.get(name), dict) else None
            )  # another bug may store something else
            if at is not None and before < at + ttl <= after:
                run.emit(key, [Output({"did": "read", "of": "", "read": None})])


@ttl_bug("a read of a value begins its TTL anew", Cell.VALUE)
class TtlOfAValueResetByReads(ExpiringValue):
    def get(self, default: Json = None) -> Json:
        found = super().get()
        if found is not None:
            self.set(found)
        return default if found is None else found


@ttl_bug("a write to a value leaves its TTL", Cell.VALUE)
class TtlOfAValueFromItsFirstWrite(ExpiringValue):
    def set(self, value: Json) -> None:
        before = Value.get(self)
        super().set(value)
        if before and self.alive(before["at"]):
            Value.set(self, {"value": value, "at": before["at"]})


@ttl_bug("a value that has expired cannot be written again", Cell.VALUE)
class ExpiredValueStaysSo(ExpiringValue):
    def set(self, value: Json) -> None:
        before = Value.get(self)
        if not before or self.alive(before["at"]):
            super().set(value)


@ttl_bug("an append begins the TTL of the whole list anew", Cell.BAG)
class TtlOfAListAsAWhole(ExpiringBag):
    def add(self, value: Json) -> None:
        self.set([*self.get(), value])


@ttl_bug("a put leaves the TTL of the elements that were there", Cell.BAG)
class TtlOfAListNotResetByAPut(ExpiringBag):
    def set(self, value: Json) -> None:
        before = {canonical(stored["value"]): stored["at"] for stored in self._all()}
        Value.set(self, [{"value": v, "at": before.get(canonical(v), self._now)} for v in value])


@ttl_bug("a put begins the TTL of all entries anew", Cell.MAP)
class TtlOfAMapAsAWhole(ExpiringMap):
    def put(self, key: str, value: Json) -> None:
        for name, found in [*self.items(), (key, value)]:
            super().put(name, found)


@ttl_bug("a put to an entry that is there leaves its TTL", Cell.MAP)
class TtlOfAnEntryFromItsFirstPut(ExpiringMap):
    def put(self, key: str, value: Json) -> None:
        before = self._all().get(key)
        super().put(key, value)
        if before and self.alive(before["at"]):
            Value.set(self, self._all() | {key: {"value": value, "at": before["at"]}})


@ttl_bug("a read of a map begins the TTL of all entries anew", Cell.MAP)
class TtlOfAMapResetByReads(ExpiringMap):
    def items(self) -> list[tuple[str, Json]]:
        found = super().items()
        for key, value in found:
            self.put(key, value)
        return found
