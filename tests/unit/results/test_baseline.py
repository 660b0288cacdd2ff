"""A baseline keeps what later runs are compared with, and stays the same under git."""

import json
from dataclasses import dataclass, replace

import pytest
from hostile import EVIL, ODD, hostile_results

from conformance.judgement.cell import Verdict
from conformance.judgement.stability import Stability, StabilityGrade
from conformance.model.equivalence import Equivalence
from conformance.results.baseline import Baseline, Scope, Standing, UnfitBaseline, UnreadableBaseline
from conformance.results.record import RunRecord
from conformance.results.signature import signature


def results():
    found = hostile_results()
    found.run = replace(found.run, partial=False)
    grades = (StabilityGrade(Equivalence.SAME_MULTISET, 3, 0, 0),)
    found.stability = [Stability("s", "p", "split", ODD, None, 3, grades)]
    return found


def test_a_baseline_survives_its_file(tmp_path):
    whole = Baseline.of(results())
    whole.write(tmp_path / "b.jsonl")
    assert Baseline.read(tmp_path / "b.jsonl") == whole
    first = (tmp_path / "b.jsonl").read_text()
    Baseline.read(tmp_path / "b.jsonl").write(tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_text() == first


def test_a_results_file_is_a_baseline_too(tmp_path):
    results().write(tmp_path / "r.json")
    assert Baseline.read(tmp_path / "r.json") == Baseline.of(results())


def test_a_run_that_was_cut_short_is_no_baseline(tmp_path):
    short = results()
    short.run = replace(short.run, partial=True)
    short.write(tmp_path / "r.json")
    with pytest.raises(UnreadableBaseline, match=r"r\.json is of a run that was cut short"):
        Baseline.read(tmp_path / "r.json")


@dataclass(frozen=True)
class Recorded(RunRecord):
    """A run's record that says how much was asked."""

    brief: bool = False


def test_a_baseline_says_how_much_its_run_asked(tmp_path):
    found = results()
    found.run = Recorded(brief=True, stored_witnesses="w")
    whole = Baseline.of(found)
    assert whole.scope == Scope(brief=True)
    whole.write(tmp_path / "b")
    read = Baseline.read(tmp_path / "b")
    assert (read.scope, read.stored_witnesses, read.packs["slow"]) == (whole.scope, "w", 1)
    assert read.failures["slow"] == EVIL


def fit():
    return replace(Baseline.of(results()), failures={})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"scope": Scope(brief=True)}, "this run was brief"),
        ({"scope": Scope(partial=True)}, "this run was cut short"),
        ({"failures": {"slow": "no Java"}}, "slow failed, .*: no Java"),
    ],
)
def test_a_run_that_is_not_whole_does_not_become_a_baseline(more, says):
    fit().check_fit()
    with pytest.raises(UnfitBaseline, match=says):
        replace(fit(), **more).check_fit()


def test_a_run_of_some_scenarios_does_not_take_the_place_of_one_of_all():
    before = fit()
    before.cells["slow", "another", "g", "as drawn"] = Standing(Verdict.HOLDS, 9)
    before.cells["gone", "another", "g", "as drawn"] = Standing(Verdict.HOLDS, 9)
    with pytest.raises(UnfitBaseline, match="slow was not asked about another"):
        fit().check_fit(before)
    fit().without(["slow"]).check_fit(before)


def test_a_baseline_says_when_it_was_measured(tmp_path):
    """A day that is none is one line."""
    replace(fit(), measured="2026-11-25").write(tmp_path / "b")
    assert Baseline.read(tmp_path / "b").measured == "2026-11-25"
    replace(fit(), measured="last March").write(tmp_path / "b")
    with pytest.raises(UnreadableBaseline, match=r"b is neither a whole baseline nor results: .*last March"):
        Baseline.read(tmp_path / "b")


def test_the_order_of_cells_does_not_matter_to_the_file(tmp_path):
    turned = results()
    turned.cells.reverse()
    Baseline.of(results()).write(tmp_path / "one")
    Baseline.of(turned).write(tmp_path / "two")
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()
    lines = (tmp_path / "one").read_text().splitlines()
    assert len(lines) == 1 + 5 + 2 + 1  # the head, a guarantee on five engines, two answers of a subject, a program
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_a_violated_cell_keeps_its_witness_and_how_it_failed():
    found = Baseline.of(results()).cells["spark-tws", "s", "g", "as drawn"]
    assert found.verdict is Verdict.VIOLATED
    assert found.witness
    assert found.signature == signature(EVIL)


def test_an_engine_of_one_version_is_known_by_its_name_alone():
    one = results()
    one.environment["odd@4.3.0"] = one.environment.pop(ODD)
    for cell in one.cells:
        if cell.engine == ODD:
            object.__setattr__(cell, "engine", "odd@4.3.0")
    one.stability = []
    assert "odd" in Baseline.of(one).engines


def test_engines_of_newer_results_take_the_place_of_the_old():
    old = Baseline(
        "1",
        "d",
        {"a": {}, "b": {}},
        {("a", "s", "g", "x"): Standing(Verdict.HOLDS), ("b", "s", "g", "x"): Standing(Verdict.HOLDS)},
    )
    new = Baseline("1", "d", {"b": {}}, {("b", "s", "h", "x"): Standing(Verdict.UNKNOWN)})
    assert {place[:3] for place in old.updated(new).cells} == {("a", "s", "g"), ("b", "s", "h")}


@pytest.mark.parametrize(
    ("message", "same_as"),
    [
        (
            "the timer for 1011001 that a timer of e1 cleared fired all the same",
            "the timer for 7 that a timer of e29 cleared fired all the same",
        ),
        (
            "in step 2 the windows of key a came out as [1030000, 1010000]",
            "in step 3 the windows of key bb came out as [3, 2, 1]",
        ),
        (
            'key a gave {"count":2} before, {"count":1}, {"count":1} after',
            'key b gave {"count":3} before, {"count":9} after',
        ),
    ],
)
def test_cases_that_fail_alike_have_one_signature(message, same_as):
    assert signature(message) == signature(same_as)
    assert signature(message) != signature("the timer of key a was moved")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("e4 is in 0 sessions", "e4 is in 7 sessions"),
        ("the timer of key a for 1020000 fired 0 times", "the timer of key a for 1020000 fired 2 times"),
        ("the loop of key a ticked 2 times, not 3 times", "the loop of key a ticked 3 times, not 2 times"),
        ("key a had 1 elements and 0 emissions", "key a had 1 elements and 2 emissions"),
    ],
)
def test_another_count_that_changes_the_meaning_is_another_signature(one, other):
    assert signature(one) != signature(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("e4 is in 7 sessions", "e9 is in 8 sessions"),
        ("e1 is due in step 2 and came out in step 3", "e1 is due in step 0 and came out in step 1"),
        ("e1 and e3, 10000 ms apart, share a session", "e2 and e4, 0 ms apart, share a session"),
        (
            "e1 arrived before e3 of key a, their indices are 1 and 0",
            "e1 arrived before e3 of key b, their indices are 3 and 2",
        ),
    ],
)
def test_times_places_and_ids_are_no_part_of_a_signature(one, other):
    assert signature(one) == signature(other)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", '{"schema": "other"}', '{"schema": "conformance/baseline/1"}']
)
def test_what_is_no_baseline_is_refused(tmp_path, text):
    (tmp_path / "b").write_text(text)
    with pytest.raises(UnreadableBaseline):
        Baseline.read(tmp_path / "b")


def test_results_of_another_version_are_refused_as_such(tmp_path):
    (tmp_path / "r").write_text('{\n"schema": "conformance/results/4"}')
    with pytest.raises(UnreadableBaseline, match="its schema is 'conformance/results/4', not 'conformance/results/5'"):
        Baseline.read(tmp_path / "r")


def test_half_a_baseline_is_refused(tmp_path):
    Baseline.of(results()).write(tmp_path / "b")
    whole = (tmp_path / "b").read_text()
    for half in (whole[:-20], whole + '{"engine": 1}\n', whole.replace('"violated"', '"fine"')):
        (tmp_path / "b").write_text(half)
        with pytest.raises(UnreadableBaseline):
            Baseline.read(tmp_path / "b")
    with pytest.raises(UnreadableBaseline, match="cannot read"):
        Baseline.read(tmp_path / "nowhere")
