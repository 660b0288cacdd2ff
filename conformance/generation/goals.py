"""Goals: how many distinct cases put each guarantee of a program to the test, by perturbation, and which goals are not met yet."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from conformance.judgement.coverage import coverage
from conformance.model.case import Case
from conformance.model.perturbation import BY_ID, PERTURBATIONS, RARE, possible
from conformance.model.scenario import Guarantee, Scenario

Goal = tuple[str, str, object]
"""(what is counted, guarantee, perturbation or timeline)."""

Family = dict[Case, frozenset[str]]
"""A case and those of its twins that were kept, each with the guarantees that it puts to the test."""

Use = tuple[object, object, int]
"""(what is counted, what a case adds to it, how many distinct ones are enough)."""

TOTAL, EACH, CLOCK = "total", "each", "clock"
"""The distinct cases of a guarantee; those under one perturbation; and those as drawn on one timeline, or the timelines of twins."""

CLOCKS = 4
"""The number of timelines on which a relation is to be put to the test."""

RARELY = frozenset(perturbation.id for perturbation in PERTURBATIONS if perturbation.needs & RARE)
"""Perturbations that only some engines run."""


def each_of(wanted: int) -> int:
    """The number of distinct cases under each promised perturbation, where ``wanted`` cases put a guarantee to the test."""
    return -(-wanted // 10)


def promised(scenario: Scenario, guarantee: Guarantee) -> list[str]:
    """The perturbations (ids, "" for cases as drawn) under which a guarantee that holds must have been exercised, else it holds in part
    only: see ``judgement.verdict.fold``."""
    if guarantee.same_under:
        return [perturbation.id for perturbation in guarantee.same_under]
    if guarantee.accounting:
        return [""]
    program = scenario.programs[guarantee.program]
    return ["", *(p.id for p in PERTURBATIONS if not p.sparse and possible(program, p))]


class Goals:
    """The goals of one program on one family of timelines.

    Args:
        guarantees: those of the program that cases on these timelines can put to the test.
        made: the perturbations (ids) that twins on these timelines are made with -> on how many of the timelines.
        wanted: the number of distinct cases that put each guarantee to the test. Cases of rare perturbations count for guarantees about
            nothing else, since only some engines run them.
        each: the number of those under each perturbation that a guarantee promises.
    """

    def __init__(
        self,
        scenario: Scenario,
        program: str,
        guarantees: Iterable[Guarantee],
        timelines: Sequence[object],
        made: Mapping[str, int],
        wanted: int,
        each: int,
    ) -> None:
        self._program, self._each = scenario.programs[program], each
        self._guarantees = {guarantee.id: guarantee for guarantee in guarantees}
        self._least: dict[Goal, int] = {}
        self._about: dict[str, frozenset[str]] = {}
        for name, guarantee in self._guarantees.items():
            about = [
                perturbation
                for perturbation in promised(scenario, guarantee)
                if not perturbation or perturbation in made
            ]
            if not about:
                continue
            self._about[name] = frozenset(about)
            self._least[TOTAL, name, ""] = wanted
            self._least |= {(EACH, name, perturbation): each for perturbation in about}
            if guarantee.same_under and RARELY.issuperset(about):  # some engines run one of them only
                self._least |= {(EACH, name, p): max(each, wanted * min(made[p], CLOCKS) // CLOCKS) for p in about}
            if not guarantee.same_under:
                self._least |= {(CLOCK, name, timeline): 1 for timeline in timelines}
            elif clocks := min(CLOCKS, sum(made.get(perturbation, 0) for perturbation in about)):
                self._least[CLOCK, name, ""] = clocks
        self._met: dict[Goal, set[object]] = {goal: set() for goal in self._least}
        self._pairs: set[tuple[str, str]] = set()

    @property
    def short(self) -> set[Goal]:
        """The goals that are not met."""
        return {goal for goal, least in self._least.items() if len(self._met[goal]) < least}

    def asked(self, tested: Collection[str] | None) -> list[str]:
        """The perturbations that serve unmet goals, those with the fewest cases first. ``tested`` limits the goals to relations and to the
        guarantees in it."""
        counts: dict[str, int] = {}

        def ask(perturbation: str, name: str) -> None:
            found = len(self._met.get((EACH, name, perturbation), ()))
            counts[perturbation] = min(found, counts.get(perturbation, found))

        for kind, name, about in self.short:
            if tested is not None and name not in tested and not self._guarantees[name].same_under:
                continue
            if kind == EACH and about:
                ask(str(about), name)
            elif kind == TOTAL or (kind == CLOCK and not about):
                for perturbation in self._about[name] - {""}:
                    ask(perturbation, name)
        return sorted(counts, key=lambda perturbation: (counts[perturbation], perturbation))

    def gain(self, case: Case, tested: Iterable[str]) -> set[Goal]:
        """The unmet goals that a case serves."""
        return {
            goal
            for goal in self._of(case, tested)
            if len(met := self._met[goal]) < self._least[goal] and self._counted(goal, case) not in met
        }

    def new_pairs(self, case: Case) -> set[tuple[str, str]]:
        """The pairs of circumstances that no kept case of the program has yet."""
        return set(itertools.combinations(sorted(coverage(self._program, case)), 2)) - self._pairs

    def keep(self, case: Case, tested: Iterable[str]) -> None:
        for goal in self._of(case, tested):
            self._met[goal].add(self._counted(goal, case))
        self._pairs |= self.new_pairs(case)

    def thinned(self, families: Iterable[Family]) -> list[Family]:
        """The families without the cases that no goal and no pair of circumstances needs: rounds that look for what is rare go on to
        draw what is common. A case stays where a twin of it does; twins of sparse perturbations stay."""
        families = [dict(family) for family in families]
        counts: Counter[Use] = Counter()
        for family in families:
            for case, tested in family.items():
                counts.update(self._uses(case, tested))
        distinct = Counter((what, enough) for what, _, enough in counts)

        def needed(case: Case, tested: Iterable[str]) -> bool:
            return any(counts[use] == 1 and distinct[use[0], use[2]] <= use[2] for use in self._uses(case, tested))

        for family in families:
            base, *twins = family
            for case in (*twins, base):
                stays = BY_ID[case.perturbation].sparse if case.base else len(family) > 1
                if not stays and not needed(case, family[case]):
                    for use in self._uses(case, family.pop(case)):
                        counts[use] -= 1
                        distinct[use[0], use[2]] -= counts[use] == 0
        return [family for family in families if family]

    def _uses(self, case: Case, tested: Iterable[str]) -> Iterator[Use]:
        """What a case is good for: its goals, its pairs of circumstances, and the promises of its program, which are no goals."""
        for goal in self._of(case, tested):
            yield goal, self._counted(goal, case), self._least[goal]
        for pair in itertools.combinations(sorted(coverage(self._program, case)), 2):
            yield pair, "", 1
        for name in tested:
            if name not in self._guarantees:
                yield (CLOCK, name), case.schedule.timeline, CLOCKS
                yield (EACH, name, case.perturbation), case.digest, self._each

    def _of(self, case: Case, tested: Iterable[str]) -> Iterable[Goal]:
        for name in tested:
            if name not in self._about:
                continue
            if self._counts(name, case.perturbation):
                yield TOTAL, name, ""
            if case.perturbation in self._about[name]:
                yield EACH, name, case.perturbation
            if case.base and (CLOCK, name, "") in self._least and case.perturbation in self._about[name]:
                yield CLOCK, name, ""
            if not case.base and (clock := (CLOCK, name, case.schedule.timeline)) in self._least:
                yield clock

    @staticmethod
    def _counted(goal: Goal, case: Case) -> object:
        """What a case adds to a goal: itself, or its timeline."""
        return case.schedule.timeline if goal[0] == CLOCK else case.digest

    def _counts(self, name: str, perturbation: str) -> bool:
        """Whether a case of this perturbation is one of the distinct cases of a guarantee."""
        if perturbation and BY_ID[perturbation].sparse and perturbation not in self._about[name]:
            return False
        return perturbation not in RARELY or self._about[name] <= RARELY
