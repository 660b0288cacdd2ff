"""starter: the highest value of each key so far. Put your own program and your own sentences here.

conformance run --load FILE --quick
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model import Cell, Domain, Event, Guarantees, Observation, Program, Scenario
from conformance.model.program import Emit, State, Timers
from conformance.model.scenario import Finding


class Highest(Program):
    """The neutral operator, which each engine runs in its own idiom. What a State has: conformance/model/program.py."""

    cells = {"highest": Cell.VALUE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        """``event``: id, key, value, and event_time (ms since the epoch, UTC)."""
        highest = max(event.value, state.highest.get(event.value))
        state.highest.set(highest)
        emit({"of": event.id, "highest": highest})


of_highest = Guarantees("highest")


@of_highest("every element on time is answered")
def every_element_is_answered(run: Observation) -> Iterator[Finding]:
    """A predicate, below its claim: of each occasion it yields True, or a sentence that says what is wrong.

    ``run.on_time`` and ``run.arrivals`` are what was delivered: each has ``event``, ``step``, ``watermark`` (before the
    delivery) and ``on_time``. ``run.values(name)`` are the emitted values that have this field, ``run.of_key(key)`` the
    emissions of a key in order.
    """
    answered = {value["of"] for value in run.values("of")}
    for arrival in run.on_time:
        yield arrival.event.id in answered or f"{arrival.event.id} got no answer"


@of_highest("the highest value never falls")
def never_falls(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        seen = [emission.value["highest"] for emission in run.of_key(key)]
        yield seen == sorted(seen) or f"the highest value of key {key} fell: {seen}"


SCENARIO = Scenario(
    name="starter",
    summary="Emit the highest value of each key so far.",
    programs={"highest": Highest()},
    domain={"highest": Domain(offsets=(1, 500), values=(1, 2, 3))},
    guarantees=tuple(of_highest),
)
