"""State with a time to live (TTL): a write expires when the TTL has passed in processing time, and its expiry emits
nothing.

Every event carries one operation, and emits what its cell holds after the operation. A schedule's waits give the
processing time that has passed at least. An engine's clock may be up to SLACK ahead of it. The predicates ask about
writes that are certainly alive, and about writes that are certainly expired. They ask nothing about the writes in
between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import INTERLEAVE, RECOVERIES, RENAME
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import SLACK, Event
from conformance.model.trace import Emission
from conformance.model.values import Json
from conformance.scenarios.documents import DATABRICKS
from conformance.scenarios.shared import Predicate

TTL = 14_000
"""One wait (8 s) + SLACK, which is shorter than two waits: a write is alive after one wait and expired after two."""

EVICTED = DATABRICKS.says("TTL evicts")
SILENT = DATABRICKS.says("you cannot directly trigger logic as TTL evicts state values")
RESET = DATABRICKS.says("is not reset if a source key … is processed without updating")
EACH = DATABRICKS.says("Each value in a list has its own TTL")
PUT = DATABRICKS.says("Only the put operation is considered an update for resetting TTL")
ENTRIES = DATABRICKS.says("TTL applies independently to each key-value pair in a map")


class ValueWithTtl(Program):
    """An event's value is "write", which sets the cell to the event's id, or "read"."""

    cells = {"cell": Cell.VALUE}
    ttl = {"cell": TTL}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value == "write":
            state.cell.set(event.id)
        emit({"did": event.value, "of": event.id, "read": state.cell.get()})


class ListWithTtl(Program):
    """An event's value is "append" (the event's id), "put" (the list that the event read), or "read"."""

    cells = {"cell": Cell.BAG}
    ttl = {"cell": TTL}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value == "append":
            state.cell.add(event.id)
        elif event.value == "put":
            state.cell.set(state.cell.get())
        emit({"did": event.value, "of": event.id, "read": state.cell.get()})


class MapWithTtl(Program):
    """An event's value is "put NAME", which stores the event's id under the name, or "read"."""

    cells = {"cell": Cell.MAP}
    ttl = {"cell": TTL}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        what, _, name = event.value.partition(" ")
        if what == "put":
            state.cell.put(name, event.id)
        found = {name: state.cell.get(name) for name in "xy"}
        emit({"did": event.value, "of": event.id, "read": dict(state.cell.items()), "found": found})


OPERATIONS = {
    "value": ("write", "read"),
    "list": ("append", "append", "put", "read"),
    "map": ("put x", "put x", "put y", "read"),
}

of_value, of_list, of_map = (Guarantees(program, needs=frozenset({Feature.TTL})) for program in OPERATIONS)

Operations = list[Emission]
"""The operations on the cell of a key, in the order in which the engine did them."""


def operations(run: Observation) -> Iterator[tuple[Emission, Operations]]:
    """(operation, which tells what is read after it; the operations of its key up to and with it)."""
    for key in run.arrivals_by_key:
        done = list(run.of_key(key))
        for number, emission in enumerate(done, 1):
            yield emission, done[:number]


def age(run: Observation, written: Emission, read: Emission) -> int:
    """The processing time (ms) that lies between two operations at least."""
    elapsed = run.case.schedule.elapsed
    return elapsed[read.step] - elapsed[written.step]


def there(run: Observation, written: Emission, read: Emission) -> bool:
    """Whether a write is certainly alive at a read: so by any clock that is at most SLACK ahead of the schedule."""
    return age(run, written, read) + SLACK <= TTL


def gone(run: Observation, written: Emission, read: Emission) -> bool:
    """Whether a write has certainly expired at a read: so by any clock that is not behind the schedule."""
    return age(run, written, read) >= TTL


def writes(done: Operations, what: str) -> Operations:
    return [one for one in done if one.value["did"].startswith(what)]


def write_before(done: Operations, written: Emission, what: str) -> Emission | None:
    """The last write of this kind before another one; that one may have come out twice."""
    earlier = writes(done[: done.index(written)], what)
    return earlier[-1] if earlier else None


class Look(NamedTuple):
    """A read of something that was written.

    Attributes:
        read: the operation that reads.
        done: all operations of the key up to the read.
        written: the last write of the thing.
        before: the write before that one, or None.
        found: what is read.
        alive: what must be read while the write is alive.
        expired: what must be read when it has expired.
        what: what was written, in words.
        told: what is read, in words.
    """

    read: Emission
    run: Observation
    done: Operations
    written: Emission
    before: Emission | None
    found: Json
    alive: Json
    expired: Json
    what: str
    told: str

    @property
    def there(self) -> bool:
        return there(self.run, self.written, self.read)

    @property
    def gone(self) -> bool:
        return gone(self.run, self.written, self.read)

    @property
    def gone_without_it(self) -> bool:
        """Whether the write is alive, and the one before it has expired."""
        return self.there and self.before is not None and gone(self.run, self.before, self.read)

    def prolonged_by(self, what: str) -> bool:
        """Whether some operation of this kind came while the write was alive, and so late that a write then would be
        alive at the read, when this one has expired."""
        behind = writes(self.done[self.done.index(self.written) + 1 :], what)
        return self.gone and any(
            there(self.run, self.written, one) and there(self.run, one, self.read) for one in behind
        )


def asks(looks: Callable[[Observation], Iterator[Look]], asked: Callable[[Look], bool], words: str = "") -> Predicate:
    """The predicate that the reads that are ``asked`` about find what they must; ``words`` go with what was written."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for look in filter(asked, looks(run)):
            passed = f"{age(run, look.written, look.read)} ms after {look.written.value['of']} of key {look.read.key}"
            wanted = look.alive if look.there else look.expired
            yield look.found == wanted or f"{passed} wrote{look.what}{words}, {look.told}"

    return predicate


def does_not_prolong(looks: Callable[[Observation], Iterator[Look]], what: str, words: str) -> Predicate:
    """The predicate that operations of this kind leave a write to expire in its time."""
    return asks(looks, lambda look: look.prolonged_by(what), words)


# A value


def values(run: Observation) -> Iterator[Look]:
    for read, done in operations(run):
        if written := writes(done, "write"):
            last, found = written[-1], read.value["read"]
            before = write_before(done, last, "write")
            yield Look(read, run, done, last, before, found, last.value["of"], None, "", f"{found} is read")


def anew(look: Look) -> bool:
    """Whether the write came while the one before it was alive, which has expired by now."""
    return look.gone_without_it and look.before is not None and there(look.run, look.before, look.written)


def after_an_expiry(look: Look) -> bool:
    return look.there and look.before is not None and gone(look.run, look.before, look.written)


a_value_is_there = of_value("a value is there until its TTL has passed")(asks(values, lambda look: look.there))
a_value_is_gone = of_value("a value is gone when its TTL has passed", source=EVICTED)(
    asks(values, lambda look: look.gone)
)
a_write_begins_anew = of_value("a write begins the TTL of a value anew", source=RESET)(asks(values, anew, " again"))
a_read_does_not_prolong_a_value = of_value("a read does not prolong the TTL of a value", source=RESET)(
    does_not_prolong(values, "read", ", and it was read meanwhile")
)
an_expired_value_is_written_again = of_value("an expired value can be written again")(
    asks(values, after_an_expiry, " what had expired")
)


# A list


def elements(run: Observation) -> Iterator[Look]:
    """The elements, each with its append as the write before the put that wrote it last.

    Leaves out an element if nobody can say whether it was alive when a put wrote the list.
    """
    for read, done in operations(run):
        for appended in writes(done, "append"):
            if written := last_written(run, appended, writes(done[done.index(appended) + 1 :], "put")):
                before, name, listed = (
                    appended if written is not appended else None,
                    appended.value["of"],
                    read.value["read"],
                )
                what, told = f" the element {name}", f"the list is {listed}"
                yield Look(read, run, done, written, before, name in listed, True, False, what, told)


def last_written(run: Observation, appended: Emission, puts: Operations) -> Emission | None:
    last = appended
    for put in puts:
        if there(run, last, put):
            last = put
        elif not gone(run, last, put):
            return None
    return last


an_element_is_there = of_list("an element of a list is there until its TTL has passed")(
    asks(elements, lambda look: look.there)
)
an_element_is_gone = of_list("an element of a list is gone when its TTL has passed", source=EACH)(
    asks(elements, lambda look: look.gone)
)
an_append_does_not_prolong_others = of_list("an append does not prolong the TTL of other elements", source=EACH)(
    does_not_prolong(elements, "append", ", and others were appended meanwhile")
)
a_put_begins_anew = of_list("a put begins the TTL of a whole list anew", source=PUT)(
    asks(elements, lambda look: look.gone_without_it, " again")
)


# A map


def entries(run: Observation) -> Iterator[Look]:
    """The entries. Each must be read alike by its name and with the whole map."""
    for read, done in operations(run):
        for name in "xy":
            if puts := writes(done, f"put {name}"):
                put = puts[-1]
                before = write_before(done, put, f"put {name}")
                found, last = (read.value["found"][name], read.value["read"].get(name)), put.value["of"]
                told = f"it is read as {found[0]} and {found[1]}"
                yield Look(read, run, done, put, before, found, (last, last), (None, None), f" the entry {name}", told)


an_entry_is_there = of_map("an entry of a map is there until its TTL has passed")(
    asks(entries, lambda look: look.there)
)
an_entry_is_gone = of_map("an entry of a map is gone when its TTL has passed", source=ENTRIES)(
    asks(entries, lambda look: look.gone)
)
a_put_to_an_entry_begins_anew = of_map("a put begins the TTL of its entry anew", source=ENTRIES)(
    asks(entries, anew, " again")
)
a_put_does_not_prolong_another_entry = of_map("a put does not prolong the TTL of another entry", source=ENTRIES)(
    does_not_prolong(entries, "put", ", and another was put meanwhile")
)
a_read_does_not_prolong_an_entry = of_map("a read does not prolong the TTL of an entry")(
    does_not_prolong(entries, "read", ", and the map was read meanwhile")
)


@of_value("nothing comes out when a TTL has passed", source=SILENT)
def nothing_comes_out_of_an_expiry(run: Observation) -> Iterator[Finding]:
    """Exercised where a whole TTL passes after the key's last event."""
    for key, arrivals in run.arrivals_by_key.items():
        found, elapsed = run.of_key(key), run.case.schedule.elapsed
        if found and max(elapsed.values()) - elapsed[arrivals[-1].step] >= TTL:
            yield len(found) <= len(arrivals) or f"{len(found)} outputs of key {key} came of {len(arrivals)} events"


SCENARIO = Scenario(
    name="state TTL",
    summary=f"What was written to a value, a list or a map is kept for {TTL} ms of processing time.",
    programs={"value": ValueWithTtl(), "list": ListWithTtl(), "map": MapWithTtl()},
    domain={
        program: Domain(offsets=(1, 500, 2_000), keys=2, values=values, events=10)
        for program, values in OPERATIONS.items()
    },
    stable_under={program: promise((INTERLEAVE, *RECOVERIES, RENAME), Equivalence.IDENTICAL) for program in OPERATIONS},
    guarantees=(*of_value, *of_list, *of_map),
)
