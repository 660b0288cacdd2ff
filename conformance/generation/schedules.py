"""Schedules: events of a program's domain on a timeline, deliberately near the boundaries."""

from __future__ import annotations

from itertools import product

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
    watermark_of = watermarks(timeline)
    # One draw per event, from all combinations, because every draw costs Hypothesis time.
    anchors = ("watermark", "watermark", "event before", "event before", "first event")
    choices = product([slot.id for slot in slots], range(domain.keys), anchors, domain.offsets, domain.values)
    placements = st.sampled_from(list(choices))

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        names = draw(st.sampled_from(domain.names))
        keys = draw(st.integers(1, domain.keys))
        least = draw(st.sampled_from([1, 4, 6]))
        drawn = draw(st.lists(placements, min_size=least, max_size=domain.events))
        drawn.sort(key=lambda placement: placement[0])
        bundles: dict[int, list[Event]] = {slot.id: [] for slot in slots}
        times: list[int] = []
        for number, (slot, key, anchor, offset, value) in enumerate(drawn, 1):
            watermark = watermark_of[slot]
            origin = watermark if anchor == "watermark" or not times else times[-1 if anchor == "event before" else 0]
            lowest = watermark + 1 if on_time else 0
            time = min(max(origin + offset, lowest), watermark + REACH)
            times.append(time)
            bundles[slot].append(Event(f"e{number}", names[key % keys], value, time))
        return timeline.with_bundles(bundles)

    return build()
