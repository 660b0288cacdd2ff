"""Bugs of timers."""

from __future__ import annotations

import copy
from dataclasses import replace

from conformance.engines.case_run import CaseRun, Checkpoint, TimerId
from conformance.engines.mutants.registry import bug
from conformance.engines.mutants.schedules import Firings, bundle_of, watermark_after, watermark_before
from conformance.model.schedule import Advance, Event


@bug("timers never fire")
class TimersNeverFire(CaseRun):
    def fire_due(self) -> None:
        pass


@bug("timers fire one advance too late")
class TimersOneStepLate(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if due[0] <= watermark_before(self, self.watermark)]


@bug("timers fire one advance too early")
class TimersOneStepEarly(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return sorted(
            (time, timer) for timer, time in self.timers.items() if time <= watermark_after(self, self.watermark)
        )


@bug("a timer at exactly the watermark does not fire yet")
class TimersStrictlyAfter(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if due[0] < self.watermark]


@bug("a due timer fires when data of its key comes, and not before")
class TimersWaitForData(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        bundle = bundle_of(self)
        keys = {event.key for event in bundle.events} if bundle else set()
        return [due for due in super().due() if due[1][0] in keys]


@bug("a key has one timer for an instant: of several, the last one set")
class TimersOfOneInstantCollide(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        for other in [o for o, due in self.timers.items() if due == time and o[:2] == timer[:2]]:
            self.clear_timer(other)
        super().set_timer(timer, time)


@bug("a timer that is set for a time that the watermark has passed fires at once, and again")
class PastTimersFireTwice(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time)
        if time < self.watermark and not timer[3].endswith("\0"):
            super().set_timer((*timer[:3], f"{timer[3]}\0"), time)

    def fire(self, timer: TimerId, time: int) -> None:
        super().fire((*timer[:3], timer[3].removesuffix("\0")), time)


@bug("a timer that is set for a time that the watermark has passed waits for the advance after the next")
class PastTimersWait(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        upcoming = watermark_after(self, watermark_after(self, self.watermark))
        super().set_timer(timer, time if time >= self.watermark else upcoming)


@bug("a timer that is set for exactly the watermark does not fire")
class TimersAtTheWatermarkLost(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if time != self.watermark:
            super().set_timer(timer, time)


@bug("clearing a timer clears those of its name that have other tags")
class ClearingATimerIgnoresTags(CaseRun):
    def clear_timer(self, timer: TimerId) -> None:
        for other in [other for other in self.timers if other[:3] == timer[:3]]:
            super().clear_timer(other)


@bug("due timers fire after each element, not after the bundle")
class TimersFireBetweenElements(CaseRun):
    def process(self, event: Event) -> None:
        super().process(event)
        self.fire_due()


@bug("a timer fires twice, with the state from before its first firing")
class TimersFireTwice(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = copy.deepcopy(self.state)
        super().fire(timer, time)
        after, self.state = self.state, before
        super().fire(timer, time)
        self.state = after


@bug("an advance fires the earliest due timer and loses the others")
class OneTimerPerAdvance(CaseRun):
    def fire_due(self) -> None:
        if due := self.due():
            for _, timer in due:
                del self.timers[timer]
            self.fire(due[0][1], due[0][0])


@bug("a timer of one key moves the timer of that name of another")
class TimersSharedAcrossKeys(CaseRun):
    def process(self, event: Event) -> None:
        before = set(self.timers)
        super().process(event)
        for new in set(self.timers) - before:
            for old in before:
                if old[2:] == new[2:]:
                    self.timers.pop(old, None)


@bug("a timer's callback finds its key's state empty")
class TimerStateEmpty(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        self.state.pop(timer[:2], None)
        super().fire(timer, time)


@bug("due timers fire in the order in which they were set")
class TimersInTheOrderSet(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        due = {timer for _, timer in super().due()}
        return [(time, timer) for timer, time in self.timers.items() if timer in due]


@bug("due timers fire latest first")
class TimersInReverse(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return super().due()[::-1]


@bug("clearing a timer does nothing")
class ClearedTimersFire(CaseRun):
    def clear_timer(self, timer: TimerId) -> None:
        pass


@bug("clearing a timer in a timer's callback does nothing")
class TimersClearedByTimersFire(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = dict(self.timers)
        super().fire(timer, time)
        self.timers = before | self.timers


@bug("a due timer fires although the callback of one before has cleared it")
class DueTimersFireThoughCleared(CaseRun):
    def fire_due(self) -> None:
        while due := self.due():
            for _, timer in due:
                del self.timers[timer]
            for time, timer in due:
                self.fire(timer, time)


@bug("an advance forgets the timers that it does not fire")
class TimersLostOnAdvance(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(step)
        self.timers.clear()


@bug("a timer that has fired fires again in every advance")
class TimersNeverForgotten(Firings):
    def advance(self, step: Advance) -> None:
        self.timers = self.fired | self.timers
        super().advance(step)


class Copies(CaseRun):
    """May keep a copy of a timer that fires by itself, whatever becomes of the timer."""

    def keep(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        self.timers[key, window, name, f"{tag}\0{time}"] = time

    def fire(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        super().fire((key, window, name, tag.partition("\0")[0]), time)


@bug("a timer that is moved also fires at its old time")
class MovedTimersFireAtEveryTime(Copies):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if timer in self.timers:
            self.keep(timer, self.timers[timer])
        super().set_timer(timer, time)


@bug("a timer that is moved fires twice at its new time")
class MovedTimersFireTwice(Copies):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if timer in self.timers:
            self.keep(timer, time)
        super().set_timer(timer, time)


@bug("the timers that a failed attempt set fire too")
class TimersOfAFailedAttemptKept(Copies):
    def go_back(self, before: Checkpoint) -> None:
        new = {timer: time for timer, time in self.timers.items() if before.timers.get(timer) != time}
        super().go_back(before)
        for timer, time in new.items():
            self.keep(timer, time)


@bug("a timer that is set keeps its time")
class MovingATimerDoesNothing(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, self.timers.get(timer, time))


@bug("a timer that is moved does not fire at all")
class MovingATimerLosesIt(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if timer in self.timers:
            self.clear_timer(timer)
        else:
            super().set_timer(timer, time)


@bug("a timer moves those of its name that have other tags")
class TimerTagsIgnored(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        self.timers = {other: due for other, due in self.timers.items() if other[:3] != timer[:3]}
        super().set_timer(timer, time)


@bug("a timer that is set for a time that the watermark has passed does not fire")
class PastTimersLost(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if time > self.watermark:
            super().set_timer(timer, time)


@bug("a timer that is set in a timer's callback does not fire")
class TimersSetByTimersLost(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = set(self.timers)
        super().fire(timer, time)
        self.timers = {timer: time for timer, time in self.timers.items() if timer in before}


@bug("a timer set in a timer's callback is put off by as much as that one was late")
class TimersSetByTimersFromTheWatermark(CaseRun):
    _late = 0

    def fire(self, timer: TimerId, time: int) -> None:
        self._late = self.watermark - time
        super().fire(timer, time)
        self._late = 0

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time + self._late)


@bug("a timer that is set in a timer's callback waits for the next step")
class TimersSetByTimersWait(CaseRun):
    def fire_due(self) -> None:
        for time, timer in self.due():
            if self.timers.get(timer) == time:
                del self.timers[timer]
                self.fire(timer, time)


@bug("a step fires the due timers of one key, and leaves the others for the next")
class TimersOfOneKeyPerStep(CaseRun):
    def fire_due(self) -> None:
        due = self.due()
        while mine := [d for d in self.due() if d[1][0] == due[0][1][0]]:
            time, timer = mine[0]
            del self.timers[timer]
            self.fire(timer, time)


@bug("a timer's callback is told the watermark instead of the time it was set for")
class TimersTellTheWatermark(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        super().fire(timer, self.watermark)


@bug("an advance that shall not settle yet fires its timers before the bundle")
class CoalescedAdvanceSettles(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(replace(step, coalesced=False))


@bug("what an advance that does not settle makes due waits for the next advance")
class TimersMissACoalescedAdvance(CaseRun):
    def settle(self) -> None:
        self.settled = self.watermark
        if bundle_of(self) is None:
            self.fire_due()
