"""Runs written by hand, for predicates to look at."""

from conformance.judgement.batches import Judgement, check
from conformance.judgement.evidence import findings_against
from conformance.model.case import Case, program_ref
from conformance.model.runs import Pack
from conformance.model.scenario import Observation
from conformance.model.schedule import Advance, Deliver, Event, renumbered
from conformance.model.trace import Emission, Trace


def run(steps, *emitted):
    """Steps are watermarks, steps of the model, and bundles of (id, key, time) or (id, key, time, value); what came out
    are (key, value, step)."""
    made = []
    for step in steps:
        if isinstance(step, int):
            made.append(Advance(0, step))
        elif isinstance(step, list):
            made.append(Deliver(0, tuple(Event(e[0], e[1], e[3] if len(e) > 3 else None, e[2]) for e in step)))
        else:
            made.append(step)
    return Observation(Case("s", "p", renumbered(made)), Trace(tuple(Emission(*emission) for emission in emitted)))


def said(predicate, run):
    return list(predicate(run))


def judged_by(engine, scenario, cases):
    """Guarantee -> the sentences against it on an engine, which runs each case alone; None where nothing tested it."""
    found = {g.id: None for g in scenario.guarantees if g.predicate}
    for case in cases:
        programs = {program_ref(scenario.id, case.program): scenario.programs[case.program]}
        trace = engine.run(Pack((case,)), programs).traces[case.id]
        for guarantee in scenario.guarantees:
            if guarantee.program == case.program and guarantee.predicate:
                tested, against = findings_against(guarantee, case, trace)
                found[guarantee.id] = (found[guarantee.id] or []) + against if tested else found[guarantee.id]
    return found


def judge(scenarios, cases, runs, engine, reference):
    """The judgement of one batch."""
    found = Judgement(scenarios, engine)
    checked = check(scenarios, cases, runs, engine, reference)
    found.add(checked, {case.id: case for case in cases}, runs.traces, runs.notes)
    return found
