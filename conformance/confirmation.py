"""Confirmation: no cell is called violated on the word of one pack.

Failing cases are reduced in packs of another process (other neighbours, other case numbers, another PYTHONHASHSEED),
then run alone, without the steps that they do not need. What fails alone is the witness. A stored witness has done so; where that
was on this very engine (``settled``), or in a brief run, it need only fail once more, in a pack with others.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from conformance import checking
from conformance.checking import Against, Runs, Unjudgeable
from conformance.engine import Capabilities, EngineInfo, Feature, NotDriven, bare, program_needs, schedule_needs
from conformance.guarantees import Guarantee, Scenario, programs_of
from conformance.model import Case, Json, Pack, PackRun, Trace, program_ref
from conformance.packing import packs_of
from conformance.perturbation import BY_ID, RARE
from conformance.process import EngineDown
from conformance.program import Program
from conformance.reduction import Subject, Target, clock_probes, probes, reduce, simplicity, tighter_clocks
from conformance.results import AS_DRAWN, Cell, Verdict
from conformance.witnesses import Confirmation, Flip, Witness

ALONE = 3
"""How often a new witness is run alone."""

STILL_FAILS, FIXED, NOT_EXPRESSIBLE, ERROR = "STILL FAILS", "FIXED", "NOT EXPRESSIBLE", "ERROR"
"""What a replay answers."""


@dataclass(frozen=True)
class Violation:
    """A violated cell, and the cases against it, smallest first; none where a stored witness alone speaks against it."""

    cell: Cell
    guarantee: Guarantee
    against: tuple[Against, ...]


@dataclass(frozen=True)
class Replay:
    """What a witness gave when it was run again, alone; ``traces`` are those of its cases, ``versions`` what it ran on, where the engine
    was started for it."""

    witness: Witness
    answer: str
    message: str
    traces: Mapping[str, Trace] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {
            "witness": self.witness.id,
            "engine": self.witness.engine,
            "scenario": self.witness.case.scenario,
            "guarantee": self.witness.guarantee,
            "answer": self.answer,
            "message": self.message,
        }


def failure(program: Program, guarantee: Guarantee, subject: Subject, runs: Mapping[str, PackRun]) -> str:
    """How a subject whose cases were run alone speaks against a guarantee; "" if it does not.

    Raises:
        Unjudgeable: the program stopped or the predicate failed.
    """
    traces = {case.id: runs[case.id].traces[case.id] for case in subject.cases}
    for case in subject.cases:
        if stopped := traces[case.id].error:
            raise Unjudgeable(f"the program stopped: {stopped}")
    if guarantee.accounting:
        findings = guarantee.accounting(runs[subject.case.id])
        return next((finding for finding in findings if isinstance(finding, str)), "")
    if guarantee.same_under:
        assert subject.base
        return checking.pair_differs(program, guarantee, subject.base, subject.case, traces)
    _, against = checking.findings_against(guarantee, subject.case, traces[subject.case.id])
    return against[0] if against else ""


def _speaks_of(witness: Witness, scenarios: Iterable[Scenario]) -> tuple[Program, Guarantee, Subject]:
    scenario = next(s for s in scenarios if s.id == witness.case.scenario)
    guarantee = scenario.askable[witness.guarantee]
    return scenario.programs[witness.case.program], guarantee, Subject(witness.case, witness.base)


def _not_expressible(witness: Witness, scenarios: Iterable[Scenario], can: Capabilities) -> str:
    """Why an engine cannot run a witness, "" if it can."""
    program, guarantee, subject = _speaks_of(witness, scenarios)
    if not can.runs(ref := program_ref(witness.case.scenario, witness.case.program)):
        return f"it does not run {ref}"
    needs = guarantee.needs.union(*(schedule_needs(case.schedule) for case in subject.cases))
    needs |= frozenset() if can.idiom else program_needs(program)
    missing = can.first_missing(needs)
    return can.why_not(missing) if missing else ""


def replay(process: Any, witness: Witness, scenarios: Iterable[Scenario], can: Capabilities) -> Replay:
    """Run the cases of a witness alone, each once, on an engine's process."""
    program, guarantee, subject = _speaks_of(witness, scenarios)
    if reason := _not_expressible(witness, scenarios, can):
        return Replay(witness, NOT_EXPRESSIBLE, reason)
    runs: dict[str, PackRun] = {}
    try:
        for case in subject.cases:
            runs[case.id] = process.run(Pack((case,)))
        message = failure(program, guarantee, subject, runs)
    except (NotDriven, EngineDown, Unjudgeable) as error:
        answer, message = ERROR, str(error)
    else:
        answer = STILL_FAILS if message else FIXED
    return Replay(witness, answer, message, {name: run.traces[name] for name, run in runs.items()})


def replay_all(
    process: Any,
    witnesses: Iterable[Witness],
    scenarios: Iterable[Scenario],
    can: Capabilities,
    packed: Collection[str] = (),
) -> list[Replay]:
    """Replay witnesses on an engine's process, as many at a time as it takes. Those of ``packed``, ids, run together where their
    clocks are equal; one that fails so is not run alone, the others are."""
    witnesses, scenarios = list(witnesses), list(scenarios)
    with ThreadPoolExecutor(max_workers=can.parallel) as pool:
        failed = _failing_packed(pool, process, [w for w in witnesses if w.id in packed], scenarios, can)
        jobs = {w.id: pool.submit(replay, process, w, scenarios, can) for w in witnesses if w.id not in failed}
        return [failed.get(w.id) or jobs[w.id].result() for w in witnesses]


def _failing_packed(
    pool: ThreadPoolExecutor, process: Any, witnesses: list[Witness], scenarios: list[Scenario], can: Capabilities
) -> dict[str, Replay]:
    """The replays, by witness, of those that fail in packs."""
    about = {w.id: _speaks_of(w, scenarios) for w in witnesses if not _not_expressible(w, scenarios, can)}
    about = {name: parts for name, parts in about.items() if not parts[1].accounting}
    cases = {case.id: case for _, _, subject in about.values() for case in subject.cases}
    runs: dict[str, PackRun] = {}
    packs = packs_of(cases.values(), can.largest_pack, can.largest_waiting_pack)
    for pack, run in zip(packs, pool.map(partial(_answered, process), packs), strict=True):
        runs |= {case.id: run for case in pack.cases if case.id in run.traces and case.id not in run.untouched}
    found = {}
    for witness in witnesses:
        program, guarantee, subject = about.get(witness.id, (None, None, None))
        if not program or not guarantee or not subject or any(case.id not in runs for case in subject.cases):
            continue
        try:
            message = failure(program, guarantee, subject, runs)
        except Unjudgeable:
            continue
        if message:
            traces = {case.id: runs[case.id].traces[case.id] for case in subject.cases}
            found[witness.id] = Replay(witness, STILL_FAILS, message, traces)
    return found


def _answered(process: Any, pack: Pack) -> PackRun:
    """What a pack gave; nothing where it could not be run: its cases are tried alone."""
    try:
        run: PackRun = process.run(pack)
    except (NotDriven, EngineDown):
        return PackRun()
    return run


def special(case: Case) -> frozenset[Feature]:
    """What a case asks of an engine beyond bundles and a watermark."""
    return schedule_needs(case.schedule) & RARE


INTERPRETERS = {"python", "java"}
"""Versions that do not matter to ``settled``: what a run alone rules out are neighbours, and that is no matter of a Python."""


def settled(witness: Witness, info: EngineInfo) -> bool:
    """Whether a witness has failed in each of its runs alone on this engine, in its version and configuration, with its adapter."""

    def of_the_engine(versions: Mapping[str, str]) -> Mapping[str, str]:
        return {name: number for name, number in versions.items() if name not in INTERPRETERS}

    here = bare(info.id), info.adapter, of_the_engine(info.environment)
    return any(
        known.failed == known.runs and here == (known.engine, known.adapter, of_the_engine(known.versions))
        for known in witness.confirmations
    )


def _confirmation(info: EngineInfo, failed: int, runs: int) -> Confirmation:
    return Confirmation(bare(info.id), dict(info.environment), info.adapter, failed, runs)


class _Kind(tuple[str, str, str]):
    """(scenario, guarantee, perturbation that it takes to fail, or "")."""


class Confirmer:
    """Turns the violations of one engine into witnesses.

    Args:
        reference: the reference engine, reading lateness as this engine does.
        specified: the reference engine as it is: what witnesses call expected.
        start: starts the engine once more, in another process.
        alone: how often a new witness is run alone.
    """

    def __init__(
        self,
        info: EngineInfo,
        scenarios: Iterable[Scenario],
        *,
        reference: checking.Reference,
        specified: checking.Reference,
        start: Callable[[], Any],
        alone: int = ALONE,
    ) -> None:
        scenarios = list(scenarios)
        self._info, self._reference, self._specified = info, reference, specified
        self._programs = programs_of(scenarios)
        self._guarantees = {(s.id, name): g for s in scenarios for name, g in s.askable.items()}
        self._domains = {program_ref(s.id, name): domain for s in scenarios for name, domain in s.domain.items()}
        self._start, self._alone = start, alone
        self._process: Any = None
        self._lock = threading.Lock()
        self.witnesses: dict[str, Witness] = {}
        self.rounds = 0
        self.alone_runs = 0

    def confirm(
        self, violations: list[Violation], runs: Runs, cases: Mapping[str, Case], replays: list[Replay]
    ) -> list[Cell]:
        """The cells of the violations, each with its witness, or with another verdict where it has none."""
        kinds = [self._kind(violation, runs, cases) for violation in violations]
        stored = {_kind_of(r.witness): r.witness for r in replays if r.answer == STILL_FAILS}
        new = [(v, kind) for v, kind in zip(violations, kinds, strict=True) if kind not in stored]
        targets = {kind: self._target(kind, choices) for kind, choices in self._choices(new, cases).items()}
        packable = [target for target in targets.values() if not target.guarantee.accounting]
        self.rounds = reduce(packable, self._run_packed)
        with ThreadPoolExecutor(max_workers=self._info.capabilities.parallel) as pool:
            jobs = {kind: pool.submit(self._outcome, kind, stored, targets) for kind in dict.fromkeys(kinds)}
            outcomes = {kind: job.result() for kind, job in jobs.items()}
        self._find_flips(targets, outcomes)
        return [self._cell(v.cell, outcomes[kind]) for v, kind in zip(violations, kinds, strict=True)]

    def _outcome(
        self, kind: _Kind, stored: Mapping[_Kind, Witness], targets: Mapping[_Kind, Target]
    ) -> Witness | tuple[Verdict, str]:
        """The witness of a kind of failure, or the verdict that its cells get instead."""
        try:
            return self._again(stored[kind]) if kind in stored else self._witness(targets[kind])
        except Unjudgeable as error:
            return Verdict.ERROR, f"fails in a pack; alone it could not be judged: {error}"
        except NotDriven as error:
            return Verdict.ERROR, f"fails in a pack; alone it was not driven: {error}"
        except EngineDown as error:
            self._info.failure = self._info.failure or str(error)
            return Verdict.UNKNOWN, f"fails in a pack; alone it could not be run: {error}"

    def _cell(self, cell: Cell, outcome: Witness | tuple[Verdict, str]) -> Cell:
        if not isinstance(outcome, Witness):
            return replace(cell, verdict=outcome[0], reason=f"{outcome[1]}: {cell.reason}")
        self.witnesses[outcome.id] = outcome
        last = outcome.confirmations[-1]
        if not last.failed:
            reason = f"fails only in a pack, not alone (0 of {last.runs} runs): {cell.reason}"
            return replace(cell, verdict=Verdict.UNKNOWN, reason=reason, witness=outcome.id)
        if last.failed == last.runs:
            return replace(cell, witness=outcome.id, reason=cell.reason if cell.witness else outcome.message)
        share = f"{last.failed}/{last.runs}"
        reason = f"intermittent, {share} of its runs alone: {outcome.message}"
        return replace(cell, witness=outcome.id, reason=reason, intermittent=share)

    # What to reduce

    def _kind(self, violation: Violation, runs: Runs, cases: Mapping[str, Case]) -> _Kind:
        cell, guarantee = violation.cell, violation.guarantee
        if not violation.against:
            return _Kind((cell.scenario, cell.guarantee, cell.perturbation.removeprefix(AS_DRAWN)))
        if guarantee.same_under:
            return _Kind((cell.scenario, cell.guarantee, cell.perturbation))
        plain = guarantee.accounting or any(self._is_plain(a.case, guarantee, runs, cases) for a in violation.against)
        return _Kind((cell.scenario, cell.guarantee, "" if plain else cell.perturbation))

    def _is_plain(self, case: Case, guarantee: Guarantee, runs: Runs, cases: Mapping[str, Case]) -> bool:
        """Whether a case fails without what its perturbation asks of the engine."""
        if not special(case):
            return True
        base = cases[case.base]
        return base.id in runs.traces and self._speaks_against(guarantee, base, runs.traces)

    def _speaks_against(self, guarantee: Guarantee, case: Case, traces: Mapping[str, Trace]) -> bool:
        try:
            return not traces[case.id].error and bool(checking.findings_against(guarantee, case, traces[case.id])[1])
        except Unjudgeable:
            return False

    def _choices(
        self, violations: list[tuple[Violation, _Kind]], cases: Mapping[str, Case]
    ) -> dict[_Kind, tuple[Guarantee, list[Subject]]]:
        """The failing cases to choose from for each kind of failure, all on as few clocks as can be."""
        found: dict[_Kind, tuple[Guarantee, list[Subject]]] = {}
        for violation, kind in violations:
            _, subjects = found.setdefault(kind, (violation.guarantee, []))
            for against in violation.against:
                if kind[2]:
                    subjects.append(Subject(against.case, cases[against.case.base]))
                elif violation.guarantee.accounting or not special(against.case):
                    subjects.append(Subject(replace(against.case, perturbation="", base="")))
        served: Counter[object] = Counter(
            clock for _, subjects in found.values() for clock in {s.case.schedule.clock for s in subjects}
        )
        for _, subjects in found.values():
            most = max(served[s.case.schedule.clock] for s in subjects)
            subjects.sort(key=lambda s: (served[s.case.schedule.clock] < most, simplicity(s.case)))
        return found

    def _target(self, kind: _Kind, choices: tuple[Guarantee, list[Subject]]) -> Target:
        guarantee, subjects = choices
        case = subjects[0].case
        ref = program_ref(case.scenario, case.program)
        program = self._programs[ref]

        within = self._within(subjects[0])

        def fails(subject: Subject, traces: Mapping[str, Trace]) -> bool:
            if not within(subject):
                return False
            if any(traces[case.id].error for case in subject.cases):
                return False
            if guarantee.same_under:
                assert subject.base
                pair = subject.base, subject.case
                if not checking.pair_differs(program, guarantee, *pair, traces):
                    return False
                return not checking.pair_differs(program, guarantee, *pair, self._reference(subject.cases))
            if subject.base and self._speaks_against(guarantee, subject.base, traces):
                return False
            return self._speaks_against(guarantee, subject.case, traces)

        return Target(program, guarantee, subjects[0], fails, self._domains[ref].values[0])

    def _within(self, begun: Subject) -> Callable[[Subject], bool]:
        """Whether a simplification of a subject stays in the domain that it began in: a case with elements on time alone must
        not turn into one about late elements."""
        case = begun.case
        domain = self._domains[program_ref(case.scenario, case.program)]
        inside = all(case in domain for case in begun.cases)
        return lambda subject: not inside or all(case in domain for case in subject.cases)

    # Running

    def _engine(self) -> Any:
        with self._lock:
            if self._process is None:
                self._process = self._start()
            return self._process

    def _run_packed(self, cases: list[Case]) -> Mapping[str, Trace]:
        """Traces of the cases that the engine can express and answered; one that a failed attempt did not reach gave no
        answer."""
        found: dict[str, Trace] = {}
        can = self._info.capabilities
        cases = [case for case in cases if can.takes(case, self._program(case))]
        packs = packs_of(cases, can.largest_pack, can.largest_waiting_pack)
        if not packs:
            return found
        try:
            engine = self._engine()
        except EngineDown:
            return found

        with ThreadPoolExecutor(max_workers=can.parallel) as pool:
            for run in pool.map(partial(_answered, engine), packs):
                found |= {case: trace for case, trace in run.traces.items() if case not in run.untouched}
        return found

    def _program(self, case: Case) -> Program:
        return self._programs[program_ref(case.scenario, case.program)]

    def _run_alone(self, subject: Subject) -> dict[str, PackRun]:
        with self._lock:
            self.alone_runs += len(subject.cases)
        return {case.id: self._engine().run(Pack((case,))) for case in subject.cases}

    # Witnesses

    def _witness(self, target: Target) -> Witness:
        """The witness of a target; its confirmation says in how many runs alone it failed, perhaps in none.

        Raises:
            Unjudgeable, NotDriven, EngineDown: alone, it gave nothing to judge.
        """
        for found in filter(self._within(target.subject), _with_tighter_clocks(target.subject)):
            # What is stored is what was run: the id of a case is part of its keys, and decides what hash tables do with them.
            subject = found if target.guarantee.same_under else Subject(replace(found.case, base=""))
            runs = self._run_alone(subject)
            message = failure(target.program, target.guarantee, subject, runs)
            if message:
                break
        failed = 1 if message else 0
        for _ in range(self._alone - 1):
            again = self._run_alone(subject)
            if said := failure(target.program, target.guarantee, subject, again):
                failed, message, runs = failed + 1, said, again
        case, base = subject.case, subject.base
        flip = None
        if found.base:
            flip = Flip(f"without this: {BY_ID[case.perturbation].title}: the claim stands", found.base.schedule)
        seen = runs[subject.case.id].traces[subject.case.id]
        return Witness(
            guarantee=target.guarantee.id,
            claim=target.guarantee.claim,
            case=case,
            base=base,
            engine=self._info.id,
            versions=self._info.environment,
            message=message or "failed in a pack only",
            seen=seen,
            specified=self._specified([case])[case.id],
            base_seen=runs[base.id].traces[base.id] if base else None,
            packed_seen=None if failed else target.seen,
            flip=flip,
            reduction=target.to_json(),
            confirmations=(_confirmation(self._info, failed, self._alone),),
        )

    def _again(self, witness: Witness) -> Witness:
        """A stored witness that has just failed once more; run again, alone, where this version has not confirmed it."""
        if self._alone == 1 or settled(witness, self._info):  # that was enough
            return witness
        guarantee = self._guarantees[witness.case.scenario, witness.guarantee]
        subject = Subject(witness.case, witness.base)
        program = self._program(witness.case)
        failed = 1
        for _ in range(self._alone - 1):
            failed += bool(failure(program, guarantee, subject, self._run_alone(subject)))
        mine = _confirmation(self._info, failed, self._alone)
        kept = tuple(other for other in witness.confirmations if not mine.same_engine(other))
        return replace(witness, confirmations=(*kept, mine))

    def _find_flips(
        self, targets: Mapping[_Kind, Target], outcomes: dict[_Kind, Witness | tuple[Verdict, str]]
    ) -> None:
        """For each new witness without one: the first single change to its case after which the claim is put to the
        test and stands; else the first after which it does not fail and the engine gives what the reference does."""
        wanted: list[tuple[_Kind, Witness, list[tuple[str, Case]]]] = []
        for kind, target in targets.items():
            outcome = outcomes[kind]
            if isinstance(outcome, Witness) and not outcome.flip and not target.guarantee.accounting:
                wanted.append((kind, outcome, list(probes(outcome.case))))
        if not wanted:
            return
        unique = {case.id: case for _, _, tried in wanted for _, case in tried}
        traces = self._run_packed(list(unique.values()))
        for kind, witness, tried in wanted:
            guarantee = targets[kind].guarantee
            flip = self._flip(guarantee, witness, tried, traces)
            if flip is None:
                tried = list(clock_probes(witness.case, witness.seen, targets[kind].program.times))
                flip = self._flip(guarantee, witness, tried, self._run_packed([case for _, case in tried]))
            outcomes[kind] = replace(witness, flip=flip)

    def _flip(
        self, guarantee: Guarantee, witness: Witness, tried: list[tuple[str, Case]], traces: Mapping[str, Trace]
    ) -> Flip | None:
        standing = [(w, c) for w, c in tried if c.id in traces and not self._fails(guarantee, c, traces[c.id])]
        expected = self._specified([case for _, case in standing])
        for words, case in standing:
            if checking.findings_against(guarantee, case, traces[case.id])[0]:
                return Flip(f"{words}: the claim stands", case.schedule)
        for words, case in standing:
            if traces[case.id] == expected[case.id] and witness.seen != witness.specified:
                return Flip(f"{words}: what comes out is as expected", case.schedule)
        return None

    def _fails(self, guarantee: Guarantee, case: Case, trace: Trace) -> bool:
        """Whether a case speaks against a guarantee, or says nothing of it."""
        try:
            return bool(trace.error) or bool(checking.findings_against(guarantee, case, trace)[1])
        except Unjudgeable:
            return True


def _kind_of(witness: Witness) -> _Kind:
    """The kind of failure that a witness shows."""
    return _Kind((witness.case.scenario, witness.guarantee, witness.case.perturbation))


def _with_tighter_clocks(subject: Subject) -> Iterator[Subject]:
    """The subject on at most three clocks, the shortest first."""
    variants = tighter_clocks(subject.case.schedule, keep_first=subject.base is not None)
    bases = tighter_clocks(subject.base.schedule, keep_first=True) if subject.base else []
    for number, schedule in enumerate(variants):
        if not subject.base:
            yield Subject(replace(subject.case, schedule=schedule))
            continue
        base = replace(subject.base, schedule=bases[min(number, len(bases) - 1)])
        yield Subject(replace(subject.case, schedule=schedule, base=base.id), base)
