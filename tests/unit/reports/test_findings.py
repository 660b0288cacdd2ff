"""The findings: whole, each with a page that is made of what their scripts are and printed."""

from pathlib import Path

import pytest
from site_pages.finding_page import finding_pages, index
from site_pages.measured import measured_in

from conformance.plugins.registry import engine_ids, load_scenarios
from conformance.reports.advice import read_advice
from conformance.reports.findings import UnusableFindings, excerpt, known_findings, read_findings

DOCS = Path(__file__).parents[3] / "docs"
FINDINGS = known_findings()


@pytest.fixture(scope="module")
def pages():
    measured = measured_in(DOCS / "measured.jsonl", DOCS.parent / "witnesses")
    return finding_pages(FINDINGS.values(), DOCS, measured, read_advice(DOCS / "advice.toml"))


def test_findings_are_numbered_without_a_gap_and_have_short_titles():
    assert list(FINDINGS) == list(range(1, len(FINDINGS) + 1))
    assert len({finding.title for finding in FINDINGS.values()}) == len(FINDINGS)
    for finding in FINDINGS.values():
        assert len(finding.title) <= 80
        assert "](" not in finding.text


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=lambda finding: str(finding.number))
def test_a_finding_is_shown_by_about_ten_lines_of_its_script_or_by_a_command(finding, pages):
    assert bool(finding.scripts) != bool(finding.command)
    assert bool(finding.scripts) == bool(finding.shows)
    for script in finding.scripts:
        assert (DOCS / script).is_file()
    if finding.scripts:
        lines = excerpt(finding, (DOCS / finding.scripts[0]).read_text(encoding="utf-8"))
        assert 5 <= len(lines.splitlines()) <= 20
        assert lines in pages[f"docs/findings/{finding.number}.md"]


def test_a_page_has_what_was_printed_and_the_cells_that_lead_to_it(pages):
    page = pages["docs/findings/5.md"]
    assert "the timer for 120000 fired" in page
    assert "| [event-time-timers: a timer cleared from a timer does not fire]" in page
    assert "`spark-tws`" in page
    assert "`spark-tws`" not in pages["docs/findings/36.md"]  # a finding of Beam's


def test_a_report_has_its_whole_script(pages):
    page = pages["docs/findings/36.md"]
    assert "## A report for upstream" in page
    assert (DOCS / "upstream/beam_moved_timer_fires_twice.py").read_text(encoding="utf-8").rstrip() in page


def test_the_index_leads_to_every_page(pages):
    table = index(FINDINGS.values())
    assert [name for name in pages if f"({name.removeprefix('docs/')})" not in table] == []


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("number = 1\n", "number = 'one'\n"), "finding one"),
        (('harm = "wrong answer"', 'harm = "none"'), "its harm"),
        (("[[finding]]", "[[finding]]\ncolour = 1"), "unknown key 'colour'"),
        (("[[finding]]", "[[finding"), "not TOML"),
    ],
)
def test_findings_that_are_none_are_refused(change, wrong, tmp_path):
    path = tmp_path / "findings.toml"
    path.write_text((DOCS / "findings.toml").read_text(encoding="utf-8").replace(*change, 1), encoding="utf-8")
    with pytest.raises(UnusableFindings, match=wrong):
        read_findings(path)


def test_a_part_that_begins_nowhere_or_twice_is_refused():
    for script in ("", "\n".join(["class Pass:", *["    def handleInputRows(self):"] * 2])):
        with pytest.raises(ValueError, match="not one"):
            excerpt(FINDINGS[1], script)


def test_the_upstream_state_of_a_ticket_is_told():
    assert FINDINGS[21].upstream[0].address == "https://github.com/apache/beam/pull/34612"
    assert all(ticket.state for finding in FINDINGS.values() for ticket in finding.upstream)


def test_scenarios_that_findings_name_are_there(pages):
    there = {scenario.id for scenario in load_scenarios()}
    assert engine_ids()
    for page in pages.values():
        for part in page.split("(../../scenarios/")[1:]:
            assert part.partition(".md")[0] in there
