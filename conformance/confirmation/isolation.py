"""Isolation: which of the perturbations of a failing twin it takes to fail.

A row makes several changes at once. What fails in it runs again with all of its changes, then with fewer of them, all
failing cases together, until a smallest set is left. That set may be two changes. What is left of the changes runs,
too, so that one fault hides no other. What a stored witness shows to fail is taken away first, of all cases of a row at
once.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from conformance.confirmation.bisection import answered, fewest
from conformance.confirmation.ended import MESSAGE, MOST, SETS, Ended, Parts, RunCases, ordered, search_all, without
from conformance.judgement.batches import Checked, Failure, Isolated
from conformance.judgement.evidence import (
    Against,
    FewPrograms,
    ReferenceTraces,
    Runs,
    Traces,
    Unjudgeable,
    error_of,
    speaks_against,
)
from conformance.model.case import Case
from conformance.model.engine import Capabilities
from conformance.model.perturbation import (
    BY_ID,
    Part,
    Perturbation,
    factor_of,
    factors_of,
    level_of,
    parts_of,
    together,
)
from conformance.model.program import Program
from conformance.model.scenario import Guarantee, Scenario, programs_of, speaks_of_all
from conformance.results.witness import Witness
from conformance.support.grouping import grouped

Search = Generator[Parts, bool, list[Parts]]
"""Asks whether the twin under a set fails, is sent the answer, and returns the smallest sets."""

ALIKE = 2
"""Of the twins that fail a guarantee under the same perturbations, so many are taken apart."""

SUSPECTS = 2
"""Of the perturbations of a failing twin, so many are tried alone before it is bisected: one is to blame for most
failures, and the rows without it tell which."""

KeptUnder = Mapping[tuple[str, str], AbstractSet[str]]
"""(scenario, guarantee) -> the perturbations (ids) under which a case kept it."""


def smallest(of_case: Parts, of_job: Parts, suspicion: Mapping[str, float] | None = None) -> Search:
    """The smallest sets of perturbations that fail, if all of them together fail. Those of the job are searched first:
    all failing cases of an engine run ask for the same sets of them. ``suspicion``: factor (id) -> see
    ``suspicion_of``."""
    found: list[Parts] = []
    while of_case or of_job:
        one = yield from _one(of_case, of_job, suspicion or {})
        found.append(one)
        of_case, of_job = without(of_case, one), without(of_job, one)
        if len(found) == SETS or not (rest := (*of_case, *of_job)) or not (yield rest):
            break
    return found


def _one(of_case: Parts, of_job: Parts, suspicion: Mapping[str, float]) -> Generator[Parts, bool, Parts]:
    job = yield from _fewest(of_job, of_case, lambda some: (*of_case, *some), suspicion)
    case = yield from _fewest(of_case, job, lambda some: (*some, *job), suspicion)
    return *case, *job


def _fewest(
    pool: Parts, beside: Parts, made: Callable[[Parts], Parts], suspicion: Mapping[str, float]
) -> Generator[Parts, bool, Parts]:
    """The fewest of ``pool`` that it takes. In the order of ``pool``: together, perturbations are made in that
    order."""

    def ask(some: Parts) -> Generator[Parts, bool, bool]:
        # Without any perturbation it does not fail: what fails as drawn is not taken apart.
        return bool(some or beside) and (yield made(ordered(pool, some)))

    return ordered(pool, (yield from answered(fewest(pool, MOST, suspects=_suspects(pool, suspicion)), ask)))


def _suspects(pool: Parts, suspicion: Mapping[str, float]) -> Parts:
    """The perturbations that are suspected most. None if they are many: halves then tell them apart sooner."""
    likely = sorted((part for part in pool if suspicion.get(factor_of(part))), key=lambda p: -suspicion[factor_of(p)])
    alike = [part for part in likely if suspicion[factor_of(part)] == suspicion[factor_of(likely[0])]]
    return tuple(likely[:SUSPECTS]) if len(alike) <= SUSPECTS else ()


def suspicion_of(failing: Iterable[str], others: Iterable[str]) -> dict[str, float]:
    """How much each factor (id) is to be suspected, from the perturbations of twins that failed and of others of their
    programs: Ochiai's coefficient, as localisation of faults by coverage uses it (Abreu, Zoeteweij and van Gemund, TAIC
    PART 2007)."""
    failed = [frozenset(factors_of(perturbation)) for perturbation in failing]
    in_failed = Counter(factor for factors in failed for factor in factors)
    in_others = Counter(factor for perturbation in others for factor in {*factors_of(perturbation)})
    return {f: n / (len(failed) * (n + in_others[f])) ** 0.5 for f, n in in_failed.items()}


Known = Mapping[tuple[str, str], Sequence[frozenset[str]]]
"""(scenario, guarantee) -> the sets of perturbations (ids) under which a stored witness of an engine fails."""


def explaining(parts: Parts, known: Iterable[frozenset[str]]) -> Parts:
    """Those of the parts that a stored witness shows to fail, all of a witness's set or none."""
    names = frozenset(map(factor_of, parts))
    shown = frozenset[str]().union(*(some for some in known if some and some <= names))
    return tuple(part for part in parts if factor_of(part) in shown)


def known_of(witnesses: Iterable[Witness], scenarios: Iterable[Scenario]) -> Known:
    """What stored witnesses that failed on an engine show. One that ends with an error, or whose output a plan changes,
    shows it of each guarantee of its program."""
    guarantees = {s.id: s.guarantees for s in scenarios}
    known = dict[tuple[str, str], list[frozenset[str]]]()
    for witness in witnesses:
        scenario, names = witness.case.scenario, frozenset(factors_of(witness.case.perturbation))
        mine = [g for g in guarantees.get(scenario, ()) if g.program == witness.case.program]
        changed = any(g.about_plans and g.id == witness.guarantee for g in mine)
        others = {g.id for g in mine} if witness.seen.error or changed else set[str]()
        for guarantee in {witness.guarantee, *others} if names else ():
            known.setdefault((scenario, guarantee), []).append(names)
    return known


def taken_apart(entangled: Mapping[Failure, Against], isolated: Isolated) -> Iterator[tuple[Failure, Against]]:
    """The failures that are taken apart, in their order: the first ALIKE of a guarantee under the same perturbations.
    The others are explained."""
    alike = Counter[tuple[str, ...]]()
    for failure, against in sorted(entangled.items(), key=lambda found: (found[1].size, found[0])):
        kind = (*failure[:2], against.case.perturbation)
        alike[kind] += 1
        if alike[kind] <= ALIKE:
            yield failure, against
        else:
            isolated.explained.add(failure)


def told_apart(
    checked: Checked, cases: Iterable[Case], traces: Traces, scenarios: Iterable[Scenario], known: Known
) -> Isolated:
    """What the failures come to by the traces that there are, among them those that an isolation asked for, without
    another run. A failure is explained where a twin of its base under fewer of its perturbations fails, too: of a
    relation, where the twin fails any relation of the program."""
    beside = {s.id: s.guarantees for s in scenarios}
    guarantees = {(scenario, g.id): g for scenario, mine in beside.items() for g in mine}
    failing = {
        (scenario, guarantee, against.case.id)
        for (scenario, guarantee, _), evidence in checked.evidence.items()
        for against in evidence.against
    }
    twins = grouped((case.base, case) for case in cases if case.base)
    isolated, stopped = Isolated(), _Stopped()
    unlike = {name for scenario, guarantee, name in failing if guarantees[scenario, guarantee].same_under}
    """The twins (ids) that fail a relation."""

    fewer_fail = {
        failure: [
            frozenset(parts_of(twin.perturbation))
            for twin in twins[against.case.base]
            if (*failure[:2], twin.id) in failing
        ]
        for failure, against in checked.entangled.items()
    }
    """The perturbations under which the twins of a failing one's base fail, too."""

    def under(against: Against) -> frozenset[str]:
        return frozenset(parts_of(against.case.perturbation))

    # What an isolation found stands beside the twin that was taken apart, which fails under more.
    found = {
        f: against for f, against in checked.entangled.items() if any(under(against) < more for more in fewer_fail[f])
    }
    rest = {failure: against for failure, against in checked.entangled.items() if failure not in found}
    for failure, against in (*found.items(), *taken_apart(rest, isolated)):
        parts, guarantee = under(against), guarantees[failure[:2]]
        of_others = [t for t in twins[against.case.base] if guarantee.same_under and t.id in unlike]
        explained = (
            explaining(tuple(parts), known.get(failure[:2], ()))
            or any(parts > fewer for fewer in fewer_fail[failure])
            or any(parts > {*parts_of(twin.perturbation)} for twin in of_others)
            or not (failure in found or speaks_of_all(guarantee, map(factor_of, parts), beside[failure[0]]))
            or stopped.before(against.case, traces)
        )
        (isolated.explained if explained else isolated.smallest).add(failure)
    return isolated


class _Stopped:
    """Queries that ended with an error, for all of their cases. Where one does not end under fewer perturbations, one
    failure stands for all of them; where it does, the twins of a few programs."""

    def __init__(self) -> None:
        self._places = set[tuple[object, ...]]()
        self._few = FewPrograms()

    def enough(self, twin: Case, traces: Traces) -> bool:
        """Whether the queries of ENDED_ALIKE other programs ended with the error of a twin under the same
        perturbations."""
        error = error_of(twin, traces)
        return error is not None and self._few.beyond((factors_of(twin.perturbation), error[:MESSAGE]), twin)

    def before(self, case: Case, traces: Traces) -> bool:
        """Whether a case ended with an error of which another one stands for it."""
        if (error := error_of(case, traces)) is None:
            return False
        place = (case.schedule.timeline, error[:MESSAGE])
        stands = place in self._places
        self._places.add(place)
        return stands


@dataclass
class _Asked:
    """A failing twin, or the twins of an engine run without an answer, and the search for what it takes.

    Attributes:
        twins: the twins with their bases. Of a failing twin, this is one pair.
        known: what stored witnesses explain.
        sets: the smallest sets that fail. A search that found nothing smaller leaves all of the perturbations together.
        first: what was asked first: all perturbations, or those without what is known.
        again: whether it failed under these.
    """

    failure: Failure
    guarantee: Guarantee | None
    twins: list[tuple[Case, Case]]
    whole: Parts
    known: Parts = ()
    first: Parts = ()
    sets: list[Parts] = field(default_factory=list)
    again: bool = False

    @property
    def base(self) -> Case:
        return self.twins[0][0]

    @property
    def case(self) -> Case:
        return self.twins[0][1]

    @property
    def left(self) -> Parts:
        """The perturbations that are in no set that fails."""
        return without(self.whole, {part for parts in self.sets for part in parts})


class Asking(NamedTuple):
    """How an engine is asked, and what it answered: ``run`` runs cases on it; to ``runs``, its answers so far, those of
    an isolation are added; ``go_on`` says whether to ask for more."""

    run: RunCases
    runs: Runs
    go_on: Callable[[], bool] = lambda: True


class Isolation:
    """Takes the failing twins of one engine apart.

    Args:
        known: what stored witnesses of this engine show.

    Attributes:
        cases: the twins that this made, which are evidence as well.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario],
        can: Capabilities,
        seed: int,
        reference: ReferenceTraces,
        asking: Asking,
        known: Known,
    ) -> None:
        scenarios = list(scenarios)
        self._programs: Mapping[str, Program] = programs_of(scenarios)
        self._beside = {s.id: s.guarantees for s in scenarios}
        self._guarantees = {(scenario, g.id): g for scenario, mine in self._beside.items() for g in mine}
        self._can, self._seed, self._reference, self._run, self._known = can, seed, reference, asking.run, known
        self._plans = {plan.perturbation.id: plan.perturbation for plan in can.plans}
        self.runs, self.cases, self._go_on = asking.runs, dict[str, Case](), asking.go_on
        self._suspicion: dict[tuple[str, str], Mapping[str, float]] = {}

    def isolate(
        self,
        entangled: Mapping[Failure, Against],
        lost: Iterable[Case],
        cases: Mapping[str, Case],
        kept_under: KeptUnder,
    ) -> Isolated:
        """What the failures come to. ``lost`` are twins without an answer. ``cases``, by id, has their bases. Where a
        stored witness explains a failure, and its guarantee was kept under all other perturbations elsewhere, the
        failure says no more."""
        isolated, asked, lost = Isolated(), list[_Asked](), list(lost)
        self._suspect(entangled, lost, cases)
        self._ended(entangled, lost, cases, isolated)
        entangled = {failure: against for failure, against in entangled.items() if failure not in isolated}
        lost = [case for case in lost if (case.scenario, "", case.id) not in isolated]
        for failure, against in taken_apart(entangled, isolated):
            case, guarantee = against.case, self._guarantees[failure[:2]]
            whole = parts_of(case.perturbation)
            known = explaining(whole, self._known.get(failure[:2], ()))
            others = {factor_of(part) for part in without(whole, known)}
            about = {name for name in others if not guarantee.same_under or guarantee.is_about(name)}
            if known and about <= kept_under.get(failure[:2], frozenset()):
                isolated.explained.add(failure)
                continue
            asked.append(_Asked(failure, guarantee, [(cases[case.base], case)], whole, known))
        groups = grouped(((case.perturbation, case.schedule.timeline), case) for case in lost)
        unanswered = [
            _Asked((mine[0].scenario, "", mine[0].id), None, [(cases[c.base], c) for c in mine], parts_of(group[0]))
            for group, mine in groups.items()
        ]
        self._search([*asked, *unanswered])
        stopped = _Stopped()
        for one in asked:
            self._conclude(one, isolated, stopped)
        self._again(unanswered, isolated)
        return isolated

    def _ended(
        self,
        entangled: Mapping[Failure, Against],
        lost: Iterable[Case],
        cases: Mapping[str, Case],
        isolated: Isolated,
    ) -> None:
        """Takes apart what ended. Where nothing is found, each failure is taken apart by itself."""
        traces, groups = self.runs.traces, dict[tuple[object, Parts, str], Ended]()
        ended = [
            (failure, against.case, error)
            for failure, against in entangled.items()
            if (error := error_of(against.case, traces)) is not None
            and not explaining(parts_of(against.case.perturbation), self._known.get(failure[:2], ()))
        ]
        for failure, case, error in [*ended, *(((case.scenario, "", case.id), case, "") for case in lost)]:
            if job := self._of_job(parts_of(case.perturbation)):
                place = case.schedule.timeline, job, error[:MESSAGE]
                if place not in groups:
                    suspicion = self._suspicion[failure[:2] if error else ("", "")]
                    groups[place] = Ended(job, error, _suspects(job, suspicion))
                group = groups[place]
                group.failures.append(failure)
                group.bases[case.base] = cases[case.base]
        search_all(groups.values(), self._twin, self._run, self._go_on)
        for group in groups.values():
            if group.guilty:
                self.runs.merge(group.runs)
                self.cases |= {twin.id: twin for twin in (*group.guilty, *group.beside)}
                isolated.explained.update(group.failures)
                isolated.smallest |= {
                    (twin.scenario, guarantee, twin.id)
                    for twin in group.guilty
                    if len(parts_of(twin.perturbation)) > 1
                    for scenario, guarantee in {failure[:2] for failure in group.failures}
                    if scenario == twin.scenario
                }

    def _suspect(self, entangled: Mapping[Failure, Against], lost: Iterable[Case], cases: Mapping[str, Case]) -> None:
        """Tells by all failures and all twins what each failure most probably needs."""
        failing: dict[tuple[str, str], list[Case]] = {("", ""): [*lost]}
        for (scenario, guarantee, _), against in entangled.items():
            failing.setdefault((scenario, guarantee), []).append(against.case)
        ran = grouped((case.ref, case) for case in cases.values() if case.base and case.id in self.runs.traces)
        for kind, mine in failing.items():
            programs, names = {c.ref for c in mine}, {c.id for c in mine}
            others = [c.perturbation for ref in programs for c in ran.get(ref, ()) if c.id not in names]
            self._suspicion[kind] = suspicion_of([c.perturbation for c in mine], others)

    def _of_job(self, parts: Parts) -> Parts:
        """The perturbations that all cases of a row have."""
        return tuple(part for part in parts if not self._perturbation(part).keeps_timeline)

    def _again(self, unanswered: Iterable[_Asked], isolated: Isolated) -> None:
        """Runs the twins without an answer again, without what it takes to lose them."""
        twins: dict[str, Case] = {}
        for one in unanswered:
            if not one.again or one.sets == [one.whole]:
                continue  # nothing smaller is lost: the twins stay without an answer
            for number, (base, case) in enumerate(one.twins):
                isolated.explained.add((case.scenario, "", case.id))
                for parts in (one.left, *(() if number else one.sets)):
                    if parts and (twin := self._twin(base, parts)):
                        twins[twin.id] = twin
        self.runs.merge(self._run([t for t in twins.values() if t.id not in self.runs.traces]))
        answered = {*self.runs.traces, *self.runs.lost}
        self.cases |= {name: twin for name, twin in twins.items() if name in answered}

    def _search(self, asked: list[_Asked]) -> None:
        """Goes on with all searches side by side: the twins that they ask for run together."""
        known: dict[Parts, set[str]] = {}
        for one in asked:
            known.setdefault(self._of_job(one.whole), set()).update(self._of_job(one.known))
        for one in asked:
            # Of a job, nothing that a case of its row is known to fail under: the row runs once more, not once for each
            # known failure.
            others = known[self._of_job(one.whole)] if one.known else ()
            one.first = without(one.whole, {*one.known, *others})
        first = {id(one): self._twins(one, one.first) for one in asked}
        answers = self._run([*{twin.id: twin for twins in first.values() for _, twin in twins}.values()])
        self.runs.merge(_new(answers, self.runs))
        waiting: dict[int, tuple[_Asked, Search, Parts]] = {}
        for one in asked:
            one.sets = [one.known] if one.known else [one.whole]
            one.again = self._fails(one, first[id(one)], answers)
            if one.again:
                job = self._of_job(one.first)
                suspicion = self._suspicion[one.failure[:2] if one.guarantee else ("", "")]
                self._advance(one, smallest(without(one.first, job), job, suspicion), None, waiting)
        while waiting and self._go_on():
            twins = {place: self._twins(one, parts) for place, (one, _, parts) in waiting.items()}
            every = {twin.id: twin for found in twins.values() for _, twin in found}
            answered = {*self.runs.traces, *self.runs.lost, *self.runs.faults}
            self.runs.merge(self._run([twin for name, twin in every.items() if name not in answered]))
            still: dict[int, tuple[_Asked, Search, Parts]] = {}
            for place, (one, search, _) in waiting.items():
                self._advance(one, search, self._fails(one, twins[place], self.runs), still)
            waiting = still

    @staticmethod
    def _advance(
        one: _Asked, search: Search, failed: bool | None, waiting: dict[int, tuple[_Asked, Search, Parts]]
    ) -> None:
        try:
            waiting[id(one)] = one, search, next(search) if failed is None else search.send(failed)
        except StopIteration as end:
            one.sets = [*([one.known] if one.known else []), *end.value]

    def _conclude(self, one: _Asked, isolated: Isolated, stopped: _Stopped) -> None:
        found = [twin for parts in one.sets if parts != one.whole and (twin := self._answered(one.base, parts))]
        if not found and not one.known:  # nothing smaller shows it
            stands = self._speaks_of_all(one) and not stopped.before(one.case, self.runs.traces)
            (isolated.smallest if stands else isolated.explained).add(one.failure)
            return
        isolated.explained.add(one.failure)
        found = [twin for twin in found if not stopped.enough(twin, self.runs.traces)]
        beside = [twin for parts in (one.left, one.first) if (twin := self._answered(one.base, parts))]
        self.cases |= {twin.id: twin for twin in (*found, *beside)}
        several = {(one.case.scenario, one.failure[1], t.id) for t in found if len(parts_of(t.perturbation)) > 1}
        isolated.smallest |= several

    def _speaks_of_all(self, one: _Asked) -> bool:
        """Whether the guarantee that a twin fails speaks of all of the twin's perturbations."""
        factors, beside = map(factor_of, one.whole), self._beside.get(one.case.scenario, ())
        return one.guarantee is not None and speaks_of_all(one.guarantee, factors, beside)

    def _answered(self, base: Case, parts: Parts) -> Case | None:
        """The twin under some perturbations, if the engine was asked for it and answered or lost it."""
        twin = self._twin(base, parts) if parts else None
        return twin if twin and (twin.id in self.runs.traces or twin.id in self.runs.lost) else None

    def _fails(self, one: _Asked, twins: Iterable[tuple[Case, Case]], runs: Runs) -> bool:
        if one.guarantee is None:
            return any(twin.id not in runs.traces for _, twin in twins)
        return any(self._speaks_against(one, base, twin, runs.traces) for base, twin in twins)

    def _speaks_against(self, one: _Asked, base: Case, twin: Case, traces: Traces) -> bool:
        guarantee, known = one.guarantee, self.runs.traces
        assert guarantee
        if twin.id not in traces or base.id not in known:
            return False
        # Whatever ends a query does so whether the guarantee is put to the test or not.
        if error_of(one.case, known) is not None:
            return error_of(twin, traces) is not None
        with suppress(Unjudgeable):
            program = self._programs[twin.ref]
            pair = {base.id: known[base.id], twin.id: traces[twin.id]}
            return bool(speaks_against(program, guarantee, base, twin, pair, self._reference))
        return False

    def _twins(self, one: _Asked, parts: Parts) -> list[tuple[Case, Case]]:
        """The twins under some of the perturbations, with their bases, of those that have such twins."""
        return [(base, twin) for base, _ in one.twins if parts and (twin := self._twin(base, parts))]

    def _twin(self, base: Case, parts: Parts) -> Case | None:
        made: list[Part] = [(self._perturbation(part), level_of(part)) for part in parts]
        twin = together(base, made, self._seed)
        program = self._programs[base.ref]
        return twin if twin and self._can.takes(twin, program) else None

    def _perturbation(self, part: str) -> Perturbation:
        name = factor_of(part)
        return BY_ID[name] if name in BY_ID else self._plans[name]


def _new(answers: Runs, before: Runs) -> Runs:
    """The answers for cases that had none. What a case answered first stands: it is what speaks against a guarantee."""
    known = {*before.traces, *before.lost, *before.faults}
    return replace(answers.of(lambda name: name not in known), packs=answers.packs)
