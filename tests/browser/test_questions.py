"""Five questions that people come with, each answered from the page alone.

The page has a run on real engines. Made by hand are a column spark-tws, the reference's cells, and in it and in beam-direct the cell of a
stored witness each, whatever the run asked. The tests ask where the page has an answer, not whether it is right.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from conformance.judgement.cell import Verdict
from conformance.results.witness import Witness
from reports import html

ROOT = Path(__file__).parents[2]
WITNESS = Witness.read(ROOT / "witnesses" / "late-data" / "0dc6731aada9.json")
BEAMS = Witness.read(ROOT / "witnesses" / "late-data" / "de43f08c32c5.json")
"""Of finding 2."""
ENGINE = WITNESS.engine


@pytest.fixture(scope="module")
def with_spark(results):
    """The results, with the column made by hand."""
    column = [replace(cell, engine=ENGINE) for cell in results.cells if cell.engine == "reference"]
    there = [cell for cell in results.cells if cell.engine != ENGINE]
    record = replace(results.environment["beam-direct"], versions=WITNESS.versions, shown_as=ENGINE)
    others = {name: of for name, of in results.environment.items() if name != ENGINE}
    return replace(
        results,
        environment={ENGINE: record, **others},
        cells=[_with(_witness_of(cell), cell) for cell in there + column],
        witnesses={**results.witnesses, WITNESS.id: WITNESS, BEAMS.id: BEAMS},
    )


def _witness_of(cell):
    """The stored witness whose cell this is, if any."""
    about = (cell.engine, cell.scenario, cell.guarantee, cell.perturbation)
    return next((w for w in (WITNESS, BEAMS) if about == (w.engine, "late-data", w.guarantee, "as drawn")), None)


def _with(witness, cell):
    if not witness:
        return cell
    return replace(cell, verdict=Verdict.VIOLATED, violations=1, cases=1, witness=witness.id, reason=witness.message)


@pytest.fixture
def page(open_page, with_spark, tmp_path):
    path = tmp_path / "matrix.html"
    path.write_text(html.render([with_spark]), encoding="utf-8")
    return open_page(path)


def rows(page):
    return page.locator("#matrix tbody tr:not(.scenario):visible")


def test_does_a_late_row_reach_my_processor_on_spark(page):
    """By words, and by a verdict: each row that is left says it in the engine's column."""
    page.get_by_label("Find").fill(f'"behind the watermark" ({ENGINE}:holds or {ENGINE}:in-part or {ENGINE}:violated)')
    expect(rows(page).first).to_be_visible()
    answers = rows(page).locator(f'a.v[data-e="{ENGINE}"]')
    assert answers.count() == rows(page).count()
    row = rows(page).filter(has_text="an element behind the watermark is not processed (late by row, global window)")
    expect(row.locator(f'a.v[data-e="{ENGINE}"]')).to_have_class(re.compile("^v (holds|in-part)$"))


def verdicts(results, engine):
    """(scenario, guarantee) -> perturbation -> verdict."""
    found = {}
    for cell in results.cells:
        if cell.engine == engine:
            found.setdefault(cell.row, {})[cell.perturbation] = cell.verdict
    return found


def broken(results):
    """The guarantees that hold on beam-direct under some perturbation, and are violated on spark-tws under the same one."""
    old, other = (verdicts(results, name) for name in ("beam-direct", ENGINE))
    return {
        row
        for row, cells in other.items()
        for name, verdict in cells.items()
        if verdict is Verdict.VIOLATED and old.get(row, {}).get(name) is Verdict.HOLDS
    }


def differing(results, scenario):
    """The guarantees of a scenario that behave differently: broken or mended under a perturbation that both decided, or broken on both
    under others."""
    old, other = (verdicts(results, name) for name in ("beam-direct", ENGINE))
    found = set()
    for row in (row for row in old if row[0] == scenario):
        pairs = [(verdict, other.get(row, {}).get(name)) for name, verdict in old[row].items()]
        opposed = {Verdict.HOLDS, Verdict.VIOLATED} in [{*pair} for pair in pairs]
        broken_on = [{n for n, v in of.get(row, {}).items() if v is Verdict.VIOLATED} for of in (old, other)]
        if opposed or (all(broken_on) and broken_on[0] != broken_on[1]):
            found.add(row)
    return found


def test_what_breaks_was_shown_to_hold_under_the_same_perturbation(page, with_spark):
    page.get_by_label("I run").select_option("beam-direct")
    page.get_by_label("and want to move to").select_option(ENGINE)
    listed = page.locator("#move details").filter(has_text="Held there, broken here").locator("li")
    assert broken(with_spark)
    expect(listed).to_have_count(len(broken(with_spark)))


def test_what_changes_if_i_move_from_beam_to_spark(page, with_spark):
    """What differs, why, and what to do; the address keeps the move."""
    page.get_by_label("I run").select_option("beam-direct")
    page.get_by_label("and want to move to").select_option(ENGINE)
    expect(page.locator("#matrix thead th[data-column]:visible")).to_have_count(2)
    expect(page.locator("#move li")).to_have_count(rows(page).count())
    line = page.locator("#move li").filter(has_text=WITNESS.sentence)
    expect(line).to_contain_text(f"{ENGINE} violated")
    breaks = page.locator("#move details").first
    expect(breaks.locator("summary")).to_contain_text("Held there, broken here")
    expect(breaks).to_contain_text(WITNESS.sentence)
    expect(breaks.get_by_text("Why: late by row, not by window")).to_have_count(1)
    expect(breaks.get_by_text("What to do: ").first).to_be_visible()
    page.get_by_label("Scenario").select_option("index-assignment")
    differ = len(differing(with_spark, "index-assignment"))
    expect(page.locator("#move h3")).to_have_text(f"From beam-direct to {ENGINE}: {differ} guarantees differ")
    page.reload()
    expect(page.get_by_label("and want to move to")).to_have_value(ENGINE)
    expect(page.locator("#matrix thead th[data-column]:visible")).to_have_count(2)


def test_since_when_does_the_direct_runner_do_that(open_page, results, violated, tmp_path):
    """Two releases beside each other; the older one, made by hand, kept the guarantee."""
    engine, row = violated
    held = [
        replace(c, verdict=Verdict.HOLDS, witness="") if (c.engine, c.row) == (engine, row) else c
        for c in results.cells
    ]
    record = results.environment[engine]
    old = {**results.environment, engine: replace(record, versions={**record.versions, "beam": "2.65.0"})}
    path = tmp_path / "two.html"
    path.write_text(html.render([replace(results, environment=old, cells=held), results]), encoding="utf-8")
    page = open_page(path)
    version = record.framework[1]
    for text in (f"since:{version.rpartition('.')[0]}", "was:holds now:violated", f"since:{version} now:violated"):
        page.get_by_label("Find").fill(text)
        expect(rows(page)).to_have_count(1)
        expect(rows(page)).to_contain_text(results.scenarios[row[0]].guarantees[row[1]].claim)
    page.get_by_label("Find").fill("was:violated now:holds")
    expect(rows(page)).to_have_count(0)
    page.get_by_label("Find").fill("since:9.9")
    expect(page.locator("output")).to_contain_text("no column has the version 9.9")


def test_how_sure_is_this_cell(page):
    """One that holds says on how many cases; one that is violated says how often it failed alone."""
    page.get_by_label("Find").fill(f"{ENGINE}:holds")
    rows(page).locator(f'a.v.holds[data-e="{ENGINE}"]').first.click()
    expect(page.locator("section.row.open tr.open")).to_contain_text("cases")
    page.keyboard.press("Escape")
    page.get_by_label("Find").fill(f"{ENGINE}:violated")
    rows(page).locator(f'a.v.violated[data-e="{ENGINE}"]').first.click()
    expect(page.locator("article.open")).to_contain_text("failed alone")


def test_what_do_i_tell_upstream(page):
    """The finding with its ticket, or that none is named, and the witness as a file."""
    page.get_by_label("Find").fill(f"{ENGINE}:violated")
    rows(page).locator(f'a.v.violated[data-e="{ENGINE}"]').first.click()
    expect(page.locator("article.open")).to_contain_text(f"conformance replay {WITNESS.id}")
    expect(page.locator("article.open")).to_contain_text("with --export pytest, the replay writes")
    page.keyboard.press("Escape")
    page.get_by_label("Find").fill("beam-direct:violated finding:2")
    rows(page).locator('a.v.violated[data-e="beam-direct"]').first.click()
    page.locator("article.open").get_by_role("link", name="finding 2", exact=True).click()
    finding = page.locator("#finding-2")
    expect(finding).to_have_attribute("open", "")
    expect(finding).to_contain_text("Upstream: " if finding.get_by_text("Upstream: ").count() else "No upstream ticket")


def test_a_cell_leads_to_the_source_of_what_was_asked(page):
    page.get_by_label("Find").fill(f"{ENGINE}:violated")
    rows(page).locator(f'a.v.violated[data-e="{ENGINE}"]').first.click()
    page.locator("section.row.open").get_by_role("link", name="its source, and the predicates").click()
    expect(page.locator("#source-late-data pre")).to_contain_text("class CountPerWindow(Program)")


@pytest.mark.parametrize("text", ["DirectRunner late", 'directrunner "behind the watermark"'])
def test_an_engine_is_found_by_the_name_that_people_know(text, page):
    page.get_by_label("Find").fill(text)
    expect(rows(page).first).to_be_visible()
    assert rows(page).locator('a.v[data-e="beam-direct"]').count() == rows(page).count()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strenght:<10", "strenght:<10 is in no claim, scenario or engine; did you mean strength:<10?"),
        ("watermrak", "watermrak is in no claim, scenario or engine; did you mean watermark?"),
        ("xqzw", "xqzw is in no claim, scenario or engine"),
    ],
)
def test_an_empty_answer_says_what_was_searched(text, said, page):
    page.get_by_label("Find").fill(text)
    expect(rows(page)).to_have_count(0)
    expect(page.locator("output")).to_contain_text(said)


def test_a_move_is_between_engines_as_people_call_them(page):
    choice = page.get_by_label("I run").locator("option", has_text="beam-direct").first
    expect(choice).to_contain_text("Beam DirectRunner (Python, bundle-based): beam-direct")
