"""Cases: schedules on the timelines of a run, and their twins, until enough cases put each guarantee to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import ceil, inf

from hypothesis import strategies as st

from conformance.generation.examples import examples, seeded
from conformance.generation.goals import CLOCK, EACH, Family, Goal, Goals, each_of
from conformance.generation.schedules import schedules
from conformance.generation.timelines import (
    INITIAL,
    TIMELINES,
    WAITING,
    draw_timelines,
    waiting_timelines,
    with_initial_state,
)
from conformance.generation.twins import Twins
from conformance.model.case import Case
from conformance.model.feature import Feature
from conformance.model.perturbation import BY_ID, EMPTY_BUNDLE, RARE, RECOVERIES, RESTART, possible
from conformance.model.scenario import Guarantee, Scenario
from conformance.model.schedule import Schedule

Exercised = Callable[[list[Case]], list[frozenset[str]]]
"""Cases -> for each, the guarantees (ids) that it puts to the test, by the reference's behaviour."""

ROUNDS = 16
"""The most times that cases are drawn for one program on one family of timelines."""

OF_ONE_BUNDLE = 0.3
"""The fraction of the cases, on timelines of one bundle; of those under each perturbation, half."""

IN_VAIN = 3
"""After so many rounds without a gain, what is still short is not reached."""


def draw_cases(
    scenarios: Iterable[Scenario],
    wanted: int,
    seed: int,
    exercised: Exercised,
    known: Iterable[str] = (),
) -> list[Case]:
    """Cases, and their twins under the perturbations, that put each guarantee to the test ``wanted`` times, and a tenth as often under
    each perturbation that it promises, see ``goals``.

    A case is kept if it serves a goal that is not met yet, if a twin of it does, or if no case before it has the same pair of
    circumstances. The rounds end when all goals are met, or after ROUNDS. Timelines of one bundle serve the engines that have no
    more bundles, with OF_ONE_BUNDLE as many cases. Cases with a digest in ``known`` exist already, and are left out.
    """
    all_timelines = draw_timelines(seed)
    several, one = Twins(all_timelines[:TIMELINES], seed), Twins(all_timelines[TIMELINES:], seed)
    waiting = Twins(
        examples(waiting_timelines(), WAITING, seeded(seed, "waiting clocks"), lambda c: c.timeline),
        seed,
        (*RECOVERIES, RESTART, EMPTY_BUNDLE),
    )
    begun = [with_initial_state(timeline) for timeline in all_timelines[:INITIAL]]
    with_state = Twins(begun, seed, (RESTART, RESTART, *RECOVERIES * 2))
    known = set(known)
    cases = []
    for scenario in scenarios:
        for program in scenario.programs:
            mine = [g for g in scenario.guarantees if g.program == program and not (g.promised or g.about_plans)]
            of_its_own = waiting if scenario.programs[program].waits else with_state
            each = each_of(wanted)
            families = [(of_its_own, mine, wanted, each)]
            if not (scenario.programs[program].waits or scenario.programs[program].initial):
                simple = [guarantee for guarantee in mine if not _needs_more_than_one_bundle(guarantee)]
                families = [(one, simple, ceil(wanted * OF_ONE_BUNDLE), -(-each // 2)), (several, mine, wanted, each)]
            for twins, asked, number, least in families:
                cases += _Cover(scenario, program, twins, asked, number, least, seed, exercised, known).cases()
    return cases


def _needs_more_than_one_bundle(guarantee: Guarantee) -> bool:
    """Whether no case of one bundle can put the guarantee to the test on every engine. A relation needs more than one bundle if each of its
    perturbations does, or needs a feature that only some engines have."""
    more = {Feature.SEVERAL_BUNDLES, Feature.WATERMARK}
    if guarantee.same_under and all(perturbation.needs & (more | RARE) for perturbation in guarantee.same_under):
        return True
    return bool(guarantee.needs & more)


class _Cover:
    """Cases of one program on some timelines, until each goal is met or out of reach."""

    def __init__(
        self,
        scenario: Scenario,
        program: str,
        twins: Twins,
        guarantees: list[Guarantee],
        wanted: int,
        each: int,
        seed: int,
        exercised: Exercised,
        known: Iterable[str],
    ) -> None:
        self._scenario, self._program, self._twins, self._wanted = scenario, program, twins, wanted
        self._seed, self._exercised = seed, exercised
        self._known = set(known)  # digests: otherwise a twin that equals another case would count twice
        domain = scenario.domain[program]
        self._strategies = {timeline: schedules(timeline, domain) for timeline in twins.timelines}
        clocks = [timeline.timeline for timeline in twins.timelines]
        self._goals = Goals(scenario, program, guarantees, clocks, twins.made, wanted, each)
        self._kept: list[Family] = []
        self._sparse: Counter[str] = Counter()

    def cases(self) -> list[Case]:
        in_vain = 0
        for number in range(ROUNDS):
            short = self._goals.short
            if in_vain == IN_VAIN or not short:
                break
            before = len(short), len(self._kept)
            for schedule in self._drawn(short, number):
                case = Case(self._scenario.id, self._program, schedule)
                if case.digest not in self._known:
                    self._known.add(case.digest)
                    self._keep(case, everything=number < 2)
            in_vain = in_vain + 1 if (len(self._goals.short), len(self._kept)) == before else 0
        return [case for family in _guarantees_in_turn(self._goals.thinned(self._kept)) for case in family]

    def _drawn(self, short: set[Goal], number: int) -> list[Schedule]:
        """The schedules of a round, on the timelines that serve what is short."""
        timelines = self._twins.timelines
        if all(kind in (EACH, CLOCK) and about for kind, _, about in short):
            lacking = {about for kind, _, about in short if kind == CLOCK}
            serving = self._twins.serving(BY_ID[str(about)] for kind, _, about in short if kind == EACH)
            timelines = [timeline for timeline in timelines if timeline in serving or timeline.timeline in lacking]
        strategy = st.one_of([self._strategies[timeline] for timeline in timelines])
        round_seed = seeded(self._seed, self._scenario.id, self._program, len(self._twins.timelines[0].bundles), number)
        most = self._wanted // (2 if number else 1)
        return examples(strategy, max(2 * len(timelines), most), round_seed, lambda schedule: schedule)

    def _keep(self, case: Case, everything: bool) -> None:
        """Keep a case with those of its twins that serve a goal, if one of them does, or if the case has circumstances that no case
        before it has together. ``everything``: also try twins for guarantees that the case itself does not put to the test."""
        goals = self._goals
        [tested] = self._exercised([case])
        useful = bool(goals.gain(case, tested) or goals.new_pairs(case))
        if useful:
            goals.keep(case, tested)
        twins = self._twins.of(case, goals.asked(None if everything else tested), self._sparse)
        twins = [twin for twin in twins if possible(self._scenario.programs[self._program], BY_ID[twin.perturbation])]
        kept = {case: tested}
        for twin, mine in zip(twins, self._exercised([case, *twins])[1:], strict=True):
            sparse = BY_ID[twin.perturbation].sparse
            if twin.digest in self._known and not sparse:
                continue
            if goals.gain(twin, mine) or (sparse and useful):
                self._known.add(twin.digest)
                self._sparse[twin.perturbation] += sparse
                goals.keep(twin, mine)
                kept[twin] = mine
        if useful or len(kept) > 1:
            goals.keep(case, tested)
            self._kept.append(kept)


def _guarantees_in_turn(families: Iterable[Family]) -> Iterator[Family]:
    """Families, timeline by timeline. Within a timeline the guarantees take turns, so that an engine that runs only the first few cases
    also puts the rare ones to the test."""
    by_timeline: dict[object, list[tuple[Family, frozenset[str]]]] = {}
    for family in families:
        served = frozenset[str]().union(*family.values())
        by_timeline.setdefault(next(iter(family)).schedule.timeline, []).append((family, served))
    for left in by_timeline.values():
        taken: Counter[str] = Counter()
        while left:
            # The first family for the guarantee with the fewest families so far. A family for none comes last.
            number = min(range(len(left)), key=lambda n: min((taken[goal] for goal in left[n][1]), default=inf))
            family, goals = left.pop(number)
            taken.update(goals)
            yield family
