"""Reports are made from results alone, and take every text in them for text."""

import io
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.console import Console

from conformance.agreement import Agreement, Difference, Grade, specified_for
from conformance.equivalence import Equivalence
from conformance.model import Advance, Case, Deliver, Emission, Event, Schedule, Trace
from conformance.results import Cell, Results, Verdict
from conformance.witnesses import Confirmation, Flip, Witness
from reports import html, junit, markdown, terminal
from reports.words import agreed, coverage_line, difference_lines, inapplicable, witness_lines

EVIL = '<script>alert("x")</script> | `](javascript:1) \x07 [red]*'
SCHEDULE = Schedule((Advance(0, 1_000), Deliver(1, (Event(EVIL, EVIL, EVIL, 1_000),)), Advance(2, 9_000)))
TRACE = Trace((Emission(EVIL, {EVIL: EVIL}, 1),))


def _agreement(left, right, differ, cases=9):
    """Of nine cases, some are the same multiset and no more."""
    grades = [Grade(Equivalence.IDENTICAL, cases - differ, differ), Grade(Equivalence.SAME_MULTISET, cases, 0)]
    case = Case("s", EVIL, SCHEDULE)
    smallest = Difference(case, TRACE, Trace(())) if differ else None
    return Agreement("s", EVIL, left, right, cases, tuple(grades), min(differ, 1), smallest).to_json()


@pytest.fixture
def results():
    witness = Witness("g", EVIL, Case("s", "p", SCHEDULE), None, "spark-tws", {"spark": EVIL}, EVIL, TRACE, Trace(()))
    cells = [
        Cell(
            "s",
            "p",
            "g",
            "as drawn",
            engine,
            verdict,
            EVIL,
            cases=3,
            clocks=2,
            witness=name,
            notes=(EVIL,),
            coverage={EVIL: 2},
        )
        for engine, verdict, name in [
            ("spark-tws", Verdict.VIOLATED, witness.id),
            ("beam-direct", Verdict.HOLDS, ""),
            ("beam-fnapi", Verdict.UNSUPPORTED, ""),
            ("odd", Verdict.ERROR, ""),
            ("slow", Verdict.UNKNOWN, ""),
        ]
    ]
    entry = {"title": EVIL, "versions": {"x": EVIL}, "lateness": {"global window": EVIL, "fixed windows": EVIL}}
    entry |= {"idiom": EVIL, "packs": {"run": 1, "drawn": 2}}
    feature = {"how": "emulated", "note": EVIL, "evidence": EVIL}
    run = {
        "harness": "0",
        "seed": 1,
        "wanted": 2,
        "cases": 3,
        "cases_digest": "",
        "clocks": 2,
        "partial": True,
        "stored_witnesses": "",
        "options": {},
    }
    return Results(
        run=run,
        environment={
            c.engine: {**entry, "column": c.engine, "features": {EVIL: feature}, "failure": EVIL} for c in cells
        },
        scenarios={
            "s": {
                "name": EVIL,
                "summary": EVIL,
                "guarantees": {"g": {"claim": EVIL, "program": EVIL, "source": EVIL, "quote": EVIL, "url": EVIL}},
            }
        },
        cells=cells,
        agreements=[
            _agreement("spark-tws", "beam-direct", 2),
            _agreement("spark-tws", specified_for("spark-tws"), 0),
            _agreement("spark-tws", "slow", 0, cases=0),
            _agreement("beam-direct", specified_for("beam-direct"), 4),
        ],
        witnesses={witness.id: witness.to_json()},
    )


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []


def test_the_page_has_no_script_and_no_outside_link(results):
    page = Page(html.render(results))
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert all(link.startswith("#") for link in page.links)


def test_every_cell_of_the_page_leads_to_its_evidence(results):
    page = Page(html.render(results))
    assert len([link for link in page.links if link.startswith("#cell-")]) == 5
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_a_verdict_is_word_and_symbol(results):
    text = html.render(results)
    for verdict in ("✗ violated", "✓ holds", "– unsupported", "! error", "? unknown"):
        assert verdict in text


def test_the_page_shows_where_engines_differ(results):
    """A row per engine; what differs leads to the smallest case, with what either gave."""
    page = html.render(results)
    assert [link for link in Page(page).links if "agreement" in link] == ["#agreement-1", "#agreement-4"]
    assert "2 differ</a> (1 with an element that is not on time)" in page
    assert "no cases" in page
    results.agreements = []
    assert "Agreement between engines" not in html.render(results)


def test_agreement_in_words():
    differing, alike = _agreement("one", "two", 2), _agreement("one", "two", 0)
    assert (agreed(differing), agreed(alike)) == ("same multiset", "identical")
    assert agreed(_agreement("one", "two", 0, cases=0)) == "no cases"
    lines = list(difference_lines(differing))
    assert [line for line in lines if not line.startswith(" ")] == ["on one:", "on two:"]
    assert sum(line.startswith("      out") for line in lines) == 1
    assert list(difference_lines(alike)) == []


def test_coverage_in_words():
    cell = Cell("s", "p", "g", "as drawn", "e", Verdict.HOLDS, "", cases=3)
    assert coverage_line(replace(cell, coverage={"a late element": 2, "a restart": 1})) == (
        "of 3 cases: 2 with a late element, 1 with a restart"
    )
    assert coverage_line(cell).startswith("of 3 cases: none")
    assert coverage_line(replace(cell, cases=0)) == ""


def test_the_page_shows_what_the_cases_of_a_cell_had(results):
    results.cells = [replace(cell, coverage={"a late element": 2}) for cell in results.cells]
    assert "of 3 cases: 2 with a late element" in html.render(results)


def test_junit_is_valid_xml_with_a_case_a_cell(results):
    root = ElementTree.fromstring(junit.render(results).split("\n", 1)[1])
    assert len(root.findall(".//testcase")) == 5
    assert [len(root.findall(f".//{tag}")) for tag in ("failure", "error", "skipped")] == [1, 1, 2]


def test_markdown_keeps_its_shape(results):
    text = markdown.render(results)
    assert "<script>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "✗" in line]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 7


def test_markdown_lists_only_what_differs(results):
    text = markdown.render(results)
    assert "Of 3 comparisons" in text
    assert "1 are identical on every case" in text
    rows = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("| ") and " / " in line]
    assert [row.split("|")[-3:-1] for row in rows] == [[" 9 ", " 2 "], [" 9 ", " 4 "]]
    assert all(row.count("|") == 6 for row in rows)


def test_the_terminal_takes_no_markup_from_texts(results):
    console = Console(record=True, width=300, file=io.StringIO())
    terminal.summary(results, console)
    text = console.export_text()
    assert "[red]*" in text
    assert "partial" in text


def test_a_witness_says_what_is_known_of_it(results):
    """What flips it, how it was reduced, where it failed alone; in every report that shows it."""
    known = replace(
        Witness.from_json(next(iter(results.witnesses.values()))),
        flip=Flip("e1 1 ms later: the claim stands", SCHEDULE),
        reduction={
            "rounds": 1,
            "candidates": 7,
            "elements_before": 4,
            "tried": ["drop elements"],
            "minimal_under_these": True,
        },
        confirmations=(Confirmation("spark-tws", {"spark": "4.3.0", "a.setting": "x"}, "abc", 2, 3),),
    )
    lines = witness_lines(known)
    assert "one change flips it: e1 1 ms later: the claim stands" in lines
    reduced = "reduced from 4 elements in 1 round of 7 candidates in all (drop elements): nothing simpler that was tried fails"
    assert reduced in lines
    assert "failed alone in 2 of 3 runs on spark-tws (spark 4.3.0)" in lines
    assert "no single change that was tried flips it" in witness_lines(replace(known, flip=None))
    in_a_pack = replace(known, packed_seen=TRACE)
    assert any("in a pack" in line for line in witness_lines(in_a_pack))


def test_what_the_stored_witnesses_gave_is_told(results):
    replays = [
        {"witness": name, "engine": "e", "scenario": "s", "guarantee": "g", "answer": answer, "message": ""}
        for name, answer in [("one", "STILL FAILS"), ("two", "FIXED"), ("three", "FIXED")]
    ]
    told = replace(results, replays=replays)
    console = Console(file=io.StringIO(), record=True, width=200)
    terminal.summary(told, console)
    printed = console.export_text()
    for text in (printed, markdown.render(told)):
        assert "stored witnesses: 1 STILL FAILS: one" in text
        assert "stored witnesses: 2 FIXED: two, three" in text


def test_pairs_that_do_not_count_are_shown():
    survival = {
        "promised": "same multiset",
        "grades": [
            {"equivalence": "identical", "inapplicable": 9},
            {"equivalence": "same multiset", "inapplicable": 2},
        ],
    }
    assert inapplicable(survival) == "2 inapplicable to same multiset"
    assert inapplicable({**survival, "promised": ""}) == "9 inapplicable to identical"
    assert inapplicable({**survival, "promised": "same final value"}) == ""
