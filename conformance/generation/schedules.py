"""Schedules: events of a program's domain on a timeline, deliberately near the boundaries."""

from hypothesis import strategies as st

from conformance.model.scenario import Domain
from conformance.model.schedule import Schedule
from conformance.model.steps import Advance, Deliver, Event

REACH = 60_000
"""No event lies further than this (ms) ahead of the watermark it meets."""


def watermarks(timeline: Schedule) -> dict[int, int]:
    """Bundle (a step's id) -> the watermark (ms) that its elements meet. Initial state meets the first one."""
    found = {slot.id: timeline.advances[0].watermark for slot in timeline.bundles if slot.initial}
    for step in timeline.steps:
        if isinstance(step, Advance):
            watermark = step.watermark
        elif isinstance(step, Deliver) and not step.initial:
            found[step.id] = watermark
    return found


def schedules(timeline: Schedule, domain: Domain) -> st.SearchStrategy[Schedule]:
    """Schedules of a domain on one timeline. A timeline of one bundle gets on-time events only: it serves engines
    whose watermark cannot be driven. Timelines of several bundles cover the rest."""
    slots = timeline.bundles
    on_time = domain.on_time or len(slots) == 1
    watermark_of, ids = watermarks(timeline), [slot.id for slot in slots]
    anchors = ("watermark", "watermark", "event before", "event before", "first event")

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        # One draw a schedule: Hypothesis takes longer for each than everything else here.
        random = draw(st.randoms(use_true_random=True))
        value = domain.language.drawn(random) if domain.language else lambda: random.choice(domain.values)
        names, keys = random.choice(domain.names), random.randint(1, domain.keys)
        least = random.choice([1, 4, 6])
        number = random.randint(min(least, domain.events), domain.events)
        bundles: dict[int, list[Event]] = {slot: [] for slot in ids}
        times: list[int] = []
        # A key begins with state once, so these elements have keys of their own.
        begun = random.sample(names[:keys], random.randint(0, min(keys, number))) if slots[0].initial else []
        later = ids[slots[0].initial :]
        places = [*ids[:1] * len(begun), *sorted(random.choice(later) for _ in range(number - len(begun)))]
        for nth, slot in enumerate(places, 1):
            watermark, anchor = watermark_of[slot], random.choice(anchors)
            origin = watermark if anchor == "watermark" or not times else times[-1 if anchor == "event before" else 0]
            lowest = watermark + 1 if on_time else 0
            time = min(max(origin + random.choice(domain.offsets), lowest), watermark + REACH)
            times.append(time)
            key = begun[nth - 1] if nth <= len(begun) else names[random.randrange(domain.keys) % keys]
            bundles[slot].append(Event(f"e{nth}", key, value(), time))
        return timeline.with_bundles(bundles)

    return build()
