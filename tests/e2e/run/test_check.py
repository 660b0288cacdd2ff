"""Stored traces judged again, without an engine."""

import pytest
from commands import conformance
from test_commands import LATE

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.results import tables
from conformance.results.results import RESULTS, Results
from conformance.results.store import write_cases
from conformance.run.recheck import check_again
from conformance.run.run import Options, Run
from conformance.run.turn import Turn


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run of two batches of cases."""
    folder = tmp_path_factory.mktemp("run")
    engines = ("--engine", "reference", "--engine", LATE)
    scenarios = ("--scenario", "per-key-counting", "--scenario", "late-data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conformance.run.drawing.BATCH", 1)
        asked = ("--cases", 2, "--seed", 1, "--out", "out", "--verbose")
        done = conformance("run", *engines, *scenarios, *asked, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "batch 2 of 2" in done.stdout
    return folder


def test_batches_have_cases_of_their_own_and_say_together_what_one_batch_says(ran, tmp_path):
    batches = [tables.cases_of(tables.read(path)) for path in sorted((ran / "out" / "tables" / "cases").iterdir())]
    digests = [{case.digest for case in cases} for cases in batches]
    assert len(digests) == 2
    assert not digests[0] & digests[1]
    write_cases(tmp_path / "all.parquet", [case for cases in batches for case in cases])
    done = conformance("run", "--engine", LATE, "--cases-from", "all.parquet", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    apart, together = (Results.read(folder / "out" / "results.json.gz") for folder in (ran, tmp_path))
    assert apart.run.cases == together.run.cases == sum(map(len, digests))

    def said(results):
        """Each batch has a design of its own, so cells have other twins."""
        return {row: found[LATE].verdict for row, found in results.folded().items() if row[0] in apart.scenarios}

    assert said(apart) == said(together)


def test_the_same_guarantees_say_the_same_of_stored_traces(ran, tmp_path):
    done = conformance("check", ran / "out", "--out", "again", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    first, again = Results.read(ran / "out" / "results.json.gz"), Results.read(tmp_path / "again" / "results.json.gz")
    assert any(cell.verdict is Verdict.VIOLATED for cell in first.cells)
    assert (again.cells, again.stability, again.agreements) == (first.cells, first.stability, first.agreements)
    assert again.witnesses == first.witnesses
    assert (tmp_path / "again" / "matrix.html").exists()


def test_some_of_the_scenarios_of_a_run_are_judged_by_themselves(ran, tmp_path):
    done = conformance("check", ran / "out", "--scenario", "late-data", "--out", "again", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    first, again = Results.read(ran / "out" / "results.json.gz"), Results.read(tmp_path / "again" / "results.json.gz")
    for name in ("cells", "agreements"):
        assert getattr(again, name) == [found for found in getattr(first, name) if found.scenario == "late-data"]


@pytest.mark.parametrize("bug", ["state-lost-on-restart", "state-lost-on-restart-after-a-failure"])
def test_stored_traces_tell_what_a_bug_needs_as_the_run_did(tmp_path, bug):
    """A restart alone, or a failure beside it. What else changed in a row is not accused, then and now."""
    scenarios = tuple(load_scenarios(["per-key-counting"]))
    first = Run(Options((f"mutant:{bug}",), scenarios, tmp_path / "run", wanted=1, seed=1)).execute()
    first.write(tmp_path / "run" / RESULTS)
    accused = {cell.perturbation for cell in first.cells if cell.verdict is Verdict.VIOLATED}
    assert accused
    assert all("restart" in perturbation for perturbation in accused)
    assert check_again(tmp_path / "run", tmp_path / "again", (), (), "local").cells == first.cells


def test_a_violation_without_a_run_alone_is_unknown_and_its_witness_replays(ran, tmp_path):
    """Here the confirmed ones are gone."""
    results = ran / "out" / "results.json.gz"
    kept = results.read_bytes()
    stripped = Results.read(results)
    stripped.cells = []
    stripped.write(results)
    try:
        done = conformance("check", ran / "out", "--engine", LATE, "--out", "again", cwd=tmp_path)
    finally:
        results.write_bytes(kept)
    assert done.returncode == 0, done.stdout + done.stderr
    again = Results.read(tmp_path / "again" / "results.json.gz")
    assert not [cell for cell in again.cells if cell.verdict is Verdict.VIOLATED]
    against = [cell for cell in again.cells if cell.violations]
    assert {cell.verdict for cell in against} == {Verdict.UNKNOWN}
    assert all(cell.reason.startswith("stored traces speak against it, not run alone yet") for cell in against)
    witness = tmp_path / "again" / "witnesses" / against[0].scenario / f"{against[0].witness}.json"
    assert f"{LATE}: STILL FAILS" in conformance("replay", witness, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((".",), "has no stored traces; name the folder of a run"),
        (("out", "--engine", "spark-tws"), "has no traces of 'spark-tws'; there are: reference, mutant:late"),
        (("out", "--scenario", "nothing"), "unknown scenario 'nothing'; there are: "),
    ],
)
def test_what_cannot_be_checked_is_one_line(ran, arguments, says):
    done = conformance("check", *arguments, "--out", "again", cwd=ran)
    assert done.returncode == 2
    assert [says in line for line in done.stderr.splitlines() if line.startswith("Error: ")] == [True]
    assert not (ran / "again").exists()


def test_a_defect_of_the_harness_costs_one_column(tmp_path, monkeypatch):
    """Its cells are errors that say so; the other engine's are as ever."""
    true = Turn._check_batch

    def broken(self, *given):
        if self.info.id == LATE:
            raise KeyError("a defect")
        return true(self, *given)

    monkeypatch.setattr(Turn, "_check_batch", broken)
    scenarios = tuple(load_scenarios(["late-data"]))
    results = Run(Options((LATE, "reference"), scenarios, tmp_path, wanted=1)).execute()
    verdicts = {name: {cell.verdict for cell in results.cells if cell.engine == name} for name in results.engines}
    assert verdicts[LATE] == {Verdict.ERROR}
    assert Verdict.HOLDS in verdicts["reference"]
    assert "the harness failed: KeyError: 'a defect'" in results.environment[LATE].failure
    assert "a defect" in (tmp_path / "logs" / "mutant_late-at-the-watermark-harness.log").read_text()
