"""Cases from Hypothesis: clocks first, then schedules on them, one per example, with boundaries drawn on purpose.

Hypothesis is used in its generate phase only, without a database, with a seed; so the same seed gives the same cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from math import inf
from typing import Any, TypeVar
from unittest import mock

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from conformance.engine import Feature
from conformance.guarantees import Domain, Guarantee, Scenario
from conformance.model import Advance, Case, Deliver, Event, Schedule, Step, Wait, digest, renumbered
from conformance.perturbation import (
    COALESCE,
    PERTURBATIONS,
    RARE,
    RECOVERIES,
    REPARTITION,
    RESTART,
    SHIFT_TIMES,
    Perturbation,
)

T = TypeVar("T")

START = 1_000_000
"""Event times begin well above zero: Spark 4.3.0 takes a row at time 0 for late before any watermark was set."""

REACH = 60_000
"""No event lies further than this (ms) ahead of the watermark it meets."""

SETTLED_AFTER = 200_000
"""The last advance goes this far (ms) past the one before it, so that every timer of a program comes due."""

SLOTS = (1, 2, 3)
"""How many bundles lie between two advances, in an order of each clock's own."""

CLOCKS = 8
"""How many distinct clocks each of the two families has: several bundles, and one bundle."""


def clocks(several_bundles: bool) -> st.SearchStrategy[Schedule]:
    """Schedules without events. Advances are near the lengths that scenarios use (multiples of 5 s) and one off; with
    several bundles, one of the first two is short and one long."""
    short = st.sampled_from([1, 500, 4_999, 5_000, 5_001, 9_999])
    long = st.sampled_from([10_000, 10_001, 12_000, 15_000, 20_000])
    starts = st.sampled_from([START, START + 1, START + 4_999, START + 5_000, START + 9_999, START + 12_345])

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        watermark = draw(starts)
        jumps = draw(st.permutations([draw(short), draw(long)])) if several_bundles else []
        jumps.append(draw(short) + SETTLED_AFTER)
        steps: list[Step] = [Advance(0, watermark)]
        for slots, jump in zip(draw(st.permutations(SLOTS)) if several_bundles else [1], jumps, strict=True):
            steps += [Deliver(len(steps) + i) for i in range(slots)]
            watermark += jump
            steps.append(Advance(len(steps), watermark))
        return Schedule(tuple(steps))

    return build()


WAIT = 8_000
"""How long (ms) each wait is. What lives for a time between one wait and two, at least SLACK more than one, is there after one
and gone after two, whatever an engine takes for the micro-batches in between."""


def waiting_clocks() -> st.SearchStrategy[Schedule]:
    """Schedules without events in which processing time passes three times, with one bundle before each: every micro-batch more
    takes time that was not waited for."""

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        steps: list[Step] = [Advance(0, draw(st.sampled_from([START, START + 5_000])))]
        for _ in range(3):
            steps += [Deliver(len(steps)), Wait(len(steps) + 1, WAIT)]
        return Schedule((*steps, Advance(len(steps), START + SETTLED_AFTER)))

    return build()


def schedules(clock: Schedule, domain: Domain) -> st.SearchStrategy[Schedule]:
    """Schedules of a domain on one clock. A clock of one bundle gets on-time events only: it is there for engines
    whose watermark cannot be driven, and those of several bundles cover the rest."""
    slots = clock.bundles
    on_time = domain.on_time or len(slots) == 1
    watermark_of = {slot.id: clock.advances[0].watermark for slot in slots if slot.initial}
    for step in clock.steps:
        if isinstance(step, Advance):
            watermark = step.watermark
        elif isinstance(step, Deliver) and not step.initial:
            watermark_of[step.id] = watermark
    # One draw an event, from all combinations: Hypothesis takes its time for every draw.
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
        return clock.with_bundles(bundles)

    return build()


def examples(strategy: st.SearchStrategy[T], wanted: int, seed: int, identify: Callable[[T], object]) -> list[T]:
    """``wanted`` distinct examples, or as many as three rounds of Hypothesis find."""
    found: dict[object, T] = {}
    for attempt in range(3):
        missing = wanted - len(found)
        if missing <= 0:
            break

        @with_seed(seed + attempt)
        @settings(
            max_examples=missing + missing // 4 + 2,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def collect(example: T) -> None:
            found.setdefault(identify(example), example)

        with _no_local_constants():
            collect()
    return list(found.values())[:wanted]


@contextmanager
def _no_local_constants() -> Iterator[None]:
    """Hypothesis (6.170.15) mixes in the constants of modules outside site-packages that happen to be loaded: the same seed would give
    other cases beside a port of somebody's own, or in a checkout. There is no setting for it."""
    nothing_known: LRUCache[Any, Any] = LRUCache(1024)  # in the place of a cache that may have such constants by now
    with (
        mock.patch.object(providers, "_get_local_constants", Constants, create=True),
        mock.patch.object(providers, "CONSTANTS_CACHE", nothing_known, create=True),
    ):
        yield


def seeded(*parts: Any) -> int:
    """A seed that depends on all the parts, and on nothing else."""
    return int(digest([str(part) for part in parts]), 16)


def with_initial_state(clock: Schedule) -> Schedule:
    """The same clock for jobs that start with state."""
    return renumbered([Deliver(0, initial=True), *clock.steps])


INITIAL = 2
"""On how many of the clocks with several bundles jobs are started with state."""

WAITING = 2
"""How many distinct clocks there are for programs that go by processing time: each takes the time of its waits."""


def draw_clocks(seed: int) -> list[Schedule]:
    """The clocks of a run: CLOCKS with several bundles, then CLOCKS with one bundle."""
    return [
        clock
        for several in (True, False)
        for clock in examples(clocks(several), CLOCKS, seeded(seed, "clocks", several), lambda clock: clock.clock)
    ]


Exercised = Callable[[list[Case]], list[frozenset[str]]]
"""Which guarantees (ids) each of some cases puts to the test, by what the reference engine does with it."""

ROUNDS = 20


Goal = tuple[str, str]
"""(guarantee, the rare perturbation that it is asked under, or "")."""

IN_CLOCK = 2
"""How many twins a case gets of the perturbations that keep its clock, of those that have a hold on it."""

CLOCKS_EACH = 2
"""On how many clocks of several bundles a recovery or a coalesced advance is tried; other perturbations that do not
keep the clock are made on one. Each costs an engine run."""

SPARSE_EACH = 1
"""How many cases of a program in a family of clocks get the twins that are run without neighbours of their program."""


def draw_cases(
    scenarios: Iterable[Scenario],
    wanted: int,
    seed: int,
    exercised: Exercised,
    known: Collection[str] = (),
) -> list[Case]:
    """Cases, and their twins under the perturbations, that put each guarantee to the test ``wanted`` times.

    A first round draws freely; later rounds keep only what exercises a guarantee that is still short of cases, until
    none is or ROUNDS are over. Clocks of one bundle serve the guarantees that need no more; clocks of several bundles
    serve all, and half as many cases do for those that the first family covered. Cases with a digest of ``known`` are there
    already.
    """
    all_clocks = draw_clocks(seed)
    waiting = _Twins(examples(waiting_clocks(), WAITING, seeded(seed, "waiting clocks"), lambda c: c.clock), seed, ())
    begun = [with_initial_state(clock) for clock in all_clocks[:INITIAL]]
    with_state = _Twins(begun, seed, (RESTART,) * INITIAL)
    cases = []
    for scenario in scenarios:
        for program in scenario.programs:
            goals = {g.id: g for g in scenario.guarantees if g.program == program}
            of_its_own = waiting if scenario.programs[program].waits else with_state
            if scenario.programs[program].waits or scenario.programs[program].initial:
                cases += _cover(scenario, program, of_its_own, dict.fromkeys(goals, wanted), seed, exercised, known)
                continue
            simple = {name for name, g in goals.items() if not _needs_more_than_one_bundle(g)}
            one = dict.fromkeys(sorted(simple), wanted)
            more = {name: (wanted + 1) // 2 if name in simple else wanted for name in goals}
            for family, clocks_of_family in ((one, all_clocks[CLOCKS:]), (more, all_clocks[:CLOCKS])):
                cases += _cover(scenario, program, _Twins(clocks_of_family, seed), family, seed, exercised, known)
    return cases


def _needs_more_than_one_bundle(guarantee: Guarantee) -> bool:
    """A relation does where all of its perturbations do, or cannot be run by every engine."""
    more = {Feature.SEVERAL_BUNDLES, Feature.WATERMARK}
    if guarantee.same_under and all(perturbation.needs & (more | RARE) for perturbation in guarantee.same_under):
        return True
    return bool(guarantee.needs & more)


class _Twins:
    """Which twins the cases of a family of clocks get."""

    def __init__(self, clocks: list[Schedule], seed: int, only: tuple[Perturbation, ...] | None = None) -> None:
        """``only``: these alone of the perturbations that do not keep the clock, each on a clock of its own."""
        self.clocks, self._seed = clocks, seed
        several = len(clocks[0].bundles) > 1
        self._in_clock = [p for p in PERTURBATIONS if p.keeps_clock and not p.sparse]
        self._on_clock: dict[Schedule, list[Perturbation]] = {clock: [] for clock in clocks}
        own = [p for p in PERTURBATIONS if not p.keeps_clock and not p.sparse]
        if several:
            own += [p for p in (*RECOVERIES, COALESCE) for _ in range(CLOCKS_EACH - 1)]
        else:
            own = [SHIFT_TIMES, REPARTITION, RESTART]
        if only is not None:
            own = list(only)
        for number, perturbation in enumerate(own):
            self._on_clock[clocks[number % len(clocks)]].append(perturbation)
        sparse = [p for p in PERTURBATIONS if p.sparse and (several or p.keeps_clock) and only is None]
        self.sparse_clock = clocks[-1]
        self._sparse_left = dict.fromkeys(sparse, SPARSE_EACH)

    def serving(self, wanted: Iterable[Perturbation]) -> list[Schedule]:
        """The clocks on which at least one of these perturbations is made."""
        wanted = set(wanted)
        if any(perturbation.keeps_clock for perturbation in wanted):
            return self.clocks
        return [clock for clock, made in self._on_clock.items() if wanted & set(made)] or self.clocks

    def of(self, case: Case) -> list[Case]:
        clock = Schedule(case.schedule.clock)
        found = [twin for p in self._in_clock if (twin := p.twin(case, self._seed))]
        found = sorted(found, key=lambda twin: digest([case.digest, twin.perturbation]))[:IN_CLOCK]
        found += [twin for p in self._on_clock[clock] if (twin := p.twin(case, self._seed))]
        for perturbation, left in self._sparse_left.items():
            wanted = left and clock == self.sparse_clock and case.schedule.arrivals
            if wanted and (twin := perturbation.twin(case, self._seed)):
                self._sparse_left[perturbation] = left - 1
                found.append(twin)
        return found


def _cover(
    scenario: Scenario,
    program: str,
    twins: _Twins,
    goals: dict[str, int],
    seed: int,
    exercised: Exercised,
    known: Collection[str],
) -> list[Case]:
    """Cases of one program on some clocks, until each goal (guarantee id -> number of cases) is met."""
    kept: list[tuple[list[Case], set[Goal]]] = []
    known = set(known)  # digests: a twin that equals another case would count twice
    relations = {g.id: g.same_under for g in scenario.guarantees if g.id in goals and g.same_under}
    # What not every engine can run counts only for the guarantees that are about it, and for each of them apart.
    rare = {p.id for p in PERTURBATIONS if p.needs & RARE}
    sparse = {p.id for p in PERTURBATIONS if p.sparse}
    met: dict[Goal, set[str]] = {}  # the distinct cases that exercise each guarantee
    for name in goals:
        apart = [p.id for p in relations.get(name, ()) if p.id in rare]
        met |= {(name, perturbation): set() for perturbation in apart or [""]}

    def goal_of(name: str, case: Case) -> Goal:
        return name, case.perturbation if case.perturbation in rare else ""

    def short() -> set[Goal]:
        return {goal for goal, cases in met.items() if len(cases) < goals[goal[0]]}

    for number in range(ROUNDS):
        missing = short()
        if not missing:
            break
        if all(name in relations for name, _ in missing):
            clocks = twins.serving(p for name, apart in missing for p in relations[name] if apart in ("", p.id))
        else:
            clocks = twins.clocks
        strategy = st.one_of([schedules(clock, scenario.domain[program]) for clock in clocks])
        round_seed = seeded(seed, scenario.id, program, len(twins.clocks[0].bundles), number)
        drawn = examples(strategy, max(len(clocks), max(goals.values()) // 2), round_seed, lambda schedule: schedule)
        if number == 0:  # all of the first round is kept, so its twins are
            drawn += examples(
                schedules(twins.sparse_clock, scenario.domain[program]),
                SPARSE_EACH,
                round_seed,
                lambda schedule: schedule,
            )
        groups: list[list[Case]] = []
        for case in (Case(scenario.id, program, schedule) for schedule in drawn):
            if case.digest not in known:
                groups.append([])
                for member in (case, *twins.of(case)):
                    if member.digest not in known or member.perturbation in sparse:
                        known.add(member.digest)
                        groups[-1].append(member)
        tested = iter(exercised([case for group in groups for case in group]))
        for group in groups:
            gains = [{goal_of(name, case) for name in next(tested)} & met.keys() for case in group]
            if number == 0 or any(gain & short() for gain in gains):
                kept.append((group, set().union(*gains)))
                for case, gain in zip(group, gains, strict=True):
                    for goal in gain:
                        met[goal].add(case.digest)
    return [case for group in _goals_in_turn(kept) for case in group]


def _goals_in_turn(groups: Iterable[tuple[list[Case], set[Goal]]]) -> Iterator[list[Case]]:
    """Cases with their twins and what they put to the test, clock by clock, such that the goals take turns: an engine that runs the
    first few cases of a clock alone asks for what is rare as well."""
    by_clock: dict[object, list[tuple[list[Case], set[Goal]]]] = {}
    for group, goals in groups:
        by_clock.setdefault(group[0].schedule.clock, []).append((group, goals))
    for left in by_clock.values():
        served: Counter[Goal] = Counter()
        while left:
            # Of those for the goal that had the fewest so far, the first; what serves no goal comes last.
            number = min(range(len(left)), key=lambda n: min((served[goal] for goal in left[n][1]), default=inf))
            group, goals = left.pop(number)
            served.update(goals)
            yield group
