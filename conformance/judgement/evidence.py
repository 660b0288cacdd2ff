"""Judging: cases and their traces become evidence for and against each guarantee, and the evidence becomes a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.judgement import completeness
from conformance.judgement.coverage import counters
from conformance.judgement.known import Known
from conformance.model.case import Case
from conformance.model.equivalence import alike, first_difference, same_in_each_step
from conformance.model.perturbation import PERTURBATIONS, RESUME, RETRY, Perturbation, factors_of
from conformance.model.plan import PlanTwin, titled
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Finding, Guarantee, Observation, Scenario
from conformance.model.steps import FailOnce
from conformance.model.trace import Trace

Traces = Mapping[str, Trace]


def error_of(case: Case, traces: Traces) -> str | None:
    """The exception that ended a case, of its program or of the query; None if none did, or the case has no trace."""
    return traces[case.id].error if case.id in traces else None


ENDED_ALIKE = 4
"""Of how many programs the cases speak of perturbations under which their query ends with an error: it does so for
every program."""


class FewPrograms:
    """The first ENDED_ALIKE programs of each place."""

    def __init__(self) -> None:
        self._programs: dict[Hashable, set[str]] = {}

    def beyond(self, place: Hashable, case: Case) -> bool:
        """Whether a case is of a further program. A case of one of the first ones is counted."""
        programs = self._programs.setdefault(place, set())
        if len(programs) < ENDED_ALIKE:
            programs.add(case.ref)
        return case.ref not in programs


@dataclass
class Runs:
    """The results of one engine for the cases that the harness gave it.

    ``lost`` (case id -> cause) holds the cases without an answer. ``faults`` holds the cases on which the harness
    failed: the engine did not run the requested schedule. ``untouched`` holds the cases that a failure did not reach.
    ``notes`` (see ``PackRun``) are shown with cells. ``failure`` is that of the engine's process, "" if it did not
    fail; ``left_out`` are packs that did not run.
    """

    traces: dict[str, Trace] = field(default_factory=dict)
    packs: list[tuple[Pack, PackRun]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    untouched: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    left_out: list[Pack] = field(default_factory=list)

    def merge(self, other: Runs) -> None:
        self.packs += other.packs
        self.traces |= other.traces
        self.lost |= other.lost
        self.faults |= other.faults
        self.untouched |= other.untouched
        self.notes |= other.notes
        self.failure = self.failure or other.failure
        self.left_out += other.left_out

    def of(self, wanted: Callable[[str], bool]) -> Runs:
        """The results for the wanted cases, by id, without the packs that they ran in."""
        return Runs(
            traces={name: trace for name, trace in self.traces.items() if wanted(name)},
            lost={name: cause for name, cause in self.lost.items() if wanted(name)},
            faults={name: fault for name, fault in self.faults.items() if wanted(name)},
            untouched={name for name in self.untouched if wanted(name)},
            notes=self.notes,
        )

    def add(self, pack: Pack, run: PackRun) -> None:
        self.packs.append((pack, run))
        self.traces |= run.traces
        self.untouched |= run.untouched
        self.notes |= run.notes


@dataclass(frozen=True)
class Against:
    """A case against a guarantee, and how the case speaks against the guarantee. For a relation, ``base`` is the case
    that it is a twin of."""

    case: Case
    message: str
    base: Case | None = None

    @property
    def size(self) -> tuple[int, int, int, str]:
        return self.case.size


@dataclass
class Evidence:
    """The evidence from the cases of one cell."""

    exercised: list[Case] = field(default_factory=list)
    against: list[Against] = field(default_factory=list)
    inapplicable: int = 0
    faults: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(*(mine + its for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass
class Tally:
    """The total evidence of one cell over any number of batches. Each case belongs to one batch.

    Attributes:
        cases, violations: how many distinct cases tested the guarantee, and how many spoke against the guarantee.
        fault, loss: the first fault, and the first loss.
        against: the cases against the guarantee, smallest first.
    """

    cases: int = 0
    violations: int = 0
    inapplicable: int = 0
    lost: int = 0
    fault: str = ""
    loss: str = ""
    timelines: set[object] = field(default_factory=set)
    coverage: Counter[str] = field(default_factory=Counter)
    against: list[Against] = field(default_factory=list)

    def add(self, evidence: Evidence, program: Program) -> None:
        distinct = {case.digest: case for case in evidence.exercised}.values()
        self.cases += len(distinct)
        self.violations += len({a.case.digest for a in evidence.against})
        self.inapplicable += evidence.inapplicable
        self.lost += len(evidence.lost)
        self.fault = self.fault or next(iter(evidence.faults), "")
        self.loss = self.loss or next(iter(evidence.lost), "")
        self.timelines |= {case.schedule.timeline for case in distinct}
        self.coverage.update(counters(program, distinct))
        self.against = sorted([*self.against, *evidence.against], key=lambda a: (a.size, a.case.id))


ReferenceTraces = Callable[[list[Case]], Traces]
"""Gives the traces of the reference engine, which reads *late* as the engine under judgement does."""


def perturbations_of(guarantee: Guarantee, plans: Iterable[PlanTwin] = ()) -> list[Perturbation | None]:
    """The perturbations under which a guarantee is asked. None stands for cases as drawn. ``plans`` are those of the
    engine."""
    if guarantee.about_plans and (own := [plan.perturbation for plan in plans]):
        return [*own]
    if guarantee.same_under:
        return list(guarantee.same_under)
    return [None] if guarantee.accounting else [None, *PERTURBATIONS]


class Unjudgeable(Exception):
    """A trace that says nothing about the engine: the program stops on the reference too, or the predicate fails on
    every trace."""


_observed: Known[tuple[int, str], tuple[Trace, Observation]] = Known(2_000)
"""Observations by the trace and the case; the trace is kept, so that no other one gets its place."""


def findings_against(guarantee: Guarantee, case: Case, trace: Trace) -> tuple[bool, list[str]]:
    """Whether the trace tested a guarantee that one case decides, and the sentences against the guarantee.

    Raises:
        Unjudgeable: the predicate failed on the trace, or yielded something other than findings.
    """
    before = trace.known.get(id(guarantee))
    if before and before[0] is guarantee and before[1] == case.digest:
        return before[2], list(before[3])
    # The guarantees of a program are asked one after the other; what they have in common is found once.
    _, seen = _observed.of((id(trace), case.digest), lambda: (trace, Observation(case, trace)))
    tested, against = _found(guarantee, seen)
    trace.known[id(guarantee)] = guarantee, case.digest, tested, tuple(against)
    return tested, against


def _found(guarantee: Guarantee, seen: Observation) -> tuple[bool, list[str]]:
    try:
        findings = list(_findings(guarantee, seen))
    except Exception as error:
        raise Unjudgeable(
            f"case {seen.case.id}: the predicate failed on this trace: {type(error).__name__}: {error}"
        ) from error
    if odd := [finding for finding in findings if finding is not True and not isinstance(finding, str)]:
        raise Unjudgeable(f"case {seen.case.id}: the predicate yielded {odd[0]!r}; a finding is True or a sentence")
    return bool(findings), [finding for finding in findings if isinstance(finding, str)]


def _findings(guarantee: Guarantee, seen: Observation) -> Iterator[Finding]:
    if guarantee.complete:
        return completeness.findings(guarantee.complete, seen.case, seen.trace)
    assert guarantee.predicate
    return guarantee.predicate(seen)


def findings_of(guarantee: Guarantee, case: Case, trace: Trace, reference: ReferenceTraces) -> tuple[bool, list[str]]:
    """The result of ``findings_against`` for a trace of an engine, which may be broken. A stopped program speaks
    against each guarantee that the case tests on the reference. If the predicate fails on the trace but can judge the
    reference's trace, the trace speaks against the guarantee. Neither a stopped program nor a failed predicate speaks
    against the opposite of a guarantee.

    Raises:
        Unjudgeable: the program stops on the reference too, or the predicate fails on the reference's trace.
    """
    if stopped := trace.error:
        _stops_here_alone(case, stopped, reference)
        tested = not guarantee.is_opposite and findings_against(guarantee, case, reference([case])[case.id])[0]
        return tested, [_stop(stopped)] if tested else []
    try:
        return findings_against(guarantee, case, trace)
    except Unjudgeable as error:
        if guarantee.is_opposite or reference([case])[case.id].error:
            raise
        findings_against(guarantee, case, reference([case])[case.id])
        said = str(error).removeprefix(f"case {case.id}: ")
        return True, [f"what came out is broken: {said} (the reference's output can be judged)"]


def pair_finding(
    program: Program, guarantee: Guarantee, base: Case, twin: Case, traces: Traces, reference: ReferenceTraces
) -> tuple[bool, str]:
    """Whether a pair of twins tests a relation, and how the pair breaks the relation ("" if the pair keeps it). The
    pair tests the relation if the reference keeps it. A program that stopped in one of the two cases breaks the
    relation.

    Raises:
        Unjudgeable: the program stops on the reference too.
    """
    stopped = [(case, error) for case in (base, twin) if (error := traces[case.id].error)]
    for case, error in stopped:
        _stops_here_alone(case, error, reference)
    if pair_differs(program, guarantee, base, twin, reference([base, twin])):
        return False, ""
    return True, _stop(stopped[0][1]) if stopped else pair_differs(program, guarantee, base, twin, traces)


def speaks_against(
    program: Program, guarantee: Guarantee, base: Case | None, case: Case, traces: Traces, reference: ReferenceTraces
) -> str:
    """How a case, or for a relation the pair of it and its ``base``, speaks against a guarantee, "" if it does not.

    Raises:
        Unjudgeable: the program stops on the reference too, or the predicate fails on the reference's trace.
    """
    if guarantee.same_under:
        assert base
        return pair_finding(program, guarantee, base, case, traces, reference)[1]
    return next(iter(findings_of(guarantee, case, traces[case.id], reference)[1]), "")


def _stops_here_alone(case: Case, stopped: str, reference: ReferenceTraces) -> None:
    """Raises Unjudgeable if the program stops on the reference too, because the engine is then not the cause."""
    if reference([case])[case.id].error:
        raise Unjudgeable(f"case {case.id}: the program stopped with {stopped}, and stops on the reference, too")


def _stop(stopped: str) -> str:
    return f"the program stopped with {stopped} (the reference runs it)"


def pair_differs(program: Program, guarantee: Guarantee, base: Case, twin: Case, traces: Traces) -> str:
    """How a pair of twins breaks a relation, "" if the pair keeps it."""
    left, right = (base.schedule, traces[base.id]), (twin.schedule, traces[twin.id])
    if guarantee.alike in alike(program, left, right):
        return ""
    # No document promises in which order a query puts out what one step brings about, for example the windows of a key.
    if guarantee.about_plans and same_in_each_step(program, left, right):
        return ""
    return f"not {guarantee.alike.value} ({titled(twin.perturbation)}): {first_difference(program, left, right)}"


def gather(
    program: Program, guarantee: Guarantee, cases: Iterable[Case], runs: Runs, reference: ReferenceTraces
) -> dict[str, Evidence]:
    """The evidence of cases, all of the guarantee's program, on one engine, by perturbation (its id, "" for cases as
    drawn). A twin under several perturbations is evidence for each of them that the guarantee is about.

    Args:
        cases: each twin's base is among them.
    """
    found: dict[str, Evidence] = {}
    cases = list(cases)
    if guarantee.accounting:
        _gather_counts(guarantee, cases, runs, found.setdefault("", Evidence()))
        return found
    bases = {case.id: case for case in cases}
    pairs: list[tuple[Case, Case, list[Evidence]]] = []
    for case in cases:
        about = [found.setdefault(name, Evidence()) for name in about_of(guarantee, case, runs.untouched)]
        members = [bases[case.base], case] if guarantee.same_under and about else [case]
        if not about or not all(_answered(member, runs, about) for member in members):
            continue
        if any(says_nothing(member, runs.untouched) for member in members):
            for evidence in about:
                evidence.inapplicable += 1
        elif guarantee.same_under:
            pairs.append((members[0], case, about))
        else:
            _take(about, case, lambda case=case: findings_of(guarantee, case, runs.traces[case.id], reference))  # type: ignore[misc]
    specified = reference([case for base, twin, _ in pairs for case in (base, twin)]) if pairs else {}
    for base, twin, about in pairs:

        def kept(base: Case = base, twin: Case = twin) -> tuple[bool, list[str]]:
            tested, message = pair_finding(program, guarantee, base, twin, runs.traces, lambda _: specified)
            return tested, [message] if message else []

        _take(about, twin, kept, base)
    return found


def _take(
    about: list[Evidence], case: Case, finding: Callable[[], tuple[bool, list[str]]], base: Case | None = None
) -> None:
    """Adds what a case says to the evidence that it is about. ``base``, for a relation: the case that it is a twin
    of."""
    try:
        exercised, against = finding()
    except Unjudgeable as error:
        for evidence in about:
            evidence.faults.append(str(error))
        return
    for evidence in about:
        if exercised:
            evidence.exercised.append(case)
        elif base:
            evidence.inapplicable += 1
        if against:
            evidence.against.append(Against(case, against[0], base))


def about_of(guarantee: Guarantee, case: Case, untouched: Collection[str] = ()) -> list[str]:
    """The perturbations (ids, "" for a case as drawn) under which a case can put a guarantee to the test. A failure
    that did not reach the case is none."""
    names = factors_of(case.perturbation)
    if case.id in untouched:
        names = tuple(name for name in names if name not in (RETRY.id, RESUME.id))
    if guarantee.same_under:
        return [name for name in names if guarantee.is_about(name)]
    return [*names] if case.base else [""]


def says_nothing(case: Case, untouched: Collection[str]) -> bool:
    """Whether a case that ran says nothing: too much processing time passed, or two releases answer it differently
    without a restart. A case that a failure did not reach says what it would without the failure."""
    if case.id not in untouched:
        return False
    return case.schedule.waits or not any(isinstance(step, FailOnce) for step in case.schedule.steps)


def puts_to_test(
    program: Program, guarantees: Iterable[Guarantee], base: Case, case: Case, reference: ReferenceTraces
) -> frozenset[tuple[str, str]]:
    """(guarantee, perturbation or "") that a case puts to the test, by the reference's behaviour. ``base`` is the case
    itself, or the one that it is a twin of."""
    traces = reference([base, case])
    seen = Observation(case, traces[case.id])
    if seen.trace.error:
        return frozenset()
    unreached = {case.id} if not _failure_reaches(case) else set[str]()
    found = set[tuple[str, str]]()
    for guarantee in guarantees:
        about = about_of(guarantee, case, unreached)
        if guarantee.same_under:
            tested = about and not pair_differs(program, guarantee, base, case, traces)
        else:
            tested = about and _tests(guarantee, seen)
        if tested:
            found.update((guarantee.id, name) for name in about)
    return frozenset(found)


def _failure_reaches(case: Case) -> bool:
    failing = [case.schedule.bundle_after(step) for step in case.schedule.steps if isinstance(step, FailOnce)]
    return all(bundle.events for bundle in failing)


def _answered(case: Case, runs: Runs, about: Iterable[Evidence]) -> bool:
    """Whether the engine gave a trace to judge. If not, the evidence says why."""
    if case.id not in runs.faults and case.id in runs.traces:
        return True
    for evidence in about:
        if case.id in runs.faults:
            evidence.faults.append(runs.faults[case.id])
        else:
            evidence.lost.append(runs.lost.get(case.id, "the run ended before this case"))
    return False


def _gather_counts(guarantee: Guarantee, cases: list[Case], runs: Runs, evidence: Evidence) -> None:
    """The row counts of a pack count for all cases of the pack that had a row to drop, because row counts do not tell
    the cases apart. The counts of another query around the operator are left out: it may read its rows several
    times."""
    assert guarantee.accounting
    wanted = {case.id for case in cases}
    for pack, run in runs.packs:
        if pack.cases[0].schedule.plan:
            continue
        members = [c for c in pack.cases if c.id in wanted and any(a.behind for a in c.schedule.arrivals)]
        findings = list(guarantee.accounting(run))
        if members and findings:
            evidence.exercised += members
            against = [finding for finding in findings if isinstance(finding, str)]
            if against:
                evidence.against += [Against(case, against[0]) for case in members]
    for case in cases:
        if case.id in runs.faults or case.id not in runs.traces:
            _answered(case, runs, [evidence])


Asked = Mapping[tuple[str, str], list[Guarantee]]
"""(scenario, program) -> the program's guarantees."""


def asked_of(scenarios: Iterable[Scenario]) -> Asked:
    """The guarantees of each program."""
    return {(s.id, name): [g for g in s.guarantees if g.program == name] for s in scenarios for name in s.programs}


def _tests(guarantee: Guarantee, seen: Observation) -> bool:
    if guarantee.accounting:
        return any(arrival.behind for arrival in seen.arrivals)
    if guarantee.complete:
        return bool(seen.on_time)  # nearly always; what is expected takes several runs to know
    with suppress(Exception):
        # Drawing asks this of many cases: one finding is enough.
        return next(_findings(guarantee, seen), None) is not None
    return False
