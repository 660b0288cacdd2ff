"""Bugs of timers that take several calls or several firings to show."""

from typing import Any

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.engines.mutants.time.callbacks import Calls
from conformance.engines.mutants.time.timers import Copies
from conformance.model.program import Program
from conformance.model.schedule import Event
from conformance.model.values import Json, copied


@bug("a timer that has fired is not set again for the time that it fired for")
class SameTimeAgainIgnored(CaseRun):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._fired = set[tuple[TimerId, int]]()

    def fire(self, timer: TimerId, time: int) -> None:
        self._fired.add((timer, time))
        super().fire(timer, time)

    def set_timer(self, timer: TimerId, time: int) -> None:
        if (timer, time) not in self._fired:
            super().set_timer(timer, time)


@bug_of(CaseRun.set_timer, "a timer that one call sets, clears and sets again does not fire", Calls)
def set_cleared_and_set_lost(run: Calls, timer: TimerId, time: int) -> None:
    if [what for what, other in run._did if other == timer][-2:] != ["set", "clear"]:
        Calls.set_timer(run, timer, time)


@bug("a timer that a timer's callback sets for later has that one's tag")
class TagsHandedOn(CaseRun):
    _by: tuple[TimerId, int] | None = None

    def fire(self, timer: TimerId, time: int) -> None:
        self._by = timer, time
        super().fire(timer, time)
        self._by = None

    def set_timer(self, timer: TimerId, time: int) -> None:
        if self._by and time > self._by[1]:
            timer = (*timer[:3], self._by[0][3])
        super().set_timer(timer, time)


@bug("of a key's timers for one instant, each callback sees the state from before the first")
class InstantSeesOldState(CaseRun):
    _instant: tuple[Scope, int, int] | None = None

    def fire(self, timer: TimerId, time: int) -> None:
        scope = timer[:2]
        if self._instant != (scope, time, self.step):
            self._instant, self._then = (scope, time, self.step), copied(self.state.get(scope, {}))
        self.state[scope] = copied(self._then)
        super().fire(timer, time)


@bug_of(CaseRun.set_timer, "timers of a key that have one tag and several names are one")
def timers_of_one_tag_share(run: CaseRun, timer: TimerId, time: int) -> None:
    for key, window, name, tag in [*run.timers]:
        if (key, window, tag) == (*timer[:2], timer[3]) and tag and name != timer[2]:
            del run.timers[key, window, name, tag]
    CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.fire, "a timer's callback that sets a timer leaves no trace in the state", Calls)
def writes_lost_with_a_new_timer(run: Calls, timer: TimerId, time: int) -> None:
    before: dict[Scope, dict[str, Json]] = copied(run.state)
    Calls.fire(run, timer, time)
    if any(what == "set" for what, _ in run._did):
        run.state = before


@bug("a call that clears the last cell of its key takes the key's timers along")
class EmptiedKeyLosesItsTimers(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.cells and program.timers)

    def process(self, event: Event) -> None:
        scope = self.scope(event)
        there = self._holds(scope)
        super().process(event)
        self._drop(scope, there)

    def fire(self, timer: TimerId, time: int) -> None:
        there = self._holds(timer[:2])
        super().fire(timer, time)
        self._drop(timer[:2], there)

    def _holds(self, scope: Scope) -> bool:
        return bool(self.held(self.state.get(scope, {})))

    def _drop(self, scope: Scope, there: bool) -> None:
        if there and not self._holds(scope):
            self.timers = {timer: time for timer, time in self.timers.items() if timer[:2] != scope}


@bug("a timer that is due fires although a call moves it to a time that is not reached, where it fires again")
class DueTimersFireThoughMoved(Copies):
    def set_timer(self, timer: TimerId, time: int) -> None:
        reached, old = self.now if self.program.processing_time else self.watermark, self.timers.get(timer)
        if old is not None and old <= reached < time:
            self.keep(timer, old)
        super().set_timer(timer, time)
