"""One case on the reference: the executable specification, one element at a time.

Between steps it fires every due timer in order of time. It is written for reading; its methods are also the seams at
which ``conformance.engines.mutants`` seeds one bug each.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.engines.reference_cells import CELLS, EXPIRING, TYPED
from conformance.engines.reference_timers import CaseTimers
from conformance.engines.succession import Succession
from conformance.model.case import Case
from conformance.model.engine import NotDriven
from conformance.model.keys import TypedKey, seen
from conformance.model.lateness import LatenessProfile
from conformance.model.program import (
    NO_TIME,
    Cell,
    FixedWindows,
    JobKind,
    Output,
    Program,
    State,
    Timer,
    call,
)
from conformance.model.runs import Pack, StepCount
from conformance.model.schedule import (
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Partitions,
    Plan,
    Restart,
    SinkFails,
    Step,
    Wait,
)
from conformance.model.trace import Emission
from conformance.model.values import Json, copied

MOST_TIMERS = 10_000
"""More timers than this in one step are taken for a loop without an end."""

Scope = tuple[str, int]
"""What state belongs to: a key, or what a typed one is kept by, and the start of its window (0 in the global
window)."""

TimerId = tuple[str, int, str, str]
"""A timer: its key, the start of its window, its name and its tag."""


@dataclass(frozen=True)
class Checkpoint:
    """What a job goes back to."""

    state: dict[Scope, dict[str, Json]]
    timers: dict[TimerId, int]
    emissions: list[Emission]


class CaseRun(Succession):
    """One case, from its first step to its last."""

    def __init__(self, case: Case, program: Program, lateness: LatenessProfile) -> None:
        self.case, self.program, self.lateness = case, program, lateness
        self._pack: Pack | None = None
        self.watermark = 0
        self.settled = 0  # the watermark that the late filter goes by
        self.now = 0  # processing time
        self.step = 0
        self.state: dict[Scope, dict[str, Json]] = {}
        self.timers: dict[TimerId, int] = {}
        self.emissions: list[Emission] = []
        self.counts: list[StepCount] = []
        self.killed_behind: Crash | None = None  # how the job is killed once the next bundle is done
        self.keys: dict[str, TypedKey] = {}  # what a typed key is kept by -> the first key that is
        self.ended = False  # whether the job refused to go on
        self.tied = False  # whether several timers were due at one time, so that their order had to be chosen

    @property
    def pack(self) -> Pack:
        """The cases of the same run, which the reference never looks at."""
        return self._pack or Pack((self.case,))

    @pack.setter
    def pack(self, pack: Pack) -> None:
        self._pack = pack

    def run(self) -> None:
        self.run_steps(self.case.schedule.steps)
        if self.program.job is JobKind.INSPECTION:
            self.inspect()
        if self.program.job is JobKind.ROW_COUNT:
            self.compare_rows()

    def run_steps(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if self.ended:
                return
            self.step = step.id
            if isinstance(step, Advance):
                self.advance(step)
            elif isinstance(step, Deliver) and step.initial:
                self.start(step.events)
            elif isinstance(step, Deliver):
                self.deliver(step)
                if self.killed_behind:
                    self.go_on(self.killed_behind)
                    self.killed_behind = None
                if self.program.job is JobKind.ROW_COUNT and step == self.case.schedule.bundles[-1]:
                    self.compare_rows()
            elif isinstance(step, Wait):
                self.wait(step)
            elif isinstance(step, Restart):
                self.restart()
                self.succeed()
            elif isinstance(step, NoData):
                self.no_data()
            elif isinstance(step, FailOnce):
                self.fail_once(self.case.schedule.bundle_after(step), step.resume)
            elif isinstance(step, SinkFails):
                self.fail_in_sink(self.case.schedule.bundle_after(step))
            elif isinstance(step, Crash):
                self.crash(self.case.schedule.bundle_after(step), step)
            elif not isinstance(step, Partitions | Plan):  # one place for all state, and no query around it
                raise NotDriven(f"the reference has nothing for {step}")

    def start(self, events: Iterable[Event]) -> None:
        """Begin with state."""
        for event in events:
            self.program.on_initial(event, self.cells(self.scope(event)))

    def advance(self, step: Advance) -> None:
        self.watermark = step.watermark
        if not step.coalesced:
            self.settle()

    def settle(self) -> None:
        """Let everything act that the watermark allows."""
        self.settled = self.watermark
        self.fire_due()

    def wait(self, step: Wait) -> None:
        self.now += step.ms
        self.fire_due()

    def no_data(self) -> None:
        """A bundle without any element: what is due acts, nothing else happens."""
        self.settle()

    def restart(self) -> None:
        """Resume from the checkpoint: nothing is lost, nothing happens twice."""

    def from_the_start(self) -> tuple[dict[Scope, dict[str, Json]], dict[TimerId, int]]:
        """The state and the timers of a program that has run from the first step to this one."""
        other = CaseRun(self.case, self.program, self.lateness)
        other.run_steps(step for step in self.case.schedule.steps if step.id < self.step)
        return other.state, other.timers

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        """Try ``bundle``, fail after its last event, and go back. The same job goes on, or with ``resume`` another
        one."""
        before = Checkpoint(copied(self.state), dict(self.timers), list(self.emissions))
        self.step = bundle.id
        self.attempt(bundle)
        self.go_back(before)

    def fail_in_sink(self, bundle: Deliver) -> None:
        """Do ``bundle``, and go back, because the sink failed: another job does the bundle again."""
        self.fail_once(bundle, resume=True)

    def crash(self, bundle: Deliver, step: Crash) -> None:
        """Kill the job in ``bundle``: another job does the bundle again, or goes on behind it where it is done."""
        if step.again:
            self.fail_once(bundle, resume=True)
        else:
            self.killed_behind = step

    def go_on(self, step: Crash) -> None:
        """Go on behind a bundle that was done when the job was killed: nothing is lost, nothing happens twice."""

    def go_back(self, before: Checkpoint) -> None:
        """Undo a failed attempt: nothing of it remains."""
        self.state, self.timers, self.emissions = before.state, before.timers, before.emissions

    def deliver(self, step: Deliver) -> None:
        accepted = self.attempt(step)
        self.counts.append(self.count(step, len(step.events), accepted))
        self.settle()

    def attempt(self, bundle: Deliver) -> int:
        """Process the events of a bundle that are not late. Returns how many they were."""
        accepted = [event for event in self.arrange(bundle.events) if not self.refuses(event)]
        for event in accepted:
            self.process(event)
        return len(accepted)

    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        """The order in which a bundle's events are processed."""
        return events

    def refuses(self, event: Event) -> bool:
        """Whether the event is dropped as late."""
        return self.lateness.refuses(event.event_time, self.settled, self.program)

    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, delivered - received)

    def scope(self, event: Event) -> Scope:
        windowing = self.program.windowing
        return self.identity(event.key), windowing.start(event.event_time) if isinstance(windowing, FixedWindows) else 0

    def process(self, event: Event) -> None:
        scope = self.scope(event)
        key = self.handed(scope[0])
        event = replace(event, key=seen(key)) if self.program.keys else event
        outputs = call(self.program.on_event, event, self.cells(scope), CaseTimers(self, scope))
        self.emit(self.program.key_name(key), self.timed(outputs, event))

    def identity(self, name: str) -> str:
        """What state and timers of a key are kept by: its name, or what tells it from the typed keys that are not equal
        to it."""
        if not self.program.keys:
            return name
        key = self.taken(self.program.typed_key(name))
        self.keys.setdefault(key.identity, key)
        return key.identity

    def taken(self, key: TypedKey) -> TypedKey:
        """A typed key as it is grouped by."""
        return key

    def handed(self, identity: str) -> str | TypedKey:
        """The key that a callback is handed."""
        if not self.program.keys:
            return identity
        key = self.keys[identity]
        return TypedKey(key.type, key.type.fitted(key.value))

    def cells(self, scope: Scope) -> State:
        stored = self.state.setdefault(scope, {})
        return State({name: self.cell(kind, stored, name) for name, kind in self.program.cells.items()})

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        if name in self.program.ttl:
            return EXPIRING[kind](stored, name, self.now, self.program.ttl[name])
        if name in self.program.types:
            return TYPED[kind](stored, name, self.program.types[name])
        return CELLS[kind](stored, name)

    def set_timer(self, timer: TimerId, time: int) -> None:
        self.timers[timer] = time

    def clear_timer(self, timer: TimerId) -> None:
        self.timers.pop(timer, None)

    def due(self) -> list[tuple[int, TimerId]]:
        """(time, timer) of the timers that the watermark, or the processing time, has reached, earliest first."""
        reached = self.now if self.program.processing_time else self.watermark
        return sorted((time, timer) for timer, time in self.timers.items() if time <= reached)

    def fire_due(self) -> None:
        """Fire due timers one at a time: a callback may set, move or clear others. A loop of timers without an end
        stops the program."""
        for fired in itertools.count(1):
            if not (due := self.due()):
                return
            time, timer = due[0]
            self.tied |= len(due) > 1 and due[1][0] == time
            del self.timers[timer]
            if fired > MOST_TIMERS:
                endless = Output(None, error=f"more than {MOST_TIMERS} timers fired in one step")
                self.emit(self.program.key_name(self.handed(timer[0])), [endless])
                self.timers.clear()
                return
            self.fire(timer, time)

    def fire(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        scope = (key, window)
        handed = self.handed(key)
        fired = Timer(name, tag, seen(handed), NO_TIME if self.program.processing_time else time)
        outputs = call(self.program.on_timer, fired, self.cells(scope), CaseTimers(self, scope))
        self.emit(self.program.key_name(handed), self.timed(outputs, fired))

    def timed(self, outputs: list[Output], cause: Event | Timer) -> list[Output]:
        """What a call for an element or a timer put out, with its event time."""
        if not self.program.timed:
            return outputs
        time = self.output_time(cause)
        return [output if output.error else replace(output, event_time=time) for output in outputs]

    def output_time(self, cause: Event | Timer) -> int:
        """The event time (ms) of what a call for an element or a timer puts out."""
        return cause.event_time if isinstance(cause, Event) else cause.time

    def inspect(self) -> None:
        """Read from outside what is stored."""
        for (key, _), stored in sorted(self.stored().items()):
            for name in self.held(stored):
                self.emit(key, [Output({"cell": name, "stored": copied(stored[name])})])

    def compare_rows(self) -> None:
        """Compare the count of stored rows with what a reader finds."""
        found = sum(bool(self.held(stored)) for stored in self.stored().values())
        self.emit("", [Output({"surplus": self.rows() - found})])

    def rows(self) -> int:
        """The engine's own count of what is stored."""
        return sum(bool(self.held(stored)) for stored in self.state.values())

    def held(self, stored: Mapping[str, Json]) -> list[str]:
        """The cells that are not empty."""
        cells = self.program.cells
        return [name for name in cells if name in stored and (cells[name] is Cell.VALUE or stored[name])]

    def stored(self) -> dict[Scope, dict[str, Json]]:
        """What a reader of state is shown."""
        return self.state

    def emit(self, key: str, outputs: list[Output]) -> None:
        self.emissions += [Emission(key, o.value, self.step, o.event_time, o.error) for o in outputs]


class TimersOfAnInstantReversed(CaseRun):
    """Another order that the specification allows."""

    def due(self) -> list[tuple[int, TimerId]]:
        found = super().due()
        found.reverse()
        found.sort(key=lambda due: due[0])
        return found
