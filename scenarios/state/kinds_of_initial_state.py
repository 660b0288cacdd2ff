"""Kinds of initial state: a job begins with a value, a list and a map for some keys, whatever they hold. Elements read
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import INTERLEAVE, MERGE, RECOVERIES, RENAME, SPLIT
from conformance.model.program import Cell, Emit, JobKind, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.values import Json, canonical
from conformance.scenarios.state.initial_state import STARTS

NOTHING = "(nothing)"
"""What is read of a value that nothing was written to."""

CONTAINERS: dict[Json, Json] = {"no list": [], "no object": {}, "a list": [1, None], "an object": {"b": [1, None]}}
"""What the names among the values of elements stand for."""


def meant(value: Json) -> Json:
    return CONTAINERS.get(value, value)


class Begun(Program):
    """A value, a list and a map of a key begin with the value of its element of initial state."""

    cells = {"value": Cell.VALUE, "list": Cell.BAG, "map": Cell.MAP}
    job = JobKind.INITIAL_STATE

    def on_initial(self, event: Event, state: State) -> None:
        begin = meant(event.value)
        state.value.set(begin)
        state.list.set([begin, begin])
        state.map.put("k", begin)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        emit({"of": event.id, "found": [state.value.get(NOTHING), state.list.get(), state.map.items()]})


def comes_back(begun: bool) -> Callable[[Observation], Iterator[Finding]]:
    """Asked of the elements of the keys that begin with state, or of the others."""

    def predicate(run: Observation) -> Iterator[Finding]:
        begins = {event.key: meant(event.value) for event in run.case.schedule.initial}
        for emission, found in run.tagged("found"):
            if begins and (emission.key in begins) is begun:
                one = begins.get(emission.key)
                wanted = [one, [one, one], [["k", one]]] if begun else [NOTHING, [], []]
                how = f"element {emission.value['of']} of key {emission.key} finds {canonical(found)}"
                yield canonical(found) == canonical(wanted) or f"{how}, not {canonical(wanted)}"

    return predicate


of_begun = Guarantees("begun", needs=STARTS)
of_begun("a value, a list and a map that a key starts with are read as they were given")(comes_back(True))
of_begun("a value, a list and a map of a key without initial state start empty")(comes_back(False))

SCENARIO = Scenario(
    name="kinds of initial state",
    summary="A job begins with a value, a list and a map for some keys; emit what elements read of them.",
    programs={"begun": Begun()},
    domain={"begun": Domain(offsets=(1, 500, 20_000), values=(None, 0, "", 1.5, "\u00e9", *CONTAINERS))},
    stable_under={"begun": promise((INTERLEAVE, SPLIT, MERGE, *RECOVERIES, RENAME), Equivalence.IDENTICAL)},
    guarantees=tuple(of_begun),
)
