"""Reports are made from results alone, and take every text in them for text."""

import io
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.console import Console

from conformance.model import Advance, Case, Deliver, Emission, Event, Schedule, Trace
from conformance.results import Cell, Results, Verdict
from conformance.witnesses import Witness
from reports import html, junit, markdown, terminal

EVIL = '<script>alert("x")</script> | `](javascript:1) \x07 [red]*'
SCHEDULE = Schedule((Advance(0, 1_000), Deliver(1, (Event(EVIL, EVIL, EVIL, 1_000),)), Advance(2, 9_000)))
TRACE = Trace((Emission(EVIL, {EVIL: EVIL}, 1),))


@pytest.fixture
def results():
    witness = Witness("g", EVIL, Case("s", "p", SCHEDULE), None, "spark-tws", {"spark": EVIL}, EVIL, TRACE, Trace(()))
    cells = [
        Cell("s", "p", "g", "as drawn", engine, verdict, EVIL, cases=3, clocks=2, witness=name, notes=(EVIL,))
        for engine, verdict, name in [
            ("spark-tws", Verdict.VIOLATED, witness.id),
            ("beam-direct", Verdict.HOLDS, ""),
            ("beam-fnapi", Verdict.UNSUPPORTED, ""),
            ("odd", Verdict.ERROR, ""),
            ("slow", Verdict.UNKNOWN, ""),
        ]
    ]
    entry = {"title": EVIL, "versions": {"x": EVIL}, "lateness": {"global window": EVIL, "fixed windows": EVIL}}
    feature = {"how": "emulated", "note": EVIL, "evidence": EVIL}
    run = {
        "harness": "0",
        "seed": 1,
        "wanted": 2,
        "cases": 3,
        "cases_digest": "",
        "clocks": 2,
        "partial": True,
        "options": {},
    }
    return Results(
        run=run,
        environment={c.engine: {**entry, "features": {EVIL: feature}, "failure": EVIL} for c in cells},
        scenarios={
            "s": {
                "name": EVIL,
                "summary": EVIL,
                "guarantees": {"g": {"claim": EVIL, "program": EVIL, "source": EVIL, "quote": EVIL, "url": EVIL}},
            }
        },
        cells=cells,
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
    assert len(page.links) == 5
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_a_verdict_is_word_and_symbol(results):
    text = html.render(results)
    for verdict in ("✗ violated", "✓ holds", "– unsupported", "! error", "? unknown"):
        assert verdict in text


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


def test_the_terminal_takes_no_markup_from_texts(results):
    console = Console(record=True, width=300, file=io.StringIO())
    terminal.summary(results, console)
    text = console.export_text()
    assert "[red]*" in text
    assert "partial" in text
