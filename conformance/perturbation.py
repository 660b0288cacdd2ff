"""Perturbations: pure functions from a schedule to a twin of it.

Each takes a source of randomness and returns None where it has nothing to change. None of them makes an on-time event
late: an event meets the same watermark as before or an earlier one. What brings a twin's trace back to the terms of its
base (steps, keys, times) follows from the two schedules: see ``equivalence.Correspondence``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

from conformance.engine import Feature
from conformance.model import (
    Advance,
    Case,
    Deliver,
    Event,
    FailOnce,
    Partitions,
    Restart,
    Schedule,
    Step,
    digest,
    renumbered,
)

SHIFT = 7 * 86_400_000
"""How far (ms) times are shifted: a week, a multiple of every window length that divides a day or a week."""

PARTITIONS = 5
"""The other partition count; not what an engine's adapter runs by default."""


@dataclass(frozen=True)
class Perturbation:
    """One way to make a twin.

    Attributes:
        apply: the function.
        needs: features without which no twin can be run.
        keeps_clock: a twin can share a pack with its base. Where not, every case of a clock is perturbed in the same
            place, so that the twins share a pack.
        sparse: packing would make it vacuous, so at most one case of a program goes into a pack.
    """

    id: str
    title: str
    apply: Callable[[Schedule, Random], Schedule | None]
    needs: frozenset[Feature] = frozenset()
    keeps_clock: bool = True
    sparse: bool = False

    def twin(self, case: Case, seed: int) -> Case | None:
        """The perturbed twin of a case, the same for the same seed; None where the perturbation has no hold."""
        chosen_by = case.digest if self.keeps_clock else digest(Schedule(case.schedule.clock).to_json())
        schedule = self.apply(case.schedule, Random(f"{seed}/{self.id}/{chosen_by}"))
        if schedule is None or (schedule == case.schedule and self is not ALONE):
            return None
        return Case(case.scenario, case.program, schedule, self.id, case.id)


Bundles = dict[int, list[Event]]


def _intervals(schedule: Schedule) -> Iterator[list[Deliver]]:
    """The bundles between two advances, for each pair of advances; no restart or failure lies among them."""
    for _, group in groupby(schedule.bundles, key=lambda bundle: schedule.intervals[bundle.id]):
        yield list(group)


def _per_bundle(schedule: Schedule, change: Callable[[tuple[Event, ...]], list[Event]]) -> Schedule | None:
    bundles = {bundle.id: change(bundle.events) for bundle in schedule.bundles if len(bundle.events) > 1}
    return schedule.with_bundles(bundles) if bundles else None


def _shuffled(events: list[Event], random: Random) -> list[Event]:
    """Another order; of two events, the other one."""
    shuffled = list(events)
    while len(events) > 1 and shuffled == events:
        random.shuffle(shuffled)
    return shuffled


def _reorder_key(schedule: Schedule, random: Random) -> Schedule | None:
    """Shuffle the events of each key among the places that they take in their bundle."""

    def change(events: tuple[Event, ...]) -> list[Event]:
        mine: dict[str, list[Event]] = {}
        for event in events:
            mine.setdefault(event.key, []).append(event)
        shuffled = {key: iter(_shuffled(found, random)) for key, found in mine.items()}
        return [next(shuffled[event.key]) for event in events]

    return _per_bundle(schedule, change)


def _interleave(schedule: Schedule, random: Random) -> Schedule | None:
    """Mix the keys of each bundle anew; each key keeps its order."""

    def change(events: tuple[Event, ...]) -> list[Event]:
        mine: dict[str, list[Event]] = {}
        for event in events:
            mine.setdefault(event.key, []).append(event)
        keys = [event.key for event in events]
        if len(mine) > 1:
            before = list(keys)
            while keys == before:
                random.shuffle(keys)
        in_order = {key: iter(found) for key, found in mine.items()}
        return [next(in_order[key]) for key in keys]

    return _per_bundle(schedule, change)


def _reverse(schedule: Schedule, random: Random) -> Schedule | None:
    """Turn each bundle round."""
    return _per_bundle(schedule, lambda events: list(reversed(events)))


def _reorder_across(schedule: Schedule, random: Random) -> Schedule | None:
    """Shuffle the events between two advances over their bundles, whose sizes stay."""
    bundles: Bundles = {}
    for slots in _intervals(schedule):
        used = [slot for slot in slots if slot.events]
        if len(used) > 1:
            shuffled = iter(_shuffled([event for slot in used for event in slot.events], random))
            bundles |= {slot.id: [next(shuffled) for _ in slot.events] for slot in used}
    return schedule.with_bundles(bundles) if bundles else None


Cuts = Callable[[list[int], int, int], "list[int] | None"]
"""(places of the cuts between bundles, number of events, number of slots) -> new places, None to leave them."""


def _recut(schedule: Schedule, cuts_of: Cuts) -> Schedule | None:
    """Cut the events between two advances anew into the same slots, in the same order."""
    bundles: Bundles = {}
    for slots in _intervals(schedule):
        events = [event for slot in slots for event in slot.events]
        ends = [sum(len(slot.events) for slot in slots[: number + 1]) for number in range(len(slots))]
        before = sorted({end for end in ends if 0 < end < len(events)})
        cuts = cuts_of(before, len(events), len(slots))
        if cuts is not None and cuts != before:
            edges = [0, *cuts, len(events)]
            pieces = [events[start:end] for start, end in itertools.pairwise(edges)]
            pieces += [[] for _ in range(len(slots) - len(pieces))]
            bundles |= {slot.id: piece for slot, piece in zip(slots, pieces, strict=True)}
    return schedule.with_bundles(bundles) if bundles else None


def _split(schedule: Schedule, random: Random) -> Schedule | None:
    """Cut bundles further, into empty slots between the same advances."""

    def cuts_of(before: list[int], events: int, slots: int) -> list[int] | None:
        free = [place for place in range(1, events) if place not in before]
        most = min(slots - 1 - len(before), len(free))
        return sorted([*before, *random.sample(free, random.randint(1, most))]) if most > 0 else None

    return _recut(schedule, cuts_of)


def _merge(schedule: Schedule, random: Random) -> Schedule | None:
    """Put the bundles between two advances into one."""
    return _recut(schedule, lambda before, events, slots: [])


def _singles(schedule: Schedule, random: Random) -> Schedule | None:
    """One element a bundle, where there are slots enough between all advances."""
    if any(sum(len(slot.events) for slot in slots) > len(slots) for slots in _intervals(schedule)):
        return None
    return _recut(schedule, lambda before, events, slots: list(range(1, events)))


def _mapped(schedule: Schedule, change: Callable[[Event], Event]) -> Schedule:
    return schedule.with_bundles({b.id: [change(event) for event in b.events] for b in schedule.bundles})


def _rename(schedule: Schedule, random: Random) -> Schedule:
    """Other names for the keys, which hash to other partitions and sort in another order."""
    keys = sorted({arrival.event.key for arrival in schedule.arrivals})
    names = {key: f"{random.randrange(16**4):04x}-{key}" for key in keys}
    return _mapped(schedule, lambda event: replace(event, key=names[event.key]))


def _redeliver(schedule: Schedule, random: Random) -> Schedule | None:
    """Deliver some events again, under ids of their own, later between the same two advances."""
    bundles: Bundles = {}
    for slots in _intervals(schedule):
        for number, slot in enumerate(slots):
            for event in slot.events:
                if random.random() < 0.5:
                    again = random.choice(slots[number:])
                    bundles.setdefault(again.id, []).append(replace(event, id=f"{event.id}.again"))
    own = {bundle.id: bundle.events for bundle in schedule.bundles}
    return schedule.with_bundles({step: [*own[step], *more] for step, more in bundles.items()}) if bundles else None


def _unrelated_key(schedule: Schedule, random: Random) -> Schedule | None:
    """Two more events, of a key that no other event has, on time wherever they land."""
    if not schedule.bundles:
        return None
    time = max([schedule.advances[0].watermark, *(a.watermark for a in schedule.arrivals)]) + 1
    bundles = {bundle.id: list(bundle.events) for bundle in schedule.bundles}
    last = max((arrival.step for arrival in schedule.arrivals), default=schedule.bundles[0].id)
    value = schedule.arrivals[0].event.value if schedule.arrivals else None
    slots = [step for step in bundles if step <= last]
    for number in (1, 2):
        events = bundles[random.choice(slots)]
        events.insert(random.randint(0, len(events)), Event(f"unrelated{number}", "unrelated", value, time + number))
    return schedule.with_bundles(bundles)


def _alone(schedule: Schedule, random: Random) -> Schedule:
    """The same schedule; its neighbours are others."""
    return schedule


def _inserted(schedule: Schedule, place: int, step: Step) -> Schedule:
    return renumbered([*schedule.steps[:place], step, *schedule.steps[place:]])


def _empty_bundle(schedule: Schedule, random: Random) -> Schedule:
    """One more bundle, with nothing in it."""
    return _inserted(schedule, random.randrange(1, len(schedule.steps)), Deliver(0))


def _finer(schedule: Schedule, random: Random) -> Schedule | None:
    """An advance in two steps: no bundle comes between them."""
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


def _coarser(schedule: Schedule, random: Random) -> Schedule | None:
    """Leave out an advance between bundles; the watermark gets there with the next one."""
    between = schedule.advances[1:-1]
    if not between:
        return None
    left_out = random.choice(between)
    return renumbered([step for step in schedule.steps if step is not left_out])


def _coalesce(schedule: Schedule, random: Random) -> Schedule | None:
    """Do not let the engine settle after an advance, before the next bundle."""
    places = [
        place
        for place, (step, after) in enumerate(itertools.pairwise(schedule.steps))
        if place and isinstance(step, Advance) and isinstance(after, Deliver)
    ]
    if not places:
        return None
    chosen = random.choice(places)
    return Schedule(
        tuple(
            replace(step, coalesced=True) if place == chosen and isinstance(step, Advance) else step
            for place, step in enumerate(schedule.steps)
        )
    )


def _shift(schedule: Schedule, random: Random) -> Schedule:
    """Every time and watermark a week later."""
    steps = (
        replace(step, watermark=step.watermark + SHIFT) if isinstance(step, Advance) else step
        for step in schedule.steps
    )
    return _mapped(Schedule(tuple(steps)), lambda event: replace(event, event_time=event.event_time + SHIFT))


def _partitions(schedule: Schedule, random: Random) -> Schedule:
    """State in another number of partitions, from the start."""
    return _inserted(schedule, 0, Partitions(0, PARTITIONS))


def _restart(schedule: Schedule, random: Random) -> Schedule:
    """Restart anywhere after the first bundle: state, timers and the watermark of a job at work must survive."""
    bundles = (n for n, step in enumerate(schedule.steps) if isinstance(step, Deliver) and not step.initial)
    first = next(bundles, 0)
    return _inserted(schedule, random.randrange(first + 1, len(schedule.steps)), Restart(0))


def _failure(resume: bool) -> Callable[[Schedule, Random], Schedule | None]:
    def fail_once(schedule: Schedule, random: Random) -> Schedule | None:
        """Let the first attempt at a bundle fail, one with state from bundles before it where there is one; a case
        whose bundle is empty has no twin."""
        if not schedule.bundles:
            return None
        bundle = random.choice(schedule.bundles[1:] or schedule.bundles)
        return _inserted(schedule, schedule.steps.index(bundle), FailOnce(0, resume)) if bundle.events else None

    return fail_once


SEVERAL = frozenset({Feature.SEVERAL_BUNDLES})

REORDER_KEY = Perturbation("reorder-key", "reorder each key within its bundle", _reorder_key)
INTERLEAVE = Perturbation("interleave", "interleave the keys of a bundle anew", _interleave)
REVERSE = Perturbation("reverse", "reverse each bundle", _reverse)
REORDER_ACROSS = Perturbation("reorder-across", "reorder across bundles", _reorder_across, SEVERAL)
SPLIT = Perturbation("split", "split bundles", _split, SEVERAL)
MERGE = Perturbation("merge", "merge bundles", _merge, SEVERAL)
SINGLES = Perturbation("singles", "one element per bundle", _singles, SEVERAL)
RENAME = Perturbation("rename", "rename the keys", _rename)
REDELIVER = Perturbation("redeliver", "deliver some elements again", _redeliver)


def _with_own_clock(
    id: str, title: str, apply: Callable[[Schedule, Random], Schedule | None], *needs: Feature
) -> Perturbation:
    return Perturbation(id, title, apply, frozenset(needs), keeps_clock=False)


FINER = _with_own_clock("finer", "finer watermark steps", _finer, Feature.WATERMARK)
COARSER = _with_own_clock("coarser", "coarser watermark steps", _coarser, Feature.WATERMARK)
COALESCE = _with_own_clock("coalesce", "coalesce an advance with a bundle", _coalesce, Feature.COALESCED)
SHIFT_TIMES = _with_own_clock("shift", "shift all times by a week", _shift)
REPARTITION = _with_own_clock("repartition", "another partition count", _partitions, Feature.PARTITIONS)
RESTART = _with_own_clock("restart", "restart from the checkpoint", _restart, Feature.RESTART)
RETRY = _with_own_clock("retry", "a failed attempt at a bundle is retried", _failure(resume=False), Feature.RETRY)
RESUME = _with_own_clock("resume", "the job fails in a bundle and resumes", _failure(resume=True), Feature.RESUME)

ALONE = Perturbation("alone", "without neighbours of its program", _alone, sparse=True)
UNRELATED_KEY = Perturbation("unrelated-key", "an unrelated key is added", _unrelated_key, sparse=True)
EMPTY_BUNDLE = Perturbation(
    "empty-bundle", "an empty bundle is added", _empty_bundle, SEVERAL, keeps_clock=False, sparse=True
)

REORDERINGS = (REORDER_KEY, INTERLEAVE, REVERSE, REORDER_ACROSS)
BUNDLINGS = (SPLIT, MERGE, SINGLES, EMPTY_BUNDLE)
WATERMARKINGS = (FINER, COARSER, COALESCE)
RECOVERIES = (RESTART, RETRY, RESUME)
RENAMINGS = (RENAME, SHIFT_TIMES, REPARTITION, ALONE, UNRELATED_KEY)

PERTURBATIONS: tuple[Perturbation, ...] = (
    *REORDERINGS,
    *BUNDLINGS,
    *WATERMARKINGS,
    *RECOVERIES,
    *RENAMINGS,
    REDELIVER,
)

RARE = frozenset({Feature.COALESCED, Feature.PARTITIONS, Feature.RESTART, Feature.RETRY, Feature.RESUME})
"""What only some of the engines whose watermark can be driven have."""

BY_ID: Mapping[str, Perturbation] = {perturbation.id: perturbation for perturbation in PERTURBATIONS}
