"""Judging: from cases and their traces to evidence for and against each guarantee, and from evidence to a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from conformance.coverage import counters, in_order
from conformance.engine import EngineInfo, Feature, program_needs
from conformance.equivalence import alike, first_difference
from conformance.guarantees import Guarantee, Observation, Scenario
from conformance.model import Case, Pack, PackRun, Trace, program_ref
from conformance.perturbation import BY_ID, PERTURBATIONS, Perturbation
from conformance.program import Program
from conformance.results import AS_DRAWN, Cell, Verdict, held

Traces = Mapping[str, Trace]


@dataclass
class Runs:
    """What one engine gave for the cases it was handed.

    ``lost`` (case id -> cause) are cases without an answer; ``faults`` are cases for which the harness failed: the
    engine did not run the schedule that was asked for. ``untouched`` are cases that a failure did not reach; ``notes``
    ("scenario/program" -> a remark) are for cells.
    """

    traces: dict[str, Trace] = field(default_factory=dict)
    packs: list[tuple[Pack, PackRun]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    untouched: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)

    def merge(self, other: Runs) -> None:
        self.packs += other.packs
        self.traces |= other.traces
        self.lost |= other.lost
        self.faults |= other.faults
        self.untouched |= other.untouched
        self.notes |= other.notes

    def add(self, pack: Pack, run: PackRun) -> None:
        self.packs.append((pack, run))
        self.traces |= run.traces
        self.untouched |= run.untouched
        self.notes |= run.notes


@dataclass(frozen=True)
class Against:
    """A case that speaks against a guarantee, and how; ``base`` is the case that it is the twin of, for a relation."""

    case: Case
    message: str
    base: Case | None = None

    @property
    def size(self) -> tuple[int, int, int, str]:
        return self.case.size


@dataclass
class Evidence:
    """What the cases of one cell say."""

    exercised: list[Case] = field(default_factory=list)
    against: list[Against] = field(default_factory=list)
    inapplicable: int = 0
    faults: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


@dataclass
class Tally:
    """What the evidence of one cell comes to, over any number of batches of cases; a case is of one batch.

    Attributes:
        cases, violations: how many distinct cases put the guarantee to the test, and spoke against it.
        fault, loss: the first of each.
        against: the cases against it, smallest first.
    """

    cases: int = 0
    violations: int = 0
    inapplicable: int = 0
    lost: int = 0
    fault: str = ""
    loss: str = ""
    clocks: set[object] = field(default_factory=set)
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
        self.clocks |= {case.schedule.clock for case in distinct}
        self.coverage.update(counters(program, distinct))
        self.against = sorted([*self.against, *evidence.against], key=lambda a: a.size)


Reference = Callable[[list[Case]], Traces]
"""Traces of the reference engine, reading lateness as the engine under judgement does."""


def perturbations_of(guarantee: Guarantee) -> list[Perturbation | None]:
    """Under which perturbations a guarantee is asked; None stands for cases as drawn."""
    if guarantee.same_under:
        return list(guarantee.same_under)
    return [None] if guarantee.accounting else [None, *PERTURBATIONS]


class Unjudgeable(Exception):
    """A trace that says nothing about the engine: the program stopped, or the predicate failed on it."""


def findings_against(guarantee: Guarantee, case: Case, trace: Trace) -> tuple[bool, list[str]]:
    """(was the guarantee put to the test, the sentences against it) for a guarantee with a predicate.

    Raises:
        Unjudgeable: the predicate failed on the trace, or yielded something else than findings.
    """
    assert guarantee.check
    try:
        findings = list(guarantee.check(Observation(case, trace)))
    except Exception as error:
        raise Unjudgeable(
            f"case {case.id}: the predicate failed on this trace: {type(error).__name__}: {error}"
        ) from error
    if odd := [finding for finding in findings if finding is not True and not isinstance(finding, str)]:
        raise Unjudgeable(f"case {case.id}: the predicate yielded {odd[0]!r}; a finding is True or a sentence")
    return bool(findings), [finding for finding in findings if isinstance(finding, str)]


def pair_differs(program: Program, guarantee: Guarantee, base: Case, twin: Case, traces: Traces) -> str:
    """How a pair of twins breaks a relation, "" if it does not."""
    left, right = (base.schedule, traces[base.id]), (twin.schedule, traces[twin.id])
    if guarantee.alike in alike(program, left, right):
        return ""
    what = BY_ID[twin.perturbation].title if twin.perturbation in BY_ID else twin.perturbation
    return f"not {guarantee.alike.value} ({what}): {first_difference(program, left, right)}"


def gather(
    program: Program,
    guarantee: Guarantee,
    perturbation: Perturbation | None,
    cases: list[Case],
    runs: Runs,
    reference: Reference,
) -> Evidence:
    """The evidence of ``cases`` (those of the guarantee's program) under this perturbation on one engine."""
    evidence = Evidence()
    if guarantee.accounting:
        _gather_counts(guarantee, cases, runs, evidence)
        return evidence
    pairs: list[tuple[Case, Case]] = []
    bases = {case.id: case for case in cases}
    for case in cases:
        if case.perturbation != (perturbation.id if perturbation else ""):
            continue
        members = [bases[case.base], case] if guarantee.same_under else [case]
        if not all(_answered(member, runs, evidence) for member in members):
            continue
        if any(member.id in runs.untouched for member in members):
            evidence.inapplicable += 1
            continue
        if guarantee.same_under:
            pairs.append((members[0], case))
            continue
        try:
            exercised, against = findings_against(guarantee, case, runs.traces[case.id])
        except Unjudgeable as error:
            evidence.faults.append(str(error))
            continue
        if exercised:
            evidence.exercised.append(case)
        if against:
            evidence.against.append(Against(case, against[0]))
    if pairs:
        specified = reference([case for pair in pairs for case in pair])
        for base, twin in pairs:
            if pair_differs(program, guarantee, base, twin, specified):
                evidence.inapplicable += 1
                continue
            evidence.exercised.append(twin)
            if message := pair_differs(program, guarantee, base, twin, runs.traces):
                evidence.against.append(Against(twin, message, base))
    return evidence


def _answered(case: Case, runs: Runs, evidence: Evidence) -> bool:
    """Whether the engine gave a trace to judge; where not, the evidence says why."""
    if case.id in runs.faults:
        evidence.faults.append(runs.faults[case.id])
    elif case.id not in runs.traces:
        evidence.lost.append(runs.lost.get(case.id, "the run ended before this case"))
    elif error := runs.traces[case.id].error:
        evidence.faults.append(f"case {case.id}: the program stopped with {error}")
    else:
        return True
    return False


def _gather_counts(guarantee: Guarantee, cases: list[Case], runs: Runs, evidence: Evidence) -> None:
    """A pack's row counts speak for all of its cases that had a row to drop; none of them can be told from the others."""
    assert guarantee.accounting
    wanted = {case.id for case in cases}
    for pack, run in runs.packs:
        members = [c for c in pack.cases if c.id in wanted and any(a.behind for a in c.schedule.arrivals)]
        findings = list(guarantee.accounting(run))
        if members and findings:
            evidence.exercised += members
            against = [finding for finding in findings if isinstance(finding, str)]
            if against:
                evidence.against += [Against(case, against[0]) for case in members]
    for case in cases:
        if case.id in runs.faults or case.id not in runs.traces:
            _answered(case, runs, evidence)


def exercised(scenarios: Iterable[Scenario], cases: Iterable[Case], traces: Traces) -> list[frozenset[str]]:
    """For each case, the ids of the guarantees of its program that it puts to the test, by these traces."""
    by_program = {
        (s.id, name): [g for g in s.guarantees if g.program == name] for s in scenarios for name in s.programs
    }
    found = []
    for case in cases:
        tested: set[str] = set()
        for guarantee in by_program[case.scenario, case.program]:
            if traces[case.id].error:
                continue  # the program stopped: there is nothing to judge
            if guarantee.check:
                with suppress(Unjudgeable):
                    if findings_against(guarantee, case, traces[case.id])[0]:
                        tested.add(guarantee.id)
            elif guarantee.same_under:
                if case.perturbation in {perturbation.id for perturbation in guarantee.same_under}:
                    tested.add(guarantee.id)
            elif any(arrival.behind for arrival in case.schedule.arrivals):
                tested.add(guarantee.id)
        found.append(frozenset(tested))
    return found


def conclude(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo, tally: Tally
) -> Cell:
    """The cell that the evidence makes. A violated one still lacks its witness, and its confirmation."""
    if tally.against:
        verdict, reason = Verdict.VIOLATED, tally.against[0].message
    elif tally.fault:
        verdict, reason = Verdict.ERROR, tally.fault
    elif tally.lost:
        verdict, reason = Verdict.UNKNOWN, f"{tally.lost} cases without an answer: {tally.loss}"
    elif not tally.cases:
        verdict, reason = Verdict.UNKNOWN, "not exercised: no case put it to the test"
    else:
        verdict, reason = Verdict.HOLDS, held(tally.cases, len(tally.clocks))
    return replace(
        _cell(scenario, guarantee, perturbation, engine, verdict, reason),
        cases=tally.cases,
        clocks=len(tally.clocks),
        violations=tally.violations,
        inapplicable=tally.inapplicable,
        lost=tally.lost,
        coverage=in_order(tally.coverage),
    )


def not_expressible(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo
) -> Cell | None:
    """The unsupported cell of a guarantee that the engine cannot be asked, None where it can."""
    if engine.lacks:
        return _cell(scenario, guarantee, perturbation, engine, Verdict.UNSUPPORTED, engine.lacks)
    idiom = engine.capabilities.idiom
    if idiom and guarantee.id in idiom.silent:
        reason = f"{idiom.words} says nothing of it: {idiom.silent[guarantee.id]}"
        return _cell(scenario, guarantee, perturbation, engine, Verdict.UNSUPPORTED, reason)
    needs = _needs(scenario, guarantee, perturbation, engine)
    missing = engine.capabilities.first_missing(needs)
    if missing is None:
        return None
    reason = engine.capabilities.why_not(missing)
    if answered := engine.evidence.get(missing):
        reason += f" (asked for it, the engine answered: {answered})"
    return _cell(scenario, guarantee, perturbation, engine, Verdict.UNSUPPORTED, reason)


def _needs(
    scenario: Scenario, guarantee: Guarantee, perturbation: Perturbation | None, engine: EngineInfo
) -> frozenset[Feature]:
    needs = guarantee.needs
    if not engine.capabilities.idiom:
        needs |= program_needs(scenario.programs[guarantee.program])
    return needs | (perturbation.needs if perturbation else frozenset())


def _cell(
    scenario: Scenario,
    guarantee: Guarantee,
    perturbation: Perturbation | None,
    engine: EngineInfo,
    verdict: Verdict,
    reason: str,
) -> Cell:
    needs = _needs(scenario, guarantee, perturbation, engine)
    return Cell(
        scenario=scenario.id,
        program=guarantee.program,
        guarantee=guarantee.id,
        perturbation=perturbation.id if perturbation else AS_DRAWN,
        engine=engine.id,
        verdict=verdict,
        reason=reason,
        claimed=guarantee.source.document,
        notes=() if verdict is Verdict.UNSUPPORTED else tuple(engine.capabilities.emulations(needs)),
    )


def cells_asked(
    scenarios: Iterable[Scenario], engine: EngineInfo
) -> Iterator[tuple[Scenario, Guarantee, Perturbation | None]]:
    """Every cell that an engine is asked for, in a fixed order."""
    for scenario in scenarios:
        for guarantee in scenario.guarantees:
            if not engine.capabilities.runs(program_ref(scenario.id, guarantee.program)):
                continue
            for perturbation in perturbations_of(guarantee):
                yield scenario, guarantee, perturbation


def evidences(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: Reference
) -> Iterator[tuple[Scenario, Guarantee, Perturbation | None, Evidence]]:
    """The evidence for every cell of an engine that it can be asked for."""
    by_program: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        by_program.setdefault((case.scenario, case.program), []).append(case)
    for scenario, guarantee, perturbation in cells_asked(scenarios, engine):
        if not_expressible(scenario, guarantee, perturbation, engine) is None:
            mine = by_program.get((scenario.id, guarantee.program), [])
            program = scenario.programs[guarantee.program]
            yield scenario, guarantee, perturbation, gather(program, guarantee, perturbation, mine, runs, reference)
