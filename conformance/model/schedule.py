"""Schedules: the steps of a case in order, and when its events arrive.

All times are integers, milliseconds since the epoch, UTC. ``steps`` has the kinds of step. Importers of ``Schedule``
may import them from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from conformance.model.feature import Feature
from conformance.model.steps import (
    SLACK,
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    InvalidSchedule,
    NoData,
    Partitions,
    Place,
    Plan,
    Restart,
    SinkFails,
    Step,
    Wait,
)
from conformance.model.values import Json

__all__ = [
    "SLACK",
    "Advance",
    "Arrival",
    "Crash",
    "Deliver",
    "Event",
    "FailOnce",
    "InvalidSchedule",
    "NoData",
    "Partitions",
    "Plan",
    "Restart",
    "Schedule",
    "SinkFails",
    "Step",
    "Wait",
    "renumbered",
]


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event as delivered, with its step and the watermark (ms) that it met. ``settled`` is the watermark (ms) up to
    which the engine had settled. The two watermarks differ only in a bundle after a coalesced advance."""

    event: Event
    step: int
    watermark: int
    settled: int

    @property
    def on_time(self) -> bool:
        """Whether the event lies after the watermark, and so is on time by every engine's reading."""
        return self.event.event_time > self.watermark

    @property
    def at_watermark(self) -> bool:
        return self.event.event_time == self.watermark == self.settled

    @property
    def behind(self) -> bool:
        """Whether the event lies strictly before both watermarks."""
        return self.event.event_time < self.settled


@dataclass(frozen=True)
class Schedule:
    """Which bundle delivers which event, and when the watermark moves.

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
    def timeline(self) -> tuple[Step, ...]:
        """The skeleton: the steps without their events."""
        return tuple(step.skeleton for step in self.steps)

    @cached_property
    def intervals(self) -> Mapping[int, int]:
        """Step id -> the number of advances and waits up to it, itself included."""
        found, moves = {}, 0
        for step in self.steps:
            moves += step.moves_time
            found[step.id] = moves
        return found

    @cached_property
    def elapsed(self) -> Mapping[int, int]:
        """Step id -> the processing time (ms) that the waits up to it take, itself included."""
        found, elapsed = {}, 0
        for step in self.steps:
            elapsed += step.passes
            found[step.id] = elapsed
        return found

    @property
    def waits(self) -> bool:
        """Whether the schedule drives processing time, too."""
        return any(step.passes for step in self.steps)

    @cached_property
    def needs(self) -> frozenset[Feature]:
        """The features that an engine needs for the steps: for each by itself, and for several together."""
        needs = {feature for step in self.steps for feature in step.needs}
        if sum(not bundle.initial for bundle in self.bundles) > 1:
            needs.add(Feature.SEVERAL_BUNDLES)
        moved_between = len(self.advances) > 2
        if moved_between or not all(arrival.on_time for arrival in self.arrivals):
            needs.add(Feature.WATERMARK)
        return frozenset(needs)

    @property
    def advances(self) -> tuple[Advance, ...]:
        return tuple(step for step in self.steps if isinstance(step, Advance))

    @property
    def restart(self) -> int:
        """The id of the first restart, of a schedule that has one."""
        return next(step.id for step in self.steps if isinstance(step, Restart))

    @property
    def bundles(self) -> tuple[Deliver, ...]:
        """The bundles, and before them the initial state, if there is any."""
        return tuple(step for step in self.steps if isinstance(step, Deliver))

    @property
    def plan(self) -> str:
        """The name of the query that the job runs, "" for the plain one."""
        first = self.steps[0]
        return first.name if isinstance(first, Plan) else ""

    @property
    def plans(self) -> tuple[str, ...]:
        """The ids of the plans that make up this query, none for the plain one."""
        first = self.steps[0]
        return first.parts if isinstance(first, Plan) else ()

    @property
    def initial(self) -> tuple[Event, ...]:
        """The state that the job starts with."""
        return next((step.events for step in self.bundles if step.initial), ())

    def due(self, time: int) -> int | None:
        """The id of the step that makes a timer for ``time`` (ms) due: the first advance that reaches ``time``, or the
        bundle after that advance if it is coalesced. None where no advance reaches ``time``."""
        for step, after in zip(self.steps, [*self.steps[1:], None], strict=True):
            if isinstance(step, Advance) and step.watermark >= time:
                return after.id if step.coalesced and after else step.id
        return None

    def bundle_after(self, step: FailOnce | SinkFails | Crash) -> Deliver:
        """The bundle that a failure or a crash is about."""
        return next(bundle for bundle in self.bundles if bundle.id > step.id)

    def without_empty_bundles(self) -> Schedule:
        """The schedule without its empty bundles. A bundle stays if the step before it is about it: a failure, or a
        coalesced advance."""
        kept = [
            step
            for before, step in zip([None, *self.steps], self.steps, strict=False)
            if not isinstance(step, Deliver) or step.events or (before and before.binds_next)
        ]
        return Schedule(tuple(kept))

    def with_bundles(self, bundles: Mapping[int, Iterable[Event]]) -> Schedule:
        """The same timeline with other events in the bundles that ``bundles`` names by step id. If a key has several
        elements of initial state, the last one counts."""

        def filled(step: Deliver) -> Deliver:
            events = bundles[step.id]
            return Deliver(
                step.id,
                tuple({event.key: event for event in events}.values() if step.initial else events),
                step.initial,
            )

        return Schedule(
            tuple(filled(step) if step.id in bundles and isinstance(step, Deliver) else step for step in self.steps)
        )

    def to_json(self) -> Json:
        return [step.to_json() for step in self.steps]

    @classmethod
    def from_json(cls, data: Json) -> Schedule:
        try:
            return cls(tuple(Step.from_json(step) for step in data))
        except (KeyError, TypeError) as error:
            raise InvalidSchedule(f"not a schedule: {error!r} in {str(data)[:80]}") from None


def renumbered(steps: Iterable[Step]) -> Schedule:
    """A schedule of these steps with ids 0, 1, 2, …"""
    return Schedule(tuple(s if s.id == number else replace(s, id=number) for number, s in enumerate(steps)))


def _validate(steps: tuple[Step, ...]) -> None:
    setup = _setup(steps)
    ordinary = steps[setup:]
    if not ordinary or not isinstance(ordinary[0], Advance) or not isinstance(ordinary[-1], Advance):
        raise InvalidSchedule("a schedule begins with an advance of the watermark and ends with one")
    last_id, watermark = -1, -1
    for number, step in enumerate(steps):
        if not isinstance(step, Step):
            raise InvalidSchedule(f"a step is not a {type(step).__name__}")
        if type(step.id) is not int or step.id <= last_id:
            raise InvalidSchedule(f"step ids rise from step to step: {step.id!r} comes after {last_id}")
        last_id = step.id
        step.validate(Place(number >= setup, watermark, steps[number + 1] if number + 1 < len(steps) else None))
        if isinstance(step, Advance):
            watermark = step.watermark
    seen: set[str] = set()
    for step in steps:
        for event in step.events if isinstance(step, Deliver) else ():
            if event.id in seen:
                raise InvalidSchedule(f"step {step.id}: the event id {event.id!r} is used twice")
            seen.add(event.id)


def _setup(steps: tuple[Step, ...]) -> int:
    """The number of steps that set the job up: at the start, as long as ranks rise."""
    rank = -1
    for number, step in enumerate(steps):
        if not isinstance(step, Step) or step.setup <= rank:
            return number
        rank = step.setup
    return len(steps)
