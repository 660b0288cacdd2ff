"""The cases of a run as drawn: for each program and timeline, a few from a pool of many, chosen for what they put to
the test.

The pool has small schedules that differ in kind (``small``), then Hypothesis's draws. What counts is what the schedule
language can say and what the program's guarantees speak of: the guarantees that a case puts to the test, whichever way
an engine reads *late*, the circumstances in it, its values and the order in which they follow each other, its keys.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import fsum

from conformance.generation.examples import examples, seeded
from conformance.generation.schedules import REACH, schedules, watermarks
from conformance.generation.small import PAIRS, small_schedules
from conformance.generation.timelines import Family, draw_timelines, families_of
from conformance.judgement.coverage import coverage
from conformance.model.case import Case
from conformance.model.perturbation import MERGE, REORDERINGS, SINGLES, SPLIT, possible
from conformance.model.plan import crowded
from conformance.model.program import Program
from conformance.model.scenario import Domain, Scenario
from conformance.model.schedule import Schedule
from conformance.model.steps import Event
from conformance.model.values import Json

Tested = Callable[[list[Case]], list[frozenset[str]]]
"""Cases -> for each, the guarantees (ids) that it puts to the test, by the reference's behaviour."""

DRAWN = 3
"""How many schedules Hypothesis draws for each case that is wanted."""

SOUGHT = 300
"""How many schedules Hypothesis draws on a timeline for the guarantees that no case puts to the test otherwise."""

TIMELINES = 4
"""On so many timelines together, or with so many times as many cases on one, the chosen cases have keys of each family
of names."""

Trait = tuple[object, ...]
"""One thing about a case that the pool has and the chosen cases should have, too."""

NEEDED = "needed"
"""A trait that begins so is wanted of a case, however many there are: without it, some change has no twin, or two parts
never meet."""

CHANGES = (*REORDERINGS, SPLIT, MERGE)
"""Changes that a case can have only if its bundles are made so."""


def draw_cases(scenarios: Iterable[Scenario], wanted: int, seed: int, tested: Tested) -> list[Case]:
    """Cases of all programs: at least ``wanted`` of each program on each of its timelines, and more as long as they add
    to it."""
    timelines = draw_timelines(seed)
    cases = []
    for scenario in scenarios:
        for name, program in scenario.programs.items():
            mine: dict[Case, frozenset[str]] = {}
            for family in families_of(program):
                had: Counter[Trait] = Counter()
                there: dict[Case, frozenset[str]] = {}
                each = wanted * scenario.domain[name].cases * max(1, TIMELINES // len(timelines[family]))
                for number, timeline in enumerate(timelines[family]):
                    one = seeded(seed, scenario.id, name, family.value, number)
                    small = islice(
                        small_schedules(timeline, scenario.domain[name]), number, None, len(timelines[family])
                    )
                    pool = _pool(scenario, name, timeline, [*small], each, one)
                    told = dict(zip(pool, tested(pool), strict=True))
                    chosen = _chosen(told, program, scenario.domain[name], each, had)
                    there |= {case: told[case] for case in chosen}
                mine |= there | _carried(there, timelines[family], scenario.domain[name], tested)
            mine |= _sought(scenario, name, timelines, mine, seed, tested)
            cases += [*mine, *_by_single_elements(mine, program, scenario.domain[name], tested)]
    return cases


def _sought(
    scenario: Scenario,
    name: str,
    timelines: Mapping[Family, Sequence[Schedule]],
    known: Mapping[Case, frozenset[str]],
    seed: int,
    tested: Tested,
) -> dict[Case, frozenset[str]]:
    """Cases for the guarantees of a program that no known case puts to the test, out of many more draws: the schedules
    that a guarantee needs may be rare."""
    lacking = {g.id for g in scenario.guarantees if g.program == name and g.predicate}.difference(*known.values())
    found: dict[Case, frozenset[str]] = {}
    for family in families_of(scenario.programs[name]):
        for number, timeline in enumerate(timelines[family] if lacking else ()):
            one = seeded(seed, scenario.id, name, family.value, number, "sought")
            pool = _pool(scenario, name, timeline, [], SOUGHT // DRAWN, one)
            told = dict(zip(pool, tested(pool), strict=True))
            while best := max(told, key=lambda case: len(told[case] & lacking), default=None):
                if not told[best] & lacking:
                    break
                found[best] = told.pop(best)
                lacking -= found[best]
    return found


def _by_single_elements(
    known: Mapping[Case, frozenset[str]], program: Program, domain: Domain, tested: Tested
) -> Iterator[Case]:
    """Smaller cases for the guarantees that, on a timeline, only cases with too many elements for SINGLES put to the
    test."""
    for timeline in {case.schedule.timeline: None for case in known} if possible(program, SINGLES) else ():
        mine = {case: names for case, names in known.items() if case.schedule.timeline == timeline}
        lacking = frozenset[str]().union(*mine.values())
        lacking -= frozenset[str]().union(*(names for case, names in mine.items() if SINGLES.twin(case, 0)))
        for guarantee in sorted(lacking):
            least = min(
                (case for case in mine if guarantee in mine[case]), key=lambda case: len(case.schedule.arrivals)
            )
            small = _smaller(least, guarantee, domain, tested)
            if guarantee in lacking and SINGLES.twin(small, 0):
                yield small
                lacking -= tested([small])[0]


def _smaller(case: Case, guarantee: str, domain: Domain, tested: Tested) -> Case:
    """The case without the elements that it does not need to put the guarantee to the test."""
    for arrival in case.schedule.arrivals:
        bundles = {
            bundle.id: [event for event in bundle.events if event != arrival.event] for bundle in case.schedule.bundles
        }
        less = Case(case.scenario, case.program, case.schedule.with_bundles(bundles))
        if less in domain and guarantee in tested([less])[0]:
            case = less
    return case


def _pool(
    scenario: Scenario, name: str, timeline: Schedule, small: list[Schedule], wanted: int, seed: int
) -> list[Case]:
    """Distinct cases, the small ones first."""
    domain = scenario.domain[name]
    drawn = examples(schedules(timeline, domain), wanted * DRAWN, seed, lambda schedule: schedule)
    found = dict.fromkeys([*small, *drawn])
    return [Case(scenario.id, name, schedule) for schedule in found]


def _chosen(
    pool: Mapping[Case, frozenset[str]], program: Program, domain: Domain, wanted: int, had: Counter[Trait]
) -> list[Case]:
    """The cases that add most to what was ``had`` on earlier timelines, one after the other. ``pool``: case -> what it
    puts to the test."""
    timeline = next(iter(pool)).schedule.timeline
    each_once = frozenset((*domain.values, *domain.language.lists) if domain.language else ())
    traits = {case: frozenset(_traits(case, names, program, domain, each_once)) for case, names in pool.items()}
    left, chosen = dict.fromkeys(pool), list[Case]()

    def gain(case: Case) -> float:
        # Exactly: a sum of floats in the order of a set would be another one in each process.
        return fsum(_worth(trait, had[trait], timeline) for trait in traits[case])

    most = wanted + (-(-len(domain.names) // TIMELINES) if len(domain.names) > 1 else 0)
    gains = {case: gain(case) for case in pool}
    while left:
        # Beyond what is wanted, those alone that a row on this timeline may need.
        fitting = [
            case for case in left if len(chosen) < most or any(t[0] == NEEDED and not had[t] for t in traits[case])
        ]
        best = _best(fitting, gains, gain)
        if best is None or (len(chosen) >= wanted and gains[best] < 1):
            break
        chosen.append(best)
        had.update(traits[best])
        del left[best]
    return chosen


def _best(cases: list[Case], gains: dict[Case, float], gain: Callable[[Case], float]) -> Case | None:
    """The case that adds most, of equals the first. ``gains`` has what each case added at most: what it adds only
    falls, so most cases need not be asked again."""
    best, most = None, (0.0, 0)
    for number, case in sorted(enumerate(cases), key=lambda pair: -gains[pair[1]]):
        if best is not None and gains[case] < most[0]:
            break
        gains[case] = gain(case)
        if best is None or (gains[case], -number) > most:
            best, most = case, (gains[case], -number)
    return best


def _carried(
    known: Mapping[Case, frozenset[str]], timelines: Sequence[Schedule], domain: Domain, tested: Tested
) -> dict[Case, frozenset[str]]:
    """Cases for the guarantees that no case on a timeline puts to the test: those on another timeline that do, carried
    over."""
    found: dict[Case, frozenset[str]] = {}
    for timeline in timelines:
        mine = [case for case in known if case.schedule.timeline == timeline.timeline]
        lacking = frozenset[str]().union(*known.values()) - frozenset().union(*(known[case] for case in mine))
        others = [case for case in known if case not in mine and known[case] & lacking]
        tried = {
            Case(case.scenario, case.program, schedule): None
            for case in sorted(others, key=lambda case: -len(known[case] & lacking))
            for schedule in carried(case.schedule, timeline)
        }
        new = [case for case in tried if case not in known and case in domain]
        for case, names in zip(new, tested(new), strict=True):
            if names & lacking:
                found[case] = names
                lacking -= names
    return found


def carried(schedule: Schedule, timeline: Schedule) -> Iterator[Schedule]:
    """The schedule's elements on another timeline: each as far from the watermark that it meets as before, and all as
    far from each other as before."""
    slots, marks, before = [slot.id for slot in timeline.bundles], watermarks(timeline), watermarks(schedule)
    others = [slot.id for slot in schedule.bundles]
    place = {slot: slots[n * len(slots) // len(others)] for n, slot in enumerate(others)}
    for together in (False, True):
        bundles: dict[int, list[Event]] = {slot: [] for slot in slots}
        for slot in schedule.bundles:
            there = place[slot.id]
            by = marks[slots[0]] - before[others[0]] if together else marks[there] - before[slot.id]
            bundles[there] += [replace(event, event_time=max(event.event_time + by, 0)) for event in slot.events]
        if all(event.event_time <= marks[slot] + REACH for slot, events in bundles.items() for event in events):
            yield timeline.with_bundles(bundles)


def _worth(trait: Trait, had: int, timeline: object) -> float:
    """What one more case with a trait adds. A guarantee is wanted twice on each timeline; anything else once or twice
    at all."""
    if trait[0] == "guarantee":
        return 2.0 if had == 0 else 1.0 if had == 1 else 0.5 / had
    return 1.0 if had == 0 else 0.1 / had


def _traits(
    case: Case, tested: frozenset[str], program: Program, domain: Domain, each_once: Collection[Json]
) -> Iterator[Trait]:
    """``each_once``: values of which each is wanted of a case, on whatever timeline."""
    timeline = case.schedule.timeline
    few = SINGLES.twin(case, 0) is not None
    for guarantee in tested:
        yield "guarantee", guarantee, timeline
        if few:
            yield "guarantee by single elements", guarantee
    yield from (("circumstance", name) for name in coverage(program, case))
    # Some queries may be asked of such cases alone.
    if all(arrival.on_time for arrival in case.schedule.arrivals):
        yield NEEDED, "on time", timeline
    if not crowded(case.schedule):
        yield NEEDED, "one element of a key in a bundle", timeline
    for change in CHANGES:
        if possible(program, change) and change.twin(case, 0):
            yield NEEDED, change.id, timeline
    if begun := {event.key for event in case.schedule.initial}:
        yield "begun", len(begun)
        first = {a.event.key: a.step for a in reversed(case.schedule.arrivals) if a.event not in case.schedule.initial}
        yield from (("begun", number, first.get(event.key)) for number, event in enumerate(case.schedule.initial))
    values = {repr(value): number for number, value in enumerate(domain.values)}
    followed: dict[str, int] = {}
    since: dict[str, int] = {}
    for arrival in case.schedule.arrivals:
        event = arrival.event
        value = values.get(repr(event.value), -1)
        yield "value", value
        if event.key in followed and len(values) ** 2 <= PAIRS:
            yield "value after value", followed[event.key], value
            if case.schedule.intervals[arrival.step] != since[event.key]:
                yield "value after value and an advance", followed[event.key], value
        followed[event.key], since[event.key] = value, case.schedule.intervals[arrival.step]
        if (distance := event.event_time - arrival.watermark) in domain.offsets:
            yield "distance", distance
    if domain.language:
        yield from domain.language.traits(case)
    yield from ((NEEDED, a.event.value) for a in case.schedule.arrivals if a.event.value in each_once)
    if len(domain.names) > 1:
        family = next(n for n, names in enumerate(domain.names) if followed.keys() <= set(names))
        yield "names", family
        yield "rivals", family, len(followed)
