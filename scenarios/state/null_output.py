"""Null output: an element sets what its key holds, or clears it, and the program emits what the key then holds, a null
where that is nothing. The null is the whole output, not a field of it."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event


class WhatTheKeyHolds(Program):
    """An event's value is what its key is to hold, or null to clear the key."""

    cells = {"held": Cell.VALUE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value is None:
            state.held.clear()
        else:
            state.held.set(event.value)
        emit(state.held.get())


of_holds = Guarantees("holds")


@of_holds("a key that is only cleared puts out nulls")
def a_key_that_is_only_cleared_puts_out_nulls(run: Observation) -> Iterator[Finding]:
    """How many is left open, for an API with one output a call."""
    for key, arrivals in run.arrivals_by_key.items():
        if all(a.on_time and a.event.value is None for a in arrivals):
            found = [e.value for e in run.of_key(key)]
            yield (
                (bool(found) and all(value is None for value in found))
                or f"key {key} was cleared {len(arrivals)} times and put out {found}"
            )


SCENARIO = Scenario(
    name="null output",
    summary="After every element, emit what its key holds: a null where that is nothing.",
    programs={"holds": WhatTheKeyHolds()},
    domain={"holds": Domain(offsets=(1, 500, 20_000), keys=2, values=(None, None, "a", 0))},
    stable_under={
        "holds": promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
    },
    guarantees=tuple(of_holds),
)
