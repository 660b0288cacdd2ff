"""Reports are made from results alone, and take every text in them for text."""

import csv as commas
import io
import json
import threading
import time
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema_rs
import pytest
from hostile import EVIL, SCHEDULE, TRACE, agreement, hostile_results
from rich.console import Console

from conformance.cli import job
from conformance.confirmation.replay import NOT_REPLAYED
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.stability import Stability, StabilityGrade
from conformance.model.equivalence import Equivalence
from conformance.model.values import canonical, spelled
from conformance.reports.advice import Advice
from conformance.reports.page import html
from conformance.reports.perturbations import told
from conformance.reports.text import badge, csv, ctrf, ending, junit, markdown, terminal
from conformance.reports.text.ending import since_the_last
from conformance.reports.text.likeness import agreed, difference_lines, inapplicable, stable_up_to
from conformance.reports.witnesses import alone_lines, witness_lines
from conformance.reports.words import coverage_line, labels
from conformance.results.baseline import Baseline
from conformance.results.record import ReplayRecord
from conformance.results.witness import Confirmation, Flip
from conformance.run.events import BatchBegun, Confirming, EngineDone, PackDone

IDENTICAL, SAME_MULTISET = Equivalence.IDENTICAL, Equivalence.SAME_MULTISET


@pytest.fixture
def results():
    return hostile_results()


def without_failures(results):
    return {name: replace(record, failure="") for name, record in results.environment.items()}


def test_agreement_in_words():
    differing, alike = agreement("one", "two", 2), agreement("one", "two", 0)
    assert (agreed(differing), agreed(alike)) == ("same multiset", "identical")
    assert agreed(agreement("one", "two", 0, cases=0)) == "no cases"
    lines = list(difference_lines(differing))
    assert [line for line in lines if "gave" in line] == [f"    one gave key {spelled(EVIL)} {canonical({EVIL: EVIL})}"]
    assert sum("bundle of 1" in line for line in lines) == 1
    assert list(difference_lines(alike)) == []


def test_coverage_in_words():
    cell = MatrixCell("s", "p", "g", "as drawn", "e", Verdict.HOLDS, "", cases=3)
    assert coverage_line(replace(cell, coverage={"late": 2, "restart": 1})) == ("of 3 cases: late 2, restart 1")
    assert coverage_line(cell).startswith("of 3 cases: none")
    assert coverage_line(replace(cell, cases=0)) == ""


def test_junit_is_valid_xml_with_a_case_a_cell(results):
    """And one for each engine that did not run to its end."""
    root = ElementTree.fromstring(junit.render([results]).split("\n", 1)[1])
    assert len(root.findall(".//testcase")) == 10
    assert [len(root.findall(f".//{tag}")) for tag in ("failure", "error", "skipped")] == [1, 1 + 5, 2]
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["10", "1", "6", "2"]
    results.environment = without_failures(results)
    assert len(ElementTree.fromstring(junit.render([results]).split("\n", 1)[1]).findall(".//testcase")) == 5


def test_junit_takes_what_xml_cannot_carry_out_of_every_text(results):
    results.environment = {f"\x07{name}": record for name, record in results.environment.items()}
    results.cells = [replace(cell, engine=f"\x07{cell.engine}") for cell in results.cells]
    assert (
        ElementTree.fromstring(junit.render([results]).split("\n", 1)[1]).find("testsuite").get("name") == "spark-tws"
    )


COUNT, TEXT, TEXTS = (
    {"type": "integer", "minimum": 0},
    {"type": "string"},
    {"type": "array", "items": {"type": "string"}},
)
CTRF_TEST = {
    "name": TEXT | {"minLength": 1},
    "status": {"enum": ["passed", "failed", "skipped", "pending", "other"]},
    "duration": COUNT,
    "suite": TEXTS | {"minItems": 1},
    "rawStatus": TEXT,
    "tags": TEXTS,
    "message": TEXT,
    "trace": TEXT,
    "stdout": TEXTS,
    "flaky": {"type": "boolean"},
    "extra": {"type": "object"},
}
CTRF_SUMMARY = ["tests", "passed", "failed", "skipped", "pending", "other", "start", "stop"]


def closed(properties, required):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


CTRF = closed(
    {
        "reportFormat": {"const": "CTRF"},
        "specVersion": TEXT | {"pattern": r"^\d+\.\d+\.\d+$"},
        "results": closed(
            {
                "tool": closed({"name": TEXT, "version": TEXT}, ["name"]),
                "summary": closed(dict.fromkeys([*CTRF_SUMMARY, "flaky", "suites"], COUNT), CTRF_SUMMARY),
                "tests": {"type": "array", "items": closed(CTRF_TEST, ["name", "status", "duration"])},
                "extra": {"type": "object"},
            },
            ["tool", "summary", "tests"],
        ),
    },
    ["results", "reportFormat", "specVersion"],
)
"""The part of the format that the report uses: what is required, and that nothing else may stand there."""


def ctrf_of(results):
    found = json.loads(ctrf.render([results]))
    jsonschema_rs.validate(CTRF, found)
    return found["results"]


def test_ctrf_has_a_test_for_each_guarantee_on_an_engine(results):
    """And one for each engine that did not run to its end."""
    found = ctrf_of(results)
    assert [test["status"] for test in found["tests"]] == ["failed", "passed", "skipped", "failed", "other"] + [
        "failed"
    ] * 5
    assert [test["rawStatus"] for test in found["tests"][:5]] == [
        "violated",
        "holds",
        "unsupported",
        "error",
        "unknown",
    ]
    counts = {name: found["summary"][name] for name in ("tests", "passed", "failed", "skipped", "other", "flaky")}
    assert counts == {"tests": 10, "passed": 1, "failed": 7, "skipped": 1, "other": 1, "flaky": 0}
    first = found["tests"][0]
    assert (first["name"], first["suite"]) == (EVIL, ["spark-tws", "s"])
    assert f"conformance replay {results.cells[0].witness}" in first["trace"]
    results.environment = without_failures(results)
    assert ctrf_of(results)["summary"]["tests"] == 5


def test_plans_that_were_not_exercised_are_counted_and_not_named(results):
    asked = replace(results.cells[0], verdict=Verdict.HOLDS, perturbation="plan:cast", cases=3)
    left = [
        replace(asked, verdict=Verdict.UNKNOWN, perturbation=f"plan:{n}", cases=0, reason="not exercised by any case")
        for n in range(40)
    ]
    assert [part.line for part in told([asked, *left])] == ["not exercised: 40 plans", "holds: plan:cast 3"]


def test_the_times_of_an_engine_are_shared_by_the_cases_of_its_rows(results):
    results = replace(results, timing={"engines": {"spark-tws": {"all": 12.5}}})
    tests = [test for test in ctrf_of(results)["tests"] if test["extra"]["engine"] == "spark-tws"]
    asked = [test for test in tests if test["extra"].get("cases")]
    assert abs(sum(test["duration"] for test in tests) - 12_500) <= len(tests)
    assert len({round(test["duration"] / test["extra"]["cases"]) for test in asked}) == 1
    suites = ElementTree.fromstring(junit.render([results])).findall("testsuite")
    assert {suite.get("name"): suite.get("time") for suite in suites}["spark-tws"] == "12.5"


def test_an_intermittent_violation_is_flaky_in_ctrf(results):
    results.cells[0] = replace(results.cells[0], intermittent="1/3")
    found = ctrf_of(results)
    assert [test.get("flaky", False) for test in found["tests"]] == [True] + [False] * 9
    assert (found["summary"]["flaky"], found["tests"][0]["extra"]["intermittent"]) == (1, "1/3")


def test_markdown_keeps_its_shape(results):
    text = markdown.render([results])
    assert "<script>" not in text
    rows = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("| ")]
    assert len({row.count("|") for row in rows}) == 1


def test_the_terminal_takes_no_markup_from_texts(results):
    console = Console(record=True, width=300, file=io.StringIO())
    terminal.summary(results, console)
    text = console.export_text()
    assert "[red]*" in text
    assert "partial" in text


def ended(results):
    console = Console(record=True, width=300, file=io.StringIO())
    ending.ending(results, console)
    return console.export_text()


def test_a_run_says_what_changed_since_the_last_one(results):
    now = replace(results, cells=[c for c in results.cells if c.verdict in (Verdict.VIOLATED, Verdict.HOLDS)])
    assert since_the_last(Baseline.of(now), Baseline.of(now)) == "Since the last run here: nothing changed"
    before = replace(now, cells=[replace(c, verdict=Verdict.HOLDS, reason="", witness="") for c in now.cells])
    told = since_the_last(Baseline.of(before), Baseline.of(now))
    assert told == "Since the last run here: no longer holds: 1 guarantee on engines"
    assert (
        since_the_last(Baseline.of(now), Baseline.of(before))
        == "Since the last run here: holds now: 1 guarantee on engines"
    )


def test_the_last_run_is_read_from_the_text_of_its_results(results, tmp_path):
    """What cannot be compared with is no reason not to end a run."""
    assert job.last_run(tmp_path) == ""
    results.write(tmp_path / "results.json.gz")
    assert job.since_the_last(job.last_run(tmp_path), results) == "", "it was cut short"
    whole = replace(results, run=replace(results.run, partial=False))
    whole.cells = [cell for cell in results.cells if cell.verdict in (Verdict.VIOLATED, Verdict.HOLDS)]
    whole.write(tmp_path / "results.json.gz")
    text = job.last_run(tmp_path)
    assert job.since_the_last(text, whole) == "Since the last run here: nothing changed"
    assert job.since_the_last(text[:-9], whole) == ""


def test_forty_engines_are_told_on_a_screen(results):
    """A line for each engine, and one for all variants of an engine together; the bars of a terminal leave nothing."""
    names = [*(f"engine-{number}" for number in range(12)), *(f"native:{number}" for number in range(28))]
    for terminal_ in (False, True):
        console = Console(record=True, width=160, file=io.StringIO(), force_terminal=terminal_)
        with terminal.Live(console, verbose=False) as live:
            for name in names:
                live(BatchBegun(name, 0, 1, 3))
                live(EngineDone(name, 1.0, "", available=True))
        said = [line for line in console.export_text().splitlines() if "done in" in line]
        assert said == (
            [] if terminal_ else [*(f"{name}: done in 1 s" for name in names[:12]), "native: 28 variants done in 28 s"]
        )


def test_a_run_without_a_terminal_says_how_far_it_is():
    """Every now and then; and nothing once it has ended. There is no thread before the first packs: cases are drawn in
    processes."""
    console = Console(record=True, width=160, file=io.StringIO())
    threads = threading.active_count()
    with terminal.Live(console, verbose=False, every=0.01) as live:
        assert threading.active_count() == threads
        live(BatchBegun("one", 0, 1, 3))
        live(PackDone("one"))
        live(BatchBegun("two", 0, 1, 4))
        live(Confirming("two", 5))
        live(BatchBegun("three", 0, 1, 4))
        live(EngineDone("three", 1.0, "", available=True))
        while "confirming" not in (said := console.export_text(clear=False)):
            time.sleep(0.01)
    assert threading.active_count() == threads
    assert said.splitlines()[-1] == "0 min: one 1 of 3 packs, two confirming 5 violated cells"


def test_a_violation_whose_witness_was_left_without_time_is_not_called_new(results):
    cell = results.cells[0]
    left = ReplayRecord("other", cell.engine, cell.scenario, cell.guarantee, NOT_REPLAYED, "")
    text = ended(replace(results, replays=[left]))
    assert "that no stored witness showed" not in text
    assert "1 stored witness NOT REPLAYED: no time was left" in text


def test_a_run_ends_on_a_screen_whatever_its_size(results):
    """With what is new and how to replay it, and what did not run."""
    text = ended(results)
    assert "[red]*" in text
    assert "1 new violation, 0 known" in text
    assert "New: 1 violation that no stored witness showed" in text
    assert f"conformance replay {results.cells[0].witness}" in text
    assert "5 engines did not run to their end" in text
    assert "partial" in text
    first, texts = results.cells[0], results.scenarios["s"]
    many = [f"g{number}" for number in range(100)]
    results.scenarios = {"s": replace(texts, guarantees=dict.fromkeys(many, texts.guarantees["g"]))}
    witnesses = [replace(results.witnesses[first.witness], guarantee=name) for name in many]
    results.witnesses = {witness.id: witness for witness in witnesses}
    results.cells = [replace(first, guarantee=w.guarantee, witness=w.id) for w in witnesses]
    for number in range(50):
        results.environment[f"broken-{number}"] = results.environment["slow"]
    told = ended(results).splitlines()
    assert len(told) < 30
    assert "  and 95 more" in told


def test_a_violation_that_a_stored_witness_showed_is_not_new(results):
    known = results.cells[0].witness
    results.replays = [ReplayRecord(known, "spark-tws", "s", "g", "STILL FAILS")]
    text = ended(results)
    assert "New:" not in text
    assert "0 new violations, 1 known" in text
    assert "Known: 1 violation of 1 cause" in text


def test_a_witness_says_what_is_known_of_it(results):
    """What flips it, how it was reduced; in every report that shows it."""
    known = replace(
        next(iter(results.witnesses.values())),
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
    reduced = (
        "reduced from 4 elements in 1 round of 7 candidates in all (drop elements): nothing simpler that was tried "
        "fails"
    )
    assert reduced in lines
    assert not any("failed alone" in line for line in lines)
    assert "no single change that was tried flips it" in witness_lines(replace(known, flip=None))
    in_a_pack = replace(known, packed_seen=TRACE)
    assert any("in a pack" in line for line in witness_lines(in_a_pack))


def test_an_engine_that_was_given_up_has_one_line_for_all_that_it_did_not_answer(results):
    why = "given up, because its first runs failed in one way"
    cells = [replace(c, verdict=Verdict.UNKNOWN, reason=f"3 cases without an answer: {why}") for c in results.cells]
    environment = {name: replace(record, failure=why) for name, record in results.environment.items()}
    console = Console(file=io.StringIO(), record=True, width=200)
    terminal.summary(replace(results, cells=cells, environment=environment), console)
    told = [line for line in console.export_text().splitlines() if why in line]
    assert len(told) == len(environment)
    assert all(line.endswith(f"did not run to its end: {why}") for line in told)


def test_what_the_stored_witnesses_gave_is_told(results):
    replays = [
        ReplayRecord(name, "e", "s", "g", answer)
        for name, answer in [("one", "STILL FAILS"), ("two", "FIXED"), ("three", "FIXED")]
    ]
    told = replace(results, replays=replays)
    console = Console(file=io.StringIO(), record=True, width=200)
    terminal.summary(told, console)
    printed = console.export_text()
    assert "stored witnesses: 1 STILL FAILS\n" in printed
    assert "stored witnesses: 2 FIXED: two, three" in printed


def test_a_guarantee_is_mended_once_and_not_while_another_witness_shows_it_broken(results):
    """What is mended has its name; stored witnesses of what is broken all the same are counted apart."""
    mended = [ReplayRecord(name, "e", "s", "g", "FIXED") for name in ("one", "two")]
    outlived = [ReplayRecord(name, "spark-tws", "s", "g", "FIXED") for name in ("three", "four")]
    told = replace(results, replays=[*mended, *outlived, ReplayRecord("five", "spark-tws", "s", "g", "STILL FAILS")])
    apart = "2 stored witnesses no longer fail, of guarantees that others still show broken"
    for text in (ended(told), markdown.render([told]).replace("\\", "")):
        assert [line.partition("FIXED: ")[2][:3] for line in text.splitlines() if "FIXED" in line] == ["e: "]
        assert "[one, two]" in text
        assert apart in text
    assert apart not in ended(replace(results, replays=mended))


def test_what_is_not_broken_in_a_release_that_was_asked_for_is_not_called_fixed(results):
    """It may be older than the release in which it was seen broken."""
    told = replace(results, replays=[ReplayRecord("one", "e@1.0", "s", "g", "FIXED")])
    for text in (ended(told), markdown.render([told])):
        assert "not broken there: e@1.0: " in text.replace("`", "")
        assert "FIXED" not in text


def test_pairs_that_do_not_count_are_shown():
    grades = StabilityGrade(IDENTICAL, 1, 9, 0), StabilityGrade(SAME_MULTISET, 8, 2, 0)
    stability = Stability("s", "p", "split", "e", SAME_MULTISET, 10, grades)
    assert inapplicable(stability) == "2 inapplicable to same multiset"
    assert inapplicable(replace(stability, promised=None)) == "9 inapplicable to identical"
    assert inapplicable(replace(stability, promised=Equivalence.SAME_FINAL_VALUE)) == ""


def test_a_spreadsheet_reads_every_cell_back(results):
    """A line for a cell; no text is taken for a formula."""
    results.cells[0] = replace(results.cells[0], reason="=1+1")
    rows = list(commas.DictReader(io.StringIO(csv.render([results]))))
    assert [(row["engine"], row["verdict"]) for row in rows] == [(c.engine, c.verdict.value) for c in results.cells]
    assert rows[0]["claim"] == EVIL
    assert rows[0]["reason"] == "'=1+1"
    assert [row["run"] for row in csv_of_two(results)] == ["(run 1)"] * 5 + ["(run 2)"] * 5


def under(results, **verdicts):
    """The first cell of the results, under perturbations with verdicts and numbers of cases."""
    first = replace(results.cells[0], verdict=Verdict.HOLDS, witness="")
    told = {
        Verdict.UNSUPPORTED: "typed state: it has none",
        Verdict.UNKNOWN: "not exercised: no case put it to the test",
    }
    return [
        replace(first, perturbation=name, verdict=verdict, cases=cases, reason=told.get(verdict, "why"), coverage={})
        for name, (verdict, cases) in verdicts.items()
    ]


def test_a_spreadsheet_has_a_column_for_each_perturbation(results):
    """With the number of cases, what speaks against the guarantee and what does not count; plans share a column."""
    results.cells = under(
        results,
        split=(Verdict.HOLDS, 7),
        merge=(Verdict.VIOLATED, 9),
        restart=(Verdict.UNSUPPORTED, 0),
        retry=(Verdict.UNKNOWN, 0),
        resume=(Verdict.ERROR, 4),
    )
    results.cells[1] = replace(results.cells[1], violations=2, inapplicable=3)
    results.cells += [replace(results.cells[0], perturbation=name) for name in ("plan:a", "plan:b")]
    results.cells.append(replace(results.cells[0], perturbation="finer", engine="slow"))
    first, second = commas.DictReader(io.StringIO(csv.render([results])))
    found = {name: first[name] for name in ("split", "merge", "restart", "retry", "resume", "finer")}
    assert found == {"split": "7", "merge": "2/9 (3)", "restart": "–", "retry": "0", "resume": "! 4", "finer": ""}
    assert (first["plans"], first["lacks"], first["undecided"]) == (
        "plan:a 7; plan:b 7",
        "typed",
        "error (why): resume 4",
    )
    assert (second["finer"], second["split"]) == ("7", "")


def test_what_an_engine_usually_lacks_is_said_once(results):
    """In the properties of its suite; a row names its other perturbations, and what else it lacks."""
    results.cells = under(
        results, split=(Verdict.HOLDS, 7), restart=(Verdict.UNSUPPORTED, 0), retry=(Verdict.UNKNOWN, 0)
    )
    results.environment = {"spark-tws": replace(results.environment["spark-tws"], failure="")}
    (suite,) = ElementTree.fromstring(junit.render([results]).split("\n", 1)[1])
    assert [dict(found.attrib) for found in suite.iter("property")] == [
        {"name": "lacks typed state", "value": "restart"},
        {"name": "unsupported as usual", "value": "the perturbations of a row that its test case does not name"},
    ]
    assert suite.findtext("testcase/system-out").splitlines() == [
        "holds, in part (1 of 2)",
        "not exercised: retry",
        "holds: split 7",
    ]
    assert ctrf_of(results)["extra"]["lacks"] == {"spark-tws": {"restart": "typed state"}}
    usual = {"restart": "another feature"}
    assert [part.line for part in told(results.cells, usual)][-1] == "unsupported (typed state): restart"


def test_why_an_engine_lacks_what_a_row_needs_is_said_once(results):
    """A row that cannot be asked names what is lacking; the properties of the suite say why."""
    results.cells = under(results, split=(Verdict.UNSUPPORTED, 0), merge=(Verdict.UNSUPPORTED, 0))
    results.environment = {"spark-tws": replace(results.environment["spark-tws"], failure="")}
    (suite,) = ElementTree.fromstring(junit.render([results]).split("\n", 1)[1])
    assert {found.get("name"): found.get("value") for found in suite.iter("property")} == {
        "lacks typed state": "split, merge",
        "unsupported as usual": "the perturbations of a row that its test case does not name",
        "why it lacks typed state": "it has none",
    }
    assert suite.find("testcase/skipped").get("message") == "typed state"


def csv_of_two(results):
    return list(commas.DictReader(io.StringIO(csv.render([results, results]))))


def test_a_badge_counts_and_says_what_is_wrong(results):
    def said():
        return ElementTree.fromstring(badge.render([results])).get("aria-label").removeprefix("conformance: ")

    def colour():
        return ElementTree.fromstring(badge.render([results]))[2].get("fill")

    assert said() == "1 holds, 1 violated, 1 unknown, 1 error, 5 engines failed, partial"
    assert colour() == badge.BROKEN
    results.run = replace(results.run, partial=False)
    results.environment = without_failures(results)
    results.cells = [cell for cell in results.cells if cell.verdict in (Verdict.HOLDS, Verdict.VIOLATED)]
    assert (said(), colour()) == ("1 holds, 1 violated", badge.VIOLATED)
    results.cells = [cell for cell in results.cells if cell.verdict is Verdict.HOLDS]
    assert (said(), colour()) == ("1 holds", badge.WHOLE)


def test_a_quick_run_cannot_be_taken_for_a_full_one(results):
    full = replace(results.run, partial=False)
    results.run = replace(full, brief=True)
    console = Console(record=True, width=300, file=io.StringIO())
    terminal.summary(results, console)
    told = "brief: what failed ran alone once"
    for text in (markdown.render([results]), html.render([results]), console.export_text()):
        assert told in text
    assert "brief" in badge.render([results])
    assert "1 of 2" in markdown.render([results]), "packs run, of those drawn"
    results.run = full
    assert "Not a full run" not in markdown.render([results]) + html.render([results])


def test_a_cell_shows_where_its_witness_failed_on_its_own_engine_and_version():
    """A confirmation of another version says nothing about the cell."""
    here = Confirmation("spark-tws", {"spark": "4.3.0", "a.setting": "x", "java": "17"}, "abc", 2, 3)
    there = replace(here, versions={"spark": "4.1.4", "a.setting": "x"}, failed=3)
    known = replace(next(iter(hostile_results().witnesses.values())), confirmations=(there, here))
    versions = {"spark": "4.3.0", "a.setting": "x", "java": "21"}
    told = ["failed alone in 2 of 3 runs on spark-tws (spark 4.3.0)"]
    assert alone_lines(known, "spark-tws@4.3.0", versions) == told
    elsewhere = alone_lines(known, "spark-tws", {"spark": "4.2.1", "a.setting": "x"})
    assert elsewhere == ["not run alone on spark-tws (spark 4.2.1)"]


def versions(results, **named):
    """The same results, of other versions."""
    environment = {name: replace(record, versions=named) for name, record in results.environment.items()}
    return replace(results, environment=environment)


def test_runs_are_told_apart_by_the_versions_in_which_they_differ(results):
    old, new = versions(results, spark="4.2.1", java="17"), versions(results, spark="4.3.0", java="17")
    assert labels([old, new]) == ["spark 4.2.1", "spark 4.3.0"]
    assert labels([old, new, new]) == ["spark 4.2.1", "spark 4.3.0 (run 2)", "spark 4.3.0 (run 3)"]


def test_markdown_tells_changes_first_and_in_both_directions(results):
    flipped = {"beam-direct": Verdict.VIOLATED, "spark-tws": Verdict.HOLDS}
    cells = [replace(cell, verdict=flipped.get(cell.engine, cell.verdict)) for cell in results.cells]
    new = versions(replace(results, cells=cells), spark="4.3.0")
    text = markdown.render([versions(results, spark="4.2.1"), new])
    assert text.index("## spark 4.2.1 → spark 4.3.0") < text.index("## New")
    assert "**1 guarantee on engines: no longer holds**" in text
    assert "**1 guarantee on engines: holds now**" in text
    assert "<script>" not in text
    assert "Nothing changed." in markdown.render([results, results])


def test_markdown_calls_nobody_and_takes_engines_for_text(results):
    results.cells[0] = replace(results.cells[0], engine=next(iter(results.environment)))
    text = markdown.render([results])
    assert "<script>" not in text
    assert "@" not in markdown.plain("@somebody").replace("@\u200b", "")
    assert markdown.plain("a_b: spark-native:count@3.5.9+4.3.0: x") == "a\\_b: `spark-native:count@3.5.9+4.3.0`: x"
    results.run = replace(results.run, seed=None)
    assert "from a file of cases" in markdown.render([results])


def test_markdown_fits_into_a_comment(results):
    """What changed is left out, and named; what is new and broken stays."""
    texts = results.scenarios["s"]
    many = [f"g{number}" for number in range(900)]
    results.scenarios = {"s": replace(texts, guarantees=dict.fromkeys(many, texts.guarantees["g"]))}
    first = replace(results.cells[0], witness="")
    before, now = (
        replace(results, cells=[replace(first, guarantee=name, verdict=verdict) for name in many])
        for verdict in (Verdict.HOLDS, Verdict.VIOLATED)
    )
    text = markdown.render([before, now])
    assert len(text) < 10_000
    assert "Left out for length: what changed" in text
    assert "## New: 900 guarantees on engines" in text


def test_markdown_says_what_is_new_mended_and_still_broken_by_cause(results, monkeypatch):
    advice = Advice("a known cause", ("spark-*",), ("s/*",), "")
    monkeypatch.setattr("conformance.reports.advice.known_advice", lambda: (advice,))
    results.cells = [cell for cell in results.cells if cell.engine in ("spark-tws", "beam-direct")]
    command = f"`conformance replay {results.cells[0].witness}`"
    text = markdown.render([results])
    assert "## New: 1 guarantee on engines" in text
    assert f"(a known cause): {command}" in text
    assert "Still broken" not in text
    place = ("spark-tws", "s", "g")
    results.replays = [ReplayRecord("1", *place, "STILL FAILS"), ReplayRecord("2", "e", "s", "gone", "FIXED")]
    text = markdown.render([results])
    assert "## New" not in text
    assert f"## Still broken: 1 guarantee on engines\n\n- a known cause: 1, on spark-tws: {command}" in text
    assert "## Mended: 1 guarantee on engines\n\n- FIXED: e: s/gone \\[2\\]" in text


def stability(promised, every_pair_shows=None, refuted=0):
    """Of nine pairs, six count, and some of these refute what is promised; at one equivalence all nine count."""
    graded = [IDENTICAL, SAME_MULTISET, Equivalence.SAME_FINAL_VALUE]
    grades = [
        StabilityGrade(how, 9, 0, 0) if how is every_pair_shows else StabilityGrade(how, 6, 3, refuted)
        for how in graded
    ]
    return Stability("s", "p", "split", "e", promised, 9, tuple(grades))


def test_a_promise_that_no_pair_refuted_does_not_read_like_one_that_was_missed():
    kept, missed = stability(SAME_MULTISET), stability(SAME_MULTISET, refuted=2)
    assert stable_up_to(kept) == "same multiset on the 6 that count"
    assert stable_up_to(missed) == "nothing that every pair shows"
    assert stable_up_to(stability(SAME_MULTISET, Equivalence.SAME_FINAL_VALUE)) == "same multiset on the 6 that count"
    assert stable_up_to(stability(None)) == "nothing that every pair shows"
