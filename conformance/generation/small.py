"""Small scope: the small schedules of a domain on a timeline that differ in kind.

Each kind is a short history of one key: an element at each distance from the watermark that matters to the program, two
elements at each distance from each other, each value followed by another one. A case has as many keys as the domain
allows, each with a history of its own, under names of one family: so rivals among the keys meet in one case.
"""

import itertools
from collections.abc import Iterator, Sequence

from conformance.generation.schedules import REACH, watermarks
from conformance.model.scenario import Domain
from conformance.model.schedule import Schedule
from conformance.model.steps import Event
from conformance.model.values import Json

PAIRS = 64
"""The most ordered pairs of values that follow each other. A larger domain has each value followed by one other."""

History = list[tuple[int, int, int, Json]]
"""The elements of one key: (bundle, 0 for the watermark or 1 for the element before as the origin, distance in ms,
value)."""


def small_schedules(timeline: Schedule, domain: Domain) -> Iterator[Schedule]:
    """The schedules, in a fixed order."""
    if domain.language:
        yield from _of_language(timeline, domain, domain.language.lists)
    slots = [slot.id for slot in timeline.bundles]
    marks, on_time = watermarks(timeline), domain.on_time or len(slots) == 1
    waiting = list(_histories(slots, domain))
    for number in itertools.count():
        if not waiting and number >= len(domain.names):
            return
        family = domain.names[number % len(domain.names)]
        keys = family[: domain.keys]
        # Rivals meet: where a family has more keys than two elements each have room for, each has one.
        rivals = len(domain.names) > 1 and 2 * len(keys) > domain.events
        mine: list[tuple[str, History]] = []
        room = max(domain.events, len(keys)) if rivals else domain.events
        for key in keys:
            history = waiting[0] if waiting else [(slots[0], 0, _on_time(domain), domain.values[0])]
            history = history[:1] if rivals else history
            if len(history) > room:
                break
            mine.append((key, history))
            room -= len(history)
            waiting = waiting[1:]
        yield _schedule(timeline, mine, marks, on_time)


def _of_language(timeline: Schedule, domain: Domain, values: Sequence[Json]) -> Iterator[Schedule]:
    """All values once: as many in a case as it may have events, for its keys in turn, from the first bundle to the
    last."""
    slots, marks = [slot.id for slot in timeline.bundles], watermarks(timeline)
    for number in range(-(-len(values) // domain.events)):
        part = values[number * domain.events : (number + 1) * domain.events]
        keys = domain.names[number % len(domain.names)][: 1 + number % domain.keys]
        bundles: dict[int, list[Event]] = {slot: [] for slot in slots}
        for nth, value in enumerate(part):
            slot = slots[nth * len(slots) // len(part)]
            offset = domain.offsets[(number + nth) % len(domain.offsets)]
            time = min(marks[slot] + max(offset, 1), marks[slot] + REACH)
            bundles[slot].append(Event(f"e{nth + 1}", keys[nth % len(keys)], value, time))
        yield timeline.with_bundles(bundles)


def _on_time(domain: Domain) -> int:
    return max(domain.offsets)


def _histories(slots: Sequence[int], domain: Domain) -> Iterator[History]:
    values = itertools.cycle(domain.values)
    first, last = slots[0], slots[-1]
    middle = slots[len(slots) // 2]
    all_places = [(first, last), (middle, middle), (first, middle), (middle, last), (last, last)]
    places = itertools.cycle(all_places)
    for offset in domain.offsets:
        one, two = next(places)
        yield [(one, 0, offset, next(values)), (two, 1, 0, next(values))]
        one, two = next(places)
        yield [(one, 0, _on_time(domain), next(values)), (two, 1, offset, next(values))]
    for before, after in _followed(domain.values):
        for one, two in all_places if domain.language else [next(places)]:
            yield [(one, 0, _on_time(domain), before), (two, 1, 1, after)]


def _followed(values: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    """Values and the value that comes next."""
    if len(values) == 1:
        return
    if len(values) ** 2 <= PAIRS:
        yield from itertools.product(values, repeat=2)
        return
    yield from ((value, values[(n + 1) % len(values)]) for n, value in enumerate(values))


def _schedule(
    timeline: Schedule, histories: Sequence[tuple[str, History]], marks: dict[int, int], on_time: bool
) -> Schedule:
    """Histories of several keys on a timeline, in turn."""
    bundles: dict[int, list[Event]] = {slot.id: [] for slot in timeline.bundles}
    number, before = 0, dict[str, int]()
    for turn in range(max(len(history) for _, history in histories)):
        for key, history in histories:
            if turn >= len(history):
                continue
            slot, origin, offset, value = history[turn]
            number += 1
            lowest = marks[slot] + 1 if on_time else 0
            time = min(
                max((before.get(key, marks[slot]) if origin else marks[slot]) + offset, lowest), marks[slot] + REACH
            )
            before[key] = time
            bundles[slot].append(Event(f"e{number}", key, value, time))
    return timeline.with_bundles(bundles)
