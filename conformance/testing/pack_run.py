"""Checks of the result of one engine run: its form, its counts of rows, and the cases that it calls untouched."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.feature import Feature
from conformance.model.runs import Pack, PackRun
from conformance.model.steps import Deliver, FailOnce
from conformance.model.trace import DRAIN, Trace
from conformance.results import tables
from conformance.testing.comparison import short
from conformance.testing.report import AdapterFault, told
from conformance.testing.trials import Trial


def form(pack: Pack, run: PackRun, where: str, at: Callable[[Case], str]) -> None:
    """Raise AdapterFault if a run did not give a PackRun of this pack. ``where`` and ``at`` name the run and its
    cases."""
    if not isinstance(run, PackRun):
        raise AdapterFault(f"{where}: run() gave {short(run)}; give a PackRun")
    ids = {case.id for case in pack.cases}
    for case in pack.cases:
        if case.id not in run.traces:
            raise AdapterFault(f"{at(case)}: there is no trace of it; give every case one, an empty one too")
    if foreign := sorted(set(run.traces) - ids) + sorted(set(run.untouched) - ids):
        raise AdapterFault(f"{where}: run() speaks of the case {foreign[0]!r}, which is not in the pack; leave it out")
    steps = {step.id for step in pack.timeline} | {DRAIN}
    for case in pack.cases:
        trace = run.traces[case.id]
        for emission in trace.emissions:
            if emission.step not in steps:
                raise AdapterFault(
                    f"{at(case)}: {short(emission.value)} came out in step {emission.step!r}, which the timeline "
                    "does not have; give it the id of its step, or DRAIN"
                )
            if emission.error is not None and (not emission.error.strip() or "\n" in emission.error):
                raise AdapterFault(
                    f"{at(case)}: the exception is told as {emission.error!r}; tell it in one line, as "
                    "conformance.model.program.call does"
                )
        if Trace.collect(trace.emissions) != trace:
            raise AdapterFault(
                f"{at(case)}: its trace is not in order of step and key, or goes on behind an exception; make it "
                "by Trace.collect"
            )
    try:
        same = tables.pack_run_of(tables.pack_run_table(pack, run), pack) == run
    except (TypeError, ValueError) as error:
        raise AdapterFault(
            f"{where}: the result of run() is not JSON ({told(error)}); emit the values that the program emitted"
        ) from error
    if not same:
        raise AdapterFault(
            f"{where}: the result of run() is not the same after it travelled as JSON; give tuples of emissions and "
            "counts, and values of lists, dicts with text as keys, text and numbers"
        )
    bundles = [step.id for step in pack.timeline if isinstance(step, Deliver) and not step.initial]
    # A step without a bundle has a count where the engine says that it dropped rows there.
    if [count.step for count in run.counts if count.step in bundles or not count.reported_late] != bundles:
        raise AdapterFault(
            f"{where}: there are counts of the steps {[count.step for count in run.counts]}, the bundles are "
            f"{bundles}; give one StepCount a bundle, in order"
        )
    for count in run.counts:
        if count.delivered != (rows := sum(1 for _ in pack.bundle(count.step))):
            raise AdapterFault(
                f"{where}: step {count.step} counts {count.delivered} rows as delivered, the schedule has {rows}; "
                "count the rows of all cases of the pack"
            )
        by_program = {part.program: part for part in count.programs}
        rows_of = Counter(program_ref(case.scenario, case.program) for case, _ in pack.bundle(count.step))
        if by_program and (
            {name: part.delivered for name, part in by_program.items() if part.delivered} != rows_of
            or sum(part.received for part in by_program.values()) != count.received
        ):
            raise AdapterFault(
                f"{where}: the counts by program of step {count.step} do not add up to those of its bundle; count "
                "each row for its own program, or leave programs empty"
            )
    if run.untouched and not any(isinstance(step, FailOnce) for step in pack.timeline):
        raise AdapterFault(f"{where}: cases are called untouched though no attempt was to fail; leave untouched empty")


def counts(can: Capabilities, where: str, run: PackRun, specified: PackRun) -> Iterator[str]:
    """Remarks on the engine's counts of rows. Raise AdapterFault where rows were counted but did not exist, or the
    other way round."""
    counted = can.features[Feature.LATE_COUNTER].how != "unsupported"
    for count, wanted in zip(run.counts, specified.counts, strict=True):
        if count.received != wanted.received:
            raise AdapterFault(
                f"{where}step {count.step}: {count.received} of {count.delivered} rows are counted as received, "
                f"programs got {wanted.received}; count what on_event was called with, without attempts that failed"
            )
        late = wanted.delivered - wanted.received
        if not counted:
            if count.reported_late is not None:
                raise AdapterFault(
                    f"{where}step {count.step}: {count.reported_late} rows are reported as late by an engine whose "
                    "counter of late rows is unsupported; report None, or declare the counter"
                )
            continue
        reported = count.reported_late
        if type(reported) is not int or bool(reported) != bool(late) or reported < 0:
            raise AdapterFault(
                f"{where}step {count.step}: {reported} rows are reported as late, {late} of {count.delivered} were "
                "dropped; read the engine's counter for each bundle, or call it unsupported"
            )
        if reported != late:
            yield "the counter of late rows is above 0 where rows were dropped, but differs from their number"


def untouched(trial: Trial, called: set[str], labels: Mapping[str, str]) -> Iterator[str]:
    """Remarks on the cases (ids) that are ``called`` untouched. Raise AdapterFault where the failed attempt did not
    reach a case that it could reach, or claims to have reached a case that it could not. ``labels`` names the cases
    (ids) that were run."""
    reached, idle = (
        [case for case in (trial.cases[label].id for label in named) if case in labels]
        for named in (trial.reached, trial.idle)
    )
    if reached and called.issuperset(reached):
        raise AdapterFault(
            f"{trial.about}: all cases that write state in the bundle that fails are called untouched; let the attempt "
            "fail behind the last row, and name the cases that had written no state in it"
        )
    if called & set(reached):
        yield f"{trial.about}: a case that writes state in the bundle that fails is called untouched"
    if touched := [case for case in idle if case not in called]:
        if called:
            raise AdapterFault(
                f"{trial.about}: {labels[touched[0]]} (case {touched[0]}) is not called untouched; name every case "
                "that had written no state in the attempt that failed"
            )
        yield (
            f"{trial.about}: no case is called untouched, not one with nothing in the bundle that fails; fine if the "
            "failure undoes every case"
        )
