"""Events, schedules, cases, emissions and traces: the frozen data that everything else passes around.

All times are integers, milliseconds since the epoch, UTC.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

Json = Any
"""A value that JSON can carry: None, bool, int, float, str, list or dict of such."""


class InvalidSchedule(ValueError):
    """A schedule, event or case that breaks a rule of the model; the message is one sentence."""


def canonical(value: Json) -> str:
    """One spelling per JSON value: sorted object keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Json) -> str:
    """Twelve hex digits that identify a JSON value by its content."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:12]


def spelled(key: str) -> str:
    """A key as messages show it: on one line, the middle of a long one left out, and in ASCII, where nothing looks alike."""
    if re.fullmatch(r"[\w.-]{1,40}", key, re.ASCII):
        return key
    return ascii(key) if len(key) <= 40 else f"{ascii(key[:10])[:-1]}…{ascii(key[-10:])[1:]} ({len(key)} characters)"


@dataclass(frozen=True, slots=True)
class Event:
    """One input element. ``event_time`` is in ms since the epoch; ``id`` is unique within its schedule."""

    id: str
    key: str
    value: Json
    event_time: int


@dataclass(frozen=True, slots=True)
class Deliver:
    """One bundle, in order: a Spark micro-batch, a Beam bundle. ``initial``: no bundle, but the state that the job starts with, an
    element a key; only before all other steps but ``Partitions``."""

    id: int
    events: tuple[Event, ...] = ()
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Advance:
    """The event-time watermark moves up to ``watermark`` (ms) and the engine settles: all that is due fires.

    A ``coalesced`` advance does not settle before the next bundle, which always follows: that bundle is still filtered
    by the watermark before, and what has come due fires after it.
    """

    id: int
    watermark: int
    coalesced: bool = False


@dataclass(frozen=True, slots=True)
class Restart:
    """The job stops and resumes from its checkpoint. Never right after a coalesced advance, which has not settled."""

    id: int


@dataclass(frozen=True, slots=True)
class FailOnce:
    """The first attempt at the bundle that follows fails after state was written, and the bundle is tried again: within
    the job, or (``resume``) by a job that resumes from the checkpoint after this one has failed."""

    id: int
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Partitions:
    """The job keeps its state in so many partitions. Only as the first step."""

    id: int
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Processing time passes: ``ms`` at least, and less than ``SLACK`` more between the first bundle and the last. What has
    come due by then fires."""

    id: int
    ms: int


SLACK = 6_000
"""How much more processing time (ms) than the waits of a schedule may pass on an engine whose clock is the wall's."""

Step = Deliver | Advance | Restart | FailOnce | Partitions | Wait


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event as it was delivered: in which step, and under which watermark (ms). ``settled`` is the watermark (ms)
    up to which the engine had settled: the same, but for a bundle after a coalesced advance."""

    event: Event
    step: int
    watermark: int
    settled: int

    @property
    def on_time(self) -> bool:
        """After the watermark, hence on time under every engine's reading of the word."""
        return self.event.event_time > self.watermark

    @property
    def at_watermark(self) -> bool:
        return self.event.event_time == self.watermark == self.settled

    @property
    def behind(self) -> bool:
        """Strictly before the watermark, whichever of the two is taken."""
        return self.event.event_time < self.settled


@dataclass(frozen=True)
class Schedule:
    """Who delivers which event in which bundle, and when the watermark moves.

    Raises:
        InvalidSchedule: the steps break a rule; the message names the step and the rule.
    """

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        _validate(self.steps)

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """Every event in order of delivery, with the watermark that it met."""
        found: list[Arrival] = []
        watermark = settled = 0
        for step in self.steps:
            if isinstance(step, Advance):
                watermark = step.watermark
                settled = settled if step.coalesced else watermark
            elif isinstance(step, Deliver):
                found += [Arrival(event, step.id, watermark, settled) for event in step.events]
                settled = watermark
        return tuple(found)

    @cached_property
    def clock(self) -> tuple[Step, ...]:
        """The skeleton: the steps without their events."""
        return tuple(replace(step, events=()) if isinstance(step, Deliver) else step for step in self.steps)

    @cached_property
    def intervals(self) -> Mapping[int, int]:
        """Step id -> how many advances and waits came before it (each counts itself)."""
        found, moves = {}, 0
        for step in self.steps:
            moves += isinstance(step, Advance | Wait)
            found[step.id] = moves
        return found

    @cached_property
    def elapsed(self) -> Mapping[int, int]:
        """Step id -> the processing time (ms) that has passed by then: that of the waits, its own included."""
        found, elapsed = {}, 0
        for step in self.steps:
            elapsed += step.ms if isinstance(step, Wait) else 0
            found[step.id] = elapsed
        return found

    @property
    def waits(self) -> bool:
        """Whether processing time is driven, too."""
        return any(isinstance(step, Wait) for step in self.steps)

    @property
    def advances(self) -> tuple[Advance, ...]:
        return tuple(step for step in self.steps if isinstance(step, Advance))

    @property
    def bundles(self) -> tuple[Deliver, ...]:
        """The bundles, and before them the initial state, if there is any."""
        return tuple(step for step in self.steps if isinstance(step, Deliver))

    @property
    def initial(self) -> tuple[Event, ...]:
        """The state that the job starts with."""
        return next((step.events for step in self.bundles if step.initial), ())

    def due(self, time: int) -> int | None:
        """The id of the step in which a timer that was set for ``time`` (ms) before comes due: the first advance that
        reaches it, or the bundle after it where the advance is coalesced. None where no advance reaches it."""
        for step, after in zip(self.steps, [*self.steps[1:], None], strict=True):
            if isinstance(step, Advance) and step.watermark >= time:
                return after.id if step.coalesced and after else step.id
        return None

    def bundle_after(self, step: FailOnce) -> Deliver:
        """The bundle that fails once."""
        return next(bundle for bundle in self.bundles if bundle.id > step.id)

    def without_empty_bundles(self) -> Schedule:
        """Without the bundles that nothing is in and nothing is about: one that fails once, or that a coalesced advance
        is coalesced with, stays."""
        kept = [
            step
            for before, step in zip([None, *self.steps], self.steps, strict=False)
            if not isinstance(step, Deliver)
            or step.events
            or isinstance(before, FailOnce)
            or (isinstance(before, Advance) and before.coalesced)
        ]
        return Schedule(tuple(kept))

    def with_bundles(self, bundles: Mapping[int, Iterable[Event]]) -> Schedule:
        """The same clock with other events in the bundles that ``bundles`` names by step id. Of several elements of initial state
        for one key the last is kept."""

        def events_of(step: Deliver) -> tuple[Event, ...]:
            events = bundles[step.id]
            return tuple({event.key: event for event in events}.values() if step.initial else events)

        return Schedule(
            tuple(
                replace(step, events=events_of(step)) if step.id in bundles and isinstance(step, Deliver) else step
                for step in self.steps
            )
        )

    def to_json(self) -> Json:
        return [_step_to_json(step) for step in self.steps]

    @classmethod
    def from_json(cls, data: Json) -> Schedule:
        try:
            return cls(tuple(_step_from_json(step) for step in data))
        except (KeyError, TypeError) as error:
            raise InvalidSchedule(f"not a schedule: {error!r} in {str(data)[:80]}") from None


def renumbered(steps: Iterable[Step]) -> Schedule:
    """A schedule of these steps with ids 0, 1, 2, …"""
    return Schedule(tuple(replace(step, id=number) for number, step in enumerate(steps)))


def _step_to_json(step: Step) -> Json:
    if isinstance(step, Advance):
        return {"advance": step.watermark, "id": step.id} | ({"coalesced": True} if step.coalesced else {})
    if isinstance(step, Restart):
        return {"restart": True, "id": step.id}
    if isinstance(step, FailOnce):
        return {"fail_once": "resume" if step.resume else "retry", "id": step.id}
    if isinstance(step, Partitions):
        return {"partitions": step.count, "id": step.id}
    if isinstance(step, Wait):
        return {"wait": step.ms, "id": step.id}
    events = [[e.id, e.key, e.value, e.event_time] for e in step.events]
    return {"deliver": events, "id": step.id} | ({"initial": True} if step.initial else {})


def _step_from_json(data: Json) -> Step:
    if "advance" in data:
        return Advance(data["id"], data["advance"], data.get("coalesced", False))
    if "restart" in data:
        return Restart(data["id"])
    if "fail_once" in data:
        return FailOnce(data["id"], {"retry": False, "resume": True}[data["fail_once"]])
    if "partitions" in data:
        return Partitions(data["id"], data["partitions"])
    if "wait" in data:
        return Wait(data["id"], data["wait"])
    return Deliver(data["id"], tuple(Event(*event) for event in data["deliver"]), data.get("initial", False))


def _validate(steps: tuple[Step, ...]) -> None:
    ordinary = steps[1:] if steps and isinstance(steps[0], Partitions) else steps
    if ordinary and isinstance(ordinary[0], Deliver) and ordinary[0].initial:
        if len({event.key for event in ordinary[0].events}) < len(ordinary[0].events):
            raise InvalidSchedule(f"step {ordinary[0].id}: a key has one element of initial state")
        ordinary = ordinary[1:]
    if not ordinary or not isinstance(ordinary[0], Advance) or not isinstance(ordinary[-1], Advance):
        raise InvalidSchedule("a schedule begins with an advance of the watermark and ends with one")
    last_id, watermark = -1, -1
    seen: set[str] = set()
    for number, step in enumerate(steps):
        after = steps[number + 1] if number + 1 < len(steps) else None
        if not isinstance(step, Step):
            raise InvalidSchedule(f"a step is not a {type(step).__name__}")
        if type(step.id) is not int or step.id <= last_id:
            raise InvalidSchedule(f"step ids rise from step to step: {step.id!r} comes after {last_id}")
        last_id = step.id
        where = f"step {step.id}"
        if isinstance(step, Advance):
            if type(step.watermark) is not int or step.watermark < 0:
                raise InvalidSchedule(
                    f"{where}: a watermark is a whole number of ms since the epoch, not {step.watermark!r}"
                )
            if step.watermark <= watermark:
                raise InvalidSchedule(
                    f"{where}: the watermark goes from {watermark} to {step.watermark} ms; it may only rise"
                )
            if step.coalesced and (watermark < 0 or not isinstance(after, Deliver)):
                raise InvalidSchedule(f"{where}: a coalesced advance is not the first and has a bundle right after it")
            watermark = step.watermark
        elif isinstance(step, FailOnce):
            if not isinstance(after, Deliver):
                raise InvalidSchedule(f"{where}: what fails once is the bundle right after it, and there is none")
        elif isinstance(step, Partitions):
            if number or type(step.count) is not int or step.count < 1:
                raise InvalidSchedule(f"{where}: the number of partitions is above 0 and comes first: {step.count!r}")
        elif isinstance(step, Wait):
            if type(step.ms) is not int or step.ms <= 0:
                raise InvalidSchedule(f"{where}: a wait is a whole number of ms above 0, not {step.ms!r}")
        elif isinstance(step, Deliver):
            if step.initial and step in ordinary:
                raise InvalidSchedule(f"{where}: initial state comes before all bundles and advances")
            _validate_events(step, seen)


def _validate_events(bundle: Deliver, seen: set[str]) -> None:
    for event in bundle.events:
        if type(event.event_time) is not int or event.event_time < 0:
            raise InvalidSchedule(
                f"step {bundle.id}: the event time of {event.id!r} is {event.event_time!r}; it is a whole number of ms, not before the epoch"
            )
        if not isinstance(event.key, str) or not isinstance(event.id, str):
            raise InvalidSchedule(
                f"step {bundle.id}: an event's id and key are strings, not {event.id!r} and {event.key!r}"
            )
        if event.id in seen:
            raise InvalidSchedule(f"step {bundle.id}: the event id {event.id!r} is used twice")
        seen.add(event.id)


@dataclass(frozen=True)
class Case:
    """One schedule for one program of a scenario.

    ``perturbation`` names how it was made from the case ``base`` (an id); both are empty for a case as drawn.
    """

    scenario: str
    program: str
    schedule: Schedule
    perturbation: str = ""
    base: str = ""

    @cached_property
    def digest(self) -> str:
        """Identifies what is run (scenario, program, schedule), whatever its origin."""
        return digest([self.scenario, self.program, self.schedule.to_json()])

    @cached_property
    def id(self) -> str:
        return f"{self.base}~{digest(self.perturbation)[:4]}" if self.base else self.digest

    @property
    def size(self) -> tuple[int, int, int, str]:
        """Smaller is simpler: events, bundles in use, keys, then the digest so that the order is total."""
        arrivals = self.schedule.arrivals
        return (len(arrivals), len({a.step for a in arrivals}), len({a.event.key for a in arrivals}), self.digest)

    def to_json(self) -> Json:
        data = {"scenario": self.scenario, "program": self.program, "schedule": self.schedule.to_json()}
        return data | ({"perturbation": self.perturbation, "base": self.base} if self.base else {})

    @classmethod
    def from_json(cls, data: Json) -> Case:
        try:
            return cls(
                data["scenario"],
                data["program"],
                Schedule.from_json(data["schedule"]),
                data.get("perturbation", ""),
                data.get("base", ""),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidSchedule(f"not a case: {error!r} in {str(data)[:80]}") from None


def program_ref(scenario: str, program: str) -> str:
    """How packs, engines and files name a program."""
    return f"{scenario}/{program}"


DRAIN = -1
"""The step of what comes out after the last step of a schedule (Beam's end of stream): recorded, never judged."""


@dataclass(frozen=True, slots=True)
class Emission:
    """One output of a program. ``step`` is the step it came out in; the order in a trace is the order of output
    within a key. ``error`` is the exception with which the program stopped, in one line."""

    key: str
    value: Json
    step: int
    event_time: int | None = None
    error: str | None = None

    def to_json(self) -> Json:
        return [self.key, self.value, self.step, self.event_time, self.error]


@dataclass(frozen=True)
class Trace:
    """What came out of one case, in order of step and, within a key and step, in order of output."""

    emissions: tuple[Emission, ...]

    @classmethod
    def collect(cls, emissions: Iterable[Emission]) -> Trace:
        """Order by step and key (output order of one key in one step is kept); a program's exception ends its case."""
        ordered = sorted(emissions, key=lambda e: (e.step == DRAIN, e.step, e.key))
        stopped = next((i for i, e in enumerate(ordered) if e.error), None)
        return cls(tuple(ordered if stopped is None else ordered[: stopped + 1]))

    @cached_property
    def judged(self) -> tuple[Emission, ...]:
        """The emissions of the schedule's own steps: without what the end of the stream drained."""
        return tuple(e for e in self.emissions if e.step != DRAIN)

    @property
    def error(self) -> str | None:
        return self.emissions[-1].error if self.emissions else None

    @cached_property
    def by_key(self) -> Mapping[str, tuple[Emission, ...]]:
        found: dict[str, list[Emission]] = {}
        for emission in self.judged:
            found.setdefault(emission.key, []).append(emission)
        return {key: tuple(emissions) for key, emissions in found.items()}

    def to_json(self) -> Json:
        return [e.to_json() for e in self.emissions]

    @classmethod
    def from_json(cls, data: Json) -> Trace:
        return cls(tuple(Emission(*emission) for emission in data))


@dataclass(frozen=True, slots=True)
class StepCount:
    """Rows of one bundle over all cases of a pack: handed in, received by programs, reported as late by the engine."""

    step: int
    delivered: int
    received: int
    reported_late: int | None


@dataclass(frozen=True)
class Pack:
    """Cases that share one clock and one engine run, kept apart by key."""

    cases: tuple[Case, ...]

    def __post_init__(self) -> None:
        if len({case.schedule.clock for case in self.cases}) != 1:
            raise InvalidSchedule("the cases of a pack share one clock")
        if len({case.id for case in self.cases}) != len(self.cases):
            raise InvalidSchedule("the cases of a pack have ids of their own")

    @property
    def clock(self) -> tuple[Step, ...]:
        return self.cases[0].schedule.clock

    def bundle(self, step: int) -> Iterator[tuple[Case, Event]]:
        """The rows of one bundle: case after case, each case's events in order."""
        for case in self.cases:
            for bundle in case.schedule.bundles:
                if bundle.id == step:
                    yield from ((case, event) for event in bundle.events)


@dataclass(frozen=True)
class PackRun:
    """What one engine run gave: a trace per case id, and the engine's row counts per bundle.

    ``untouched`` are cases (ids) that a failed attempt did not reach: none of their keys had written state in it, so
    they say nothing about the retry; or cases that two releases answer differently by themselves. ``notes`` are remarks on how a program ("scenario/program") was run, for its cells.
    """

    traces: Mapping[str, Trace] = field(default_factory=dict)
    counts: tuple[StepCount, ...] = ()
    untouched: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
