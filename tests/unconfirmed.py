"""Unconfirmed cells of an engine that runs in this process."""

from conformance.execution.packing import packs_of
from conformance.judgement.batches import Judgement, check
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine


def judged(scenarios, name, cases, reference=None):
    """The unconfirmed cells of an engine. ``reference`` has its traces, if they are known."""
    engine, programs, runs = load_engine(name), programs_of(scenarios), Runs()
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    found = Judgement(scenarios, info)
    checked = check(scenarios, cases, runs, info, reference or reference_traces(programs, engine.capabilities.lateness))
    found.add(checked, {case.id: case for case in cases}, runs.traces, runs.notes)
    return [cell for cell, _, _ in found.cells()]
