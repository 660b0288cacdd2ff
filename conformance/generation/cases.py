"""Cases: schedules on the timelines of a run, and their twins, until enough cases put each guarantee to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf

from hypothesis import strategies as st

from conformance.generation.examples import examples, seeded
from conformance.generation.schedules import schedules
from conformance.generation.timelines import (
    INITIAL,
    TIMELINES,
    WAITING,
    draw_timelines,
    waiting_timelines,
    with_initial_state,
)
from conformance.generation.twins import SPARSE_EACH, Twins
from conformance.model.case import Case
from conformance.model.feature import Feature
from conformance.model.perturbation import PERTURBATIONS, RARE, RESTART
from conformance.model.scenario import Guarantee, Scenario

Exercised = Callable[[list[Case]], list[frozenset[str]]]
"""Cases -> for each, the guarantees (ids) that it puts to the test, by the reference's behaviour."""

ROUNDS = 20
"""The most times that cases are drawn for one program on one family of timelines."""


Goal = tuple[str, str]
"""(guarantee, the rare perturbation under which it is put to the test, or "")."""


def draw_cases(
    scenarios: Iterable[Scenario],
    wanted: int,
    seed: int,
    exercised: Exercised,
    known: Collection[str] = (),
) -> list[Case]:
    """Cases, and their twins under the perturbations, that put each guarantee to the test ``wanted`` times.

    The first round keeps all cases that it draws. Later rounds keep only cases that exercise a guarantee still short of cases.
    The rounds end when no guarantee is short, or after ROUNDS. Timelines of one bundle serve the guarantees that need no more
    bundles. Timelines of several bundles serve all guarantees, with half as many cases if one bundle is enough. Cases with a digest
    in ``known`` exist already, and are left out.
    """
    all_timelines = draw_timelines(seed)
    waiting = Twins(
        examples(waiting_timelines(), WAITING, seeded(seed, "waiting clocks"), lambda c: c.timeline), seed, ()
    )
    begun = [with_initial_state(timeline) for timeline in all_timelines[:INITIAL]]
    with_state = Twins(begun, seed, (RESTART,) * INITIAL)
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
            for family, timelines_of_family in ((one, all_timelines[TIMELINES:]), (more, all_timelines[:TIMELINES])):
                cases += _cover(scenario, program, Twins(timelines_of_family, seed), family, seed, exercised, known)
    return cases


def _needs_more_than_one_bundle(guarantee: Guarantee) -> bool:
    """Whether no case of one bundle can put the guarantee to the test on every engine. A relation needs more than one bundle if each of its
    perturbations does, or needs a feature that only some engines have."""
    more = {Feature.SEVERAL_BUNDLES, Feature.WATERMARK}
    if guarantee.same_under and all(perturbation.needs & (more | RARE) for perturbation in guarantee.same_under):
        return True
    return bool(guarantee.needs & more)


def _cover(
    scenario: Scenario,
    program: str,
    twins: Twins,
    goals: dict[str, int],
    seed: int,
    exercised: Exercised,
    known: Collection[str],
) -> list[Case]:
    """Cases of one program on some timelines, until each goal (guarantee id -> number of cases) is met."""
    kept: list[tuple[list[Case], set[Goal]]] = []
    known = set(known)  # digests: otherwise a twin that equals another case would count twice
    relations = {g.id: g.same_under for g in scenario.guarantees if g.id in goals and g.same_under}
    # Only some engines run a rare perturbation. It counts only for the guarantees about it, for each by itself.
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
            timelines = twins.serving(p for name, apart in missing for p in relations[name] if apart in ("", p.id))
        else:
            timelines = twins.timelines
        strategy = st.one_of([schedules(timeline, scenario.domain[program]) for timeline in timelines])
        round_seed = seeded(seed, scenario.id, program, len(twins.timelines[0].bundles), number)
        drawn = examples(strategy, max(len(timelines), max(goals.values()) // 2), round_seed, lambda schedule: schedule)
        if number == 0:  # the first round keeps all its cases, so these twins stay, too
            drawn += examples(
                schedules(twins.sparse_timeline, scenario.domain[program]),
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
    """Groups of a case and its twins, timeline by timeline. Within a timeline the goals take turns, so that an engine that runs only the
    first few cases also meets the rare goals."""
    by_timeline: dict[object, list[tuple[list[Case], set[Goal]]]] = {}
    for group, goals in groups:
        by_timeline.setdefault(group[0].schedule.timeline, []).append((group, goals))
    for left in by_timeline.values():
        served: Counter[Goal] = Counter()
        while left:
            # The first group for the goal with the fewest groups so far. A group that serves no goal comes last.
            number = min(range(len(left)), key=lambda n: min((served[goal] for goal in left[n][1]), default=inf))
            group, goals = left.pop(number)
            served.update(goals)
            yield group
