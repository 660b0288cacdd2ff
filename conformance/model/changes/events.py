"""Changes to the events of a schedule: their order, their bundles, their keys, how often they come. The timeline stays.

Each function takes a schedule and a source of randomness, and returns None where it has nothing to change.
``perturbation`` names the functions.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from random import Random

from conformance.model.schedule import Schedule
from conformance.model.steps import Deliver, Event

Bundles = dict[int, list[Event]]


def _intervals(schedule: Schedule) -> Iterator[list[Deliver]]:
    """The bundles between each two successive advances. No restart or failure lies among them."""
    for _, group in groupby(schedule.bundles, key=lambda bundle: schedule.intervals[bundle.id]):
        yield list(group)


def _per_bundle(schedule: Schedule, change: Callable[[tuple[Event, ...]], list[Event]]) -> Schedule | None:
    bundles = {bundle.id: change(bundle.events) for bundle in schedule.bundles if len(bundle.events) > 1}
    return schedule.with_bundles(bundles) if bundles else None


def _shuffled(events: list[Event], random: Random) -> list[Event]:
    """Another order. Two events swap places."""
    shuffled = list(events)
    while len(events) > 1 and shuffled == events:
        random.shuffle(shuffled)
    return shuffled


def reorder_key(schedule: Schedule, random: Random) -> Schedule | None:
    """Shuffle the events of each key among the places that they take in their bundle."""

    def change(events: tuple[Event, ...]) -> list[Event]:
        mine: dict[str, list[Event]] = {}
        for event in events:
            mine.setdefault(event.key, []).append(event)
        shuffled = {key: iter(_shuffled(found, random)) for key, found in mine.items()}
        return [next(shuffled[event.key]) for event in events]

    return _per_bundle(schedule, change)


def interleave(schedule: Schedule, random: Random) -> Schedule | None:
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


def reverse(schedule: Schedule, random: Random) -> Schedule | None:
    """Turn each bundle round."""
    return _per_bundle(schedule, lambda events: list(reversed(events)))


def reorder_across(schedule: Schedule, random: Random) -> Schedule | None:
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
    """Cut the events between two advances at other places, into the same slots and in the same order."""
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


def split(schedule: Schedule, random: Random) -> Schedule | None:
    """Cut bundles further, into empty slots between the same advances; where there are none, cut them elsewhere."""

    def cuts_of(before: list[int], events: int, slots: int) -> list[int] | None:
        free = [place for place in range(1, events) if place not in before]
        most = min(slots - 1 - len(before), len(free))
        if most > 0:
            return sorted([*before, *random.sample(free, random.randint(1, most))])
        if not (free and before):
            return None
        return sorted([*random.sample(before, len(before) - 1), random.choice(free)])

    return _recut(schedule, cuts_of)


def merge(schedule: Schedule, random: Random) -> Schedule | None:
    """Put the bundles between two advances into one."""
    return _recut(schedule, lambda before, events, slots: [])


def _mapped(schedule: Schedule, change: Callable[[Event], Event]) -> Schedule:
    return schedule.with_bundles({b.id: [change(event) for event in b.events] for b in schedule.bundles})


def rename(schedule: Schedule, random: Random) -> Schedule:
    """Other names for the keys. The new names hash to other partitions and sort in another order."""
    keys = sorted({arrival.event.key for arrival in schedule.arrivals})
    names = {key: f"{random.randrange(16**4):04x}-{key}" for key in keys}
    return _mapped(schedule, lambda event: replace(event, key=names[event.key]))


def redeliver(schedule: Schedule, random: Random) -> Schedule | None:
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


def unrelated_key(schedule: Schedule, random: Random) -> Schedule | None:
    """Two more events, of a key of their own, on time in whichever bundle they land."""
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
