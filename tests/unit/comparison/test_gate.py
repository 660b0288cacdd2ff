"""The gate decides as its documented table says; expectations are strict."""

import contextlib
import datetime
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.specifiers import SpecifierSet

from conformance.comparison.expectations import Divergence, UnusableExpectations, read
from conformance.comparison.gate import Outcome, Refused, gate
from conformance.comparison.outputs import OutputDifference
from conformance.judgement.agreement import Agreement, AgreementGrade
from conformance.judgement.cell import Verdict
from conformance.model.equivalence import Equivalence
from conformance.reports.text import comparison
from conformance.results.baseline import Baseline, Scope, Standing, UnfitBaseline

DOCS = Path(__file__).parents[3] / "docs" / "gate.md"
TODAY = datetime.date(2026, 11, 21)
PLACE = ("spark-tws", "late-data", "kept", "restart")
SAME, OTHER = "# was dropped", "# came twice"

STANDINGS = {
    "absent": None,
    "missing": None,
    "violated": Standing(Verdict.VIOLATED, 9, "w1", SAME),
    "violated otherwise": Standing(Verdict.VIOLATED, 9, "w2", OTHER),
} | {verdict.value: Standing(verdict, 9) for verdict in Verdict if verdict is not Verdict.VIOLATED}

SESSIONS = "# is in (several) sessions"

DETAILED = {f"holds on {number}": Standing(Verdict.HOLDS, number) for number in (1, 9, 10, 19, 20, 200)} | {
    "violated in 200": Standing(Verdict.VIOLATED, 200, "w1", SAME, 200),
    "violated in some cases": Standing(Verdict.VIOLATED, 9, "w1", SAME, 3),
    "violated in all cases": Standing(Verdict.VIOLATED, 9, "w1", SAME, 9),
    "violated in some runs": Standing(Verdict.VIOLATED, 9, "w1", SAME, 9, "2/3"),
    "violated in seven sessions": Standing(Verdict.VIOLATED, 9, "w1", SESSIONS),
    "in no session": Standing(Verdict.VIOLATED, 9, "w1", "# is in 0 sessions"),
}
"""Standings of which the number of cases, of violations or of runs matters, or a count in the message."""

DIVERGENCE = Divergence("spark-tws", "late-data", "kept", "engine", "known", SAME)
LISTINGS = {
    "none": [],
    "applies": [replace(DIVERGENCE, expires=TODAY, versions=SpecifierSet(">=4.0"))],
    "expired": [replace(DIVERGENCE, expires=TODAY - datetime.timedelta(days=1))],
    "other signature": [replace(DIVERGENCE, signature=OTHER)],
    "other version": [replace(DIVERGENCE, versions=SpecifierSet("<4.0"))],
}


def baseline(standing, place=PLACE, **more):
    cells = {place: standing} if standing else {}
    engines = {"spark-tws": {"spark": "4.3.0", "python": "3.11"}}
    return Baseline(**{"harness": "1", "cases_digest": "d", "engines": engines, "cells": cells} | more)


def table(first):
    """The rows of the table of the page whose first heading is this, as tuples of their columns."""
    lines = iter(DOCS.read_text(encoding="utf-8").splitlines())
    next(line for line in lines if line.startswith(f"| {first} |"))
    assert next(lines).startswith("|---")
    for line in lines:
        if not line.startswith("|"):
            return
        yield tuple(column.strip() for column in line.strip("|").split(" | "))


RULES, OF_SIDES, OF_BASELINES = (list(table(first)) for first in ("baseline", "of", "results"))


def decided(outcome):
    """A column that says what happens, and why: its two parts."""
    what, _, why = outcome.partition(": ")
    return what, why


def test_the_table_has_every_pair_of_standings():
    """But those that cannot be: absent on both sides."""
    asked = {(before, after) for before, after, *_ in RULES}
    assert {before for before, _ in asked} - {*DETAILED} == {*STANDINGS} - {"missing"}
    assert {after for _, after in asked} - {*DETAILED} == {*STANDINGS} - {"absent", "violated otherwise"}
    assert {*DETAILED} <= {standing for pair in asked for standing in pair}
    assert len(RULES) == len({rule[:3] for rule in RULES})
    assert {listing for _, _, listing, *_ in RULES} == {*LISTINGS}


@pytest.mark.parametrize(("before", "after", "listed", "outcome"), RULES)
def test_a_rule_of_the_table(before, after, listed, outcome):
    known = STANDINGS | DETAILED
    report = gate(baseline(known[after]), baseline(known[before]), LISTINGS[listed], today=TODAY)
    (ruled,) = report.ruled
    what, why = decided(outcome)
    assert ruled.ruling.outcome is Outcome(what)
    assert why in ruled.ruling.why
    assert report.open is (what != "blocks")


PROGRAM = ("spark-tws", "late-data", "global", "restart")
LOST = "identical → same multiset"
ALIKE_LISTINGS = {
    name: [replace(d, guarantee="global", signature=LOST if d.signature == SAME else d.signature) for d in listed]
    for name, listed in LISTINGS.items()
}
ENGINE = {"spark": "4.3.0", "python": "3.11"}
SIDES = {
    "nothing": {"alike": {PROGRAM: ()}},
    "not asked": {"alike": {}},
    "ran": {},
    "failed": {"failures": {"spark-tws": "no Java"}},
    "absent": {"engines": {}, "cells": {}},
    "50 packs": {"packs": {"spark-tws": 50}},
    "12 packs": {"packs": {"spark-tws": 12}},
    "1 pack": {"packs": {"spark-tws": 1}},
    "spark 4.3.0": {},
    "spark 4.4.0": {"engines": {"spark-tws": ENGINE | {"spark": "4.4.0"}}},
    "python 3.11": {},
    "python 3.12": {"engines": {"spark-tws": ENGINE | {"python": "3.12"}}},
    "some stored witnesses": {"stored_witnesses": "a"},
    "other stored witnesses": {"stored_witnesses": "b"},
    "full": {"scope": Scope()},
    "brief": {"scope": Scope(brief=True)},
    "cut short": {"scope": Scope(partial=True)},
    "one file of cases": {},
    "another file of cases": {"cases_digest": "e"},
    "one harness": {},
    "another harness": {"harness": "2"},
} | {how.value: {"alike": {PROGRAM: (how.value,)}} for how in Equivalence}


@pytest.mark.parametrize(("of", "before", "after", "listed", "outcome"), OF_SIDES)
def test_a_rule_of_programs_engines_and_runs(of, before, after, listed, outcome):
    cell = {"cells": {PLACE: STANDINGS["holds"]}}
    candidate, other = (replace(baseline(None), **cell | SIDES[side]) for side in (after, before))
    listings = ALIKE_LISTINGS[listed]
    what, why = decided(outcome)
    if what == "refused":
        with pytest.raises(Refused, match=why):
            gate(candidate, other, listings, today=TODAY)
        return
    report = gate(candidate, other, listings, today=TODAY)
    assert report.open is (what != "blocks")
    told = [ruled.ruling for ruled in report.ruled if ruled.guarantee != "kept"]
    assert (not told) if outcome == "passes" else (why in told[0].why and told[0].outcome is Outcome(what))


RESULTS = {
    "of a full run": {},
    "of a brief run": {"scope": Scope(brief=True)},
    "of a run that was cut short": {"scope": Scope(partial=True)},
    "of an engine that failed": {"failures": {"spark-tws": "no Java"}},
    "of some of the scenarios": {},
}


@pytest.mark.parametrize(("of", "write", "update"), OF_BASELINES)
def test_what_becomes_a_baseline(of, write, update):
    holds = baseline(STANDINGS["holds"])
    more = {"cells": {("spark-tws", "state-ttl", "g", "split"): STANDINGS["holds"]} | holds.cells}
    found = replace(holds, **RESULTS[of])
    for outcome, before in ((write, None), (update, replace(holds, **more) if "some" in of else holds)):
        what, why = decided(outcome)
        with contextlib.nullcontext() if what == "written" else pytest.raises(UnfitBaseline, match=why):
            found.check_fit(before)


def other_output(apart):
    """An output of the program of ``PROGRAM`` that differs in two releases in 2 of 9 cases, only in order."""
    grades = (AgreementGrade(Equivalence.IDENTICAL, 7, 2), AgreementGrade(Equivalence.SAME_MULTISET, 9, 0))
    found = Agreement("late-data", "global", "spark-tws@4.2.0", "spark-tws@4.3.0", 9, grades)
    return OutputDifference(found, apart, Path("differences/one.parquet"))


ORDER = "output differs, alike up to same multiset"
OUTPUT_LISTINGS = {
    name: [replace(d, guarantee="global", signature=ORDER if d.signature == SAME else LOST) for d in listed]
    for name, listed in LISTINGS.items()
}


@pytest.mark.parametrize(
    ("apart", "listed", "outcome", "why"),
    [
        (True, "none", Outcome.BLOCKS, "to look at: output differs on 2 of 9 cases"),
        (None, "none", Outcome.BLOCKS, "to look at: output differs on 2 of 9 cases"),
        (False, "none", Outcome.TOLD, "alone, gives the same in both"),
        (True, "applies", Outcome.PASSES, "accepted"),
        (True, "expired", Outcome.BLOCKS, "accepted until"),
        (True, "other version", Outcome.BLOCKS, "to look at"),
        (True, "other signature", Outcome.BLOCKS, "in another way than was accepted"),
    ],
)
def test_an_output_that_differs_between_releases_blocks_unless_it_was_accepted(apart, listed, outcome, why):
    ruled = other_output(apart).ruled(OUTPUT_LISTINGS[listed], "4.3.0", TODAY)
    assert ruled.ruling.outcome is outcome
    assert why in ruled.ruling.why


def test_an_output_and_an_equivalence_of_one_program_are_accepted_each_by_its_own_listing():
    listed = [*ALIKE_LISTINGS["applies"], *OUTPUT_LISTINGS["applies"]]
    sides = [replace(baseline(None), alike={PROGRAM: (how,)}) for how in ("same multiset", "identical")]
    for order in (listed, listed[::-1]):
        assert gate(*sides, order, today=TODAY).open
        assert other_output(True).ruled(order, "4.3.0", TODAY).ruling.outcome is Outcome.PASSES


def test_a_listing_of_an_output_is_about_something():
    """Where the program showed no equivalence, too."""
    sides = baseline(STANDINGS["holds"]), baseline(STANDINGS["holds"])
    place = other_output(True).place
    assert gate(*sides, OUTPUT_LISTINGS["applies"], today=TODAY, more=[place]).open
    with pytest.raises(Refused, match="is about no cell"):
        gate(*sides, OUTPUT_LISTINGS["applies"], today=TODAY)


def test_an_engine_that_is_not_there_is_one_line():
    """Not a line for each of its cells; it stands above what else blocks."""
    holds = baseline(STANDINGS["holds"])
    other = {"beam-direct": {"beam": "2.70.0"}}
    cells = {("beam-direct", "late-data", f"g{number}", "split"): STANDINGS["holds"] for number in range(9)}
    before = replace(holds, engines={**other, **holds.engines}, cells=cells | holds.cells)
    lines = list(comparison.gate_lines(gate(baseline(STANDINGS["violated"]), before, [], today=TODAY)))
    assert lines[0] == "Engines that did not run alike on both sides:"
    assert lines[1] == "  blocks: beam-direct: runs in the baseline only: was not asked of the candidate"
    assert sum("beam-direct" in line for line in lines) == 1
    assert lines[-1] == "guarantees on engines: 1 blocked, 0 to look at, 0 pass; besides: 1 blocked, 0 to look at"


def test_a_lost_equivalence_that_is_proposed_is_accepted(tmp_path):
    sides = [replace(baseline(None), alike={PROGRAM: (how,)}) for how in ("same multiset", "identical")]
    proposed = "\n".join(comparison.proposals(gate(*sides, [], today=TODAY)))
    (tmp_path / "e.toml").write_text(proposed.replace('reason = ""', 'reason = "known"'))
    assert gate(*sides, read(tmp_path / "e.toml"), today=TODAY).open


@pytest.mark.parametrize(("name", "value"), [("harness", "2"), ("cases_digest", "e")])
def test_sides_that_cannot_be_compared_are_refused(name, value):
    holds = STANDINGS["holds"]
    with pytest.raises(Refused):
        gate(baseline(holds), baseline(holds, **{name: value}), [], today=TODAY)


@pytest.mark.parametrize(
    "change", [{"guarantee": "nothing"}, {"perturbation": "split"}, {"engine": "spork"}, {"scenario": "nothing"}]
)
def test_a_listing_that_matches_nothing_is_refused(change):
    holds = baseline(STANDINGS["holds"])
    with pytest.raises(Refused, match="mend or take out"):
        gate(holds, holds, [replace(DIVERGENCE, **change)], today=TODAY, engines=["beam-direct"])


@pytest.mark.parametrize("elsewhere", [{"engine": "beam-direct"}, {"scenario": "state-ttl"}])
def test_a_listing_of_a_known_engine_or_scenario_that_took_no_part_is_left_alone(elsewhere):
    holds = baseline(STANDINGS["holds"])
    listed = [replace(DIVERGENCE, **elsewhere)]
    assert gate(holds, holds, listed, today=TODAY, engines=["beam-direct"], scenarios=["state-ttl"]).open


def test_a_version_of_an_engine_is_judged_by_its_listing():
    """An engine of one version in each run is the same engine."""
    violated = baseline(STANDINGS["violated"])
    assert gate(violated, baseline(STANDINGS["holds"]), LISTINGS["applies"], today=TODAY).open


def test_what_the_gate_says_in_every_form():
    blocked = gate(baseline(STANDINGS["violated"]), baseline(STANDINGS["holds"]), [], today=TODAY)
    lines = list(comparison.gate_lines(blocked))
    assert lines[0] == "Blocked:"
    assert lines[1].strip() == "spark-tws/late-data/kept (restart): held, is violated"
    assert "conformance replay w1" in lines[3]
    assert lines[-1] == "guarantees on engines: 1 blocked, 0 to look at, 0 pass"
    text = comparison.gate_markdown(blocked)
    assert text.startswith("# Gate: blocked")
    root = ElementTree.fromstring(comparison.gate_junit(blocked).split("\n", 1)[1])
    assert len(root.findall(".//failure")) == 1
    told = gate(baseline(STANDINGS["holds"]), baseline(STANDINGS["holds"]), LISTINGS["applies"], today=TODAY)
    assert "To look at, not blocked:" in list(comparison.gate_lines(told))
    assert comparison.gate_markdown(told).startswith("# Gate: open")


def test_what_is_proposed_is_accepted(tmp_path):
    """Once the reason is filled in."""
    sides = baseline(STANDINGS["violated"]), baseline(STANDINGS["holds"])
    proposed = "\n".join(comparison.proposals(gate(*sides, [], today=TODAY)))
    path = tmp_path / "expectations.toml"
    path.write_text(proposed.replace('reason = ""', 'reason = "known"'))
    assert gate(*sides, read(path), today=TODAY).open


WHOLE = """
[[divergence]]
engine = "spark-tws"
guarantee = "late-data/kept"
kind = "engine"
reason = "known"
signature = "# was dropped"
perturbation = "restart"
versions = ">=4.0,<4.4"
witness = "w1"
issue = "https://example.org/1"
expires = 2027-06-30
"""


def test_expectations_are_read(tmp_path):
    (tmp_path / "e.toml").write_text(WHOLE)
    (found,) = read(tmp_path / "e.toml")
    assert (found.scenario, found.guarantee, found.expires) == ("late-data", "kept", datetime.date(2027, 6, 30))
    assert found.of_version("4.3.0")
    assert not found.of_version("4.4.0")
    assert found.covers(("spark-tws@4.3.0", "late-data", "kept", "restart"))
    (tmp_path / "empty.toml").write_text("")
    assert read(tmp_path / "empty.toml") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x =", "is not TOML"),
        ("[other]", "unknown table 'other'"),
        ("[divergence]", "two brackets"),
        (WHOLE.replace('reason = "known"', ""), "divergence 1 has no reason"),
        (WHOLE.replace('"engine"\nreason', '"theirs"\nreason'), "kind is 'theirs'"),
        (WHOLE.replace("late-data/", ""), "write SCENARIO/GUARANTEE"),
        (WHOLE.replace("2027-06-30", '"2027-06-30"'), "expires is no date"),
        (WHOLE.replace("2027-06-30", "2027-06-30T10:00:00"), "expires is no date"),
        (WHOLE.replace(">=4.0,<4.4", "four"), "versions: "),
        (WHOLE.replace('"w1"', "1"), "witness is no text"),
        (WHOLE + 'extra = "x"', "unknown key 'extra'"),
    ],
)
def test_expectations_that_cannot_be_used_are_refused(tmp_path, text, says):
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(UnusableExpectations, match=says):
        read(tmp_path / "e.toml")
    with pytest.raises(UnusableExpectations, match="cannot read"):
        read(tmp_path / "nowhere.toml")


def test_what_the_baseline_breaks_as_drawn_is_no_news_under_a_change_that_it_did_not_decide():
    drawn, broken = (*PLACE[:3], "as drawn"), STANDINGS["violated"]
    candidate = baseline(None, cells={drawn: broken, PLACE: broken})
    for undecided in ({}, {PLACE: STANDINGS["unknown"]}):
        assert gate(candidate, baseline(None, cells={drawn: broken, **undecided}), [], today=TODAY).open
    held = baseline(None, cells={drawn: broken, PLACE: STANDINGS["holds"]})
    assert not gate(candidate, held, [], today=TODAY).open
