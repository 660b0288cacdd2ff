"""Trials of the adapter kit: small cases of one timeline, each with a name for messages. Also the parts to make them
from."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.model.case import Case, program_ref
from conformance.model.program import Program
from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import Advance, Deliver, Event, Step
from conformance.testing import calls
from conformance.testing.calls import STATE, Calls, T

KIT = "adapter-kit"

_PROGRAMS: dict[str, Program] = {
    "value": calls.OnValue(),
    "typed": calls.OnTypedValue(),
    "containers": calls.OnContainers(),
    "misfits": calls.OnMisfits(),
    "typed-keys": calls.OnTypedKeys(),
    "null-keys": calls.OnNullKeys(),
    "bag": calls.OnBag(),
    "map": calls.OnMap(),
    "set": calls.OnSet(),
    "sum": calls.OnSum(),
    "all": calls.Interpreter(),
    "plain": calls.Plain(),
    "timed": calls.Timed(),
    "stamped": calls.Stamped(),
    "timed-sum": calls.TimedSum(),
    "chain": calls.Chain(),
    "clocked": calls.Clocked(),
    "expiring": calls.Expiring(),
    "begun": calls.Begun(),
    "inspected": calls.Inspected(),
    "counted": calls.Counted(),
    "windows": calls.InWindows(),
    "long-windows": calls.InLongWindows(),
    "value-windows": calls.ValueInWindows(),
    "bag-windows": calls.BagInWindows(),
    "map-windows": calls.MapInWindows(),
    "set-windows": calls.SetInWindows(),
    "sum-windows": calls.SumInWindows(),
    "timed-windows": calls.TimedInWindows(),
}
PROGRAMS: Mapping[str, Program] = {program_ref(KIT, name): program for name, program in _PROGRAMS.items()}

CELLS = ("value", "bag", "map", "set", "sum")
"""The programs with one cell each, of that name."""

END = T + 200_000
LATELY = 1_700_000_000_000
"""A time of our days (ms), of more digits than T."""

Row = tuple[str, Calls] | Event
"""(key, calls) of an event that is on time, or an event."""


@dataclass(frozen=True)
class Trial:
    """Small cases of one timeline that an adapter runs together.

    Attributes:
        about: the subject of the trial, in words.
        cases: the subject of a case, in words -> the case.
        mend: the advice if a case comes out wrong.
        places: event id -> how the event lies to the watermark, in words.
        reached: the cases (by their words) whose keys write state in the bundle that fails once.
        idle: the cases (by their words) that have no element in that bundle.
        apart: whether the cases share no pack with those of other trials.
    """

    about: str
    cases: Mapping[str, Case]
    mend: str
    places: Mapping[str, str] | None = None
    reached: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    apart: bool = False


def together(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials whose cases can share packs: those of one timeline, in the order given."""
    groups: dict[object, list[Trial]] = {}
    for trial in trials:
        timelines = tuple(dict.fromkeys(case.schedule.timeline for case in trial.cases.values()))
        groups.setdefault((trial.about if trial.apart else "", timelines), []).append(trial)
    return list(groups.values())


def write(cell: str, value: int) -> Calls:
    """Calls that read a cell, write to it, and read it again. If they run twice, state that was kept shows."""
    if cell == "value":
        return [["value", "get"], ["value", "set", value], ["value", "get"]]
    if cell == "map":
        return [["map", "items"], ["map", "put", str(value), value], ["map", "items"]]
    if cell == "set":
        return [["set", "get"], ["set", "add", str(value)], ["set", "get"]]
    return [[cell, "get"], [cell, "add", value], [cell, "get"]]


def case_of(program: str, timeline: Schedule, *bundles: Iterable[Row]) -> Case:
    """A case of a program on a timeline. An event without a given time gets one after the watermark."""
    slots = {bundle.id: iter(bundle_rows) for bundle, bundle_rows in zip(timeline.bundles, bundles, strict=False)}
    numbers, watermark, filled = itertools.count(1), 0, {}
    for step in timeline.steps:
        if isinstance(step, Advance):
            watermark = step.watermark
        elif step.id in slots:
            filled[step.id] = [
                row if isinstance(row, Event) else Event(f"e{n}", row[0], row[1], watermark + n)
                for row, n in zip(slots[step.id], numbers, strict=False)
            ]
    return Case(KIT, program, timeline.with_bundles(filled))


def timeline_of(*steps: Step) -> Schedule:
    return renumbered([Advance(0, T), *steps, Advance(0, END)])


def all_of(cell: str) -> Calls:
    """All calls of STATE on one cell, for one event."""
    return [call for calls in STATE for call in calls if call[0] == cell]


BUNDLE = Deliver(0)
ONE = timeline_of(BUNDLE)
SEVERAL = timeline_of(BUNDLE, BUNDLE, BUNDLE)
