"""Programs whose next version is another operator: a count that becomes a deduplication, windows that become longer.

The next version puts out behind the restart what it would put out had it run from the first element on: then it knows
of each element before the restart. One of another kind refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from conformance.model.feature import Feature
from conformance.model.next_version import Versioned
from conformance.model.program import Cell, Emit, FixedWindows, JobKind, Program, State, Timer, Timers, Windowing
from conformance.model.scenario import Domain, Finding, Observation, Source
from conformance.model.schedule import Arrival, Event
from conformance.model.values import Json, canonical
from conformance.scenarios.documents import SPARK_GUIDE
from conformance.scenarios.shared import of_change
from conformance.scenarios.state.next_settings import AROUND, Around

LEFT, RIGHT = "left", "right"
SIZE, BOUND = 10_000, 10_000


class Changed(Versioned):
    """Base of the programs here, in each version."""

    job = JobKind.NEXT_OPERATOR


class Counted(Changed):
    cells = {"count": Cell.COMBINING}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        emit({"count": state.count.get()})


class CountedWithLatest(Changed):
    cells = {"count": Cell.COMBINING, "latest": Cell.VALUE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        state.latest.set(max(state.latest.get(0), event.event_time))
        emit({"count": state.count.get(), "latest": state.latest.get()})


class CountedByValue(Changed):
    cells = {"counts": Cell.MAP}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        value = canonical(event.value)
        state.counts.put(value, state.counts.get(value, 0) + 1)
        emit({"value": value, "count": state.counts.get(value)})


class First(Changed):
    """The first element of a key, or of each event time of a key."""

    by_time: ClassVar[bool] = False
    cells = {"seen": Cell.SET}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        compared = str(event.event_time if self.by_time else "")
        if compared not in state.seen.get():
            state.seen.add(compared)
            emit({"accepted": event.id})


class FirstOfATime(First):
    by_time = True


class FirstOfACounted(First):
    foreign = True


class CountOfFirsts(Counted):
    foreign = True


class Windowed(Changed):
    """Counts in windows, when they end. ``once``: of what has one value and one event time, the first counts."""

    once: ClassVar[bool] = False
    cells = {"seen": Cell.SET, "count": Cell.COMBINING}
    timers = ("end",)
    times = ("window",)
    windowing: ClassVar[Windowing] = FixedWindows(SIZE)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        compared = canonical([event.value, event.event_time])
        if not (self.once and compared in state.seen.get()):
            state.seen.add(compared)
            state.count.add(1)
            assert isinstance(self.windowing, FixedWindows)
            timers.set("end", self.windowing.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        assert isinstance(self.windowing, FixedWindows)
        emit({"window": timer.time - self.windowing.size, "count": state.count.get()})


class WindowedTwiceAsLong(Windowed):
    windowing = FixedWindows(2 * SIZE)


class WindowedOnce(Windowed):
    once = True


class Joined(Changed):
    """Pairs of a left element and a right one that is at most ``bound`` later; ``outer``: and lefts without one."""

    outer: ClassVar[bool] = False
    cells = {"lefts": Cell.MAP, "rights": Cell.MAP}
    timers: ClassVar[tuple[str, ...]] = ("passed",)
    parameters: ClassVar[Mapping[str, int]] = {"bound": BOUND}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        left = event.value == LEFT
        (state.lefts if left else state.rights).put(event.id, event.event_time)
        for other, time in sorted((state.rights if left else state.lefts).items()):
            if 0 <= (time - event.event_time if left else event.event_time - time) <= self.parameters["bound"]:
                emit({"left": event.id, "right": other} if left else {"left": other, "right": event.id})
        timers.set("passed", event.event_time + self.parameters["bound"], tag=event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        time = state.lefts.get(timer.tag)
        rights = [right for _, right in state.rights.items()]
        if self.outer and time is not None and not any(0 <= r - time <= self.parameters["bound"] for r in rights):
            emit({"left": timer.tag, "right": None})


class JoinedFurther(Joined):
    parameters = {"bound": 2 * BOUND}


class JoinedOuter(Joined):
    outer = True


@dataclass(frozen=True)
class Due:
    """What must come out in a step: one of these values, or if ``running`` the last of them, and others before it."""

    step: int
    values: tuple[Json, ...]
    running: bool = False


Oracle = Callable[[list[Arrival], int], Iterable[Due]]
"""The elements of a key, and the last step -> what is due."""


def _by_step(arrivals: list[Arrival], of: Callable[[Event], Hashable]) -> Iterator[tuple[int, Hashable, list[Event]]]:
    """(step, group, the group's events in the step)."""
    for step in sorted({arrival.step for arrival in arrivals}):
        groups: dict[Hashable, list[Event]] = {}
        for arrival in arrivals:
            if arrival.step == step:
                groups.setdefault(of(arrival.event), []).append(arrival.event)
        yield from ((step, group, events) for group, events in groups.items())


def counts(told: Callable[[list[Event]], Json], of: Callable[[Event], Hashable] = lambda event: "") -> Oracle:
    def oracle(arrivals: list[Arrival], end: int) -> Iterator[Due]:
        before: dict[Hashable, list[Event]] = {}
        for step, group, events in _by_step(arrivals, of):
            known = before.setdefault(group, [])
            values = []
            for event in events:
                known.append(event)
                values.append(told(known))
            yield Due(step, tuple(values), running=True)

    return oracle


def firsts(of: Callable[[Event], Hashable]) -> Oracle:
    """Of the elements of a step, each may be the first."""

    def oracle(arrivals: list[Arrival], end: int) -> Iterator[Due]:
        known = set[Hashable]()
        for step, group, events in _by_step(arrivals, of):
            if group not in known:
                yield Due(step, tuple({"accepted": event.id} for event in events))
            known.add(group)

    return oracle


def windows(size: int, once: bool = False) -> Oracle:
    def oracle(arrivals: list[Arrival], end: int) -> Iterator[Due]:
        found: dict[int, list[Json]] = {}
        for event in (arrival.event for arrival in arrivals):
            found.setdefault(event.event_time - event.event_time % size, []).append([event.value, event.event_time])
        for start, told in found.items():
            yield Due(end, ({"window": start, "count": len({*map(canonical, told)}) if once else len(told)},))

    return oracle


def pairs(bound: int, outer: bool = False) -> Oracle:
    def oracle(arrivals: list[Arrival], end: int) -> Iterator[Due]:
        rights = [arrival for arrival in arrivals if arrival.event.value == RIGHT]
        for left in arrivals:
            if left.event.value == LEFT:
                mine = [r for r in rights if 0 <= r.event.event_time - left.event.event_time <= bound]
                for right in mine:
                    yield Due(max(left.step, right.step), ({"left": left.event.id, "right": right.event.id},))
                if outer and not mine:
                    yield Due(end, ({"left": left.event.id, "right": None},))

    return oracle


def of_changes(quote: str) -> Source:
    """The source for a sentence of Spark's guide about a changed query."""
    section = "Recovery semantics after changes in a streaming query"
    return SPARK_GUIDE.says(quote, section, "recovery-semantics-after-changes-in-a-streaming-query")


ANY = of_changes(
    "any changes (that is, additions, deletions, or schema modifications) to the stateful operations of a streaming "
    "query are not allowed between restarts"
)
KEYS = of_changes("Any change in number or type of grouping keys or aggregates is not allowed")
JOIN_TYPE = of_changes("Changes in join type (outer or inner) not allowed")
CONDITION = of_changes("Other changes in the join condition are ill-defined")


@dataclass(frozen=True)
class Exchange:
    """A change of an operator: what becomes what, in words, the next version, what is due of it, who speaks of the
    change, what it needs of an engine beside, and whether a refusal is an answer."""

    what: str
    program: Versioned
    oracle: Oracle
    source: Source = ANY
    needs: tuple[Feature, ...] = ()
    may_refuse: bool = True

    @property
    def claim(self) -> str:
        if self.program.foreign:
            return f"where {self.what}, the next version refuses the state of the other operator"
        refuses = "refuses, or " if self.may_refuse else ""
        return f"where {self.what}, the next version {refuses}answers as if it had run from the first element on"


def _again(operator: str, around: Around, program: Versioned, oracle: Oracle) -> Exchange:
    """An operator that stays the same, with something else around it."""
    what = f"{operator} goes on and {around.what}"
    return Exchange(what, program, oracle, around.source, (around.needs,), around.may_refuse)


def _latest(events: list[Event]) -> Json:
    return {"count": len(events), "latest": max(event.event_time for event in events)}


COUNTS = counts(lambda events: {"count": len(events)})
OF_A_KEY = firsts(lambda event: "")

EXCHANGES: Mapping[str, tuple[Domain, Mapping[str, Exchange]]] = {
    "count": (
        Domain(offsets=(1, 500), keys=2),
        {
            "count made a deduplication": Exchange("a count becomes a deduplication", FirstOfACounted(), OF_A_KEY),
            "maximum added": Exchange("a count gets a maximum beside it", CountedWithLatest(), counts(_latest), KEYS),
            "count by value": Exchange(
                "a count is grouped by one column more",
                CountedByValue(),
                counts(
                    lambda events: {"value": canonical(events[-1].value), "count": len(events)},
                    lambda event: canonical(event.value),
                ),
                KEYS,
            ),
        },
    ),
    "count again": (
        Domain(offsets=(1, 500), keys=2),
        {name: _again("a count", around, Counted(), COUNTS) for name, around in AROUND.items()},
    ),
    "deduplication again": (
        Domain(offsets=(0, 1, 500), keys=2),
        {
            name: _again("a deduplication", around, First(), OF_A_KEY)
            for name, around in AROUND.items()
            if around.needs is not Feature.NEXT_CLIENT
        },
    ),
    "deduplication": (
        Domain(offsets=(0, 1, 500), keys=2),
        {
            "deduplication made a count": Exchange("a deduplication becomes a count", CountOfFirsts(), COUNTS),
            "time compared": Exchange(
                "a deduplication compares one column more",
                FirstOfATime(),
                firsts(lambda event: event.event_time),
                KEYS,
            ),
        },
    ),
    "deduplication of times": (
        Domain(offsets=(0, 1, 500), keys=2),
        {"time not compared": Exchange("a deduplication compares one column less", First(), OF_A_KEY, KEYS)},
    ),
    "windows": (
        Domain(offsets=(0, 1, 500, 9_000, 12_000), keys=2),
        {
            "windows doubled": Exchange("windows become twice as long", WindowedTwiceAsLong(), windows(2 * SIZE)),
            "deduplication in front": Exchange(
                "a deduplication is put before windows", WindowedOnce(), windows(SIZE, once=True)
            ),
        },
    ),
    "windows of firsts": (
        Domain(offsets=(0, 1, 500, 9_000, 12_000), keys=2),
        {
            "no deduplication in front": Exchange(
                "the deduplication before windows is taken away", Windowed(), windows(SIZE)
            )
        },
    ),
    "join": (
        Domain(offsets=(1, 5_000, 15_000), keys=2, values=(LEFT, RIGHT)),
        {"bound doubled": Exchange("the bound of a join doubles", JoinedFurther(), pairs(2 * BOUND), CONDITION)},
    ),
    "join made outer": (
        Domain(offsets=(1, 5_000, 15_000), keys=2, values=(LEFT, RIGHT)),
        {"outer": Exchange("an inner join becomes a left outer one", JoinedOuter(), pairs(BOUND, True), JOIN_TYPE)},
    ),
}
"""Program -> its inputs, and its changes by name."""


def _next(program: str) -> dict[str, Program]:
    return {change: each.program for change, each in EXCHANGES[program][1].items()}


class FirstCounted(Counted):
    next_versions = _next("count")


class CountedAgain(Counted):
    next_versions = _next("count again")


class DeduplicatedAgain(First):
    next_versions = _next("deduplication again")


class FirstDeduplicated(First):
    next_versions = _next("deduplication")


class FirstDeduplicatedByTime(FirstOfATime):
    next_versions = _next("deduplication of times")


class FirstWindowed(Windowed):
    next_versions = _next("windows")


class FirstWindowedOnce(WindowedOnce):
    next_versions = _next("windows of firsts")


class FirstJoined(Joined):
    next_versions = _next("join")


class FirstJoinedInner(Joined):
    next_versions = _next("join made outer")


PROGRAMS: dict[str, Program] = {
    "count": FirstCounted(),
    "count again": CountedAgain(),
    "deduplication again": DeduplicatedAgain(),
    "deduplication": FirstDeduplicated(),
    "deduplication of times": FirstDeduplicatedByTime(),
    "windows": FirstWindowed(),
    "windows of firsts": FirstWindowedOnce(),
    "join": FirstJoined(),
    "join made outer": FirstJoinedInner(),
}

DOMAINS = {
    name: replace(domain, values=tuple(changes), cases=len(changes)) if len(changes) > 1 else domain
    for name, (domain, changes) in EXCHANGES.items()
}


def goes_on(first: Program, change: str, exchange: Exchange) -> Callable[[Observation], Iterator[Finding]]:
    """The predicate of a change. Exercised by a refusal, and by a key whose output behind the restart depends on its
    elements before."""
    oracle, foreign = exchange.oracle, exchange.program.foreign

    def check(run: Observation) -> Iterator[Finding]:
        begun = run.case.schedule.restart
        end = run.case.schedule.steps[-1].id
        for key, arrivals in run.arrivals_by_key.items():
            due = [each for each in oracle(arrivals, end) if each.step > begun]
            if due != [*oracle([arrival for arrival in arrivals if arrival.step > begun], end)]:
                went_on = f"key {key} has elements on both sides of the restart, and the next version went on"
                yield went_on if foreign else _unlike(run, key, begun, due) or True

    return of_change(first, change, check, exchange.may_refuse)


def _unlike(run: Observation, key: str, begun: int, due: list[Due]) -> str:
    """What came out of a key behind the restart that is not due, or is due and did not come out."""
    found = [(emission.step, emission.value) for emission in run.of_key(key) if emission.step > begun]
    for each in due:
        mine = [value for step, value in found if step == each.step and value in each.values]
        if mine[-1:] != [each.values[-1]] if each.running else len(mine) != 1:
            came = [value for step, value in found if step == each.step]
            return f"key {key}: {canonical(each.values[-1])} is due in step {each.step}; {canonical(came)} came out"
    for step, value in found:
        if not any(step == each.step and value in each.values for each in due):
            return f"key {key}: {canonical(value)} came out in step {step} and is not due"
    return ""
