"""Isolation: which of the perturbations of a failing twin it takes to fail.

A row makes several changes at once. What fails in it runs again under halves of the changes, all failing cases together, until a smallest
set is left. That set may be two changes. What is left of the changes runs, too, so that one fault hides no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.judgement.batches import Checked, Failure, Isolated
from conformance.judgement.evidence import Against, ReferenceTraces, Runs, Unjudgeable, findings_of, pair_finding
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.perturbation import BY_ID, Part, Perturbation, factor_of, level_of, parts_of, together
from conformance.model.program import Program
from conformance.model.scenario import Guarantee, Scenario, programs_of

Parts = tuple[str, ...]
"""Perturbations with their levels, as ``Case.perturbation`` names them."""

Search = Generator[list[Parts], frozenset[Parts], list[Parts]]
"""Asks whether the twins under some sets fail, is sent those that do, and returns the smallest sets."""

ALIKE = 2
"""Of the twins that fail a guarantee under the same perturbations, so many are taken apart."""

MESSAGE = 60
"""So many characters of an error tell it from another one."""

ROUNDS = 24
"""The most rounds of engine runs."""

RunCases = Callable[[list[Case]], Runs]


def smallest(parts: Parts, known: frozenset[str] = frozenset()) -> Search:
    """The smallest sets of ``parts`` that fail, if ``parts`` together fail. ``known``: what a stored witness shows to fail."""
    found: list[Parts] = []
    if explained := tuple(part for part in parts if factor_of(part) in known):
        rest = tuple(part for part in parts if part not in explained)
        if not rest or rest not in (yield [rest]):
            return [explained]
        found, parts = [explained], rest
    while parts:
        one = yield from _one(parts)
        found.append(one)
        parts = tuple(part for part in parts if part not in one)
        if not parts or parts not in (yield [parts]):
            break
    return found


def likely(parts: Parts, names: frozenset[str]) -> Search:
    """The smallest sets of ``parts`` that fail, if perturbations of these ``names`` (ids) are likely to be one: another twin of the row
    fails under them."""
    mine = tuple(part for part in parts if factor_of(part) in names)
    rest = tuple(part for part in parts if part not in mine)
    failing = yield [found for found in (mine, rest) if found]
    if mine not in failing:
        return (yield from smallest(parts))
    return [mine, *((yield from smallest(rest)) if rest in failing else ())]


def _one(parts: Parts) -> Generator[list[Parts], frozenset[Parts], Parts]:
    while len(parts) > 1:
        halves = [parts[: len(parts) // 2], parts[len(parts) // 2 :]]
        failing = yield halves
        if not failing:
            break
        parts = next(half for half in halves if half in failing)
    else:
        return parts
    # No half fails by itself: several are needed. Each is left out by itself, until none can be.
    while len(parts) > 2:
        without = [tuple(other for other in parts if other != part) for part in parts]
        failing = yield without
        if not failing:
            break
        parts = next(fewer for fewer in without if fewer in failing)
    return parts


Known = Mapping[tuple[str, str], frozenset[str]]
"""(scenario, guarantee) -> the perturbations (ids) under which a stored witness of an engine fails."""


def by_order(entangled: Mapping[Failure, Against]) -> list[tuple[Failure, Against]]:
    """Failures in the order in which they are taken apart."""
    return sorted(entangled.items(), key=lambda found: (found[1].size, found[0]))


def told_apart(checked: Checked, cases: Iterable[Case], scenarios: Iterable[Scenario], known: Known) -> Isolated:
    """What the failures come to by the traces that there are, among them those that an isolation asked for, without another run. A failure
    is explained where a twin of its base under fewer of its perturbations fails, too."""
    guarantees = {(s.id, g.id): g for s in scenarios for g in s.guarantees}
    failing = {
        (scenario, guarantee, against.case.id)
        for (scenario, guarantee, _), evidence in checked.evidence.items()
        for against in evidence.against
    }
    twins: dict[str, list[Case]] = {}
    for case in cases:
        if case.base:
            twins.setdefault(case.base, []).append(case)
    isolated, alike = Isolated(), Counter[tuple[str, ...]]()
    for failure, against in by_order(checked.entangled):
        parts, guarantee = frozenset(parts_of(against.case.perturbation)), guarantees[failure[:2]]
        kind = (*failure[:2], against.case.perturbation)
        alike[kind] += 1
        others = [t for t in twins[against.case.base] if (*failure[:2], t.id) in failing]
        fewer = any(parts > frozenset(parts_of(twin.perturbation)) for twin in others)
        more = any(parts < frozenset(parts_of(twin.perturbation)) for twin in others)
        explained = (
            alike[kind] > ALIKE
            or not known.get(failure[:2], frozenset()).isdisjoint(map(factor_of, parts))
            or fewer
            or not (more or _about_all(guarantee, parts))
        )
        (isolated.explained if explained else isolated.smallest).add(failure)
    return isolated


def _about_all(guarantee: Guarantee, parts: Iterable[str]) -> bool:
    """Whether a guarantee speaks of each of some perturbations. A predicate speaks of all."""
    return not guarantee.same_under or all(map(guarantee.is_about, map(factor_of, parts)))


@dataclass
class _Asked:
    """One failing twin, or a twin without an answer, and the search for what it takes."""

    failure: Failure
    guarantee: Guarantee | None
    base: Case
    case: Case
    search: Search
    sets: list[Parts] = field(default_factory=list)


class Isolation:
    """Takes the failing twins of one engine apart.

    Args:
        run: runs cases on the engine.
        known: what stored witnesses of this engine show.
        runs: what the engine answered so far. Answers of the isolation are added.

    Attributes:
        cases: the twins that this made, which are evidence as well.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario],
        can: Capabilities,
        seed: int,
        reference: ReferenceTraces,
        run: RunCases,
        runs: Runs,
        known: Known,
    ) -> None:
        scenarios = list(scenarios)
        self._programs: Mapping[str, Program] = programs_of(scenarios)
        self._guarantees = {(s.id, g.id): g for s in scenarios for g in s.guarantees}
        self._can, self._seed, self._reference, self._run, self._known = can, seed, reference, run, known
        self._plans = {plan.perturbation.id: plan.perturbation for plan in can.plans}
        self.runs, self.cases = runs, dict[str, Case]()

    def isolate(
        self, entangled: Mapping[Failure, Against], lost: Iterable[Case], cases: Mapping[str, Case]
    ) -> Isolated:
        """What the failures come to. ``lost`` are twins without an answer. ``cases``, by id, has their bases."""
        isolated, asked, alike = Isolated(), list[_Asked](), Counter[tuple[str, ...]]()
        stopped: dict[tuple[str, ...], _Asked] = {}
        followers: list[tuple[_Asked, tuple[str, ...]]] = []
        for failure, against in by_order(entangled):
            case = against.case
            kind = (*failure[:2], case.perturbation)
            alike[kind] += 1
            if alike[kind] > ALIKE:
                isolated.explained.add(failure)
                continue
            guarantee, known = self._guarantees[failure[:2]], self._known.get(failure[:2], frozenset())
            search = smallest(parts_of(case.perturbation), known)
            one = _Asked(failure, guarantee, cases[case.base], case, search)
            error = self.runs.traces[case.id].error if case.id in self.runs.traces else None
            if error and not known:
                # A query that fails does so for every program: what one of them shows is tried first for the others.
                place = (*self._of_job(case), error[:MESSAGE])
                if place in stopped:
                    followers.append((one, place))
                    continue
                stopped[place] = one
            asked.append(one)
        groups: dict[tuple[str, object], list[Case]] = {}
        for case in lost:
            groups.setdefault((case.perturbation, case.schedule.timeline), []).append(case)
        first = {
            group: _Asked(
                (mine[0].scenario, "", mine[0].id), None, cases[mine[0].base], mine[0], smallest(parts_of(group[0]))
            )
            for group, mine in groups.items()
        }
        self._search([*asked, *first.values()])
        for one, place in followers:
            names = frozenset(factor_of(part) for found in stopped[place].sets for part in found)
            one.search = likely(parts_of(one.case.perturbation), names)
        self._search([one for one, _ in followers])
        asked += [one for one, _ in followers]
        for one in asked:
            self._conclude(one, isolated)
        self._again(first, groups, cases, isolated)
        return isolated

    def _of_job(self, case: Case) -> tuple[str, ...]:
        """The perturbations of a twin that all cases of its row have."""
        parts = parts_of(case.perturbation)
        return tuple(part for part in parts if not self._perturbation(part).keeps_timeline)

    def _again(
        self,
        first: Mapping[tuple[str, object], _Asked],
        groups: Mapping[tuple[str, object], list[Case]],
        cases: Mapping[str, Case],
        isolated: Isolated,
    ) -> None:
        """Runs the twins without an answer again, without what it takes to lose them."""
        twins: dict[str, Case] = {}
        for group, one in first.items():
            left = tuple(p for p in parts_of(group[0]) if not any(p in found for found in one.sets))
            if one.sets == [parts_of(group[0])] or not one.sets:
                continue  # nothing smaller is lost: the twins stay without an answer
            for case in groups[group]:
                isolated.explained.add((case.scenario, "", case.id))
                for parts in (left, *(one.sets if case is one.case else ())):
                    if parts and (twin := self._twin(cases[case.base], parts)):
                        twins[twin.id] = twin
        self.runs.merge(self._run([t for t in twins.values() if t.id not in self.runs.traces]))
        self.cases |= {name: twin for name, twin in twins.items() if self._answered(twin)}

    def _search(self, asked: list[_Asked]) -> None:
        """Goes on with all searches side by side: the twins that they ask for run together."""
        waiting: dict[int, tuple[_Asked, list[Parts]]] = {}
        for one in asked:
            try:
                waiting[id(one)] = one, next(one.search)
            except StopIteration as end:  # all of its perturbations are known to fail
                one.sets = end.value
        for _ in range(ROUNDS):
            if not waiting:
                return
            twins = {id(one): {parts: self._twin(one.base, parts) for parts in sets} for one, sets in waiting.values()}
            every = {twin.id: twin for found in twins.values() for twin in found.values() if twin}
            answered = {*self.runs.traces, *self.runs.lost, *self.runs.faults}
            self.runs.merge(self._run([twin for name, twin in every.items() if name not in answered]))
            still: dict[int, tuple[_Asked, list[Parts]]] = {}
            for place, (one, _) in waiting.items():
                failing = frozenset(parts for parts, twin in twins[place].items() if twin and self._fails(one, twin))
                try:
                    still[place] = one, one.search.send(failing)
                except StopIteration as end:
                    one.sets = end.value
            waiting = still

    def _conclude(self, one: _Asked, isolated: Isolated) -> None:
        whole = parts_of(one.case.perturbation)
        if one.sets == [whole] and one.guarantee and _about_all(one.guarantee, whole):
            isolated.smallest.add(one.failure)
            return
        isolated.explained.add(one.failure)
        left = tuple(part for part in whole if not any(part in found for found in one.sets))
        for parts in (*one.sets, left):
            if parts and parts != whole and (twin := self._twin(one.base, parts)) and self._answered(twin):
                self.cases[twin.id] = twin
                if parts in one.sets and len(parts) > 1:
                    failure = (one.case.scenario, one.failure[1], twin.id)
                    isolated.smallest.add(failure)

    def _answered(self, twin: Case) -> bool:
        return twin.id in self.runs.traces or twin.id in self.runs.lost

    def _fails(self, one: _Asked, twin: Case) -> bool:
        if one.guarantee is None:
            return twin.id not in self.runs.traces
        if twin.id not in self.runs.traces or one.base.id not in self.runs.traces:
            return False
        with suppress(Unjudgeable):
            if one.guarantee.same_under:
                program = self._programs[program_ref(twin.scenario, twin.program)]
                pair = one.base, twin, self.runs.traces
                return bool(pair_finding(program, one.guarantee, *pair, self._reference)[1])
            return bool(findings_of(one.guarantee, twin, self.runs.traces[twin.id], self._reference)[1])
        return False

    def _twin(self, base: Case, parts: Parts) -> Case | None:
        made: list[Part] = [(self._perturbation(part), level_of(part)) for part in parts]
        twin = together(base, made, self._seed)
        program = self._programs[program_ref(base.scenario, base.program)]
        return twin if twin and self._can.takes(twin, program) else None

    def _perturbation(self, part: str) -> Perturbation:
        name = factor_of(part)
        return BY_ID[name] if name in BY_ID else self._plans[name]
