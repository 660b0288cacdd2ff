"""The judgement of an engine in this process, with what fails under several perturbations taken apart."""

from conformance.confirmation.isolation import Asking, Isolation
from conformance.execution.packing import packs_of
from conformance.judgement.batches import Isolated, Judgement, check
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of


def judged(scenarios, engine, cases, seed, info=None, known=(), kept=None):
    """(the judgement, what the failures came to), as a run has them. ``known``: what stored witnesses show. ``kept``:
    under what each guarantee was kept, if not as the cases show it."""
    can, programs = engine.capabilities, programs_of(scenarios)
    reference = reference_traces(programs, can.lateness)
    info = info or EngineInfo(engine.id, engine.title, can)

    def run(cases):
        runs = Runs()
        for pack in packs_of(cases, can.largest_pack):
            runs.add(pack, engine.run(pack, programs))
        return runs

    runs, by_id, isolated = run(cases), {case.id: case for case in cases}, Isolated()
    for _ in range(2):
        checked = check(scenarios, by_id.values(), runs, info, reference)
        entangled = {failure: against for failure, against in checked.entangled.items() if failure not in isolated}
        if not entangled:
            break
        isolation = Isolation(scenarios, can, seed, reference, Asking(run, runs), dict(known))
        found = isolation.isolate(entangled, [], by_id, checked.kept_under if kept is None else kept)
        isolated.explained |= found.explained
        isolated.smallest |= found.smallest
        by_id |= isolation.cases
    checked = check(scenarios, by_id.values(), runs, info, reference)
    isolated.smallest |= checked.entangled.keys() - isolated.explained
    judgement = Judgement(scenarios, info)
    judgement.add(checked.settled(isolated), by_id, runs.traces, runs.notes)
    return judgement, isolated
