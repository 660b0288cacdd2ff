"""Replaying a witness, and what its answer says of its cell. ``replays`` replays many."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.confirmation.owed import confirmed_here, known_here, patience
from conformance.confirmation.reduction import Subject
from conformance.confirmation.rerun import packs_beside
from conformance.execution.ask import answer_of
from conformance.execution.host import EngineDown
from conformance.judgement.cell import AS_DRAWN, MatrixCell, Verdict
from conformance.judgement.evidence import ReferenceTraces, Unjudgeable, speaks_against
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import confirmed, replayed, replayed_once, unanswered_alone
from conformance.model.engine import Capabilities, EngineInfo, NotDriven, program_needs, schedule_needs
from conformance.model.program import Program
from conformance.model.runs import PackRun
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.model.trace import Trace
from conformance.results.record import ReplayRecord
from conformance.results.witness import Witness

STILL_FAILS, FIXED, NOT_EXPRESSIBLE, ERROR = "STILL FAILS", "FIXED", "NOT EXPRESSIBLE", "ERROR"
"""The possible answers of a replay."""

STANDS = "STANDS"
"""The answer of a witness that did not run again: it failed alone on this very engine, as did others, and these failed
again."""

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

    def recorded(self, engine: str) -> ReplayRecord:
        """The replay as results record it: on the engine that it ran on, in the release that was asked for."""
        witness = self.witness
        return ReplayRecord(witness.id, engine, witness.case.scenario, witness.guarantee, self.answer, self.message)


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
    return speaks_against(program, guarantee, subject.base, subject.case, traces, reference)


def speaks_of(witness: Witness, scenarios: Iterable[Scenario]) -> tuple[Program, Guarantee, Subject]:
    scenario = next(s for s in scenarios if s.id == witness.case.scenario)
    guarantee = scenario.askable[witness.guarantee]
    return scenario.programs[witness.case.program], guarantee, Subject(witness.case, witness.base)


def not_expressible(witness: Witness, scenarios: Iterable[Scenario], can: Capabilities) -> str:
    """Why an engine cannot run a witness, "" if it can."""
    program, guarantee, subject = speaks_of(witness, scenarios)
    if not can.runs(ref := witness.case.ref):
        return f"it does not run {ref}"
    if reason := next(filter(None, (can.no_plan(case.schedule) for case in subject.cases)), ""):
        return reason
    needs = guarantee.needs.union(*(schedule_needs(case.schedule) for case in subject.cases))
    needs |= frozenset() if can.native_operator else program_needs(program)
    missing = can.first_missing(needs)
    programs = programs_of(scenarios)
    for case in witness.neighbours:
        if (ref := case.ref) in programs and not can.takes(case, programs[ref]):
            return f"it does not run a neighbour, of {ref}"
    return can.why_not(missing) if missing else ""


def reference_of(scenarios: Iterable[Scenario], can: Capabilities) -> ReferenceTraces:
    """The reference engine that reads *late* as an engine does."""
    return reference_traces(programs_of(scenarios), can.lateness)


def replay(process: Any, witness: Witness, scenarios: Iterable[Scenario], can: Capabilities, passes: int = 0) -> Replay:
    """Runs the cases of a witness on an engine's process, alone or beside the witness's neighbours, until the witness
    fails, at most ``passes`` times, or as often as its confirmations ask for."""
    program, guarantee, subject = speaks_of(witness, scenarios)
    if reason := not_expressible(witness, scenarios, can):
        return Replay(witness, NOT_EXPRESSIBLE, reason)
    runs: dict[str, PackRun] = {}
    message = ""
    try:
        for _ in range(passes or patience(witness)):
            for pack in packs_beside(subject, witness.neighbours):
                run = answer_of(process, pack)
                runs |= {case.id: run for case in subject.cases if case in pack.cases}
            if message := failure(program, guarantee, subject, runs, reference_of(scenarios, can)):
                break
    except (NotDriven, EngineDown, Unjudgeable) as error:
        answer, message = ERROR, str(error)
    else:
        answer = STILL_FAILS if message else FIXED
    return Replay(witness, answer, message, {name: run.traces[name] for name, run in runs.items()})


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
    """A violated cell for which a budget leaves no time: it rests on a stored witness that failed in this run, or is
    unknown."""
    if not (found := still_failing(cell, replays)):
        return unanswered_alone(cell, EngineDown("the budget was spent"))
    witness = found.witness
    return confirmed(cell, witness.id, found.message, *runs_here(witness, info), neighbours=len(witness.neighbours))


def saying_who_ran_once(
    cells: Iterable[MatrixCell], witnesses: Mapping[str, Witness], info: EngineInfo
) -> list[MatrixCell]:
    """The cells; a violated one that rests on one of these witnesses (by id) has the grade of that if the witness is
    not confirmed here."""
    once = {name for name, witness in witnesses.items() if not confirmed_here(witness, info)}
    return [
        replayed_once(cell) if cell.verdict is Verdict.VIOLATED and cell.witness in once else cell for cell in cells
    ]


def runs_here(witness: Witness, info: EngineInfo) -> tuple[int, int]:
    """(runs alone in which a witness failed, runs alone) on this engine, in its version and configuration, at the last
    count. (1, 1) for a witness that has just failed and is not confirmed here."""
    known = sorted(known_here(witness, info), key=lambda known: known.adapter == info.adapter)
    return (known[-1].failed, known[-1].runs) if known else (1, 1)
