"""Timer calls: several calls on one timer in one callback, and moves of a timer to earlier and to later times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import gt, lt

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import FINER, INTERLEAVE, RECOVERIES, RENAMINGS, RESTART, RESUME, RETRY
from conformance.model.scenario import Finding, Guarantee, Observation, promise
from conformance.scenarios.calls.combined_calls import RESET, Asked, Found, Law
from conformance.scenarios.calls.language import parsed
from conformance.scenarios.calls.model import time_of
from conformance.scenarios.calls.named_lists import FewCells, Part, of_lists

SOON, LATE, OFF = "one in 3000", "one in 9000", "one off"

LISTS = (SOON, LATE, OFF, f"{LATE}; {SOON}", f"{SOON}; {LATE}", f"{SOON}; {OFF}", f"{OFF}; {LATE}")


class OneTimer(FewCells):
    cells = {}
    timers = ("one",)


@dataclass(frozen=True)
class Left:
    """What the calls of an event left of a timer. Times are in ms.

    Attributes:
        before: the time for which it was set before them.
        dropped: the times that they took from it.
        time: the time for which it is set now.
        fired: the times for which it fired up to the key's next event.
        due: whether it is set, no event follows, and the watermark reaches the time.
    """

    key: str
    did: str
    before: int | None
    dropped: set[int | None]
    time: int | None
    fired: list[int | None]
    due: bool


def followed(run: Observation) -> Iterator[Left]:
    end = run.case.schedule.advances[-1].watermark
    for key, emissions in run.told.items():
        time: int | None = None
        events = [number for number, emission in enumerate(emissions) if "id" in emission.value]
        for number, following in pairwise([*events, len(emissions)]):
            value = emissions[number].value
            fired = [e.value["fired"] for e in emissions[number + 1 : following] if "fired" in e.value]
            calls = parsed(value["did"])
            times = [None if call[1] == "off" else time_of(call, value["at"]) for call in calls]
            left, did = times[-1], ", ".join(call[1] for call in calls)
            due = following == len(emissions) and left is not None and left <= end
            yield Left(key, did, time, {time, *times[:-1]} - {left, None}, left, fired, due)
            time = None if left in fired else left


def timers(law: Callable[[Left], object], right: Callable[[Left], bool]) -> Law:
    """Asks about what the calls of an event left, where this holds."""

    def asked(_: Found, run: Observation) -> Iterator[Finding]:
        for one in run.once(followed):
            if law(one):
                set_for = f"the timer of key {one.key}, set for {one.before}, then for {one.time} ({one.did})"
                yield right(one) or f"{set_for}, fired for {one.fired}"

    return asked


def drops(did: str) -> Law:
    """After these calls the timer does not fire for a time that they took from it."""
    return timers(lambda one: one.did == did and one.dropped, lambda one: not one.dropped & {*one.fired})


def keeps(did: str) -> Law:
    """After these calls the timer fires once for the time that it is set for."""
    return timers(lambda one: one.did == did and one.due, lambda one: one.fired.count(one.time) == 1)


def moves(law: Callable[[int, int], bool]) -> Law:
    """After calls that move a timer so, from a time to another one, it fires there and nowhere else."""
    return timers(
        lambda one: one.due and one.before and one.time and law(one.before, one.time),
        lambda one: one.fired == [one.time],
    )


ASKED = (
    Asked("a timer that is set and cleared in one call does not fire", drops("in, off")),
    Asked("a timer that is cleared and set in one call fires once", keeps("off, in")),
    Asked("a timer that is set twice in one call fires once, at the second time", keeps("in, in"), RESET),
    Asked("a timer that is set twice in one call does not fire at the first time", drops("in, in"), RESET),
    Asked("a timer that is moved to an earlier time fires there, once", moves(gt), RESET),
    Asked("a timer that is moved to a later time fires there, once", moves(lt), RESET),
    Asked("a timer that an event clears does not fire", drops("off")),
)

RELATION = Guarantee(
    "timer calls are the same after a restart or a failure",
    "calls",
    same_under=(RESTART, RETRY, RESUME),
    alike=Equivalence.SAME_MULTISET,
)

SCENARIO = of_lists(
    "timer calls",
    "Several calls on one timer in one callback, and moves of a timer to earlier and to later times.",
    {"calls": Part(OneTimer(), LISTS, ASKED, offsets=(1, 500, 1_000, 4_000), events=6)},
    (RELATION,),
    promise((INTERLEAVE, FINER, *RENAMINGS), Equivalence.SAME_SEQUENCE)
    | promise(RECOVERIES, Equivalence.SAME_MULTISET),
)
