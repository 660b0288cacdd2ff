"""My first: the highest value of each key so far.

A scenario to start from: copy this file to ``scenarios/``, and change it.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import RECOVERIES, RENAMINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event


class RunningMaximum(Program):
    cells = {"highest": Cell.VALUE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        highest = max(event.value, state.highest.get(event.value))
        state.highest.set(highest)
        emit({"of": event.id, "highest": highest})


of_maximum = Guarantees("maximum")


@of_maximum("the maximum never falls")
def never_falls(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        seen = [emission.value["highest"] for emission in run.of_key(key)]
        yield seen == sorted(seen) or f"the maximum of key {key} fell: {seen}"


@of_maximum("every element on time is answered")
def answers_every_element(run: Observation) -> Iterator[Finding]:
    answered = {value["of"] for value in run.values("of")}
    for arrival in run.on_time:
        yield arrival.event.id in answered or f"{arrival.event.id} got no answer"


SCENARIO = Scenario(
    name="my first",
    summary="Emit the highest value of each key so far.",
    programs={"maximum": RunningMaximum()},
    domain={"maximum": Domain(offsets=(1, 500), values=(1, 2, 3))},
    guarantees=tuple(of_maximum),
    stable_under={"maximum": promise([*RENAMINGS, *RECOVERIES], Equivalence.IDENTICAL)},
)
