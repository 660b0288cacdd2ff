"""A baseline keeps what later runs are compared with, and stays the same under git."""

import json

import pytest
from hostile import EVIL, ODD, hostile_results

from conformance.baseline import Baseline, Standing, UnreadableBaseline
from conformance.results import Verdict
from conformance.witnesses import signature


def results():
    found = hostile_results()
    found.run["partial"] = False
    survival = {"scenario": "s", "program": "p", "perturbation": "split", "engine": ODD, "promised": "", "grades": []}
    found.survivals = [survival | {"observed": ["same multiset"], "pairs": 3, "unsupported": ""}]
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
    short.run["partial"] = True
    short.write(tmp_path / "r.json")
    with pytest.raises(UnreadableBaseline, match=r"r\.json is of a run that was cut short"):
        Baseline.read(tmp_path / "r.json")


def test_the_order_of_cells_does_not_matter_to_the_file(tmp_path):
    turned = results()
    turned.cells.reverse()
    Baseline.of(results()).write(tmp_path / "one")
    Baseline.of(turned).write(tmp_path / "two")
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()
    lines = (tmp_path / "one").read_text().splitlines()
    assert len(lines) == 1 + 5 + 1  # the head, a guarantee on five engines, a program
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
    one.survivals = []
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
    "text", ["", "{", "[1]", "null", '{"schema": "other"}', '{"schema": "conformance/baseline/1"}']
)
def test_what_is_no_baseline_is_refused(tmp_path, text):
    (tmp_path / "b").write_text(text)
    with pytest.raises(UnreadableBaseline):
        Baseline.read(tmp_path / "b")


def test_half_a_baseline_is_refused(tmp_path):
    Baseline.of(results()).write(tmp_path / "b")
    whole = (tmp_path / "b").read_text()
    for half in (whole[:-20], whole + '{"engine": 1}\n', whole.replace('"violated"', '"fine"')):
        (tmp_path / "b").write_text(half)
        with pytest.raises(UnreadableBaseline):
            Baseline.read(tmp_path / "b")
    with pytest.raises(UnreadableBaseline, match="cannot read"):
        Baseline.read(tmp_path / "nowhere")
