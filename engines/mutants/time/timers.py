"""Bugs of timers."""

import copy
from dataclasses import replace

from conformance.engines.case_run import CaseRun, Checkpoint, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.engines.mutants.schedules import Firings, bundle_of, watermark_after, watermark_before
from conformance.model.schedule import Advance, Event


@bug_of(CaseRun.fire_due, "timers never fire")
def timers_never_fire(run: CaseRun) -> None:
    pass


@bug_of(CaseRun.due, "timers fire one advance too late")
def timers_one_step_late(run: CaseRun) -> list[tuple[int, TimerId]]:
    return [due for due in CaseRun.due(run) if due[0] <= watermark_before(run, run.watermark)]


@bug_of(CaseRun.due, "timers fire one advance too early")
def timers_one_step_early(run: CaseRun) -> list[tuple[int, TimerId]]:
    return sorted((time, timer) for timer, time in run.timers.items() if time <= watermark_after(run, run.watermark))


@bug_of(CaseRun.due, "a timer at exactly the watermark does not fire yet")
def timers_strictly_after(run: CaseRun) -> list[tuple[int, TimerId]]:
    return [due for due in CaseRun.due(run) if due[0] < run.watermark]


@bug_of(CaseRun.due, "a due timer fires when data of its key comes, and not before")
def timers_wait_for_data(run: CaseRun) -> list[tuple[int, TimerId]]:
    bundle = bundle_of(run)
    keys = {event.key for event in bundle.events} if bundle else set()
    return [due for due in CaseRun.due(run) if due[1][0] in keys]


@bug_of(CaseRun.set_timer, "a key has one timer for an instant: of several, the last one set")
def timers_of_one_instant_collide(run: CaseRun, timer: TimerId, time: int) -> None:
    for other in [o for o, due in run.timers.items() if due == time and o[:2] == timer[:2]]:
        run.clear_timer(other)
    CaseRun.set_timer(run, timer, time)


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


@bug_of(CaseRun.set_timer, "a timer that is set for exactly the watermark does not fire")
def timers_at_the_watermark_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    if time != run.watermark:
        CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.clear_timer, "clearing a timer clears those of its name that have other tags")
def clearing_a_timer_ignores_tags(run: CaseRun, timer: TimerId) -> None:
    for other in [other for other in run.timers if other[:3] == timer[:3]]:
        CaseRun.clear_timer(run, other)


@bug_of(CaseRun.process, "due timers fire after each element, not after the bundle")
def timers_fire_between_elements(run: CaseRun, event: Event) -> None:
    CaseRun.process(run, event)
    run.fire_due()


@bug_of(CaseRun.fire, "a timer fires twice, with the state from before its first firing")
def timers_fire_twice(run: CaseRun, timer: TimerId, time: int) -> None:
    before = copy.deepcopy(run.state)
    CaseRun.fire(run, timer, time)
    after, run.state = run.state, before
    CaseRun.fire(run, timer, time)
    run.state = after


@bug_of(CaseRun.fire_due, "an advance fires the earliest due timer and loses the others")
def one_timer_per_advance(run: CaseRun) -> None:
    if due := run.due():
        for _, timer in due:
            del run.timers[timer]
        run.fire(due[0][1], due[0][0])


@bug_of(CaseRun.process, "a timer of one key moves the timer of that name of another")
def timers_shared_across_keys(run: CaseRun, event: Event) -> None:
    before = set(run.timers)
    CaseRun.process(run, event)
    for new in set(run.timers) - before:
        for old in before:
            if old[2:] == new[2:]:
                run.timers.pop(old, None)


@bug_of(CaseRun.fire, "a timer's callback finds its key's state empty")
def timer_state_empty(run: CaseRun, timer: TimerId, time: int) -> None:
    run.state.pop(timer[:2], None)
    CaseRun.fire(run, timer, time)


@bug_of(CaseRun.due, "due timers fire in the order in which they were set")
def timers_in_the_order_set(run: CaseRun) -> list[tuple[int, TimerId]]:
    due = {timer for _, timer in CaseRun.due(run)}
    return [(time, timer) for timer, time in run.timers.items() if timer in due]


@bug_of(CaseRun.due, "due timers fire latest first")
def timers_in_reverse(run: CaseRun) -> list[tuple[int, TimerId]]:
    return CaseRun.due(run)[::-1]


@bug_of(CaseRun.clear_timer, "clearing a timer does nothing")
def cleared_timers_fire(run: CaseRun, timer: TimerId) -> None:
    pass


@bug_of(CaseRun.fire, "clearing a timer in a timer's callback does nothing")
def timers_cleared_by_timers_fire(run: CaseRun, timer: TimerId, time: int) -> None:
    before = dict(run.timers)
    CaseRun.fire(run, timer, time)
    run.timers = before | run.timers


@bug_of(CaseRun.fire_due, "a due timer fires although the callback of one before has cleared it")
def due_timers_fire_though_cleared(run: CaseRun) -> None:
    while due := run.due():
        for _, timer in due:
            del run.timers[timer]
        for time, timer in due:
            run.fire(timer, time)


@bug_of(CaseRun.advance, "an advance forgets the timers that it does not fire")
def timers_lost_on_advance(run: CaseRun, step: Advance) -> None:
    CaseRun.advance(run, step)
    run.timers.clear()


@bug_of(CaseRun.advance, "a timer that has fired fires again in every advance", Firings)
def timers_never_forgotten(run: Firings, step: Advance) -> None:
    run.timers = run.fired | run.timers
    Firings.advance(run, step)


class Copies(CaseRun):
    """May keep a copy of a timer that fires by itself, whatever becomes of the timer."""

    def keep(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        self.timers[key, window, name, f"{tag}\0{time}"] = time

    def fire(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        super().fire((key, window, name, tag.partition("\0")[0]), time)


@bug_of(CaseRun.set_timer, "a timer that is moved also fires at its old time", Copies)
def moved_timers_fire_at_every_time(run: Copies, timer: TimerId, time: int) -> None:
    if timer in run.timers:
        run.keep(timer, run.timers[timer])
    Copies.set_timer(run, timer, time)


@bug_of(CaseRun.set_timer, "a timer that is moved fires twice at its new time", Copies)
def moved_timers_fire_twice(run: Copies, timer: TimerId, time: int) -> None:
    if timer in run.timers:
        run.keep(timer, time)
    Copies.set_timer(run, timer, time)


@bug_of(CaseRun.go_back, "the timers that a failed attempt set fire too", Copies)
def timers_of_a_failed_attempt_kept(run: Copies, before: Checkpoint) -> None:
    new = {timer: time for timer, time in run.timers.items() if before.timers.get(timer) != time}
    Copies.go_back(run, before)
    for timer, time in new.items():
        run.keep(timer, time)


@bug_of(CaseRun.set_timer, "a timer that is set keeps its time")
def moving_a_timer_does_nothing(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, run.timers.get(timer, time))


@bug_of(CaseRun.set_timer, "a timer that is moved does not fire at all")
def moving_a_timer_loses_it(run: CaseRun, timer: TimerId, time: int) -> None:
    if timer in run.timers:
        run.clear_timer(timer)
    else:
        CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.set_timer, "a timer moves those of its name that have other tags")
def timer_tags_ignored(run: CaseRun, timer: TimerId, time: int) -> None:
    run.timers = {other: due for other, due in run.timers.items() if other[:3] != timer[:3]}
    CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.set_timer, "a timer that is set for a time that the watermark has passed does not fire")
def past_timers_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    if time > run.watermark:
        CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.fire, "a timer that is set in a timer's callback does not fire")
def timers_set_by_timers_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    before = set(run.timers)
    CaseRun.fire(run, timer, time)
    run.timers = {timer: time for timer, time in run.timers.items() if timer in before}


@bug("a timer set in a timer's callback is put off by as much as that one was late")
class TimersSetByTimersFromTheWatermark(CaseRun):
    _late = 0

    def fire(self, timer: TimerId, time: int) -> None:
        self._late = self.watermark - time
        super().fire(timer, time)
        self._late = 0

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time + self._late)


@bug_of(CaseRun.fire_due, "a timer that is set in a timer's callback waits for the next step")
def timers_set_by_timers_wait(run: CaseRun) -> None:
    for time, timer in run.due():
        if run.timers.get(timer) == time:
            del run.timers[timer]
            run.fire(timer, time)


@bug_of(CaseRun.fire_due, "a step fires the due timers of one key, and leaves the others for the next")
def timers_of_one_key_per_step(run: CaseRun) -> None:
    due = run.due()
    while mine := [d for d in run.due() if d[1][0] == due[0][1][0]]:
        time, timer = mine[0]
        del run.timers[timer]
        run.fire(timer, time)


@bug_of(CaseRun.fire, "a timer's callback is told the watermark instead of the time it was set for")
def timers_tell_the_watermark(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.fire(run, timer, run.watermark)


@bug_of(CaseRun.advance, "an advance that shall not settle yet fires its timers before the bundle")
def coalesced_advance_settles(run: CaseRun, step: Advance) -> None:
    CaseRun.advance(run, replace(step, coalesced=False))


@bug_of(CaseRun.settle, "what an advance that does not settle makes due waits for the next advance")
def timers_miss_a_coalesced_advance(run: CaseRun) -> None:
    run.settled = run.watermark
    if bundle_of(run) is None:
        run.fire_due()
