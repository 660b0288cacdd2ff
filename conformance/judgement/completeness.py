"""Completeness: for on-time input, an engine puts out everything that the reference puts out, once, under its key, and
in its step or later.

The reference determines the expected output of a key. A key counts only under two conditions. Each of its elements is
on time under every reading of *late*. No order that an engine may choose matters: the reference puts out the same
values with the key's elements between two advances in reverse, with those of each bundle in reverse, and with the
timers of one instant in reverse. So completeness accuses no engine over an order that nothing promises.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from conformance.judgement.known import Known
from conformance.judgement.reference import ran, specified
from conformance.model.case import Case
from conformance.model.program import JobKind, Program
from conformance.model.scenario import Finding
from conformance.model.schedule import Event
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.model.values import canonical, spelled
from conformance.support.grouping import grouped

KEPT = 200_000
"""Number of cases whose expectations are kept, because several engines ask for the same cases."""

Steps = Mapping[str, Mapping[str, list[int]]]
"""Key -> output (a value and its event time, as text) -> the sorted steps in which the output came out."""

_known: Known[tuple[Program, str], Steps] = Known(KEPT)


def findings(program: Program, case: Case, trace: Trace) -> Iterator[Finding]:
    """Whether a trace of an engine is complete: one finding for each key that counts, True if its output is complete,
    and one finding for each key that has output but no element."""
    keys = {arrival.event.key for arrival in case.schedule.arrivals}
    if program.job is JobKind.ROW_COUNT:
        keys.add("")
    for key in dict.fromkeys(emission.key for emission in trace.emissions if emission.key not in keys):
        yield f"output came out under the key {spelled(key)}, which no element has"
    seen = _steps(program, trace)
    for key, wanted in expected(program, case).items():
        yield _difference(key, wanted, seen.get(key, {})) or True


def expected(program: Program, case: Case) -> Steps:
    """The output of the reference for the keys that count."""
    return _known.of((program, case.digest), lambda: _expected(program, case))


@cache
def _reversing() -> Any:
    """The reference with the timers of an instant in reverse."""
    return specified().with_timers_of_an_instant_reversed()


def _expected(program: Program, case: Case) -> Steps:
    late = {arrival.event.key for arrival in case.schedule.arrivals if not arrival.on_time}
    keys = sorted({arrival.event.key for arrival in case.schedule.arrivals} - late)
    if not keys:
        return {}
    trace, tied = ran(case, program)
    # Keys know nothing of one another, so another order matters only if it is another order of one key.
    orders = [_by_key(program, case)]
    runs = [trace]
    for reordered in (_reversed(case), _reversed_in_bundles(case)):
        if (order := _by_key(program, reordered)) not in orders:
            orders.append(order)
            runs.append(specified().ran(reordered, program)[0])
    if tied:
        runs.append(_reversing().ran(case, program)[0])
    if any(trace.error for trace in runs):
        return {}
    steps = [_steps(program, trace) for trace in runs]
    counts = [_counts(found) for found in steps]
    return {key: steps[0].get(key, {}) for key in keys if all(c.get(key) == counts[0].get(key) for c in counts)}


def _by_key(program: Program, case: Case) -> dict[str, list[tuple[int, str]]]:
    """Key -> its elements in order of delivery, each with its bundle. Typed keys of different names may be equal, and
    so are one here."""
    return grouped(
        ("" if program.keys else event.key, (bundle.id, event.id))
        for bundle in case.schedule.bundles
        for event in bundle.events
    )


def _reversed(case: Case) -> Case:
    """The case with all elements between two advances in reverse order, distributed over the bundles between those
    advances."""
    between = grouped(
        (case.schedule.intervals[bundle.id], bundle) for bundle in case.schedule.bundles if not bundle.initial
    )
    dealt: dict[int, list[Event]] = {}
    for bundles in between.values():
        events = [event for bundle in bundles for event in bundle.events]
        dealt |= {bundle.id: [events.pop() for _ in bundle.events] for bundle in bundles}
    return replace(case, schedule=case.schedule.with_bundles(dealt))


def _reversed_in_bundles(case: Case) -> Case:
    """The case with the elements of each bundle in reverse order."""
    dealt = {bundle.id: bundle.events[::-1] for bundle in case.schedule.bundles if not bundle.initial}
    return replace(case, schedule=case.schedule.with_bundles(dealt))


def _counts(steps: Steps) -> dict[str, dict[str, int]]:
    return {key: {content: len(found) for content, found in contents.items()} for key, contents in steps.items()}


def _steps(program: Program, trace: Trace) -> dict[str, dict[str, list[int]]]:
    by_key = grouped((emission.key, (_content(program, emission), emission.step)) for emission in trace.emissions)
    return {key: {content: sorted(steps) for content, steps in grouped(mine).items()} for key, mine in by_key.items()}


def _content(program: Program, emission: Emission) -> str:
    """A value and its event time, without the fields that an engine may assign in any order."""
    value = emission.value
    if program.labels and isinstance(value, dict):
        value = {name: field for name, field in value.items() if name not in program.labels}
    return canonical([value, emission.event_time])


def _difference(key: str, wanted: Mapping[str, list[int]], seen: Mapping[str, list[int]]) -> str:
    """How a key's output differs from the expected output, "" if it does not differ."""
    for content in dict.fromkeys([*wanted, *seen]):
        due, came = wanted.get(content, []), seen.get(content, [])
        if len(due) != len(came):
            return f"key {spelled(key)} put out {content} {len(came)} times, not {len(due)}"
        if DRAIN in came and DRAIN not in due:
            return f"key {spelled(key)} put out {content} at the end of the stream, not in step {due[-1]}"
        if any(step < wanted_in for step, wanted_in in zip(came, due, strict=True)):
            return f"key {spelled(key)} put out {content} in step {came[0]}, before step {due[0]}"
    return ""
