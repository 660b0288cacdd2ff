"""How alike two traces are, after the second is translated into the terms of the first."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from conformance.model.program import Program
from conformance.model.schedule import Advance, Schedule
from conformance.model.trace import Emission, Trace
from conformance.model.values import Json, canonical, spelled


class Equivalence(Enum):
    """A partial order (see ``IMPLIES``): the same multiset says nothing of the last value."""

    IDENTICAL = "identical"
    SAME_SEQUENCE = "same sequence"
    SAME_MULTISET = "same multiset"
    SAME_FINAL_VALUE = "same final value"
    SAME_UP_TO_RELABELLING = "same up to relabelling"


IMPLIES: Mapping[Equivalence, frozenset[Equivalence]] = {
    Equivalence.IDENTICAL: frozenset(Equivalence) - {Equivalence.IDENTICAL},
    Equivalence.SAME_SEQUENCE: frozenset(
        {Equivalence.SAME_MULTISET, Equivalence.SAME_FINAL_VALUE, Equivalence.SAME_UP_TO_RELABELLING}
    ),
    Equivalence.SAME_MULTISET: frozenset({Equivalence.SAME_UP_TO_RELABELLING}),
    Equivalence.SAME_FINAL_VALUE: frozenset(),
    Equivalence.SAME_UP_TO_RELABELLING: frozenset(),
}
"""The weaker equivalences that follow from each."""


def maximal(held: Iterable[Equivalence]) -> list[Equivalence]:
    """The equivalences in ``held`` that no other one in ``held`` implies, strongest first."""
    held = set(held)
    return [e for e in Equivalence if e in held and not any(e in IMPLIES[other] for other in held)]


def grades(program: Program) -> list[Equivalence]:
    """The equivalences that a program's traces can be compared by."""
    return [e for e in Equivalence if program.labels or e is not Equivalence.SAME_UP_TO_RELABELLING]


@dataclass(frozen=True)
class Correspondence:
    """A translation of a trace of one schedule into the terms of another.

    Attributes:
        positions: step id -> the number of waits and advances up to it that both schedules make. A step counts itself.
            An advance that the other schedule lacks counts as the next one that both make. Steps with equal numbers
            correspond.
        keys: key -> the other schedule's different name for it, or None if the other schedule lacks the key. Emissions
            of a key without a counterpart do not count.
        shift: how much later (ms) times are.
    """

    positions: Mapping[int, int]
    keys: Mapping[str, str | None]
    shift: int = 0


def correspondences(base: Schedule, twin: Schedule) -> tuple[Correspondence, Correspondence]:
    """How to compare the traces of a case and its twin. An event keeps its id in a twin, which tells the names of keys.
    The first watermark of both is the same moment, which tells the shift of times."""
    shift = twin.advances[0].watermark - base.advances[0].watermark
    common = {a.watermark for a in base.advances} & {a.watermark - shift for a in twin.advances}
    names = {arrival.event.id: arrival.event.key for arrival in base.arrivals}
    keys: dict[str, str | None] = {arrival.event.key: None for arrival in twin.arrivals}
    keys |= {a.event.key: names[a.event.id] for a in twin.arrivals if a.event.id in names}
    return (
        Correspondence(_positions(base, common, 0), {}),
        Correspondence(_positions(twin, common, shift), keys, shift),
    )


def _positions(schedule: Schedule, common: set[int], shift: int) -> Mapping[int, int]:
    found, passed = {}, 0
    for step in schedule.steps:
        if isinstance(step, Advance):
            shared = step.watermark - shift in common
            passed += shared
            found[step.id] = passed if shared else passed + 1
        else:
            passed += step.moves_time
            found[step.id] = passed
    return found


@dataclass(frozen=True, slots=True)
class Seen:
    """An emission in common terms."""

    position: int
    value: Json
    rest: str

    @property
    def content(self) -> str:
        return canonical([self.value, self.rest])


def _seen(trace: Trace, how: Correspondence, times: frozenset[str]) -> dict[str, list[Seen]]:
    """The judged emissions by key, in order."""

    def earlier(name: str, value: Json) -> Json:
        return value - how.shift if name in times and isinstance(value, int) else value

    def read(emission: Emission) -> Seen:
        value = emission.value
        if how.shift and isinstance(value, dict):
            value = {name: earlier(name, field) for name, field in value.items()}
        time = emission.event_time if emission.event_time is None else emission.event_time - how.shift
        return Seen(how.positions[emission.step], value, canonical([time, emission.error]))

    # A stray emission may carry a name that another key has here. It is kept apart from that key's emissions.
    taken = set(how.keys.values())
    renamed = {key: how.keys.get(key, f"{key} (stray)" if key in taken else key) for key in trace.by_key}
    return {name: [read(e) for e in trace.by_key[key]] for key, name in renamed.items() if name is not None}


Traces = dict[str, list[Seen]]


def _identical(seen: Traces, labels: frozenset[str]) -> object:
    return {key: [(s.position, s.content) for s in found] for key, found in seen.items()}


def _sequence(seen: Traces, labels: frozenset[str]) -> object:
    return {key: [s.content for s in found] for key, found in seen.items()}


def _multiset(seen: Traces, labels: frozenset[str]) -> object:
    return {key: Counter(s.content for s in found) for key, found in seen.items()}


def _final(seen: Traces, labels: frozenset[str]) -> object:
    return {key: found[-1].content for key, found in seen.items()}


def _relabelled(seen: Traces, labels: frozenset[str]) -> object:
    """(the emissions without their labels, the labels that each key gave)."""

    def split(value: Any) -> tuple[str, str]:
        if not isinstance(value, dict):
            return canonical(value), ""
        given = {name: value[name] for name in value if name in labels}
        return canonical({name: value[name] for name in value if name not in labels}), canonical(given)

    parts = {key: [(split(s.value), s.rest) for s in found] for key, found in seen.items()}
    return {
        key: (Counter((bare, rest) for (bare, _), rest in found), Counter(given for (_, given), _ in found))
        for key, found in parts.items()
    }


_VIEWS: dict[Equivalence, Callable[[Traces, frozenset[str]], object]] = {
    Equivalence.IDENTICAL: _identical,
    Equivalence.SAME_SEQUENCE: _sequence,
    Equivalence.SAME_MULTISET: _multiset,
    Equivalence.SAME_FINAL_VALUE: _final,
    Equivalence.SAME_UP_TO_RELABELLING: _relabelled,
}


def alike(program: Program, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace]) -> frozenset[Equivalence]:
    """The equivalences up to which two traces of a program are alike. Each trace comes with its schedule."""
    asked = (program, *left, right[0])
    before = right[1].known.get(id(left[1]))
    if before and all(one is other for one, other in zip(before[0], asked, strict=True)):
        known: frozenset[Equivalence] = before[1]
        return known
    found = _alike(program, left, right)
    right[1].known[id(left[1])] = asked, found
    return found


def _alike(program: Program, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace]) -> frozenset[Equivalence]:
    one, two, labels = _in_common_terms(program, left, right)
    held: set[Equivalence] = set()
    for how in grades(program):
        if how not in held and _VIEWS[how](one, labels) == _VIEWS[how](two, labels):
            held |= {how} | IMPLIES[how]
    return frozenset(held & set(grades(program)))


def same_in_each_step(program: Program, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace]) -> bool:
    """Whether two traces of a program have the same emissions of each key in each step, in any order."""
    one, two, _ = _in_common_terms(program, left, right)
    return all(_by_step(one.get(key, [])) == _by_step(two.get(key, [])) for key in one.keys() | two.keys())


def _by_step(found: Iterable[Seen]) -> Counter[tuple[int, str]]:
    return Counter((seen.position, seen.content) for seen in found)


def first_difference(program: Program, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace]) -> str:
    """The outputs of the first differing key in each of two traces, in a line. A key that differs only in the order
    within a step comes last, because that order does not always count."""
    one, two, _ = _in_common_terms(program, left, right)
    unlike = {key for key in one.keys() | two.keys() if _by_step(one.get(key, [])) != _by_step(two.get(key, []))}
    for key in sorted(one.keys() | two.keys(), key=lambda key: (key not in unlike, key)):
        before, after = one.get(key, []), two.get(key, [])
        if before == after:
            continue
        said = [", ".join(canonical(s.value) for s in found) or "nothing" for found in (before, after)]
        if said[0] == said[1]:
            steps_differ = [s.rest for s in before] == [s.rest for s in after]
            said[1] = "the same in other steps" if steps_differ else "the same at other event times"
        return f"key {spelled(key)} gave {said[0]} before, {said[1]} after"
    return "no key differs"


def differing(
    left: tuple[Schedule, Trace], right: tuple[Schedule, Trace], how: Equivalence
) -> tuple[Emission | None, Emission | None]:
    """The first emission in each of two traces that makes them differ; None where a trace has none. The pair is for a
    reader to look at, not to judge by. Times in fields of values are not shifted, so twins with shifted times are not
    compared."""
    ours, theirs = correspondences(left[0], right[0])
    if theirs.shift:
        return None, None
    one, two = _seen(left[1], ours, frozenset()), _seen(right[1], theirs, frozenset())
    names = {name: key for key, name in theirs.keys.items() if name is not None}
    found: list[tuple[int, Emission | None, Emission | None]] = []
    for key in sorted(one.keys() | two.keys()):
        before, after = one.get(key, []), two.get(key, [])
        at = _first(before, after, how)
        if at == (None, None):
            continue
        mine = None if at[0] is None else left[1].by_key[key][at[0]]
        other = None if at[1] is None else right[1].by_key[names.get(key, key)][at[1]]
        place = min(seen[n].position for seen, n in ((before, at[0]), (after, at[1])) if n is not None)
        found.append((place, mine, other))
    return min(found, key=lambda f: f[0])[1:] if found else (None, None)


def _first(one: list[Seen], two: list[Seen], how: Equivalence) -> tuple[int | None, int | None]:
    """The place in each of two lists of the first element that makes them differ."""
    if how is Equivalence.SAME_FINAL_VALUE:
        last = len(one) - 1 if one else None, len(two) - 1 if two else None
        return last if [s.content for s in one[-1:]] != [s.content for s in two[-1:]] else (None, None)
    if how is Equivalence.SAME_MULTISET:
        return _surplus(one, two), _surplus(two, one)

    def told(seen: list[Seen]) -> list[tuple[int, str]]:
        return [(s.position if how is Equivalence.IDENTICAL else 0, s.content) for s in seen]

    mine, other = told(one), told(two)
    if mine == other:
        return None, None
    at = next((n for n, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), min(len(mine), len(other)))
    return at if at < len(mine) else None, at if at < len(other) else None


def _surplus(one: list[Seen], two: list[Seen]) -> int | None:
    """The place of the first element of ``one`` that ``two`` has less often."""
    left = Counter(s.content for s in two)
    for number, seen in enumerate(one):
        left[seen.content] -= 1
        if left[seen.content] < 0:
            return number
    return None


def _in_common_terms(
    program: Program, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace]
) -> tuple[Traces, Traces, frozenset[str]]:
    ours, theirs = correspondences(left[0], right[0])
    times = frozenset(program.times)
    return _seen(left[1], ours, times), _seen(right[1], theirs, times), frozenset(program.labels)
