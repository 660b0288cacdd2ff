"""The command line as a user meets it."""

import contextlib
import gzip
import json
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import conformance, conformance_process

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_engine, load_scenarios, mutant_ids
from conformance.results import tables
from conformance.results.results import Results
from conformance.results.store import write_cases
from conformance.selftest.selftest import selftest

LATE = "mutant:late-at-the-watermark"

SOME = [part for name in ("index-assignment", "late-data", "per-key-counting") for part in ("--scenario", name)]

CASES = Path("out", "tables", "cases", "0000.parquet")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A finished run of the reference and a mutant: (its folder, what it printed)."""
    folder = tmp_path_factory.mktemp("run")
    done = conformance(
        "run", *SOME, "--engine", "reference", "--engine", LATE, "--cases", 1, "--seed", 5, "--out", "out", cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def test_a_run_leaves_all_its_files(ran):
    folder, printed = ran
    for name in ("results.json.gz", "matrix.html", "summary.md", "junit.xml", "tables/cases/0000.parquet"):
        assert (folder / "out" / name).stat().st_size > 0
    assert "seed 5" in printed
    assert "an element exactly at the watermark is processed" in printed
    assert "conformance replay " in printed
    assert printed.count("\n") <= 60


def test_a_violated_cell_has_a_witness_that_still_fails(ran):
    """And is fixed on the reference."""
    folder, _ = ran
    results = Results.read(folder / "out" / "results.json.gz")
    violated = [cell for cell in results.cells if cell.verdict is Verdict.VIOLATED]
    assert {cell.engine for cell in violated} == {LATE}
    assert all(cell.witness in results.witnesses for cell in violated)
    witness = folder / "out" / "witnesses" / "late-data" / f"{violated[0].witness}.json"
    again = conformance("replay", witness, cwd=folder)
    assert again.returncode == 1
    assert f"{LATE}: STILL FAILS" in again.stdout
    assert "step 0: watermark moves to +0" in again.stdout
    fixed = conformance("replay", witness, "--engine", "reference", cwd=folder)
    assert fixed.returncode == 0
    assert "reference: FIXED" in fixed.stdout
    assert f"reference: python {platform.python_version()}\n" in fixed.stdout


def test_the_smallest_failing_case_is_the_witness(ran):
    """One event is enough to be at the watermark."""
    folder, _ = ran
    results = Results.read(folder / "out" / "results.json.gz")
    witness = results.witnesses[
        next(c.witness for c in results.cells if c.verdict is Verdict.VIOLATED and c.perturbation == "as drawn")
    ]
    assert len(witness.case.schedule.arrivals) == 1


def test_one_seed_gives_one_result(ran, tmp_path):
    """Byte for byte, apart from the timing, in another process."""
    folder, _ = ran
    conformance_process(
        "run", *SOME, "--engine", "reference", "--engine", LATE, "--cases", 1, "--seed", 5, "--out", "out", cwd=tmp_path
    )
    first, second = (
        json.loads(gzip.decompress((f / "out" / "results.json.gz").read_bytes())) for f in (folder, tmp_path)
    )
    first.pop("timing")
    second.pop("timing")
    assert json.dumps(first) == json.dumps(second)
    assert (folder / CASES).read_bytes() == (tmp_path / CASES).read_bytes()


def test_cases_of_one_run_serve_another(ran, tmp_path):
    folder, _ = ran
    done = conformance("run", *SOME, "--engine", LATE, "--cases-from", folder / "out", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = (Results.read(f / "out" / "results.json.gz") for f in (folder, tmp_path))
    assert second.run.cases_digest == first.run.cases_digest
    asked, again = ({row: found[LATE] for row, found in results.folded().items()} for results in (first, second))
    assert {row: cell.verdict for row, cell in again.items()} == {row: cell.verdict for row, cell in asked.items()}
    # Of a file, the cases of one bundle run on every engine.
    assert sum(cell.cases for cell in again.values()) > sum(cell.cases for cell in asked.values())


def test_stored_witnesses_are_replayed_first_and_keep_their_confirmation(ran, tmp_path):
    """A later run takes them over, without reducing and confirming anew."""
    folder, _ = ran
    stored = folder / "out" / "witnesses"
    arguments = ["run", *SOME, "--engine", LATE, "--cases", 1, "--seed", 6, "--out", "out", "--witnesses", stored]
    done = conformance(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 new violations, " in done.stdout
    before, after = (Results.read(f / "out" / "results.json.gz") for f in (folder, tmp_path))
    assert after.witnesses == before.witnesses
    assert {cell.witness for cell in after.cells if cell.verdict is Verdict.VIOLATED} == set(before.witnesses)
    assert after.timing["engines"][LATE]["runs alone"] == 0
    assert after.run.stored_witnesses != before.run.stored_witnesses


def test_a_stored_witness_convicts_where_the_cases_do_not(ran, tmp_path):
    """Here the run has no case for its guarantee at all but one that stands."""
    folder, _ = ran
    (witness,) = (folder / "out" / "witnesses").glob("*/*.json")
    cases = tables.cases_of(tables.read(folder / CASES))
    write_cases(tmp_path / "one.parquet", [next(c for c in cases if c.program == "windowed" and not c.base)])
    arguments = [
        "run",
        "--engine",
        LATE,
        "--cases-from",
        "one.parquet",
        "--out",
        "out",
        "--witnesses",
        witness.parent.parent,
    ]
    done = conformance(*arguments, "--scenario", "late-data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = Results.read(tmp_path / "out" / "results.json.gz")
    (violated,) = [cell for cell in results.cells if cell.verdict is Verdict.VIOLATED]
    assert violated.witness == witness.stem
    assert violated.reason.endswith("exactly at the watermark, was dropped")


def test_a_witness_is_replayed_by_its_id(ran, tmp_path):
    """From the stored ones, or where it was copied to, as an earlier version had it too."""
    folder, _ = ran
    witness = next((folder / "out" / "witnesses").glob("*/*.json"))
    done = conformance("replay", witness.stem, "--witnesses", folder / "out" / "witnesses", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"{LATE}: STILL FAILS" in done.stdout
    assert "failed alone in 3 of 3 runs" in done.stdout
    (tmp_path / "witnesses").mkdir()
    (tmp_path / "witnesses" / witness.name).write_bytes(witness.read_bytes())
    for named in (witness.stem, f"witnesses/{witness.name}"):
        assert f"{LATE}: STILL FAILS" in conformance("replay", named, cwd=tmp_path).stdout


def test_an_edited_stored_witness_is_refused(ran, tmp_path):
    folder, _ = ran
    (witness,) = (folder / "out" / "witnesses").glob("*/*.json")
    edited = tmp_path / "witnesses" / "late-data" / witness.name
    edited.parent.mkdir(parents=True)
    edited.write_text(witness.read_text().replace("exactly", "nearly"))
    done = conformance("run", "--engine", LATE, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert f"witnesses/late-data/{witness.name} was edited" in done.stderr
    assert len(done.stderr.strip().splitlines()[-1:]) == 1


def test_reports_are_made_again_from_results(ran, tmp_path):
    folder, _ = ran
    results = folder / "out" / "results.json.gz"
    done = conformance("report", results, "--html", "m.html", "--junit", "j.xml", "--markdown", "s.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.html").read_text() == (folder / "out" / "matrix.html").read_text()
    assert (tmp_path / "s.md").read_text() == (folder / "out" / "summary.md").read_text()
    assert "1 new violation, 0 known" in conformance("report", results, cwd=tmp_path).stdout
    assert "Which guarantee holds where" in conformance("report", results, "-v", cwd=tmp_path).stdout
    done = conformance("report", results, "--csv", "c.csv", "--badge", "b.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c.csv").read_text() == (folder / "out" / "cells.csv").read_text()
    assert (tmp_path / "b.svg").read_text() == (folder / "out" / "badge.svg").read_text()


def test_runs_are_reported_side_by_side_with_a_kill_matrix(ran, tmp_path):
    folder, _ = ran
    results = folder / "out" / "results.json.gz"
    # Some mutants say what all would: the command has tests of its own.
    kills = selftest(load_scenarios(["per-key-counting"]), mutant_ids()[::60], wanted=1, seeds=1)
    kills.write(tmp_path / "kills.json")
    done = conformance("report", results, results, "--html", "m.html", "--kills", "kills.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "m.html").read_text()
    assert "(run 1) → (run 2)" in page
    assert "Which guarantee catches which mutant" in page
    alone = conformance("report", results, "--kills", "kills.json", cwd=tmp_path)
    assert (alone.returncode, "give --html too" in alone.stderr) == (2, True)


def test_a_replay_is_drawn(ran, tmp_path):
    """The engine beside the reference, and the first difference."""
    folder, _ = ran
    witness = next((folder / "out" / "witnesses").glob("*/*.json"))
    done = conformance("replay", witness, "--plot", "case.svg", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    picture = (tmp_path / "case.svg").read_text()
    assert picture.startswith("<svg")
    assert f"on {LATE}" in picture
    assert "on the reference" in picture


def test_a_cell_is_explained(ran):
    folder, _ = ran
    results = folder / "out" / "results.json.gz"
    row = "late-data/an-element-exactly-at-the-watermark-is-processed"
    short = conformance("explain", f"{LATE}/{row}", results, cwd=folder)
    assert len(short.stdout.splitlines()) <= 40, "a screen"
    assert "\nevidence: confirmed here (" in short.stdout
    assert re.search(r"\n  violated: as drawn, [\w-]+.*\nconformance replay \w+\n$", short.stdout, re.DOTALL)
    done = conformance("explain", f"{LATE}/{row}", results, "-v", cwd=folder)
    assert done.returncode == 0, done.stderr
    for said in (
        "claimed by Spark",
        ": violated",
        "the witness:",
        "exactly at the watermark, was dropped",
        "rename: identical",
    ):
        assert said in done.stdout
    unknown = conformance("explain", "no/such/cell", results, cwd=folder)
    assert unknown.returncode == 2
    assert "has no cell 'no/such/cell'" in unknown.stderr


def test_claims_are_told_of_a_run_that_asked_none(ran):
    """A run of the reference and a mutant decides nothing of what documents say of Spark and Beam."""
    folder, _ = ran
    told = conformance("claims", "out/results.json.gz", cwd=folder)
    assert told.returncode == 0
    assert "– not asked in this run: “State is scoped per key and per window”" in told.stdout
    numbers = told.stdout.splitlines()[-1]
    assert "not asked in this run" in numbers
    assert "confirmed" not in numbers


def test_a_run_takes_away_only_what_a_run_wrote(ran, tmp_path):
    """The cases that it shall take from its own folder stay, and so does what is a user's."""
    folder, _ = ran
    out = tmp_path / "out"
    (out / "logs" / "mine").mkdir(parents=True)
    (out / "logs" / "app.log").write_text("mine")
    shutil.copytree(folder / "out" / "tables", out / "tables")
    (out / "results.json.gz").write_text("stale")
    done = conformance("run", "--engine", "reference", "--cases-from", "out", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (out / "logs" / "app.log").read_text() == "mine"
    assert (tmp_path / CASES).read_bytes() == (folder / CASES).read_bytes()
    assert Results.read(out / "results.json.gz").cells


def test_bad_cases_leave_the_last_run_as_it_was(ran, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.json.gz").write_text("precious")
    cases = tables.cases_of(tables.read(ran[0] / CASES))
    write_cases(tmp_path / "twice.parquet", [cases[0], *cases])
    done = conformance("run", "--engine", "reference", "--cases-from", "twice.parquet", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "holds a case twice" in done.stderr
    assert (tmp_path / "out" / "results.json.gz").read_text() == "precious"


def test_an_interrupt_before_any_engine_ran_is_one_line(tmp_path):
    command = [
        sys.executable,
        "-m",
        "conformance.cli",
        "run",
        "--engine",
        "reference",
        "--seed",
        "1",
        "--cases",
        "3000",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout.readline() == "seed 1\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert (process.wait(timeout=30), rest) == (3, "interrupted before there was any result\n")


@pytest.mark.parametrize("what", ["engines", "scenarios", "guarantees", "claims"])
def test_lists(what, tmp_path):
    """For people and for programs."""
    shown = conformance("list", what, cwd=tmp_path)
    listed = json.loads(conformance("list", what, "--json", cwd=tmp_path).stdout)
    assert shown.returncode == 0
    assert listed
    assert all(entry["id"] in shown.stdout for entry in listed)


def test_a_missing_java_is_one_line_and_the_others_run(tmp_path):
    """Left out where nobody asked for Spark by name; exit code 3 where somebody did."""
    path = str(Path(sys.executable).parent)
    none = {"PATH": path, "JAVA_HOME": str(tmp_path)}
    said = conformance_process("doctor", cwd=tmp_path, env=none)
    (lacking,) = (line for line in said.stdout.splitlines() if line.startswith("cannot run: no Java found"))
    assert "spark-tws" in lacking
    assert "can run: reference" in said.stdout
    assert said.returncode == 3
    asked = (
        "run",
        "--engine",
        "spark-tws",
        "--engine",
        "reference",
        "--cases",
        "1",
        "--scenario",
        "late-data",
        "--out",
        "out",
    )
    done = conformance_process(*asked, cwd=tmp_path, env=none)
    assert done.returncode == 3
    assert "spark-tws: cannot run: no Java found" in done.stdout
    results = Results.read(tmp_path / "out" / "results.json.gz")
    assert results.engines == ["reference"]
    assert "no Java found" in results.environment["spark-tws"].failure
    assert "spark-tws" in (tmp_path / "out" / "matrix.html").read_text()


def test_an_interrupted_run_keeps_what_it_has(tmp_path):
    """Marked as partial, with exit code 3, and no process left behind."""
    pytest.importorskip("apache_beam")
    load_engine("beam-direct").check()
    command = [
        sys.executable,
        "-m",
        "conformance.cli",
        "run",
        *SOME,
        "--engine",
        "reference",
        "--engine",
        "beam-direct",
        "--seed",
        "1",
        "--cases",
        "20",
        "--verbose",
    ]
    process = subprocess.Popen(
        [*command, "--out", "out"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    printed = []
    for line in process.stdout:
        printed.append(line)
        if line.startswith("beam-direct: up"):
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            break
    printed += process.stdout
    assert process.wait(timeout=60) == 3, "".join(printed)
    results = Results.read(tmp_path / "out" / "results.json.gz")
    assert results.run.partial is True
    verdicts = {cell.engine: set() for cell in results.cells}
    for cell in results.cells:
        verdicts[cell.engine].add(cell.verdict)
    assert verdicts["reference"] <= {Verdict.HOLDS, Verdict.UNKNOWN}  # some perturbations never exercise a claim
    assert Verdict.UNKNOWN in verdicts["beam-direct"]
    assert "partial" in (tmp_path / "out" / "summary.md").read_text().lower()
    assert not _left_behind(process.pid)


def _left_behind(runner):
    """The processes below a runner that has ended: orphans, which keep its id in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"CONFORMANCE_RUNNER={runner}\0".encode() in path.read_bytes():
                found.append(path.parent.name)
    return found
