"""Bugs of callbacks: what a timer's callback does to timers and state, and several calls within one callback."""

from __future__ import annotations

import copy
from dataclasses import replace

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
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


@bug("a timer that an element moves to an earlier time keeps its time")
class MovesToEarlierIgnored(Calls):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, max(time, self.timers.get(timer, time)))


@bug("a timer that is moved to a later time keeps its time")
class MovesToLaterIgnored(Calls):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, min(time, self.timers.get(timer, time)))


@bug("a timer that is set and cleared in one call fires")
class SetAndClearedFires(Calls):
    def clear_timer(self, timer: TimerId) -> None:
        if ("set", timer) not in self._did:
            super().clear_timer(timer)


@bug("a timer that is cleared and set in one call does not fire")
class ClearedAndSetIsLost(Calls):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if ("clear", timer) not in self._did:
            super().set_timer(timer, time)


@bug("of two timers that are set in one call the second is lost")
class SecondTimerOfACallLost(Calls):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if not [t for what, t in self._did if what == "set" and t != timer]:
            super().set_timer(timer, time)


@bug("what a timer's callback writes is lost")
class WritesOfTimersLost(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = copy.deepcopy(self.state)
        super().fire(timer, time)
        self.state = before


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


@bug("a timer's callback is told no tag")
class TagsNotTold(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        super().fire((*timer[:3], ""), time)


@bug("a timer's callback is told the first of the program's timers")
class NamesOfTimersMixedUp(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        super().fire((*timer[:2], self.program.timers[0], timer[3]), time)


@bug("timers fire up to a second early: they are kept in whole seconds")
class TimersInWholeSeconds(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time if self.program.processing_time else time - time % 1_000)


@bug("timers fire up to a second late: they are rounded up to whole seconds")
class TimersRoundedUp(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time if self.program.processing_time else -(-time // 1_000) * 1_000)


@bug("timers of a key that holds no state do not fire")
class TimersWithoutStateLost(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        if self.state.get(timer[:2]):
            super().fire(timer, time)


@bug("the timers of all keys but the first are lost on a restart")
class OneKeysTimersRestored(CaseRun):
    def restart(self) -> None:
        first = min((timer[0] for timer in self.timers), default="")
        self.timers = {timer: time for timer, time in self.timers.items() if timer[0] == first}


@bug("the state of all keys but the first is lost on a restart")
class OneKeysStateRestored(CaseRun):
    def restart(self) -> None:
        first = min((scope[0] for scope in self.state), default="")
        self.state = {scope: cells for scope, cells in self.state.items() if scope[0] == first}


@bug("the state of keys that have timers is lost on a restart")
class StateOfTimedKeysLostOnRestart(CaseRun):
    def restart(self) -> None:
        timed = {timer[:2] for timer in self.timers}
        self.state = {scope: cells for scope, cells in self.state.items() if scope not in timed}


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


@bug("state cells come back from a restart in each other's place")
class CellsMixedUpOnRestart(CaseRun):
    def restart(self) -> None:
        kinds = self.program.cells
        for cells in self.state.values():
            for one, other in zip(list(kinds)[:-1], list(kinds)[1:], strict=True):
                if kinds[one] is kinds[other] and one in cells and other in cells:
                    cells[one], cells[other] = cells[other], cells[one]


@bug("lists and maps come back from a restart empty")
class CollectionsEmptyAfterARestart(CaseRun):
    def restart(self) -> None:
        for cells in self.state.values():
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


@bug("an empty bundle loses the timers")
class EmptyBundlesLoseTimers(CaseRun):
    def deliver(self, step: Deliver) -> None:
        if not step.events:
            self.timers.clear()
        super().deliver(step)
