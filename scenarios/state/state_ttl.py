"""State with a time to live (TTL): a write expires when the TTL has passed in processing time, and its expiry emits
nothing.

Every event carries one operation, and emits what its cell holds after the operation. A schedule's waits give the
processing time that has passed at least. An engine's clock may be up to SLACK ahead of it. The predicates ask about
writes that are certainly alive, and about writes that are certainly expired. They ask nothing about the writes in
between.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import INTERLEAVE, RECOVERIES, RENAME
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, promise
from conformance.model.schedule import SLACK, Event
from conformance.model.trace import Emission
from conformance.model.values import Json
from conformance.scenarios.documents import DATABRICKS

TTL = 14_000
"""One wait (8 s) + SLACK, which is shorter than two waits: a write is alive after one wait and expired after two."""

EVICTED = DATABRICKS.says("TTL evicts")
SILENT = DATABRICKS.says("you cannot directly trigger logic as TTL evicts state values")
RESET = DATABRICKS.says("is not reset if a source key … is processed without updating")
EACH = DATABRICKS.says("Each value in a list has its own TTL")
PUT = DATABRICKS.says("Only the put operation is considered an update for resetting TTL")
ENTRIES = DATABRICKS.says("TTL applies independently to each key-value pair in a map")

TTLS = frozenset({Feature.TTL})


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


def prolonged(run: Observation, written: Emission, by: Operations, read: Emission) -> bool:
    """Whether some operation of ``by`` came while the write was alive, and so late that a write then would be alive at
    the read."""
    return any(there(run, written, one) and there(run, one, read) for one in by)


def writes(done: Operations, what: str) -> Operations:
    return [one for one in done if one.value["did"].startswith(what)]


def after(done: Operations, written: Emission) -> Operations:
    return done[done.index(written) + 1 :]


def was(run: Observation, written: Emission, read: Emission) -> str:
    """How a message about a read begins."""
    return f"{age(run, written, read)} ms after {written.value['of']} of key {written.key} wrote"


# A value


def last_writes(run: Observation) -> Iterator[tuple[Emission, Emission, Operations]]:
    """(operation, the last write up to it, all operations up to it)."""
    for read, done in operations(run):
        if written := writes(done, "write"):
            yield read, written[-1], done


def a_value_is_there(run: Observation) -> Iterator[Finding]:
    for read, written, _ in last_writes(run):
        if there(run, written, read):
            found = read.value["read"]
            yield found == written.value["of"] or f"{was(run, written, read)}, {found} is read"


def a_value_is_gone(run: Observation) -> Iterator[Finding]:
    for read, written, _ in last_writes(run):
        if gone(run, written, read):
            found = read.value["read"]
            yield found is None or f"{was(run, written, read)}, {found} is read"


def a_write_begins_anew(run: Observation) -> Iterator[Finding]:
    """Exercised where a second write came while the first was alive, and the first alone would have expired."""
    for read, written, done in last_writes(run):
        before = writes(done[: done.index(written)], "write")
        if before and there(run, before[-1], written) and gone(run, before[-1], read) and there(run, written, read):
            found = read.value["read"]
            yield found == written.value["of"] or f"{was(run, written, read)} again, {found} is read"


def a_read_does_not_prolong_a_value(run: Observation) -> Iterator[Finding]:
    for read, written, done in last_writes(run):
        if gone(run, written, read) and prolonged(run, written, after(done, written)[:-1], read):
            found = read.value["read"]
            yield found is None or f"{was(run, written, read)}, and it was read meanwhile, {found} is read"


def an_expired_value_is_written_again(run: Observation) -> Iterator[Finding]:
    for read, written, done in last_writes(run):
        before = writes(done[: done.index(written)], "write")
        if before and gone(run, before[-1], written) and there(run, written, read):
            found = read.value["read"]
            yield found == written.value["of"] or f"{was(run, written, read)} what had expired, {found} is read"


# A list


def elements(run: Observation) -> Iterator[tuple[Emission, Emission, Emission, Operations]]:
    """(operation, the append of an element before it, the operation that wrote the element last, all operations up to
    it).

    Leaves out an element if nobody can say whether it was alive when a put wrote the list.
    """
    for read, done in operations(run):
        for appended in writes(done, "append"):
            if written := last_written(run, appended, writes(after(done, appended), "put")):
                yield read, appended, written, done


def last_written(run: Observation, appended: Emission, puts: Operations) -> Emission | None:
    last = appended
    for put in puts:
        if there(run, last, put):
            last = put
        elif not gone(run, last, put):
            return None
    return last


def listed(read: Emission, appended: Emission) -> bool:
    return appended.value["of"] in read.value["read"]


def an_element_is_there(run: Observation) -> Iterator[Finding]:
    for read, appended, written, _ in elements(run):
        if there(run, written, read):
            yield (
                listed(read, appended)
                or f"{was(run, written, read)} the element {appended.value['of']}, the list is {read.value['read']}"
            )


def an_element_is_gone(run: Observation) -> Iterator[Finding]:
    for read, appended, written, _ in elements(run):
        if gone(run, written, read):
            yield (
                not listed(read, appended)
                or f"{was(run, written, read)} the element {appended.value['of']}, the list is {read.value['read']}"
            )


def an_append_does_not_prolong_others(run: Observation) -> Iterator[Finding]:
    for read, appended, written, done in elements(run):
        if gone(run, written, read) and prolonged(run, written, writes(after(done, written), "append"), read):
            yield (
                not listed(read, appended)
                or f"{was(run, written, read)} the element {appended.value['of']}, and others were appended "
                f"meanwhile, the list is {read.value['read']}"
            )


def a_put_begins_anew(run: Observation) -> Iterator[Finding]:
    """Exercised where the element would have expired without the put, which wrote it again."""
    for read, appended, written, _ in elements(run):
        if written is not appended and gone(run, appended, read) and there(run, written, read):
            yield (
                listed(read, appended)
                or f"{was(run, written, read)} the element {appended.value['of']} again, the list is "
                f"{read.value['read']}"
            )


# A map


def entries(run: Observation) -> Iterator[tuple[Emission, str, Emission, Operations]]:
    """(operation, the name of an entry, the entry's last put up to the operation, all operations up to it)."""
    for read, done in operations(run):
        for name in "xy":
            if puts := writes(done, f"put {name}"):
                yield read, name, puts[-1], done


def entry(read: Emission, name: str) -> tuple[Json, Json]:
    """(the entry as read by its name, the entry as read with the whole map)."""
    return read.value["found"][name], read.value["read"].get(name)


def an_entry_is_there(run: Observation) -> Iterator[Finding]:
    for read, name, written, _ in entries(run):
        if there(run, written, read):
            found = entry(read, name)
            yield (
                found == (written.value["of"],) * 2
                or f"{was(run, written, read)} the entry {name}, it is read as {found[0]} and {found[1]}"
            )


def an_entry_is_gone(run: Observation) -> Iterator[Finding]:
    """The entry must be missing from a read by name and from a read of the whole map."""
    for read, name, written, _ in entries(run):
        if gone(run, written, read):
            found = entry(read, name)
            yield (
                found == (None, None)
                or f"{was(run, written, read)} the entry {name}, it is read as {found[0]} and {found[1]}"
            )


def a_put_to_an_entry_begins_anew(run: Observation) -> Iterator[Finding]:
    for read, name, written, done in entries(run):
        before = writes(done[: done.index(written)], f"put {name}")
        if before and there(run, before[-1], written) and gone(run, before[-1], read) and there(run, written, read):
            found = entry(read, name)
            yield (
                found == (written.value["of"],) * 2
                or f"{was(run, written, read)} the entry {name} again, it is read as {found[0]} and {found[1]}"
            )


def a_put_does_not_prolong_another_entry(run: Observation) -> Iterator[Finding]:
    for read, name, written, done in entries(run):
        if gone(run, written, read) and prolonged(run, written, writes(after(done, written), "put"), read):
            found = entry(read, name)
            yield (
                found == (None, None)
                or f"{was(run, written, read)} the entry {name}, and another was put meanwhile, it is read as "
                f"{found[0]} and {found[1]}"
            )


def a_read_does_not_prolong_an_entry(run: Observation) -> Iterator[Finding]:
    for read, name, written, done in entries(run):
        if gone(run, written, read) and prolonged(run, written, writes(after(done, written)[:-1], "read"), read):
            found = entry(read, name)
            yield (
                found == (None, None)
                or f"{was(run, written, read)} the entry {name}, and the map was read meanwhile, it is read as "
                f"{found[0]} and {found[1]}"
            )


def nothing_comes_out_of_an_expiry(run: Observation) -> Iterator[Finding]:
    """Exercised where a whole TTL passes after the key's last event."""
    for key, arrivals in run.arrivals_by_key.items():
        found, elapsed = run.of_key(key), run.case.schedule.elapsed
        if found and max(elapsed.values()) - elapsed[arrivals[-1].step] >= TTL:
            yield len(found) <= len(arrivals) or f"{len(found)} outputs of key {key} came of {len(arrivals)} events"


OPERATIONS = {
    "value": ("write", "read"),
    "list": ("append", "append", "put", "read"),
    "map": ("put x", "put x", "put y", "read"),
}

SCENARIO = Scenario(
    name="state TTL",
    summary=f"What was written to a value, a list or a map is kept for {TTL} ms of processing time.",
    programs={"value": ValueWithTtl(), "list": ListWithTtl(), "map": MapWithTtl()},
    domain={
        program: Domain(offsets=(1, 500, 2_000), keys=2, values=values, events=10)
        for program, values in OPERATIONS.items()
    },
    stable_under={program: promise((INTERLEAVE, *RECOVERIES, RENAME), Equivalence.IDENTICAL) for program in OPERATIONS},
    guarantees=(
        Guarantee("a value is there until its TTL has passed", "value", a_value_is_there, needs=TTLS),
        Guarantee("a value is gone when its TTL has passed", "value", a_value_is_gone, needs=TTLS, source=EVICTED),
        Guarantee("a write begins the TTL of a value anew", "value", a_write_begins_anew, needs=TTLS, source=RESET),
        Guarantee(
            "a read does not prolong the TTL of a value",
            "value",
            a_read_does_not_prolong_a_value,
            needs=TTLS,
            source=RESET,
        ),
        Guarantee("an expired value can be written again", "value", an_expired_value_is_written_again, needs=TTLS),
        Guarantee(
            "nothing comes out when a TTL has passed",
            "value",
            nothing_comes_out_of_an_expiry,
            needs=TTLS,
            source=SILENT,
        ),
        Guarantee("an element of a list is there until its TTL has passed", "list", an_element_is_there, needs=TTLS),
        Guarantee(
            "an element of a list is gone when its TTL has passed", "list", an_element_is_gone, needs=TTLS, source=EACH
        ),
        Guarantee(
            "an append does not prolong the TTL of other elements",
            "list",
            an_append_does_not_prolong_others,
            needs=TTLS,
            source=EACH,
        ),
        Guarantee("a put begins the TTL of a whole list anew", "list", a_put_begins_anew, needs=TTLS, source=PUT),
        Guarantee("an entry of a map is there until its TTL has passed", "map", an_entry_is_there, needs=TTLS),
        Guarantee(
            "an entry of a map is gone when its TTL has passed", "map", an_entry_is_gone, needs=TTLS, source=ENTRIES
        ),
        Guarantee(
            "a put begins the TTL of its entry anew",
            "map",
            a_put_to_an_entry_begins_anew,
            needs=TTLS,
            source=ENTRIES,
        ),
        Guarantee(
            "a put does not prolong the TTL of another entry",
            "map",
            a_put_does_not_prolong_another_entry,
            needs=TTLS,
            source=ENTRIES,
        ),
        Guarantee("a read does not prolong the TTL of an entry", "map", a_read_does_not_prolong_an_entry, needs=TTLS),
    ),
)
