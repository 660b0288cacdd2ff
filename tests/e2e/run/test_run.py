"""A run in this process, from cases written by hand or drawn."""

import re
from pathlib import Path

from conformance.confirmation.replay import STILL_FAILS
from conformance.judgement.cell import Verdict
from conformance.judgement.verdict import fold
from conformance.model.case import Case
from conformance.model.perturbation import BY_ID
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.plugins.registry import load_scenarios
from conformance.reports.witnesses import failed_alone
from conformance.results.store import write_cases
from conformance.results.witness import Witness, find_witness, write_witnesses
from conformance.run.run import Options, Run

SCENARIO, GUARANTEE = "index-assignment", "indices-follow-arrival-order-within-a-bundle"


def test_what_holds_for_twins_alone_contradicts_a_claim_without_a_witness(tmp_path, monkeypatch):
    """The case as drawn has no bundle of two elements, its twin has: there is nothing to look for a witness in, and
    nothing fails."""
    monkeypatch.setattr("conformance.run.turn.opposed", lambda engine: {(SCENARIO, GUARANTEE)})
    bundles = [Deliver(n, (Event(f"e{n}", "a", None, 2_000 + n),)) for n in (1, 2)]
    case = Case(SCENARIO, "global", Schedule((Advance(0, 1_000), *bundles, Advance(3, 300_000))))
    cases = tmp_path / "cases.parquet"
    write_cases(cases, [case, BY_ID["merge"].twin(case, 1)])
    options = Options(("reference",), tuple(load_scenarios([SCENARIO])), tmp_path / "out", cases_from=cases)
    results = Run(options).execute()
    assert fold(cell for cell in results.cells if cell.guarantee == GUARANTEE).verdict is Verdict.HOLDS
    assert results.environment["reference"].failure == ""
    assert results.witnesses == {}


def test_a_bug_that_takes_neighbours_is_violated_and_its_witness_replays(tmp_path):
    """The seeded bug shows where two other cases of the pack have several keys. A case's twin may be one of them."""
    engine, scenarios = "mutant:element-lost-in-a-crowd", tuple(load_scenarios(["late-data"]))
    results = Run(Options((engine,), scenarios, tmp_path / "first", wanted=2, seed=1)).execute()
    found = [cell for cell in results.cells if cell.verdict is Verdict.VIOLATED]
    assert found
    assert all(re.match(r"violated \(needs (2 neighbours|1 neighbour)\): ", cell.reason) for cell in found)
    witness = results.witnesses[found[0].witness]
    assert len(witness.neighbours) == 2
    write_witnesses(tmp_path / "stored", results.witnesses.values())
    stored = Witness.read(find_witness(Path(witness.id), [tmp_path / "stored"]))
    assert stored == witness
    assert "failed beside its neighbours in 3 of 3 runs" in failed_alone(stored, stored.confirmations)[-1]
    again = Options((engine,), scenarios, tmp_path / "again", wanted=1, witnesses=(tmp_path / "stored",))
    replays = Run(again).execute().replays
    assert {r.answer for r in replays if r.witness in {cell.witness for cell in found}} == {STILL_FAILS}
