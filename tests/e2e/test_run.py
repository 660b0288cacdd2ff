"""A run in this process, from cases written by hand."""

from conformance.model import Advance, Case, Deliver, Event, Schedule
from conformance.perturbation import BY_ID
from conformance.registry import load_scenarios
from conformance.results import Verdict, fold
from conformance.runner import Options, Run
from conformance.storage import write_cases

SCENARIO, GUARANTEE = "index-assignment", "indices-follow-arrival-order-within-a-bundle"


def test_what_holds_for_twins_alone_contradicts_a_claim_without_a_witness(tmp_path, monkeypatch):
    """The case as drawn has no bundle of two elements, its twin has: there is nothing to look for a witness in, and nothing fails."""
    monkeypatch.setattr("conformance.runner.opposed", lambda engine: {(SCENARIO, GUARANTEE)})
    bundles = [Deliver(n, (Event(f"e{n}", "a", None, 2_000 + n),)) for n in (1, 2)]
    case = Case(SCENARIO, "global", Schedule((Advance(0, 1_000), *bundles, Advance(3, 300_000))))
    cases = tmp_path / "cases.parquet"
    write_cases(cases, [case, BY_ID["merge"].twin(case, 1)])
    options = Options(("reference",), tuple(load_scenarios([SCENARIO])), tmp_path / "out", cases_from=cases)
    results = Run(options).execute()
    assert fold(cell for cell in results.cells if cell.guarantee == GUARANTEE).verdict is Verdict.HOLDS
    assert results.environment["reference"]["failure"] == ""
    assert results.witnesses == {}
