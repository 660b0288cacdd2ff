"""Changes to the timeline of a schedule: its bundles, advances, times, partitions, restarts and failures.

Each function takes a schedule and a source of randomness, and returns None where it has nothing to change.
``perturbation`` names the functions.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random

from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import (
    Advance,
    Crash,
    Deliver,
    FailOnce,
    NoData,
    Partitions,
    Restart,
    SinkFails,
    Step,
    Wait,
)

WEEK = 7 * 86_400_000

SHIFTS = tuple(WEEK * -(-epoch // WEEK) for epoch in (1, 2**32, 1_767_225_600_000, 2**31 * 1000))
"""How far (ms) times are shifted: a week; past 2**32 ms; into 2026; past 2**31 s, in 2038. Each is a multiple of a
week, and so of every window length that divides a day or a week."""

PARTITIONS = (5, 1)
"""The other partition counts. No adapter runs them by default."""


def _inserted(schedule: Schedule, place: int, step: Step) -> Schedule:
    return renumbered([*schedule.steps[:place], step, *schedule.steps[place:]])


def empty_bundle(schedule: Schedule, random: Random) -> Schedule:
    """One more bundle, an empty one. Where the schedule waits, one before each bundle that comes behind a wait: a time
    to live lies between that bundle and those before the wait."""
    pairs = enumerate(itertools.pairwise(schedule.steps), 1)
    places = [place for place, (step, after) in pairs if isinstance(step, Wait) and isinstance(after, Deliver)]
    free = [place for place, step in enumerate(schedule.steps[:-1], 1) if not step.binds_next]
    for place in reversed(places or [random.choice(free)]):
        schedule = _inserted(schedule, place, Deliver(0))
    return schedule


IN_A_ROW = 6
"""How many bundles there are between two advances where each has one element at the most."""


def singles(schedule: Schedule, random: Random) -> Schedule | None:
    """One element per bundle, in IN_A_ROW bundles between all advances that have a bundle between them."""
    steps: list[Step] = []
    for _, group in itertools.groupby(schedule.steps, key=lambda step: isinstance(step, Deliver) and not step.initial):
        found = list(group)
        if isinstance(found[0], Deliver) and not found[0].initial:
            events = [event for bundle in found if isinstance(bundle, Deliver) for event in bundle.events]
            if len(events) > IN_A_ROW:
                return None
            found = [Deliver(0, tuple(events[place : place + 1])) for place in range(IN_A_ROW)]
        steps += found
    return renumbered(steps)


def no_data(schedule: Schedule, random: Random) -> Schedule:
    """Bundles without any element: one right after each advance but the last, which then settles without an element,
    and one anywhere."""
    places = [place + 1 for place, step in enumerate(schedule.steps[:-1]) if isinstance(step, Advance)]
    places.append(random.randrange(places[0], len(schedule.steps)))
    for place in sorted(places, reverse=True):
        schedule = _inserted(schedule, place, NoData(0))
    return schedule


def finer(schedule: Schedule, random: Random) -> Schedule | None:
    """An advance in two steps, with no bundle between them."""
    wide = [
        (place, before.watermark, after.watermark)
        for place, after in enumerate(schedule.steps)
        for before in [_advance_before(schedule, place)]
        if isinstance(after, Advance) and before and after.watermark - before.watermark > 1
    ]
    if not wide:
        return None
    place, low, high = random.choice(wide)
    return _inserted(schedule, place, Advance(0, random.randrange(low + 1, high)))


def _advance_before(schedule: Schedule, place: int) -> Advance | None:
    return next((step for step in reversed(schedule.steps[:place]) if isinstance(step, Advance)), None)


def _width(schedule: Schedule, place: int) -> int:
    """How far (ms) the advance in a place moves the watermark."""
    step, before = schedule.steps[place], _advance_before(schedule, place)
    return step.watermark - before.watermark if isinstance(step, Advance) and before else 0


def coarser(schedule: Schedule, random: Random) -> Schedule | None:
    """Leave out an advance between bundles. The next advance moves the watermark past it."""
    between = schedule.advances[1:-1]
    if not between:
        return None
    left_out = random.choice(between)
    return renumbered([step for step in schedule.steps if step is not left_out])


def coalesce(schedule: Schedule, random: Random) -> Schedule | None:
    """Do not let the engine settle after an advance, before the next bundle. Of the advances with two bundles behind
    them, it is the one that moves the watermark furthest; any, where there is none. The late filter of the first bundle
    has the watermark before, that of the second the new one, and an element between the two watermarks tells them
    apart."""
    places = [
        place
        for place, (step, after) in enumerate(itertools.pairwise(schedule.steps))
        if isinstance(step, Advance) and isinstance(after, Deliver) and _advance_before(schedule, place)
    ]
    if not places:
        return None
    two = [
        place for place in places if all(isinstance(step, Deliver) for step in schedule.steps[place + 1 : place + 3])
    ]
    chosen = max(two, key=lambda place: _width(schedule, place)) if two else random.choice(places)
    return Schedule(
        tuple(
            replace(step, coalesced=True) if place == chosen and isinstance(step, Advance) else step
            for place, step in enumerate(schedule.steps)
        )
    )


def shift(schedule: Schedule, random: Random) -> Schedule:
    """Every time and watermark later. Of several bundles, always past 2**31 s, which is past 2**32 ms too: one run then
    shows what is cut at either. Of one bundle, by one of SHIFTS."""
    by = SHIFTS[-1] if len(schedule.bundles) > 1 else random.choice(SHIFTS)
    return Schedule(tuple(step.shifted(by) for step in schedule.steps))


def repartition(count: int) -> Callable[[Schedule, Random], Schedule | None]:
    def repartition(schedule: Schedule, random: Random) -> Schedule:
        """State in another number of partitions, from the start."""
        return _inserted(schedule, 0, Partitions(0, count))

    return repartition


RESTARTS = 3
"""The most restarts of one schedule at places that are drawn."""


def _first_bundle(schedule: Schedule) -> int:
    """The place of the first bundle."""
    return next((n for n, step in enumerate(schedule.steps) if isinstance(step, Deliver) and not step.initial), 0)


def _waits(schedule: Schedule) -> list[int]:
    """The places behind the waits before the last bundle."""
    before = schedule.steps[: schedule.steps.index(schedule.bundles[-1])]
    return [place for place, step in enumerate(before, 1) if isinstance(step, Wait)]


def restart(schedule: Schedule, random: Random) -> Schedule:
    """Restart once, twice or three times, anywhere after the first bundle. Where the schedule waits, restart once,
    because a restart takes processing time that no wait counts; between two waits, if there are two: what was written
    before has lived for a while, and its time may have passed when the last bundle shows what is left. The job must
    keep its state, its timers and its watermark."""
    places, waits = range(_first_bundle(schedule) + 1, len(schedule.steps)), _waits(schedule)
    if schedule.waits:
        last = schedule.steps.index(schedule.bundles[-1])
        places = range(waits[0], waits[-1]) if len(waits) > 1 else range(places.start, last + 1)
    return _restarted(schedule, random, places, 1 if schedule.waits else random.randint(1, RESTARTS))


def _restarted(schedule: Schedule, random: Random, places: Iterable[int], times: int) -> Schedule:
    # Nothing comes between a failure, or a coalesced advance, and its bundle.
    free = [place for place in places if not schedule.steps[place - 1].binds_next]
    for place in sorted(random.sample(free, min(times, len(free))), reverse=True):
        schedule = _inserted(schedule, place, Restart(0))
    return schedule


def restart_before(schedule: Schedule, random: Random) -> Schedule:
    """Restart right before the first bundle, too, when the job has its watermark and its initial state alone."""
    return _inserted(restart(schedule, random), _first_bundle(schedule), Restart(0))


def restart_behind(schedule: Schedule, random: Random) -> Schedule:
    """Restart right behind each advance between bundles, too, when timers have fired and state has been cleared. Where
    the schedule waits, restart right behind the last wait before a bundle alone, when state has expired."""
    if waits := _waits(schedule):
        return _restarted(schedule, random, waits[-1:], 1)
    schedule = restart(schedule, random)
    for advance in reversed(schedule.advances[1:-1]):
        place = schedule.steps.index(advance) + 1
        if not isinstance(schedule.steps[place], Restart):
            schedule = _inserted(schedule, place, Restart(0))
    return schedule


ANY_LATER, THE_FIRST, THE_LAST = slice(1, None), slice(1), slice(-1, None)
"""Which bundle fails: one that finds state of earlier bundles, the one before which there is no state, the one that
finds the most."""


def within_reach(schedule: Schedule) -> list[Deliver]:
    """The bundles that a failure may be in. Of bundles with one element each, few cases have an element in a later one
    than the first."""
    found: list[Deliver] = []
    for _, group in itertools.groupby(schedule.steps, key=lambda step: isinstance(step, Deliver) and not step.initial):
        bundles = [step for step in group if isinstance(step, Deliver) and not step.initial]
        found += bundles[:1] if len(bundles) >= IN_A_ROW else bundles
    return found


def failing(step: FailOnce | SinkFails, which: slice = ANY_LATER) -> Callable[[Schedule, Random], Schedule | None]:
    def fail_once(schedule: Schedule, random: Random) -> Schedule | None:
        """Let a bundle fail once, in the operator or in the sink. If there is one bundle, that one fails. No bundle
        fails twice. A failure does not reach a case whose bundle is empty."""
        failing = {schedule.bundle_after(s).id for s in schedule.steps if isinstance(s, FailOnce | SinkFails)}
        bundles = within_reach(schedule)
        left = [bundle for bundle in bundles[which] or bundles if bundle.id not in failing]
        if not left:
            return None
        bundle = random.choice(left)
        return _inserted(schedule, schedule.steps.index(bundle), step)

    return fail_once


KILLED = (
    (("partition",), ("upload", "within"), ("offsets", "sink")),
    (("state",), ("commit",), ("maintenance",)),
)
"""Where the job is killed, by level: each group in a bundle of its own, as far as there are bundles. The points of a
group kill one job after the other."""


def crash(groups: Sequence[Sequence[str]]) -> Callable[[Schedule, Random], Schedule | None]:
    def crash(schedule: Schedule, random: Random) -> Schedule | None:
        """Kill the job at these points of some bundles, none of which fails. Where the schedule waits, kill it once,
        because a new job takes processing time that no wait counts, and in a bundle that finds state."""
        kinds = (FailOnce, SinkFails, Crash)
        failing = {schedule.bundle_after(step).id for step in schedule.steps if isinstance(step, kinds)}
        bundles = within_reach(schedule)
        bundles = bundles[ANY_LATER] or bundles if schedule.waits else bundles
        order = [bundle for bundle in random.sample(bundles, len(bundles)) if bundle.id not in failing]
        if not order:
            return None
        points: dict[int, list[str]] = {}
        for number, group in enumerate(groups[:1] if schedule.waits else groups):
            points.setdefault(order[number % len(order)].id, []).extend(group)
        steps: list[Step] = []
        for step in schedule.steps:
            crashes = [Crash(0, at) for at in points.get(step.id, ())]
            again = [crash for crash in crashes if crash.again]
            # A bundle that is done is not killed in once more.
            done = [crash for crash in crashes if not crash.again][:1]
            steps += [*again, *done, step]
        return renumbered(steps)

    return crash
