"""What a run would ask an engine, told without the engine."""

import json
import re

from commands import conformance

from conformance.model.case import Case
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.results.results import Results
from conformance.results.store import write_cases

ASKED = ("--scenario", "per-key-counting", "--cases", 1)


def test_a_plan_tells_the_rows_that_a_run_then_makes(tmp_path):
    told = json.loads(conformance("plan", "reference", *ASKED, "--json", cwd=tmp_path).stdout)
    assert (told["engine"], told["seed"], told["in part"]) == ("reference", 1, {})
    assert told["guarantees"] > 10
    first, *_ = told["rows"]
    assert first["changes"] == []
    changed = {change for row in told["rows"] for change in row["changes"]}
    assert {"singles", "restart", "restart.1", "restart.2", "retry", "resume", "alone"} <= changed
    assert max(len(row["changes"]) for row in told["rows"]) > 2
    done = conformance("run", "--engine", "reference", *ASKED, "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = Results.read(tmp_path / "out" / "results.json.gz")
    assert ran.environment["reference"].packs.run == told["packs"] == len(told["rows"])
    assert not [row for rows in ran.folded().values() for row in rows.values() if row.in_part]


def test_a_plan_is_told_in_lines(tmp_path):
    done = conformance("plan", "reference", *ASKED, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *rows, last = done.stdout.splitlines()
    assert re.fullmatch(r"row 1: \d+ steps, \d+ cases; changes nothing: what the other rows .*", rows[0])
    assert [row for row in rows if row.startswith(f"row {len(rows)}: ")] == rows[-1:]
    assert re.search(r"changes .*restart.*, plan:another", done.stdout)
    assert re.fullmatch(
        rf"reference: {len(rows)} rows, \d+ cases in \d+ engine runs; \d+ guarantees, of which 0 would hold in part",
        last,
    )
    assert conformance("plan", "reference", *ASKED, cwd=tmp_path).stdout == done.stdout
    assert conformance("plan", "reference", *ASKED, "--seed", 2, cwd=tmp_path).stdout != done.stdout


def test_what_no_case_would_put_to_the_test_is_named(tmp_path):
    """One element can be neither reordered nor parted from another one."""
    steps = Advance(0, 1_000), Deliver(1, (Event("e1", "a", None, 2_000),)), Advance(2, 300_000)
    write_cases(tmp_path / "one.parquet", [Case("per-key-counting", "count", Schedule(steps))])
    asked = ("plan", "reference", "--scenario", "per-key-counting", "--cases-from", "one.parquet")
    told = json.loads(conformance(*asked, "--json", cwd=tmp_path).stdout)
    lacking = [name for names in told["in part"].values() for name in names]
    assert "reorder-key" in lacking
    assert "rename" not in lacking
    lines = conformance(*asked, cwd=tmp_path).stdout.splitlines()
    assert [line for line in lines if line.startswith("in part: ")] == [
        f"in part: {guarantee}: no case under {', '.join(names)}" for guarantee, names in told["in part"].items()
    ]
    assert f"of which {len(told['in part'])} would hold in part" in "".join(lines)


def test_an_engine_that_nobody_knows_is_one_line(tmp_path):
    done = conformance("plan", "refrence", *ASKED, cwd=tmp_path)
    assert (done.returncode, "unknown engine 'refrence'; did you mean reference?" in done.stderr) == (2, True)
