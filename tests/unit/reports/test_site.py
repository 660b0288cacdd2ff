"""The generated pages of the documentation: whole for every scenario, from what is measured in the tree or from a run,
without MkDocs."""

import fnmatch
import inspect
import posixpath
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hostile import EVIL, SCHEDULE, TRACE
from site_pages.measured import Measured, baselines_in, measured_by, measured_in
from site_pages.pages import pages as generated
from site_pages.pages import places as placed
from site_pages.source import excerpt

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.case import Case
from conformance.model.program import Program
from conformance.model.scenario import Domain, Guarantee, Scenario
from conformance.plugins.registry import load_scenarios
from conformance.reports.advice import Advice, UnusableAdvice, read_advice
from conformance.results.record import EngineRecord, RunRecord
from conformance.results.results import Results
from conformance.results.witness import Witness, read_witnesses

REPOSITORY = Path(__file__).parents[3]

SCENARIOS = load_scenarios()
ADVICE = read_advice(REPOSITORY / "docs/advice.toml")


@pytest.fixture(scope="module")
def baselines():
    return baselines_in(REPOSITORY / "baselines")


@pytest.fixture(scope="module")
def measured():
    return measured_in(REPOSITORY / "docs/measured.jsonl", REPOSITORY / "witnesses")


@pytest.fixture(scope="module")
def pages(measured, baselines):
    return generated(SCENARIOS, measured, ADVICE, baselines)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_every_scenario_has_a_page(scenario, pages, measured):
    """With its programs' source, a section for each guarantee, and what each violated cell is about."""
    page = pages[f"scenarios/{scenario.id}.md"]
    for program in scenario.programs.values():
        assert inspect.getsource(type(program)).rstrip() in page
    for guarantee in scenario.guarantees:
        _, _, section = page.partition(f"{{ #{guarantee.id} }}\n")
        section = section.partition("\n### ")[0]
        assert section
        assert guarantee.source.url in section
        for label, engines in measured.frameworks.items():
            for engine in engines:
                for way in measured.breaches((scenario.id, guarantee.id), label, engine):
                    assert f"/// details | {engine} ({label}): " in section
                    assert way.witness in section


def test_links_between_generated_pages_lead_somewhere(pages):
    """Those to pages that are not generated are the strict build's to check."""
    anchors = {place: set(re.findall(r"\{ #([\w-]+) \}|\{id: ([\w-]+)\}", text)) for place, text in pages.items()}
    seen = 0
    for place, text in pages.items():
        for target, anchor in re.findall(r"\]\(([^)\s#:]*)(?:#([^)\s]+))?\)", text) if place.endswith(".md") else []:
            to = posixpath.normpath(posixpath.join(posixpath.dirname(place), target)) if target else place
            if not to.startswith("docs/"):
                assert to in pages
                assert not anchor or any(anchor in found for found in anchors[to])
                seen += 1
    assert seen > 100


def test_each_two_neighbouring_releases_have_a_page(pages):
    index = pages["releases/index.md"]
    assert index.count("](../releases/pyspark-") == 5
    page = pages["releases/pyspark-3.5.9-4.0.5.md"]
    assert "`SPARK-46906` | `spark-native:count` | 3.5.9 | 4.0.5 | a count that goes on as dropDuplicates" in page
    assert "SPARK-57003" not in page
    assert "| `spark-fmgws-pandas` | 4.0.5 | 3.5.9 | 17 of 17 |" in page
    page = pages["releases/pyspark-4.2.1-4.3.0.md"]
    assert "SPARK-57003" in page
    assert "**the query around it does not change the output** (`spark-native:count`): plan:tagged-later" in page


def test_every_stored_witness_is_shown(pages, measured):
    places = placed(SCENARIOS, measured)
    assert places["scenarios/stories/late_data.py"] == "scenarios/late-data.md"
    stored = list((REPOSITORY / "witnesses").glob("*/*.json"))
    assert len(stored) > 200
    for path in stored:
        file = path.relative_to(REPOSITORY).as_posix()
        page, _, anchor = places[file].partition("#")
        assert pages[page].count(f"{{id: {anchor}}}") == 1
        assert pages[file] == path.read_text(encoding="utf-8")
        assert ElementTree.fromstring(pages[f"witnesses/{path.stem}.svg"]).tag.endswith("svg")


@pytest.fixture(scope="module")
def all_measured(baselines, measured):
    return [measured, *(Measured([baseline]) for baseline in baselines.values())]


def test_every_violated_cell_has_advice(all_measured):
    lacking = {
        (*row, engine)
        for found in all_measured
        for row, engine in found.violated()
        if not any(advice.about(row, engine) for advice in ADVICE)
    }
    assert not lacking


def test_advice_is_about_guarantees_that_there_are_and_that_an_engine_violates(all_measured):
    known = {f"{scenario.id}/{guarantee.id}" for scenario in SCENARIOS for guarantee in scenario.guarantees}
    violated = {place for found in all_measured for place in found.violated()}
    # What is newer than what was measured has a stored witness.
    stored = read_witnesses(REPOSITORY / "witnesses")
    violated |= {((w.case.scenario, w.guarantee), c.engine) for w in stored for c in w.confirmations if c.failed}
    for advice in ADVICE:
        for guarantee in advice.guarantees:
            assert fnmatch.filter(known, guarantee)
            rows = [(row, engine) for row, engine in violated if fnmatch.fnmatchcase("/".join(row), guarantee)]
            assert any(advice.about(row, engine) for row, engine in rows), guarantee


def test_what_was_measured_is_known_and_was_measured_on_both_frameworks(measured):
    """No guarantee has changed its name since. A scenario or a guarantee that is newer than the run is not measured
    yet."""
    asked = {scenario for baseline in measured.baselines for _, scenario, _, _ in baseline.cells}
    known = {(s.id, name) for s in SCENARIOS if s.id in asked for g in s.guarantees for name in (g.id, *g.formerly)}
    rows = {(scenario, name) for baseline in measured.baselines for _, scenario, name, _ in baseline.cells}
    assert rows
    assert rows <= known
    assert {label.partition(" ")[0] for label in measured.frameworks} == {"Spark", "Beam"}
    for engines in measured.frameworks.values():
        assert {row for row in rows for engine in engines if measured.cell(row, engine)} == rows
    verdicts = {standing.verdict for baseline in measured.baselines for standing in baseline.cells.values()}
    assert Verdict.ERROR not in verdicts


def test_baselines_come_in_the_order_of_their_releases(tmp_path):
    for name in ("pyspark-4.9.0", "pyspark-4.10.0", "apache-beam-2.77.0"):
        shutil.copy(REPOSITORY / "baselines/pyspark-4.3.0.jsonl", tmp_path / f"{name}.jsonl")
    assert list(baselines_in(tmp_path)) == ["apache-beam-2.77.0", "pyspark-4.9.0", "pyspark-4.10.0"]


class Nothing(Program):
    def on_event(self, event, state, timers, emit):
        emit(None)


def a_scenario():
    guarantees = (Guarantee("it says nothing", "it", lambda run: iter(())),)
    return Scenario("of a user's own", "A summary.", {"it": Nothing()}, {"it": Domain((1,))}, guarantees)


def test_a_scenario_that_was_not_measured_says_so(measured, baselines):
    page = generated([a_scenario()], measured, ADVICE, baselines)["scenarios/of-a-user-s-own.md"]
    assert "Not measured yet" in page
    assert "not asked yet" in page
    assert "class Nothing(Program):" in page


def test_a_run_takes_the_place_of_what_is_in_the_tree():
    scenario = a_scenario()
    guarantee = scenario.guarantees[0]
    case = Case(scenario.id, "it", SCHEDULE)
    versions = {"spark": "9.9.9"}
    witness = Witness(guarantee.id, guarantee.claim, case, None, "spark-x", versions, f"``` {EVIL}", TRACE, TRACE)
    place = (scenario.id, "it", guarantee.id, "as drawn")
    run = Results(
        RunRecord(),
        {name: EngineRecord(versions=versions, shown_as=name) for name in ("spark-x", "spark-y")},
        {},
        [
            MatrixCell(*place, "spark-x", Verdict.VIOLATED, "", cases=7, witness=witness.id),
            MatrixCell(*place, "spark-y", Verdict.HOLDS, "", cases=7),
        ],
        witnesses={witness.id: witness},
    )
    advice = Advice("a cause", ("spark-*",), (f"{scenario.id}/{guarantee.id}",), "Do it otherwise.")
    found = generated([scenario], measured_by([run]), [advice], {})
    page = found[f"scenarios/{scenario.id}.md"]
    assert '<b>Spark 9.9.9</b>\n<span class="verdict violated" title="violated, 7 cases">✗ spark-x</span>' in page
    assert "✓ spark-y" in page
    assert '!!! tip "What to do: a cause"\n    Do it otherwise.' in page
    assert page.count("```") == 4  # the program and the witness
    assert "<script>" not in re.sub(r"```text.*?```", "", page, flags=re.DOTALL)
    assert f"witnesses/{witness.id}.svg" in found


def test_an_excerpt_has_what_a_class_uses_and_nothing_else():
    source = '''
"""A module."""
import json

SIZE = 3
TWICE = 2 * SIZE
OTHER = 4


def helper(x):
    return x + TWICE


def unused():
    return OTHER


@helper
class Base:
    pass


class Program(Base):
    def f(self):
        return json.dumps(helper(1))
'''
    found = excerpt(source, {"Program"})
    assert found.splitlines()[:3] == ["SIZE = 3", "TWICE = 2 * SIZE", ""]
    assert "@helper\nclass Base:" in found
    assert "unused" not in found
    assert "OTHER" not in found


@pytest.mark.parametrize("text", ["[[advice", "advice = 1", "[[advice]]\ncause = 'c'"])
def test_advice_that_is_none_is_refused(text, tmp_path):
    path = tmp_path / "advice.toml"
    path.write_text(text)
    with pytest.raises(UnusableAdvice, match=r"advice\.toml"):
        read_advice(path)
