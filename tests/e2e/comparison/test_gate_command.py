"""The gate as a CI job meets it: a doctored engine is blocked, what was accepted is not."""

import json

import pytest
from commands import conformance

from conformance.support.reading import json_of

MUTANT = "mutant:late-at-the-watermark"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with the results of the reference, and of a mutant that goes by the reference's name, on the same
    cases."""
    folder = tmp_path_factory.mktemp("runs")
    asked = ["--scenario", "late-data", "--witnesses", "none"]
    asked += ["--cases", 1, "--seed", 5]
    first = conformance("run", "--engine", "reference", "--out", "old", *asked, cwd=folder)
    second = conformance("run", "--engine", MUTANT, "--out", "mutant", *asked, cwd=folder)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    data = json_of(folder / "mutant" / "results.json.gz", ValueError)
    witnesses = data.pop("witnesses")  # these are sealed
    doctored = json.loads(json.dumps(data).replace(f'"{MUTANT}"', '"reference"'))
    (folder / "new.json").write_text(json.dumps(doctored | {"witnesses": witnesses}))
    return folder


def test_a_doctored_engine_is_blocked(runs):
    done = conformance(
        "gate", "new.json", "--baseline", "old/results.json.gz", "--markdown", "g.md", "--junit", "g.xml", cwd=runs
    )
    assert done.returncode == 1
    assert done.stdout.startswith("Blocked:\n")
    assert "an-element-exactly-at-the-watermark-is-processed" in done.stdout
    assert "held, is violated" in done.stdout
    assert "conformance replay " in done.stdout
    assert (runs / "g.md").read_text().startswith("# Gate: blocked")
    assert "<failure" in (runs / "g.xml").read_text()


def test_the_same_run_passes(runs):
    done = conformance("gate", "old/results.json.gz", "--baseline", "old/results.json.gz", cwd=runs)
    assert (done.returncode, done.stdout.splitlines()[0][:33]) == (0, "guarantees on engines: 0 blocked,")


def test_a_baseline_stands_for_its_results(runs):
    assert conformance("baseline", "write", "old/results.json.gz", "b.jsonl", cwd=runs).returncode == 0
    shown = conformance("baseline", "show", "b.jsonl", cwd=runs)
    assert "reference (python" in shown.stdout
    assert conformance("gate", "old/results.json.gz", "--baseline", "b.jsonl", cwd=runs).returncode == 0
    assert conformance("gate", "new.json", "--baseline", "b.jsonl", cwd=runs).returncode == 1
    updated = conformance("baseline", "update", "b.jsonl", "new.json", cwd=runs)
    assert "no longer holds" in updated.stdout
    assert conformance("gate", "new.json", "--baseline", "b.jsonl", cwd=runs).returncode == 0


def test_a_run_that_was_cut_short_updates_no_baseline(runs):
    assert conformance("baseline", "write", "old/results.json.gz", "kept.jsonl", cwd=runs).returncode == 0
    kept = (runs / "kept.jsonl").read_text()
    data = json.loads((runs / "new.json").read_text())
    data["run"]["partial"] = True
    (runs / "short.json").write_text(json.dumps(data))
    refused = conformance("baseline", "update", "kept.jsonl", "short.json", cwd=runs)
    assert (refused.returncode, "was cut short" in refused.stderr) == (2, True)
    assert (runs / "kept.jsonl").read_text() == kept
    told = conformance("diff", "old/results.json.gz", "short.json", "--markdown", "short.md", cwd=runs)
    assert told.stdout.startswith("the new one is of a run that was cut short")
    assert "the new one is of a run that was cut short" in (runs / "short.md").read_text()
    found = json.loads(conformance("diff", "old/results.json.gz", "short.json", "--json", cwd=runs).stdout)
    assert found["flaws"] == {"old": [], "new": ["was cut short"]}


def test_an_engine_that_failed_is_blocked(runs):
    """Even where all of its cells are there."""
    data = json_of(runs / "old" / "results.json.gz", ValueError)
    data["environment"]["reference"]["failure"] = "it ended"
    (runs / "failed.json").write_text(json.dumps(data))
    done = conformance("gate", "failed.json", "--baseline", "old/results.json.gz", cwd=runs)
    assert done.returncode == 1
    assert "reference: failed in the candidate: it ended" in done.stdout
    other = conformance("gate", "old/results.json.gz", "--baseline", "failed.json", cwd=runs)
    assert (other.returncode, "failed in the baseline" in other.stdout) == (1, True)


def test_an_accepted_divergence_is_not_blocked_and_gets_stale(runs):
    proposed = conformance("gate", "new.json", "--baseline", "old/results.json.gz", "--propose", cwd=runs).stdout
    entries = proposed[proposed.index("[[divergence]]") :].replace('reason = ""', 'reason = "known"')
    (runs / "expectations.toml").write_text(entries)
    assert conformance("gate", "new.json", "--baseline", "old/results.json.gz", cwd=runs).returncode == 0
    stale = conformance("gate", "old/results.json.gz", "--baseline", "old/results.json.gz", cwd=runs)
    assert (stale.returncode, "stale: holds" in stale.stdout) == (0, True)
    (runs / "expectations.toml").unlink()


def test_runs_of_other_cases_are_refused(runs):
    conformance(
        "run", "--engine", "reference", "--cases", 1, "--seed", 6, "--out", "other", "--scenario", "late-data", cwd=runs
    )
    done = conformance("gate", "other/results.json.gz", "--baseline", "old/results.json.gz", cwd=runs)
    assert done.returncode == 2
    assert "did not run the same file of cases" in done.stderr


def test_a_diff_is_told_and_written(runs):
    done = conformance("diff", "old/results.json.gz", "new.json", "--markdown", "d.md", "--html", "d.html", cwd=runs)
    assert done.returncode == 0
    assert "no longer holds" in done.stdout
    assert "no longer holds" in (runs / "d.md").read_text()
    assert "What changed" in (runs / "d.html").read_text()
    data = json.loads(conformance("diff", "old/results.json.gz", "new.json", "--json", cwd=runs).stdout)
    assert {change["kind"] for change in data["changes"]} >= {"regression"}
    conformance("baseline", "write", "old/results.json.gz", "c.jsonl", cwd=runs)
    refused = conformance("diff", "c.jsonl", "new.json", "--html", "x.html", cwd=runs)
    assert (refused.returncode, "needs results of both" in refused.stderr) == (2, True)
