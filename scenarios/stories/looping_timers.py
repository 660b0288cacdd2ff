"""Looping timers: the first event of a key starts a timer that sets itself again, until some ticks have come without an
event.

An event after that starts a new loop. Each event grants the loop TICKS more ticks. So at most TICKS of them come due in
one advance of the watermark, however far it goes. The predicates follow the loops of a key in the order of its
emissions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import FINER, INTERLEAVE, RECOVERIES, RENAMINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import REGISTER_IN_CALLBACKS
from conformance.scenarios.shared import DRIVEN, not_before, survives

PERIOD = 3_000
TICKS = 2

BEAM_BLOG = Source(
    "Beam blog, Looping timers for time series data",
    "So how can we produce results in the absence of data?",
    "https://beam.apache.org/blog/looping-timers/",
)


class Loop(Program):
    cells = {"left": Cell.VALUE, "ticks": Cell.COMBINING}
    timers = ("tick",)
    times = ("starts", "time")
    timer_chain = TICKS - 1

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if state.left.get() is None:
            timers.set("tick", event.event_time + PERIOD)
            emit({"id": event.id, "starts": event.event_time})
        else:
            emit({"id": event.id})
        state.left.set(TICKS)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        state.ticks.add(1)
        emit({"tick": state.ticks.get(), "time": timer.time})
        left = state.left.get(0) - 1
        if left > 0:
            state.left.set(left)
            timers.set("tick", timer.time + PERIOD)
        else:
            state.left.clear()
            state.ticks.clear()


@dataclass
class Told:
    """A loop in its key's emissions: its first emission, its ticks, and the number of ticks before its last event."""

    start: Emission
    ticks: list[Emission] = field(default_factory=list)
    before_the_last_event: int = 0


def loops(run: Observation) -> Iterator[Told]:
    for emissions in run.told.values():
        found: list[Told] = []
        for emission in emissions:
            if "starts" in emission.value:
                found.append(Told(emission))
            elif found and "tick" in emission.value:
                found[-1].ticks.append(emission)
            elif found:
                found[-1].before_the_last_event = len(found[-1].ticks)
        yield from found


def name(loop: Told) -> str:
    return f"the loop of key {loop.start.key} from {loop.start.value['starts']}"


of_loop = Guarantees("loop")


@of_loop("a loop ticks as often as it was asked to", source=BEAM_BLOG)
def as_many_ticks_as_asked(run: Observation) -> Iterator[Finding]:
    for loop in loops(run):
        found = len(loop.ticks) - loop.before_the_last_event
        yield found == TICKS or f"{name(loop)} ticked {found} times after its last event, not {TICKS} times"


@of_loop("ticks are one period apart by their own times")
def a_period_apart(run: Observation) -> Iterator[Finding]:
    for loop in loops(run):
        if loop.ticks:
            times = [tick.value["time"] for tick in loop.ticks]
            wanted = [loop.start.value["starts"] + PERIOD * number for number in range(1, len(times) + 1)]
            yield times == wanted or f"the ticks of {name(loop)} are for {times}"


@of_loop("ticks come in order, and count themselves in state")
def counted_in_state(run: Observation) -> Iterator[Finding]:
    for loop in loops(run):
        if loop.ticks:
            numbers = [tick.value["tick"] for tick in loop.ticks]
            yield (
                numbers == list(range(1, len(numbers) + 1))
                or f"the ticks of {name(loop)} find themselves numbered {numbers}"
            )


@of_loop("no tick comes early")
def no_tick_is_early(run: Observation) -> Iterator[Finding]:
    for emission, _ in run.tagged("tick"):
        time = emission.value["time"]
        yield not_before(run, f"the tick of key {emission.key} for {time}", time, emission.step, "came")


@of_loop("all ticks that one advance makes due come in it", source=REGISTER_IN_CALLBACKS)
def one_advance_fires_all_that_are_due(run: Observation) -> Iterator[Finding]:
    """Asks about a tick that another tick set.

    Not asked where both are due in a bundle (after a coalesced advance): the bundle may end before the second fires.
    """
    bundles = {bundle.id for bundle in run.case.schedule.bundles}
    for loop in loops(run):
        for before, tick in zip(loop.ticks, loop.ticks[1:], strict=False):
            due = run.case.schedule.due(tick.value["time"])
            if due is not None and due <= before.step and before.step not in bundles:
                yield (
                    tick.step == before.step
                    or f"a tick of {name(loop)} set one for {tick.value['time']} in step {before.step}, when that "
                    f"was due; it came in step {tick.step}"
                )


@of_loop("a loop that has ended starts again", needs=DRIVEN)
def starts_again(run: Observation) -> Iterator[Finding]:
    """Asks about events after the last tick of a loop."""
    for key, emissions in run.told.items():
        left = 0
        ended = False
        for emission in emissions:
            if "tick" in emission.value:
                left -= 1
                ended = left == 0
            else:
                if ended:
                    yield (
                        "starts" in emission.value
                        or f"{emission.value['id']} did not start the loop of key {key} again"
                    )
                left, ended = TICKS, False


SCENARIO = Scenario(
    name="looping timers",
    summary="A key's timer ticks every three seconds, and sets itself again, "
    "until two ticks have come without an event.",
    programs={"loop": Loop()},
    domain={"loop": Domain(offsets=(1, 1, 500, 1_999, 2_000, PERIOD, 5_000), keys=2)},
    stable_under={
        "loop": promise((INTERLEAVE, FINER, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL),
    },
    guarantees=(
        *of_loop,
        *survives("ticks are", "loop", Equivalence.SAME_MULTISET),
    ),
)
