"""Replaying a witness, and what its answer says of its cell. ``replays`` replays many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.confirmation.reduction import Subject
from conformance.execution.host import EngineDown, NoAnswer
from conformance.execution.watched import GivenUp
from conformance.judgement.cell import AS_DRAWN, MatrixCell, Verdict
from conformance.judgement.evidence import ReferenceTraces, Unjudgeable, findings_of, pair_finding
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import confirmed, replayed, replayed_once, unanswered_alone
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities, EngineInfo, NotDriven, bare, program_needs, schedule_needs
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.model.trace import Emission, Trace
from conformance.results.record import ReplayRecord
from conformance.results.witness import Confirmation, Witness

STILL_FAILS, FIXED, NOT_EXPRESSIBLE, ERROR = "STILL FAILS", "FIXED", "NOT EXPRESSIBLE", "ERROR"
"""The possible answers of a replay."""

STANDS = "STANDS"
"""The answer of a witness that did not run again: it failed alone on this very engine, as did others, and these failed again."""

FAILS = (STILL_FAILS, STANDS)
"""The answers of a witness that speaks against its engine."""

NOT_REPLAYED = "NOT REPLAYED"
"""The answer of a witness that a budget leaves no time for."""


@dataclass(frozen=True)
class Replay:
    """The result of a witness that ran again, alone. ``traces`` holds the traces of its cases. ``versions`` says what
    the witness ran on, if the engine was started for the replay."""

    witness: Witness
    answer: str
    message: str
    traces: Mapping[str, Trace] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> ReplayRecord:
        """The replay as results record it."""
        witness = self.witness
        return ReplayRecord(
            witness.id, witness.engine, witness.case.scenario, witness.guarantee, self.answer, self.message
        )


def failure(
    program: Program,
    guarantee: Guarantee,
    subject: Subject,
    runs: Mapping[str, PackRun],
    reference: ReferenceTraces,
) -> str:
    """How a subject whose cases ran speaks against a guarantee, "" if the subject does not. ``runs``, by case id, holds
    the runs of the cases. ``reference`` reads *late* as the engine does.

    Raises:
        Unjudgeable: the program stops on the reference too, or the predicate fails on the reference's trace.
    """
    traces = {case.id: runs[case.id].traces[case.id] for case in subject.cases}
    if guarantee.accounting:
        findings = guarantee.accounting(runs[subject.case.id])
        return next((finding for finding in findings if isinstance(finding, str)), "")
    if guarantee.same_under:
        assert subject.base
        return pair_finding(program, guarantee, subject.base, subject.case, traces, reference)[1]
    _, against = findings_of(guarantee, subject.case, traces[subject.case.id], reference)
    return against[0] if against else ""


def speaks_of(witness: Witness, scenarios: Iterable[Scenario]) -> tuple[Program, Guarantee, Subject]:
    scenario = next(s for s in scenarios if s.id == witness.case.scenario)
    guarantee = scenario.askable[witness.guarantee]
    return scenario.programs[witness.case.program], guarantee, Subject(witness.case, witness.base)


def not_expressible(witness: Witness, scenarios: Iterable[Scenario], can: Capabilities) -> str:
    """Why an engine cannot run a witness, "" if it can."""
    program, guarantee, subject = speaks_of(witness, scenarios)
    if not can.runs(ref := program_ref(witness.case.scenario, witness.case.program)):
        return f"it does not run {ref}"
    if reason := next(filter(None, (can.no_plan(case.schedule) for case in subject.cases)), ""):
        return reason
    needs = guarantee.needs.union(*(schedule_needs(case.schedule) for case in subject.cases))
    needs |= frozenset() if can.native_operator else program_needs(program)
    missing = can.first_missing(needs)
    programs = programs_of(scenarios)
    for case in witness.neighbours:
        if (ref := program_ref(case.scenario, case.program)) in programs and not can.takes(case, programs[ref]):
            return f"it does not run a neighbour, of {ref}"
    return can.why_not(missing) if missing else ""


def packs_beside(subject: Subject, neighbours: Sequence[Case]) -> list[Pack]:
    """The packs to run for a subject: one pack for each of its cases. With neighbours, one pack holds the neighbours
    and the cases on their timeline, and every other case runs alone."""
    if not neighbours:
        return [Pack((case,)) for case in subject.cases]
    timeline = subject.case.schedule.timeline
    beside = [case for case in subject.cases if case.schedule.timeline == timeline]
    apart = [Pack((case,)) for case in subject.cases if case.schedule.timeline != timeline]
    return [*apart, Pack((*neighbours, *beside))]


def reference_of(scenarios: Iterable[Scenario], can: Capabilities) -> ReferenceTraces:
    """The reference engine that reads *late* as an engine does."""
    return reference_traces(programs_of(scenarios), can.lateness)


MOST_REPLAYS = 30
"""Maximum number of replays of a witness that fails only sometimes."""


UNEXPECTED = 3
"""Number of replays that a witness must pass to count as fixed where nothing but chance can have fixed it."""


def patience(witness: Witness, here: bool = False) -> int:
    """Number of replays that a witness must pass before it counts as fixed: 1 if the witness failed in every confirming
    run, UNEXPECTED if one of these was of the very versions that it is replayed on (``here``). If it failed in a share p of the
    confirming runs, here or elsewhere, the number is 3/p, so that an unfixed witness passes them all with a probability of 5 %."""
    rates = [known.failed / known.runs for known in witness.confirmations if 0 < known.failed < known.runs]
    least = UNEXPECTED if here else 1
    return max(least, min(math.ceil(3 / min(rates)), MOST_REPLAYS)) if rates else least


def replay(
    process: Any, witness: Witness, scenarios: Iterable[Scenario], can: Capabilities, here: bool = False
) -> Replay:
    """Runs the cases of a witness on an engine's process, alone or beside the witness's neighbours, until the witness fails, at most as
    often as ``patience`` says. ``here``: it failed before on the very versions of this engine."""
    program, guarantee, subject = speaks_of(witness, scenarios)
    if reason := not_expressible(witness, scenarios, can):
        return Replay(witness, NOT_EXPRESSIBLE, reason)
    runs: dict[str, PackRun] = {}
    message = ""
    try:
        for _ in range(patience(witness, here)):
            for pack in packs_beside(subject, witness.neighbours):
                run = run_of(process, pack)
                runs |= {case.id: run for case in subject.cases if case in pack.cases}
            if message := failure(program, guarantee, subject, runs, reference_of(scenarios, can)):
                break
    except (NotDriven, EngineDown, Unjudgeable) as error:
        answer, message = ERROR, str(error)
    else:
        answer = STILL_FAILS if message else FIXED
    return Replay(witness, answer, message, {name: run.traces[name] for name, run in runs.items()})


def answered(process: Any, pack: Pack) -> PackRun:
    """The results of a pack, empty if the pack could not run: its cases are then tried alone."""
    try:
        return run_of(process, pack)
    except (NotDriven, EngineDown):
        return PackRun()


def run_of(process: Any, pack: Pack) -> PackRun:
    """The results of a pack. If a plan fails, and the engine's process lives, the failure is the result.

    Raises:
        NotDriven, EngineDown: the run gave nothing.
    """
    try:
        run: PackRun = process.run(pack)
    except EngineDown as error:
        if process.alive and (failed := failed_plan(pack, error)):
            return failed
        raise
    return run


def failed_plan(pack: Pack, error: EngineDown) -> PackRun | None:
    """The results of a pack of plan twins that an engine failed in: each case ends with the failure, for the plain query runs. None if
    the pack has another query, if the engine hung, or if the failure names one of several cases."""
    if not pack.cases[0].schedule.plan or isinstance(error, (NoAnswer, GivenUp)):
        return None
    if "[case " in str(error) and len(pack.cases) > 1:
        return None
    trace = Trace.collect([Emission("", None, pack.timeline[-1].id, error=f"the plan failed: {error}")])
    return PackRun({case.id: trace for case in pack.cases})


def still_failing(cell: MatrixCell, replays: Iterable[Replay]) -> Replay | None:
    """The first of a cell's replayed witnesses that still fails."""
    for found in replays:
        witness = found.witness
        where = (witness.case.scenario, witness.guarantee, witness.case.perturbation or AS_DRAWN)
        if found.answer in FAILS and where == (*cell.row, cell.perturbation):
            return found
    return None


def with_replays(cell: MatrixCell, replays: Iterable[Replay]) -> MatrixCell:
    """The cell after the first of its replayed witnesses that still fails, or unchanged if none fails."""
    found = still_failing(cell, replays)
    return replayed(cell, found.witness.id, found.message, again=found.answer == STILL_FAILS) if found else cell


def without_more_runs(cell: MatrixCell, replays: Iterable[Replay], info: EngineInfo) -> MatrixCell:
    """A violated cell for which a budget leaves no time: it rests on a stored witness that failed in this run, or is unknown."""
    if not (found := still_failing(cell, replays)):
        return unanswered_alone(cell, EngineDown("the budget was spent"))
    witness = found.witness
    return confirmed(cell, witness.id, found.message, *runs_here(witness, info), neighbours=len(witness.neighbours))


def saying_who_ran_once(
    cells: Iterable[MatrixCell], witnesses: Mapping[str, Witness], info: EngineInfo
) -> list[MatrixCell]:
    """The cells; a violated one that rests on one of these witnesses (by id) has the grade of that if the witness is not confirmed here."""
    once = {name for name, witness in witnesses.items() if not confirmed_here(witness, info)}
    return [
        replayed_once(cell) if cell.verdict is Verdict.VIOLATED and cell.witness in once else cell for cell in cells
    ]


def confirmed_here(witness: Witness, info: EngineInfo) -> bool:
    """Whether a witness has failed in each of its runs alone on this engine, with the same version, configuration and
    adapter."""
    return any(known.adapter == info.adapter and known.failed == known.runs for known in known_here(witness, info))


def resting(witnesses: Iterable[Witness], info: EngineInfo) -> set[str]:
    """The witnesses (ids) for which one more failure in a pack is enough, because they have failed alone on this engine, in its version
    and configuration. That was with this adapter, or with an earlier form of it: then the first of them runs alone all the same."""
    alone = [w for w in witnesses if any(known.failed == known.runs for known in known_here(w, info))]
    earlier = [witness.id for witness in alone if not confirmed_here(witness, info)]
    return {witness.id for witness in alone} - set(earlier[:1])


def runs_here(witness: Witness, info: EngineInfo) -> tuple[int, int]:
    """(runs alone in which a witness failed, runs alone) on this engine, in its version and configuration, at the last
    count. (1, 1) for a witness that has just failed and is not confirmed here."""
    known = sorted(known_here(witness, info), key=lambda known: known.adapter == info.adapter)
    return (known[-1].failed, known[-1].runs) if known else (1, 1)


def known_here(witness: Witness, info: EngineInfo) -> list[Confirmation]:
    """The confirmations of a witness on this engine, in its version and configuration."""
    return list(witness.confirmed_on(bare(info.id), info.environment))
