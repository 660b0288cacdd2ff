"""State collections: a bag, a map and a set keep what was put into them, from event to event and from bundle to bundle.

Every event carries one operation, and emits what the collections hold after the operation. The predicates follow the
operations in the order in which the engine did them, which is the order of a key's emissions. So the predicates say
nothing about the order of delivery. No document promises an order of a map's entries or of a set's elements, so the
predicates ignore that order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.values import Json
from conformance.scenarios.documents import BEAM_MAP, REMOVE

BEAM_BAG = Source(
    "Beam Java API, BagState",
    "Items can be added to the bag and the contents read out",
    "https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/state/BagState.html",
)
BEAM_SET = Source(
    "Beam Java API, SetState",
    "containing a set of elements",
    "https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/state/SetState.html",
)
BEAM_PUT = Source(
    "Beam Java API, MapState.put", "Associates the specified value with the specified key in this state", BEAM_MAP
)


class Bag(Program):
    """An event's value is what it adds to the bag, or "clear"."""

    cells = {"bag": Cell.BAG}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value == "clear":
            state.bag.clear()
        else:
            state.bag.add(event.value)
        emit({"did": event.value, "bag": state.bag.get()})


class MapAndSet(Program):
    """An event's value is "put NAME VALUE", "remove NAME", or "clear". A put also adds the name to the set."""

    cells = {"entries": Cell.MAP, "names": Cell.SET}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        what, *arguments = event.value.split()
        if what == "put":
            name, value = arguments
            state.entries.put(name, int(value))
            state.names.add(name)
        elif what == "remove":
            state.entries.remove(arguments[0])
        else:
            state.entries.clear()
            state.names.clear()
        found = {name: state.entries.get(name) for name in "xy"}
        emit(
            {
                "did": event.value,
                "entries": dict(state.entries.items()),
                "found": found,
                "set": sorted(state.names.get()),
            }
        )


def since_the_last_clear(run: Observation) -> Iterator[tuple[Emission, list[str]]]:
    """(emission, the operations of its key from the last clear up to this emission)."""
    for key in run.arrivals_by_key:
        done: list[str] = []
        for emission in run.of_key(key):
            operation = emission.value["did"]
            done = [] if operation == "clear" else [*done, operation]
            yield emission, done


def a_bag_holds_what_was_added(run: Observation) -> Iterator[Finding]:
    for emission, added in since_the_last_clear(run):
        if added:
            bag = emission.value["bag"]
            yield (
                Counter(bag) == Counter(added)
                or f"the bag of key {emission.key} holds {bag} after {', '.join(added)} were added"
            )


def a_bag_is_read_in_the_order_of_appends(run: Observation) -> Iterator[Finding]:
    """Exercised where the bag holds what was added, and the elements differ."""
    for emission, added in since_the_last_clear(run):
        bag = emission.value["bag"]
        if len(set(added)) > 1 and Counter(bag) == Counter(added):
            yield bag == added or f"the bag of key {emission.key} is read as {bag}, added were {', '.join(added)}"


def a_cleared_bag_is_empty(run: Observation) -> Iterator[Finding]:
    for emission in run.emissions:
        if emission.value["did"] == "clear":
            bag = emission.value["bag"]
            yield not bag or f"the bag of key {emission.key} holds {bag} right after it was cleared"


def entries_after(operations: list[str]) -> dict[str, int | None]:
    """Name -> the value last put; None if the entry was removed after that."""
    entries: dict[str, int | None] = {}
    for operation in operations:
        what, name, *value = operation.split()
        entries[name] = int(value[0]) if what == "put" else None
    return entries


def read(emission: Emission, name: str) -> tuple[Json, Json]:
    """(the entry as read by its name, the entry as read with the whole map); None for a missing entry."""
    return emission.value["found"][name], emission.value["entries"].get(name)


def an_entry_has_the_value_last_put(run: Observation) -> Iterator[Finding]:
    for emission, operations in since_the_last_clear(run):
        for name, value in entries_after(operations).items():
            if value is not None:
                found = read(emission, name)
                yield found == (value, value) or (
                    f"the entry {name} of key {emission.key} is read as {found[0]} and {found[1]} after "
                    f"{', '.join(operations)}"
                )


def a_removed_entry_is_gone(run: Observation) -> Iterator[Finding]:
    """The entry must be missing from a read by name and from a read of the whole map."""
    for emission, operations in since_the_last_clear(run):
        entries = entries_after(operations)
        gone = {name for name, value in entries.items() if value is None} if operations else {"x", "y"}
        for name in sorted(gone):
            left = name in emission.value["entries"] or emission.value["found"][name] is not None
            yield not left or (
                f"the entry {name} of key {emission.key} is still there after "
                f"{', '.join(operations) or 'the map was cleared'}"
            )


def a_set_holds_an_element_once(run: Observation) -> Iterator[Finding]:
    for emission, operations in since_the_last_clear(run):
        added = sorted({operation.split()[1] for operation in operations if operation.startswith("put")})
        found = emission.value["set"]
        yield (
            found == added
            or f"the set of key {emission.key} holds {found} after {', '.join(operations) or 'it was cleared'}"
        )


SCENARIO = Scenario(
    name="state collections",
    summary="After every operation on a bag, or on a map and a set, emit what they hold.",
    programs={"bag": Bag(), "map and set": MapAndSet()},
    domain={
        "bag": Domain(offsets=(1, 500, 20_000), keys=2, values=("x", "x", "y", "z", "clear")),
        "map and set": Domain(
            offsets=(1, 500, 20_000), keys=2, values=("put x 1", "put x 2", "put y 1", "remove x", "clear")
        ),
    },
    stable_under={
        program: promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
        for program in ("bag", "map and set")
    },
    guarantees=(
        Guarantee(
            "a bag holds every element as often as it was added", "bag", a_bag_holds_what_was_added, source=BEAM_BAG
        ),
        Guarantee("a bag is read in the order of appends", "bag", a_bag_is_read_in_the_order_of_appends),
        Guarantee("a cleared bag is empty", "bag", a_cleared_bag_is_empty),
        Guarantee(
            "a map entry has the value last put", "map and set", an_entry_has_the_value_last_put, source=BEAM_PUT
        ),
        Guarantee("a removed map entry is gone", "map and set", a_removed_entry_is_gone, source=REMOVE),
        Guarantee("a set holds an element once", "map and set", a_set_holds_an_element_once, source=BEAM_SET),
    ),
)
