"""The gate decides as its documented table says; expectations are strict."""

import datetime
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.specifiers import SpecifierSet

from conformance.baseline import Baseline, Standing
from conformance.expectations import Divergence, UnusableExpectations, read
from conformance.gate import Outcome, Refused, gate
from conformance.results import Verdict
from reports import comparison

DOCS = Path(__file__).parents[2] / "docs" / "gate.md"
TODAY = datetime.date(2026, 11, 21)
PLACE = ("spark-tws", "late-data", "kept", "restart")
SAME, OTHER = "# was dropped", "# came twice"

STANDINGS = {
    "absent": None,
    "missing": None,
    "violated": Standing(Verdict.VIOLATED, 9, "w1", SAME),
    "violated otherwise": Standing(Verdict.VIOLATED, 9, "w2", OTHER),
} | {verdict.value: Standing(verdict, 9) for verdict in Verdict if verdict is not Verdict.VIOLATED}

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


def rules():
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(
            r"\| ([a-z ]+) \| ([a-z]+) \| ([a-z ]+) \| (blocks|told|passes)(?:: ([^|]+))? \|", line
        ):
            yield match.groups()


RULES = list(rules())


def test_the_table_has_every_pair_of_standings():
    """But those that cannot be: absent on both sides."""
    asked = {(before, after) for before, after, *_ in RULES}
    assert {before for before, _ in asked} == {*STANDINGS} - {"missing"}
    assert {after for _, after in asked} == {*STANDINGS} - {"absent", "violated otherwise"}
    assert len(RULES) == len({rule[:3] for rule in RULES})
    assert {listing for _, _, listing, *_ in RULES} == {*LISTINGS}


@pytest.mark.parametrize(("before", "after", "listed", "outcome", "why"), RULES)
def test_a_rule_of_the_table(before, after, listed, outcome, why):
    report = gate(baseline(STANDINGS[after]), baseline(STANDINGS[before]), LISTINGS[listed], today=TODAY)
    (ruled,) = report.ruled
    assert ruled.ruling.outcome is Outcome(outcome)
    assert (why or "") in ruled.ruling.why
    assert report.open is (outcome != "blocks")


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
    assert "conformance replay witnesses/w1.json" in lines[3]
    assert lines[-1] == "1 cells blocked, 0 to look at, 0 pass"
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
