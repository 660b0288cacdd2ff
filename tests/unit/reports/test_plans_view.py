"""The plans view counts programs by plan and engine, and puts the two queries side by side where a plan changes
something."""

from __future__ import annotations

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.plugins.registry import load_scenarios
from conformance.reports.grid import Grid
from conformance.reports.page import html
from conformance.reports.page.plans import view
from conformance.results.record import EngineRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results

H, V, X = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN
SCENARIOS = load_scenarios(["per-key-counting", "late-data"])
QUERIES = ("plain: operator(rows)", "union-empty: operator(rows.union(nothing))")


def results(*told):
    """Cells of (engine, plan, verdict) for each program that has the guarantee about plans."""
    rows = [(s, g) for s in SCENARIOS for g in s.guarantees if g.about_plans]
    cells = [
        MatrixCell(s.id, g.program, g.id, perturbation, engine, v, "", cases=3 * (v is not X), notes=QUERIES * (v is V))
        for engine, perturbation, v in told
        for s, g in rows
    ]
    environment = {engine: EngineRecord(shown_as=engine) for engine in dict.fromkeys(engine for engine, *_ in told)}
    return Results(RunRecord(), environment, {s.id: ScenarioRecord.of(s) for s in SCENARIOS}, cells), len(rows)


def test_a_plan_has_a_cell_for_each_engine_that_was_asked():
    asked = ("spark-x", "plan:cast", H), ("spark-x", "plan:union-empty", V), ("beam-y", "plan:union-empty", X)
    run, programs = results(*asked, ("beam-y", "plan:diamond", H))
    found = view(Grid([run]))
    assert [column.name for column in found.columns] == ["spark-x", "beam-y"]
    spark, _ = found.columns
    assert [plan for plan, _ in found.rows] == ["union-empty", "cast", "diamond"]  # what changes something first
    rows = dict(found.rows)
    assert rows["union-empty"].keys() == {spark}  # what was not run says nothing
    assert (rows["union-empty"][spark].violated, rows["cast"][spark].held) == (programs, programs)


def test_a_plan_that_changes_something_shows_both_queries():
    run, programs = results(("spark-x", "plan:union-empty", V))
    [one] = view(Grid([run])).differing
    assert (one.plan, one.engine, one.plain, one.text) == (
        "union-empty",
        "spark-x",
        "operator(rows)",
        "operator(rows.union(nothing))",
    )
    assert len(one.programs) == programs
    page = html.render([run])
    assert 'id="plans"' in page
    assert "<pre>operator(rows.union(nothing))</pre>" in page


def test_without_a_plan_there_is_no_view():
    run, _ = results(("spark-x", "as drawn", H))
    assert view(Grid([run])) is None
    assert 'id="plans"' not in html.render([run])
