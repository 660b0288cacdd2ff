"""Bugs of callbacks: what a timer's callback does to timers and state, and several calls within one callback."""

import copy
from dataclasses import replace

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.model.schedule import Deliver, Event


class Calls(CaseRun):
    """Knows what was set and cleared in the call at hand, and whether a timer makes it."""

    _firing = False

    def process(self, event: Event) -> None:
        self._did: list[tuple[str, TimerId]] = []
        super().process(event)

    def fire(self, timer: TimerId, time: int) -> None:
        self._did, self._firing = [], True
        super().fire(timer, time)
        self._firing = False

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time)
        self._did.append(("set", timer))

    def clear_timer(self, timer: TimerId) -> None:
        super().clear_timer(timer)
        self._did.append(("clear", timer))


@bug("a timer that another timer's callback moves fires at its old time, too")
class TimersMovedByTimersFireTwice(Calls):
    def set_timer(self, timer: TimerId, time: int) -> None:
        old = self.timers.get(timer)
        if self._firing and old is not None and old != time and not timer[3].endswith("\0"):
            tagged = (*timer[:3], f"{timer[3]}\0")
            self.timers[tagged] = old
        super().set_timer(timer, time)

    def fire(self, timer: TimerId, time: int) -> None:
        super().fire((*timer[:3], timer[3].removesuffix("\0")), time)


@bug_of(CaseRun.set_timer, "a timer that an element moves to an earlier time keeps its time", Calls)
def moves_to_earlier_ignored(run: Calls, timer: TimerId, time: int) -> None:
    Calls.set_timer(run, timer, max(time, run.timers.get(timer, time)))


@bug_of(CaseRun.set_timer, "a timer that is moved to a later time keeps its time", Calls)
def moves_to_later_ignored(run: Calls, timer: TimerId, time: int) -> None:
    Calls.set_timer(run, timer, min(time, run.timers.get(timer, time)))


@bug_of(CaseRun.clear_timer, "a timer that is set and cleared in one call fires", Calls)
def set_and_cleared_fires(run: Calls, timer: TimerId) -> None:
    if ("set", timer) not in run._did:
        Calls.clear_timer(run, timer)


@bug_of(CaseRun.set_timer, "a timer that is cleared and set in one call does not fire", Calls)
def cleared_and_set_is_lost(run: Calls, timer: TimerId, time: int) -> None:
    if ("clear", timer) not in run._did:
        Calls.set_timer(run, timer, time)


@bug_of(CaseRun.set_timer, "of two timers that are set in one call the second is lost", Calls)
def second_timer_of_a_call_lost(run: Calls, timer: TimerId, time: int) -> None:
    if not [t for what, t in run._did if what == "set" and t != timer]:
        Calls.set_timer(run, timer, time)


@bug_of(CaseRun.fire, "what a timer's callback writes is lost")
def writes_of_timers_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    before = copy.deepcopy(run.state)
    CaseRun.fire(run, timer, time)
    run.state = before


@bug("a timer's callback sees the state from before the last bundle")
class TimersSeeOldState(CaseRun):
    def deliver(self, step: Deliver) -> None:
        self._state_before_the_bundle = copy.deepcopy(self.state)
        super().deliver(step)

    def fire(self, timer: TimerId, time: int) -> None:
        now, scope = self.state, timer[:2]
        seen = copy.deepcopy(getattr(self, "_state_before_the_bundle", {}))
        if scope in seen:
            self.state = {**now, scope: seen[scope]}
        super().fire(timer, time)


@bug_of(CaseRun.fire, "a timer's callback is told no tag")
def tags_not_told(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.fire(run, (*timer[:3], ""), time)


@bug_of(CaseRun.fire, "a timer's callback is told the first of the program's timers")
def names_of_timers_mixed_up(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.fire(run, (*timer[:2], run.program.timers[0], timer[3]), time)


@bug_of(CaseRun.set_timer, "timers fire up to a second early: they are kept in whole seconds")
def timers_in_whole_seconds(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, time if run.program.processing_time else time - time % 1_000)


@bug_of(CaseRun.set_timer, "timers fire up to a second late: they are rounded up to whole seconds")
def timers_rounded_up(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, time if run.program.processing_time else -(-time // 1_000) * 1_000)


@bug_of(CaseRun.fire, "timers of a key that holds no state do not fire")
def timers_without_state_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    if run.state.get(timer[:2]):
        CaseRun.fire(run, timer, time)


@bug_of(CaseRun.restart, "the timers of all keys but the first are lost on a restart")
def one_keys_timers_restored(run: CaseRun) -> None:
    first = min((timer[0] for timer in run.timers), default="")
    run.timers = {timer: time for timer, time in run.timers.items() if timer[0] == first}


@bug_of(CaseRun.restart, "the state of all keys but the first is lost on a restart")
def one_keys_state_restored(run: CaseRun) -> None:
    first = min((scope[0] for scope in run.state), default="")
    run.state = {scope: cells for scope, cells in run.state.items() if scope[0] == first}


@bug_of(CaseRun.restart, "the state of keys that have timers is lost on a restart")
def state_of_timed_keys_lost_on_restart(run: CaseRun) -> None:
    timed = {timer[:2] for timer in run.timers}
    run.state = {scope: cells for scope, cells in run.state.items() if scope not in timed}


@bug("timers that a restart restores fire twice")
class RestoredTimersFireTwice(CaseRun):
    _restored: frozenset[TimerId] = frozenset()

    def restart(self) -> None:
        self._restored = frozenset(self.timers)

    def fire(self, timer: TimerId, time: int) -> None:
        super().fire(timer, time)
        if timer in self._restored:
            self._restored -= {timer}
            super().fire(timer, time)


@bug_of(CaseRun.restart, "state cells come back from a restart in each other's place")
def cells_mixed_up_on_restart(run: CaseRun) -> None:
    kinds = run.program.cells
    for cells in run.state.values():
        for one, other in zip(list(kinds)[:-1], list(kinds)[1:], strict=True):
            if kinds[one] is kinds[other] and one in cells and other in cells:
                cells[one], cells[other] = cells[other], cells[one]


@bug_of(CaseRun.restart, "lists and maps come back from a restart empty")
def collections_empty_after_a_restart(run: CaseRun) -> None:
    for cells in run.state.values():
        for name in [name for name, stored in cells.items() if isinstance(stored, list | dict)]:
            del cells[name]


@bug("an empty bundle is the bundle before it once more")
class EmptyBundlesRepeat(CaseRun):
    _bundle_to_repeat: Deliver | None = None

    def deliver(self, step: Deliver) -> None:
        if not step.events and self._bundle_to_repeat:
            step = replace(self._bundle_to_repeat, id=step.id)
        elif step.events:
            self._bundle_to_repeat = step
        super().deliver(step)


@bug_of(CaseRun.deliver, "an empty bundle loses the timers")
def empty_bundles_lose_timers(run: CaseRun, step: Deliver) -> None:
    if not step.events:
        run.timers.clear()
    CaseRun.deliver(run, step)
