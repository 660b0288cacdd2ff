"""Results of earlier schemas are read, in today's words and form."""

import json
from pathlib import Path

import pytest

from conformance.judgement.cell import Verdict
from conformance.model.equivalence import Equivalence
from conformance.results.baseline import Baseline
from conformance.results.earlier import FIRST, SECOND, THIRD, upgraded
from conformance.results.results import SCHEMA, Results, UnreadableResults
from reports import html, markdown

FOLDER = Path(__file__).parents[1] / "stored"
STORED, STORED_2, STORED_3 = (FOLDER / f"results-{number}.json" for number in (1, 2, 3))
LATE = "mutant:late-at-the-watermark"
ROW = ("late-data", "an-element-exactly-at-the-watermark-is-processed")


@pytest.fixture
def data():
    found = json.loads(STORED.read_text(encoding="utf-8"))
    assert found["schema"] == FIRST
    return found


def test_results_of_the_first_schema_are_read_in_todays_words():
    results = Results.read(STORED)
    assert (results.run.harness, results.run.timelines, results.run.engines) == ("0.1.0", 2, ("reference", LATE))
    assert results.environment[LATE].shown_as == LATE
    assert results.environment[LATE].native_operator == ""
    held, *_ = results.of(ROW, "reference")
    assert held.timelines
    assert f"{held.cases} cases on {held.timelines} timelines, none against" in held.reason
    violated = results.folded()[ROW][LATE]
    assert violated.verdict is Verdict.VIOLATED
    assert results.witnesses[violated.witness].engine == LATE


def test_the_pairs_and_cases_behind_stability_and_agreement_are_read(data):
    results = Results.read(STORED)
    stored = [entry["observed"] for entry in data["survivals"]]
    assert [[how.value for how in found.observed] for found in results.stability] == stored
    (refuted,) = [s for s in results.stability if any(grade.refuted for grade in s.grades)]
    base, twin = next(grade.smallest for grade in refuted.grades if grade.smallest)
    assert twin.base == base.id
    assert {base.id, twin.id} <= set(refuted.traces)
    differing, alike = results.agreements
    assert differing.differing
    assert differing.smallest.left != differing.smallest.right
    assert (alike.agreed, alike.smallest) == ([Equivalence.IDENTICAL], None)


def test_what_was_read_is_written_in_todays_form_and_stays_the_same(tmp_path):
    results = Results.read(STORED)
    results.write(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == SCHEMA
    assert Results.read(tmp_path / "r.json") == results


def test_a_results_file_of_the_first_schema_is_a_baseline_and_has_reports():
    baseline = Baseline.read(STORED)
    assert baseline.cells[(LATE, *ROW, "as drawn")].verdict is Verdict.VIOLATED
    results = Results.read(STORED)
    assert "an element exactly at the watermark is processed" in html.render([results])
    assert "on 2 timelines, seed 1, harness 0.1.0" in markdown.render([results])


def test_results_of_the_second_schema_are_read_as_they_were_and_written_in_less_space(tmp_path):
    data = json.loads(STORED_2.read_text(encoding="utf-8"))
    assert data["schema"] == SECOND
    results = Results.read(STORED_2)
    assert [cell.to_json() for cell in results.cells] == data["cells"]
    assert [found.to_json() for found in results.stability] == data["stability"]
    assert [found.to_json() for found in results.agreements] == data["agreements"]
    assert {name: found.to_json() for name, found in results.witnesses.items()} == data["witnesses"]
    results.write(tmp_path / "r.json")
    assert Results.read(tmp_path / "r.json") == results
    assert 2 * (tmp_path / "r.json").stat().st_size < STORED_2.stat().st_size
    assert Baseline.read(tmp_path / "r.json") == Baseline.read(STORED_2)


def test_results_of_the_third_schema_say_what_the_second_said(tmp_path):
    """The stored file is the second one, as the harness wrote it in the third schema."""
    assert json.loads(STORED_3.read_text(encoding="utf-8"))["schema"] == THIRD
    results = Results.read(STORED_3)
    assert results == Results.read(STORED_2)
    assert Baseline.read(STORED_3) == Baseline.read(STORED_2)
    results.write(tmp_path / "r.json")
    assert Results.read(tmp_path / "r.json") == results
    assert (tmp_path / "r.json").stat().st_size < STORED_3.stat().st_size


@pytest.mark.parametrize("part", ["rows", "shared", "scenarios"])
@pytest.mark.parametrize("put", [None, [1], {"a": 1}, "text"])
def test_half_a_file_of_the_third_schema_is_refused(part, put):
    data = json.loads(STORED_3.read_text(encoding="utf-8"))
    data[part] = put
    with pytest.raises(UnreadableResults):
        Results.from_json(data, "r.json")


def test_what_is_of_todays_form_or_of_none_is_left_as_it_is(data):
    today = Results.from_json(data).to_json()
    assert upgraded(today) is today
    for other in ({"schema": "other/1"}, {"schema": []}, [], None):
        assert upgraded(other) is other


@pytest.mark.parametrize("part", ["run", "environment", "cells"])
@pytest.mark.parametrize("put", [None, [1], {"a": 1}, "text"])
def test_half_a_file_of_the_first_schema_is_refused(data, part, put):
    data[part] = put
    with pytest.raises(UnreadableResults):
        Results.from_json(data, "r.json")
