"""A budget of time: each engine's share, the order of packs, and what is left out."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.cli.main import main
from conformance.execution.packing import packs_of
from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.judgement.cell import Verdict
from conformance.model.scenario import asked_by
from conformance.plugins.registry import load_scenarios
from conformance.results.results import Results
from conformance.results.witness import write_witnesses
from conformance.run.budget import PACKS, REPLAYS, Budget, most_telling_first
from conformance.run.run import Options, Run

SCENARIOS = load_scenarios(["per-key-counting"])


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_engines_of_a_queue_share_what_is_left():
    clock = Clock()
    budget = Budget(100, [["a", "b"], ["c"]], clock)
    budget.begin("a")
    budget.begin("c")
    clock.now = 50 * PACKS + 1
    assert not budget.packs_go_on("a")
    assert budget.packs_go_on("c")
    assert budget.goes_on("a")
    clock.now = 20
    budget.begin("b")
    clock.now = 99
    assert not budget.goes_on("a")
    assert budget.goes_on("b")
    assert not budget.spent
    clock.now = 100
    assert budget.spent


def test_replays_take_a_part_of_the_time_that_engines_share():
    """What one engine of a queue does not take is for the others."""
    clock = Clock()
    budget = Budget(100, [["a", "b"], ["c"]], clock)
    a, c = budget.replays("a"), budget.replays("c")
    clock.now = 50 * REPLAYS - 1
    assert a()
    clock.now = 50 * REPLAYS + 1
    assert not a()
    assert c()
    b = budget.replays("b")
    clock.now = 100 * REPLAYS - 1
    assert b()
    clock.now = 100 * REPLAYS
    assert not b()
    assert not c()


def test_without_a_budget_all_goes_on():
    budget = Budget(None, [])
    assert budget.replays("any")()
    assert budget.packs_go_on("any")
    assert budget.goes_on("any")
    assert not budget.spent


def test_what_tells_most_comes_first():
    """Half of the packs in this order cover more guarantees than the first half as drawn, or as many."""
    cases = draw_cases(SCENARIOS, 2, 1, exercised_by_any_reading(SCENARIOS))
    packs = packs_of(cases, 50)
    asked = asked_by(SCENARIOS)
    ordered = most_telling_first(packs, asked)
    assert sorted(ordered, key=packs.index) == packs

    def covered(some):
        ran = {case.id for pack in some for case in pack.cases}
        places = {(c.scenario, c.program, c.perturbation) for p in some for c in p.cases if not c.base or c.base in ran}
        return sum(bool(guarantee & places) for guarantee in asked)

    for number in range(1, len(packs)):
        assert covered(ordered[:number]) >= covered(packs[:number])


def test_what_the_budget_left_out_is_said(tmp_path, monkeypatch):
    """The budget is spent after three packs; the run is a whole one otherwise."""
    ran = []
    monkeypatch.setattr(Budget, "packs_go_on", lambda self, engine: ran.append(engine) or len(ran) <= 3)
    options = Options(("reference",), tuple(SCENARIOS), tmp_path, wanted=2, seed=1, budget=600)
    results = Run(options).execute()
    packs = results.environment["reference"].packs
    assert packs.run == 3
    assert results.run.partial
    assert results.run.left_out == packs.drawn - 3
    assert f"a budget of 600 s left out {packs.drawn - 3} packs" in results.run.shortened
    verdicts = {cell.verdict for cell in results.cells}
    assert verdicts == {Verdict.HOLDS, Verdict.UNKNOWN}
    results.write(tmp_path / "results.json.gz")
    assert Results.read(tmp_path / "results.json.gz").run == results.run


def test_a_violation_that_could_not_run_alone_in_time_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(Budget, "goes_on", lambda self, engine: False)
    options = Options(("mutant:output-twice",), tuple(SCENARIOS), tmp_path, wanted=1, seed=1, budget=600)
    results = Run(options).execute()
    assert Verdict.VIOLATED not in {cell.verdict for cell in results.cells}
    assert any("could not be run: the budget was spent" in cell.reason for cell in results.cells)
    assert results.environment["mutant:output-twice"].failure == ""


def test_a_cell_rests_on_a_stored_witness_that_failed_before_the_budget_was_spent(tmp_path, monkeypatch):
    options = Options(("mutant:output-twice",), tuple(SCENARIOS), tmp_path / "1", wanted=1, seed=1)
    stored = Run(options).execute().witnesses
    write_witnesses(tmp_path / "stored", stored.values())
    monkeypatch.setattr(Budget, "goes_on", lambda self, engine: False)
    monkeypatch.setattr(Budget, "packs_go_on", lambda self, engine: False)
    again = replace(options, out=tmp_path / "2", budget=600, witnesses=(tmp_path / "stored",))
    violated = {cell.witness for cell in Run(again).execute().cells if cell.verdict is Verdict.VIOLATED}
    assert violated == stored.keys()


@pytest.mark.parametrize("text", ["5", "m", "-1m", "0s", "1d"])
def test_a_budget_is_a_time(text):
    done = CliRunner().invoke(main, ["run", "--budget", text])
    assert done.exit_code == 2
    assert "is not a time" in done.output
