"""A budget of time: what is left out once it is spent."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.cli.main import main
from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.results.record import LEFT_OUT
from conformance.results.results import Results
from conformance.results.witness import write_witnesses
from conformance.run.events import BatchBegun, PackDone
from conformance.run.queue import Deadline
from conformance.run.run import Options, Run

SCENARIOS = load_scenarios(["per-key-counting"])


class Clock:
    """A budget that is spent once so many packs have run; of all packs for None."""

    def __init__(self, monkeypatch, packs):
        self.spent, self._left = False, packs
        monkeypatch.setattr(Deadline, "spent", property(lambda deadline: self.spent and deadline.limited))

    def told(self, event):
        if isinstance(event, BatchBegun):
            self._left = event.packs if self._left is None else self._left
        elif isinstance(event, PackDone):
            self._left -= 1
        self.spent = self._left == 0


def test_what_the_budget_left_out_is_said(tmp_path, monkeypatch):
    """The budget is spent after three packs; the run is a whole one otherwise."""
    options = Options(("reference",), tuple(SCENARIOS), tmp_path, wanted=1, seed=1, budget=600)
    results = Run(options, Clock(monkeypatch, 3).told).execute()
    packs = results.environment["reference"].packs
    assert packs.run == 3
    assert results.run.partial
    assert results.run.left_out == packs.drawn - 3
    assert f"a budget of 600 s left out {packs.drawn - 3} packs" in results.shortened
    verdicts = {cell.verdict for cell in results.cells}
    assert verdicts == {Verdict.HOLDS, Verdict.UNKNOWN}
    results.write(tmp_path / "results.json.gz")
    assert Results.read(tmp_path / "results.json.gz").run == results.run


def test_a_violation_that_could_not_run_alone_in_time_is_unknown(tmp_path, monkeypatch):
    options = Options(("mutant:output-twice",), tuple(SCENARIOS), tmp_path, wanted=1, seed=1, budget=600)
    results = Run(options, Clock(monkeypatch, None).told).execute()
    assert Verdict.VIOLATED not in {cell.verdict for cell in results.cells}
    assert any("could not be run: the budget was spent" in cell.reason for cell in results.cells)
    assert results.environment["mutant:output-twice"].failure == ""


def test_a_cell_rests_on_a_stored_witness_that_failed_before_the_budget_was_spent(tmp_path, monkeypatch):
    options = Options(("mutant:output-twice",), tuple(SCENARIOS), tmp_path / "1", wanted=1, seed=1)
    stored = Run(options).execute().witnesses
    write_witnesses(tmp_path / "stored", stored.values())
    again = replace(options, out=tmp_path / "2", budget=600, witnesses=(tmp_path / "stored",))
    clock = Clock(monkeypatch, -1)

    def told(event):
        clock.spent = clock.spent or isinstance(event, BatchBegun)

    violated = {cell.witness for cell in Run(again, told).execute().cells if cell.verdict is Verdict.VIOLATED}
    assert violated == stored.keys()


def test_an_engine_whose_turn_comes_too_late_is_left_out(tmp_path, monkeypatch):
    clock = Clock(monkeypatch, -1)
    clock.spent = True
    options = Options(("reference",), tuple(SCENARIOS), tmp_path, wanted=1, seed=1, budget=600)
    results = Run(options).execute()
    assert results.environment["reference"].failure == LEFT_OUT
    assert results.run.partial
    assert {cell.verdict for cell in results.cells} <= {Verdict.UNKNOWN, Verdict.ERROR}


@pytest.mark.parametrize("text", ["5", "m", "-1m", "0s", "1d"])
def test_a_budget_is_a_time(text):
    done = CliRunner().invoke(main, ["run", "--budget", text])
    assert done.exit_code == 2
    assert "is not a time" in done.output
