"""Questions that people come with, each answered from the page alone in at most three steps.

The page has a run on real engines. Made by hand are the cell of a stored witness, whatever the run asked, and the
column of Spark's dropDuplicatesWithinWatermark, with what a baseline says of it. The chooser has the project's
baselines.
"""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from conformance.judgement.cell import Grade, Verdict
from conformance.judgement.verdict import as_recorded
from conformance.plugins.registry import load_scenarios
from conformance.reports.grades import WEAKEST_FIRST, grade_of
from conformance.reports.page import html
from conformance.reports.words import standing
from conformance.results.baseline import Baseline
from conformance.results.record import ScenarioRecord
from conformance.results.witness import Witness

ROOT = Path(__file__).parents[2]
WITNESS = Witness.read(ROOT / "witnesses" / "late-data" / "de43f08c32c5.json")
"""Of finding 2, on beam-direct."""
OPERATOR = "spark-native:drop-duplicates-within-watermark"
H, V = Verdict.HOLDS, Verdict.VIOLATED


@pytest.fixture(scope="module")
def measured():
    """Release -> its baseline."""
    files = {"3.5.9": "pyspark-3.5.9", "4.3.0": "pyspark-4.3.0", "2.77.0": "apache-beam-2.77.0"}
    return {release: Baseline.read(ROOT / "baselines" / f"{name}.jsonl") for release, name in files.items()}


@pytest.fixture(scope="module")
def asked(results, measured):
    """The results of the page."""
    place = ("beam-direct", "late-data", WITNESS.guarantee)
    drawn = next(c for c in results.cells if (c.engine, *c.row) == place and c.perturbation == "as drawn")
    made = replace(
        drawn, verdict=V, violations=1, cases=1, witness=WITNESS.id, reason=WITNESS.message, grade=Grade.REPLAYED
    )
    # What the run found in this row under other perturbations has grades of its own, and is left out.
    cells = [*(c for c in results.cells if (c.engine, *c.row) != place), made]
    recorded = [
        as_recorded(scenario, guarantee, under, OPERATOR, found.verdict, found.signature, found.cases)
        for (engine, scenario, guarantee, under), found in measured["4.3.0"].cells.items()
        if engine == OPERATOR
    ]
    record = replace(
        results.environment["beam-direct"],
        title="Spark dropDuplicatesWithinWatermark()",
        native_operator="dropDuplicatesWithinWatermark()",
        shown_as="spark-native",
        versions={"spark": "4.3.0"},
    )
    texts = {s.id: ScenarioRecord.of(s) for s in load_scenarios() if s.id in {c.scenario for c in recorded}}
    return replace(
        results,
        environment={**results.environment, OPERATOR: record},
        scenarios={**results.scenarios, **texts},
        cells=[*(c for c in cells if c.engine != OPERATOR), *recorded],
        witnesses={**results.witnesses, WITNESS.id: WITNESS},
    )


@pytest.fixture(scope="module")
def path(asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "matrix.html"
    path.write_text(html.render([asked]), encoding="utf-8")
    return path


@pytest.fixture
def page(opened, path):
    return opened(path)


def rows(page):
    return page.locator("#matrix tbody tr:not(.scenario):visible")


def under(baseline, engine):
    """(scenario, guarantee) -> perturbation -> verdict."""
    found = {}
    for (name, scenario, guarantee, perturbation), found_there in baseline.cells.items():
        if name == engine:
            found.setdefault((scenario, guarantee), {})[perturbation] = found_there.verdict
    return found


def opposed(old, other, was, now):
    """The guarantees that stood one way on the old side and stand another way on the other side under one
    perturbation."""
    return {
        row
        for row, cells in other.items()
        if any(now is v and old.get(row, {}).get(p) is was for p, v in cells.items())
    }


def listed(page, kind):
    return page.locator("#move > details").filter(has=page.locator("summary", has_text=kind)).locator("li")


def claims(page, kind):
    return [
        re.sub(r"^[^:]+: ", "", text)
        for text in listed(page, kind).locator(":scope > :first-child").all_text_contents()
    ]


def as_measured(page, side, release):
    """The release as its baseline has it, whatever the page's run asked: the newest release is offered first."""
    options = page.get_by_label(f"{side}: release").locator("option")
    expect(options.first).to_contain_text(release)
    text = options.filter(has_text=f"{release}, measured").first.text_content()
    page.get_by_label(f"{side}: release").select_option(label=text)


def known(found):
    """The claims of guarantees."""
    texts = {(s.id, g.id): g.claim for s in load_scenarios() for g in s.guarantees}
    return sorted(texts[row] for row in found)


def test_what_changes_from_applyinpandaswithstate_in_3_5_9_to_transformwithstate_in_4_3_0(page, measured):
    """Three choices; what is listed as breaking held on the old side under a perturbation under which it is broken on
    the new one."""
    page.get_by_label("I run", exact=True).select_option(label="applyInPandasWithState (PySpark)")
    page.get_by_label("I run: release").select_option(value="spark-fmgws-pandas@3.5.9")
    page.get_by_label("and want to move to", exact=True).select_option(label="transformWithState (PySpark, rows)")
    as_measured(page, "and want to move to", "4.3.0")
    old, other = under(measured["3.5.9"], "spark-fmgws-pandas"), under(measured["4.3.0"], "spark-tws")
    broken = opposed(old, other, H, V)
    mended = opposed(old, other, V, H) - broken
    assert broken
    assert sorted(claims(page, "Held there, broken here")) == known(broken)
    assert sorted(claims(page, "Broken there, holds here")) == known(mended)
    expect(page.locator("#move h3")).to_contain_text(f"{len(broken)} guarantees break")
    advice = page.locator("#move details[open] p", has_text="What to do: ").all_text_contents()
    assert advice
    assert len(advice) == len(set(advice)), "each cause has its advice once"
    apart = claims(page, "Cannot be compared")
    decided = {H, V}
    compared = {
        row for row in other if any(v in decided and old.get(row, {}).get(p) in decided for p, v in other[row].items())
    }
    assert apart
    assert not {*apart} & {*known(broken | mended)}
    assert broken | mended <= compared
    page.evaluate("dispatchEvent(new Event('hashchange'))")
    expect(page.locator("#move h3")).to_contain_text("applyInPandasWithState (PySpark) 3.5.9")


def test_does_directrunner_drop_late_data_as_spark_does(page, measured):
    page.get_by_label("I run", exact=True).select_option(label="transformWithState (PySpark, rows)")
    page.get_by_label("and want to move to", exact=True).select_option(label="DirectRunner (Python, bundle-based)")
    as_measured(page, "I run", "4.3.0")
    as_measured(page, "and want to move to", "2.77.0")
    old, other = under(measured["4.3.0"], "spark-tws"), under(measured["2.77.0"], "beam-direct")
    late = {row for row in opposed(old, other, H, V) if row[0] == "late-data"}
    assert late
    assert {*known(late)} <= {*claims(page, "Held there, broken here")}
    expect(listed(page, "Held there, broken here").filter(has_text="behind the watermark").first).to_be_visible()


def test_what_does_dropduplicateswithinwatermark_not_guarantee(page, asked):
    """What is violated, what the operator says nothing of, and what holds in part or is not decided."""
    page.get_by_label("Find").fill("dropDuplicatesWithinWatermark:!holds")
    lacking = [r for r, cells in asked.folded().items() if OPERATOR in cells and standing(cells[OPERATOR]) != "holds"]
    assert lacking
    lines = page.locator("#operators-table tbody tr:visible")
    expect(lines).to_have_count(len(lacking))
    cells = lines.locator(f'a.v[data-e="{OPERATOR}"]')
    assert sorted(cells.evaluate_all("cells => cells.map(cell => cell.className)")) == sorted(
        f"v {standing(asked.folded()[row][OPERATOR])}" for row in lacking
    )
    cells.first.click()
    expect(page.locator("section.row.open .open")).to_contain_text(OPERATOR)


def test_which_cells_are_weak(page, asked):
    """The weakest first, each with its grade; a query finds those of one grade."""
    cells = [c for found in asked.folded().values() for c in found.values() if grade_of(c)]
    weakest = min((grade_of(c) for c in cells), key=WEAKEST_FIRST.index)
    page.get_by_label("Weakest cells first").check()
    lines = page.locator("#weakest tbody tr")
    expect(lines).to_have_count(min(len(cells), 200))
    expect(lines.first).to_contain_text(weakest.name)
    order = [grade.name for grade in WEAKEST_FIRST]
    shown = [order.index(text.split(" ", 1)[1]) for text in lines.locator(".badge").all_text_contents()]
    assert shown == sorted(shown)
    page.get_by_label("Weakest cells first").uncheck()
    page.get_by_label("Find").fill(f"grade:{weakest.word}")
    fits = [row for row, found in asked.folded().items() if weakest in map(grade_of, found.values())]
    expect(rows(page)).to_have_count(len(fits))


def test_give_me_a_test_to_paste(page, tmp_path):
    """The file is in the panel, to copy and to download; it runs without this project, and fails as the cell says."""
    page.get_by_label("Find").fill("beam-direct:violated finding:2")
    rows(page).filter(has_text=WITNESS.sentence).locator('a.v.violated[data-e="beam-direct"]').first.click()
    panel = page.locator("article.open")
    panel.locator("details.export summary").click()
    expect(panel.locator("details.export").get_by_role("button", name="Copy")).to_be_visible()
    with page.expect_download() as found:
        panel.get_by_role("button", name="Download").click()
    file = tmp_path / found.value.suggested_filename
    found.value.save_as(file)
    assert file.name == f"test_witness_{WITNESS.id}.py"
    assert file.read_text(encoding="utf-8") == panel.locator("pre.file").text_content()
    assert "conformance" not in re.sub(r'""".*?"""', "", file.read_text(encoding="utf-8"), count=1, flags=re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert "1 failed" in ran.stdout, ran.stdout + ran.stderr
    assert "AssertionError" in ran.stdout


def test_how_sure_is_this_cell(page):
    """The grade stands beside the sentence and not in it."""
    page.get_by_label("Find").fill("beam-direct:violated finding:2")
    rows(page).filter(has_text=WITNESS.sentence).locator('a.v.violated[data-e="beam-direct"]').first.click()
    expect(page.locator("article.open .badge")).to_have_text("◑ replayed here")
    expect(page.locator("article.open")).to_contain_text("failed alone")


def test_what_do_i_tell_upstream(page):
    """The finding with its ticket, or that none is named."""
    page.get_by_label("Find").fill("beam-direct:violated finding:2")
    rows(page).filter(has_text=WITNESS.sentence).locator('a.v.violated[data-e="beam-direct"]').first.click()
    expect(page.locator("article.open")).to_contain_text(f"conformance replay {WITNESS.id}")
    page.locator("article.open").get_by_role("link", name="finding 2", exact=True).click()
    finding = page.locator("#finding-2")
    expect(finding).to_have_attribute("open", "")
    expect(finding).to_contain_text("Upstream: " if finding.get_by_text("Upstream: ").count() else "No upstream ticket")


def test_a_cell_leads_to_the_source_of_what_was_asked(page):
    page.get_by_label("Find").fill("beam-direct:violated finding:2")
    rows(page).locator('a.v.violated[data-e="beam-direct"]').first.click()
    page.locator("section.row.open").get_by_role("link", name="its source, and the predicates").click()
    expect(page.locator("#sources details[open] pre").first).to_contain_text("(Program)")


@pytest.mark.parametrize("text", ["DirectRunner late", 'directrunner "behind the watermark"'])
def test_an_engine_is_found_by_the_name_that_people_know(text, page):
    page.get_by_label("Find").fill(text)
    expect(rows(page).first).to_be_visible()
    assert rows(page).locator('a.v[data-e="beam-direct"]').count() == rows(page).count()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strenght:<10", "strenght:<10 is in no claim, scenario, engine or finding; did you mean strength:<10?"),
        ("watermrak", "watermrak is in no claim, scenario, engine or finding; did you mean watermark?"),
        ("watermark xqzw", "xqzw alone: 0"),
        ("spark-99999", "spark-99999 is in no claim, scenario, engine or finding"),
        ("xqzw", "xqzw is in no claim, scenario, engine or finding"),
    ],
)
def test_an_empty_answer_says_what_was_searched(text, said, page):
    page.get_by_label("Find").fill(text)
    expect(rows(page)).to_have_count(0)
    expect(page.locator("output")).to_contain_text(said)


def test_a_word_finds_other_words_for_the_same_thing_unless_it_is_in_quotes(page):
    page.get_by_label("Find").fill("deduplication")
    expect(page.locator("output")).to_contain_text("for deduplication also dedup, duplicate")
    found = rows(page).count()
    page.get_by_label("Find").fill('"deduplication"')
    expect(page.locator("output")).not_to_contain_text("also")
    assert rows(page).count() < found


def test_a_guarantee_is_found_by_a_finding_about_it(page):
    title = page.locator("#indexed li").first.text_content()
    assert title
    page.get_by_label("Find").fill(f'"{title}"')
    expect(rows(page).first).to_be_visible()


def test_since_when_does_the_direct_runner_do_that(opened, results, violated, tmp_path):
    """Two releases beside each other; the older one, made by hand, kept the guarantee."""
    engine, row = violated
    held = [
        replace(c, verdict=H, witness="", grade=None) if (c.engine, c.row) == (engine, row) else c
        for c in results.cells
    ]
    record = results.environment[engine]
    old = {**results.environment, engine: replace(record, versions={**record.versions, "beam": "2.65.0"})}
    path = tmp_path / "two.html"
    path.write_text(html.render([replace(results, environment=old, cells=held), results]), encoding="utf-8")
    page = opened(path)
    version = record.framework[1]
    for text in (f"since:{version.rpartition('.')[0]}", "was:holds now:violated", f"since:{version} now:violated"):
        page.get_by_label("Find").fill(text)
        expect(rows(page)).to_have_count(1)
        expect(rows(page)).to_contain_text(results.scenarios[row[0]].guarantees[row[1]].claim)
    page.get_by_label("Find").fill("was:violated now:holds")
    expect(rows(page)).to_have_count(0)
    page.get_by_label("Find").fill("since:9.9")
    expect(page.locator("output")).to_contain_text("no column has the version 9.9")
