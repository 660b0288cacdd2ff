"""The kinds of step that a schedule is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from conformance.model.feature import Feature
from conformance.model.steps.step import Event, Place, Step
from conformance.model.values import Json

SLACK = 6_000
"""On an engine with a wall clock, the processing time (ms) that may pass beyond a schedule's waits."""


@dataclass(frozen=True, slots=True)
class Advance(Step):
    """The event-time watermark moves up to ``watermark`` (ms) and the engine settles: all due timers and windows fire.

    A ``coalesced`` advance does not settle before the next bundle, which always follows. The watermark before the
    advance still filters that bundle. Due timers and windows fire after the bundle.
    """

    key: ClassVar[str] = "advance"
    moves_time: ClassVar[bool] = True

    watermark: int
    coalesced: bool = False

    @property
    def needs(self) -> frozenset[Feature]:
        return frozenset({Feature.COALESCED} if self.coalesced else ())

    @property
    def label(self) -> str:
        return "advance, coalesced" if self.coalesced else "advance"

    def told(self, origin: int) -> str:
        settles = " (the next bundle comes before the engine settles)" if self.coalesced else ""
        return f"watermark moves to {self.watermark - origin:+d}{settles}"

    @property
    def circumstance(self) -> str:
        return "coalesced advance" if self.coalesced else ""

    @property
    def binds_next(self) -> bool:
        return self.coalesced

    def shifted(self, by: int) -> Advance:
        return replace(self, watermark=self.watermark + by)

    def validate(self, place: Place) -> None:
        if type(self.watermark) is not int or self.watermark < 0:
            raise self.refused(f"a watermark is a whole number of ms since the epoch, not {self.watermark!r}")
        if self.watermark <= place.watermark:
            raise self.refused(f"the watermark goes from {place.watermark} to {self.watermark} ms; it may only rise")
        if self.coalesced and (place.watermark < 0 or not isinstance(place.after, Deliver)):
            raise self.refused("a coalesced advance is not the first and has a bundle right after it")


@dataclass(frozen=True, slots=True)
class Deliver(Step):
    """One bundle, in order: a Spark micro-batch, a Beam bundle. An ``initial`` step is the state that the job starts
    with, one element a key. Only ``Plan`` and ``Partitions`` may come before it."""

    key: ClassVar[str] = "deliver"

    events: tuple[Event, ...] = ()
    initial: bool = False

    @property
    def needs(self) -> frozenset[Feature]:
        return frozenset({Feature.INITIAL_STATE} if self.initial else ())

    @property
    def label(self) -> str:
        if self.initial:
            return "initial state"
        return "bundle" if self.events else "empty bundle"

    def told(self, origin: int) -> str:
        return f"{'initial state' if self.initial else 'bundle'} of {len(self.events)}"

    @property
    def setup(self) -> int:
        return 2 if self.initial else -1

    @property
    def skeleton(self) -> Deliver:
        return Deliver(self.id, (), self.initial) if self.events else self

    def shifted(self, by: int) -> Deliver:
        return replace(self, events=tuple(replace(event, event_time=event.event_time + by) for event in self.events))

    def validate(self, place: Place) -> None:
        if self.initial and place.begun:
            raise self.refused("initial state comes before all bundles and advances")
        for event in self.events:
            if type(event.event_time) is not int or event.event_time < 0:
                raise self.refused(
                    f"the event time of {event.id!r} is {event.event_time!r}; it is a whole number of ms, not "
                    "before the epoch"
                )
            if not isinstance(event.key, str) or not isinstance(event.id, str):
                raise self.refused(f"an event's id and key are strings, not {event.id!r} and {event.key!r}")
        if self.initial and len({event.key for event in self.events}) < len(self.events):
            raise self.refused("a key has one element of initial state")

    @staticmethod
    def spelled(value: tuple[Event, ...]) -> Json:
        return [[e.id, e.key, e.value, e.event_time] for e in value]

    @staticmethod
    def unspelled(data: Json) -> tuple[Event, ...]:
        return tuple(Event(*event) for event in data)


@dataclass(frozen=True, slots=True)
class NoData(Step):
    """A bundle without any element, not even one that the adapter adds for itself: a micro-batch without rows. An
    advance right before it settles without an element, too. An empty ``Deliver`` says only that no case has an element
    in it."""

    key: ClassVar[str] = "no_data"
    needs: ClassVar[frozenset[Feature]] = frozenset({Feature.NO_DATA})
    label: ClassVar[str] = "no data"
    circumstance: ClassVar[str] = "bundle without data"

    def told(self, origin: int) -> str:
        return "bundle without any element"


@dataclass(frozen=True, slots=True)
class Restart(Step):
    """The job stops and resumes from its checkpoint. A restart never follows a coalesced advance, because the advance
    has not settled."""

    key: ClassVar[str] = "restart"
    needs: ClassVar[frozenset[Feature]] = frozenset({Feature.RESTART})
    circumstance: ClassVar[str] = "restart"

    def told(self, origin: int) -> str:
        return "the job stops and resumes from its checkpoint"


@dataclass(frozen=True, slots=True)
class FailOnce(Step):
    """The first attempt at the next bundle fails after state was written. The job tries the bundle again. With
    ``resume`` the job fails instead, and another job resumes from the checkpoint."""

    key: ClassVar[str] = "fail_once"
    binds_next: ClassVar[bool] = True

    resume: bool = False

    @property
    def needs(self) -> frozenset[Feature]:
        return frozenset({Feature.RESUME if self.resume else Feature.RETRY})

    @property
    def label(self) -> str:
        return "next fails, resumed" if self.resume else "next fails once"

    def told(self, origin: int) -> str:
        how = "the job resumes from its checkpoint" if self.resume else "it is retried"
        return f"the first attempt at the next bundle fails after state was written; {how}"

    @property
    def circumstance(self) -> str:
        return "job resumed" if self.resume else "attempt retried"

    def validate(self, place: Place) -> None:
        if not isinstance(place.after, Deliver):
            raise self.refused("what fails once is the bundle right after it, and there is none")

    @staticmethod
    def spelled(value: bool) -> Json:
        return "resume" if value else "retry"

    @staticmethod
    def unspelled(data: Json) -> bool:
        return {"retry": False, "resume": True}[data]


@dataclass(frozen=True, slots=True)
class SinkFails(Step):
    """The sink fails once it has taken the output of the next bundle, before the job has noted that the bundle is done.
    Another job resumes from the checkpoint, and the sink puts the output that it then gets in the place of the
    first."""

    key: ClassVar[str] = "sink_fails"
    needs: ClassVar[frozenset[Feature]] = frozenset({Feature.SINK_FAILURE})
    label: ClassVar[str] = "sink fails behind the next"
    circumstance: ClassVar[str] = "sink failed"
    binds_next: ClassVar[bool] = True

    def told(self, origin: int) -> str:
        return "the sink fails once it has the output of the next bundle; the job resumes from its checkpoint"

    def validate(self, place: Place) -> None:
        if not isinstance(place.after, Deliver):
            raise self.refused("the sink fails behind the bundle right after this step, and there is none")


CRASH_POINTS: Mapping[str, str] = {
    "offsets": "it has noted what the bundle has",
    "within": "one partition has half written its state, and no other has begun to",
    "partition": "one partition has stored its state",
    "upload": "the state of the bundle is half written",
    "state": "all partitions have stored their state",
    "sink": "the sink has the output",
    "commit": "it has noted that the bundle is done",
    "maintenance": "a snapshot of the state behind the bundle is half written",
}
"""The points of a bundle at which a job can be killed -> what is so at that instant, in the order in which a job comes
to them."""

DONE_POINTS = ("commit", "maintenance")
"""The points at which the bundle is done: the next job does not do it again."""


@dataclass(frozen=True, slots=True)
class Crash(Step):
    """The job is killed at a point of the next bundle (``at``, one of CRASH_POINTS), and another job goes on from what
    is written then. If the bundle is not done, that job does it again, and the sink puts the output that it then gets
    in the place of the first. Several crashes right before a bundle kill one job after the other; where a bundle is
    done, no other job is killed in it."""

    key: ClassVar[str] = "crash"
    needs: ClassVar[frozenset[Feature]] = frozenset({Feature.CRASH})
    binds_next: ClassVar[bool] = True

    at: str

    @property
    def again(self) -> bool:
        """Whether the next job does the bundle again."""
        return self.at not in DONE_POINTS

    @property
    def label(self) -> str:
        return f"killed in the next: {self.at}"

    def told(self, origin: int) -> str:
        return (
            f"the job is killed in the next bundle when {CRASH_POINTS[self.at]}; another one goes on from what is "
            "written"
        )

    @property
    def circumstance(self) -> str:
        return f"killed: {self.at}"

    def validate(self, place: Place) -> None:
        if self.at not in CRASH_POINTS:
            raise self.refused(f"a job is killed at one of the points {', '.join(CRASH_POINTS)}, not {self.at!r}")
        if not isinstance(place.after, Deliver) and not (self.again and isinstance(place.after, Crash)):
            raise self.refused("a job is killed in the bundle right after this step, and there is none")


PLUS = "+"
"""What stands between the ids of several plans in the name of a step ``Plan``."""


@dataclass(frozen=True, slots=True)
class Plan(Step):
    """The job runs another query, which the engine knows by ``name``: the id of a plan, or the ids of several plans,
    sorted and joined by ``+``. Only the first step may be of this kind."""

    key: ClassVar[str] = "plan"
    circumstance: ClassVar[str] = "another plan"
    setup: ClassVar[int] = 0

    name: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The ids of the plans."""
        return tuple(self.name.split(PLUS))

    @property
    def label(self) -> str:
        return f"plan {self.name}"

    def told(self, origin: int) -> str:
        return f"the job runs the query {self.name}"

    def validate(self, place: Place) -> None:
        if place.begun or not isinstance(self.name, str) or not self.name:
            raise self.refused(f"a plan is a name and comes first: {self.name!r}")
        if [*self.parts] != sorted({*self.parts} - {""}):
            raise self.refused(f"the ids of several plans are sorted, and each is there once: {self.name!r}")


@dataclass(frozen=True, slots=True)
class Partitions(Step):
    """The job keeps its state in ``count`` partitions. Only ``Plan`` may come before it."""

    key: ClassVar[str] = "partitions"
    needs: ClassVar[frozenset[Feature]] = frozenset({Feature.PARTITIONS})
    circumstance: ClassVar[str] = "repartitioned"
    setup: ClassVar[int] = 1

    count: int

    @property
    def label(self) -> str:
        return f"{self.count} partitions"

    def told(self, origin: int) -> str:
        return f"the job starts with {self.count} partitions"

    def validate(self, place: Place) -> None:
        if place.begun or type(self.count) is not int or self.count < 1:
            raise self.refused(f"the number of partitions is above 0 and comes first: {self.count!r}")


@dataclass(frozen=True, slots=True)
class Wait(Step):
    """Processing time passes, at least ``ms``. All waits of a schedule together take less than ``SLACK`` longer, from
    the first bundle to the last. Due timers fire."""

    key: ClassVar[str] = "wait"
    moves_time: ClassVar[bool] = True
    needs: ClassVar[frozenset[Feature]] = frozenset({Feature.PROCESSING_TIME})
    circumstance: ClassVar[str] = "processing time passes"

    ms: int

    @property
    def label(self) -> str:
        return f"wait {self.ms / 1000:g} s"

    def told(self, origin: int) -> str:
        return f"{self.ms} ms of processing time pass"

    @property
    def passes(self) -> int:
        return self.ms

    def validate(self, place: Place) -> None:
        if type(self.ms) is not int or self.ms <= 0:
            raise self.refused(f"a wait is a whole number of ms above 0, not {self.ms!r}")
