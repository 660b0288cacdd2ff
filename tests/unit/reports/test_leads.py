"""Where a cell of the page leads: advice, findings with their upstream tickets, and source."""

import ast
from dataclasses import replace
from inspect import getsourcefile, isfunction
from pathlib import Path

import pytest
from hostile import hostile_results
from packed import unpacked

from conformance.comparison.history import Course, Point
from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.reports.findings import known_findings
from conformance.reports.grid import Grid
from conformance.reports.page import html
from conformance.reports.page.excerpts import source_of
from conformance.reports.page.exports import exports
from conformance.reports.page.leads import Leads, known_courses
from conformance.reports.page.pages import Parts
from conformance.results.record import GuaranteeRecord, ScenarioRecord
from conformance.results.witness import read_witnesses

WITNESSES = Path(__file__).parents[3] / "witnesses"

SCENARIO_FILES = {s.id: getsourcefile(type(next(iter(s.programs.values())))) for s in load_scenarios()}

GUARANTEES = {s.id: [g.id for g in s.guarantees] for s in load_scenarios()}

ROW = ("event-time-timers", "a-timer-cleared-from-a-timer-does-not-fire")


@pytest.fixture
def results():
    """One violated cell of spark-tws and one of beam-direct that holds, of a guarantee that there is."""
    found = hostile_results()
    cells = [replace(c, scenario=ROW[0], guarantee=ROW[1], program="chain") for c in found.cells[:2]]
    texts = ScenarioRecord("event-time timers", "", {ROW[1]: GuaranteeRecord("chain", "a claim", "", "", "")})
    return replace(found, cells=cells, scenarios={ROW[0]: texts}, agreements=[])


def test_a_violated_cell_leads_to_its_advice_and_its_findings(results):
    leads = Leads(Grid([results]))
    (advice,) = leads.advice
    assert advice[0] == "a callback's clear comes too late"
    assert leads.advice_on(ROW, "spark-tws") == 0
    assert leads.findings_of(ROW, "spark-tws") == (5,)
    assert leads.advice_on(ROW, "beam-direct") is None
    assert leads.findings_of(ROW, "beam-direct") == ()
    assert [finding.number for finding in leads.findings] == [5]


def test_a_guarantee_is_found_by_what_findings_and_advice_say_of_it(results):
    """By the title and the tickets, whether it is violated or not."""
    row = (
        "next-versions",
        "where-a-count-becomes-a-deduplication-the-next-version-refuses-the-state-of-the-other-operator",
    )
    cell = replace(
        results.cells[0], scenario=row[0], guarantee=row[1], engine="spark-native:count", verdict=Verdict.HOLDS
    )
    environment = results.environment | {cell.engine: results.environment["spark-tws"]}
    texts = ScenarioRecord("next versions", "", {row[1]: results.scenarios[ROW[0]].guarantees[ROW[1]]})
    cells, scenarios = [*results.cells, cell], results.scenarios | {row[0]: texts}
    leads = Leads(Grid([replace(results, cells=cells, scenarios=scenarios, environment=environment)]))
    told = {place: [leads.indexed[number] for number in leads.index_of(place)] for place in (ROW, row)}
    assert any(known_findings()[5].title in text for text in told[ROW])
    assert told[row] == ["a next version takes the state of another operator for its own SPARK-46906"]


def test_a_violated_cell_says_who_else_breaks_it_and_since_which_release(results, monkeypatch):
    releases = [Point("4.1", Verdict.HOLDS), Point("4.2", Verdict.VIOLATED), Point("4.3", Verdict.VIOLATED)]
    course = Course("spark-tws", "spark", *ROW, tuple(releases))
    monkeypatch.setattr("conformance.reports.page.leads.known_courses", lambda rows: {("spark-tws", *ROW): course})
    page = unpacked(html.render([results]))
    assert "No other engine of this run breaks it; it holds on 1 engine" in page
    assert "Over releases: broken since 4.2 (holds in 4.1); measured from 4.1 to 4.3." in page


def test_the_releases_that_were_measured_are_known():
    rows = {
        (engine, "per-key-counting", "running-counts-rise-by-one-per-element")
        for engine in ("spark-tws", "beam-direct")
    }
    found = known_courses(rows)
    assert found.keys() == rows
    assert all(len(course.points) > 1 for course in found.values())


def test_each_text_is_on_the_page_once(results):
    page = unpacked(html.render([results, results]))
    assert page.count('id="finding-5"') == 1
    assert page.count(f"id=source-{ROW[0]} ") == 1
    assert page.count("class Chain(Program)") == 1
    assert 'data-a=0 data-f="5"' in page
    assert "There is no test without this project" in page, "the witness is of no program that there is"


def test_each_witness_has_its_file_or_how_to_get_it_or_why_there_is_none_in_a_short_sentence():
    """What looks like another engine's witness has the command alone."""
    stored = {witness.id: witness for witness in read_witnesses(WITNESSES)}
    first, again, other = (stored[name] for name in ("fb1f18fee89f", "fee2ba88e7f6", "fcb7ee79950d"))
    found = exports([first, other], Parts(), again=[again])
    assert found[first.id].part == 0
    assert found[again.id].command == f"conformance replay {again.id} --export pytest"
    assert found[other.id].part is not None or 0 < len(found[other.id].why) < 80


@pytest.mark.parametrize("scenario", load_scenarios(), ids=lambda scenario: scenario.id)
def test_the_source_of_a_scenario_has_its_programs_and_predicates(scenario):
    text = source_of(scenario)
    defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert {type(program).__name__ for program in scenario.programs.values()} <= defined
    made = {g.predicate.__qualname__.partition(".")[0] for g in scenario.guarantees if isfunction(g.predicate)}
    own = {name for name in made if f"def {name}(" in Path(SCENARIO_FILES[scenario.id]).read_text(encoding="utf-8")}
    assert own <= defined


def test_the_sources_of_all_scenarios_fit_into_a_page():
    assert sum(len(source_of(scenario)) for scenario in load_scenarios()) < 300_000
