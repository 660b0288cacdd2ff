"""The matrix of releases that go on from each other's checkpoints: what is asked, what is kept, and what is shown."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import hostile_results

from conformance.comparison import checkpoints
from conformance.comparison.checkpoints import Resumed, carried_over, resume
from conformance.comparison.measured import UnreadableMeasurements, read, write
from conformance.judgement.cell import Verdict
from conformance.model.perturbation import RESTART, factor_of
from conformance.model.schedule import Deliver, Restart
from conformance.plugins.registry import load_scenarios
from conformance.reports.page.checkpoints import _tables as tables
from conformance.results.store import read_cases
from conformance.run.options import Options

ENGINE = "spark-tws"
SCENARIOS = tuple(load_scenarios(["per-key-counting"]))


@pytest.fixture
def options(tmp_path):
    return Options((), SCENARIOS, tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """What runs are asked: a run holds where it upgrades, and is violated where it rolls back."""
    made = []

    def run(options):
        made.append(options)
        cell = hostile_results().cells[0]
        cells = []
        for engine in options.engines:
            begun, resumed, *_ = engine.partition("@")[2].split("+")
            verdict, why = (Verdict.HOLDS, "") if begun < resumed else (Verdict.VIOLATED, "it starts anew")
            more = {"scenario": "per-key-counting", "program": "count", "guarantee": "g"}
            cells.append(replace(cell, engine=engine, verdict=verdict, reason=why, witness="", **more))
        found = hostile_results()
        record = next(iter(found.environment.values()))
        environment = {engine: replace(record, failure="") for engine in options.engines}
        return replace(found, cells=cells, environment=environment)

    monkeypatch.setattr(checkpoints, "besides_restarts", lambda carried, *rest: carried)
    return made, run


def test_each_two_releases_are_tried_both_ways(options, asked):
    made, run = asked
    found = [row for rows in resume(["4.0.5", "4.1.4", "4.2.1"], [ENGINE], options, run) for row in rows]
    assert {(row.begun, row.resumed) for row in found if row.kept} == {
        ("4.0.5", "4.1.4"),
        ("4.0.5", "4.2.1"),
        ("4.1.4", "4.2.1"),
    }
    assert {row.lost["per-key-counting/count"] for row in found if row.begun > row.resumed} == {"it starts anew"}
    assert len(made) == 6 + 3
    for mine in made:
        (cases,) = read_cases(mine.cases_from, SCENARIOS)
        assert cases


def test_what_is_known_is_not_asked_again_but_for_what_nothing_could_be_said_of(options, asked):
    made, run = asked
    known = [Resumed(ENGINE, "4.0.5", "4.1.4", open={"s/p": "no answer"}), Resumed(ENGINE, "4.1.4", "4.0.5")]
    (row,), (back,) = resume(["4.0.5", "4.1.4"], [ENGINE], options, run, known)
    assert row.place == known[0].place
    assert back == replace(row, back=True)
    assert [*resume(["4.0.5", "4.1.4"], [ENGINE], options, run, [row, back, known[1]])] == []
    assert [mine.engines for mine in made] == [(f"{ENGINE}@4.0.5+4.1.4",), (f"{ENGINE}@4.0.5+4.1.4+4.0.5",)]


def test_a_way_is_gone_back_on_where_jobs_went_on_at_all(options, asked):
    made, run = asked
    known = [Resumed(ENGINE, "4.0.5", "4.1.4", lacks="no such API"), Resumed(ENGINE, "4.1.4", "4.0.5", ("s/p",))]
    ((row,),) = resume(["4.0.5", "4.1.4"], [ENGINE], options, run, known)
    assert row.way == ("4.1.4", "4.0.5", "4.1.4")
    assert row.lost
    (mine,) = made
    assert mine.out.name == "4.1.4-then-4.0.5-then-4.1.4"


def test_a_program_that_ends_the_query_takes_no_other_one_along(options, asked):
    made, run = asked

    def failing(options):
        found = run(options)
        names = [scenario.id for scenario in options.scenarios]
        if "session-timeout" not in names:
            return found
        failure = "TypeError: unhashable type"
        environment = {name: replace(record, failure=failure) for name, record in found.environment.items()}
        return replace(found, cells=[], environment=environment)

    scenarios = tuple(load_scenarios(["late-data", "session-timeout", "per-key-counting"]))
    ((row,), *_) = resume(["4.0.5", "4.1.4"], [ENGINE], replace(options, scenarios=scenarios), failing)
    ended = {"session-timeout/sessions": "TypeError: unhashable type"}
    assert row == Resumed(ENGINE, "4.0.5", "4.1.4", ("per-key-counting/count",) * 2, open=ended)
    assert sorted(len(mine.scenarios) for mine in made[:5]) == [1, 1, 1, 2, 3]
    assert len({mine.out for mine in made[:5]}) == 5


def test_cases_share_a_timeline_and_are_restarted_behind_their_first_bundle():
    """So the release that begins has state to hand on."""
    cases = carried_over(SCENARIOS, 1)
    twins = [case for case in cases if case.base]
    assert 2 * len(twins) == len(cases) > 0
    assert {factor_of(twin.perturbation) for twin in twins} == {RESTART.id}
    assert len({case.schedule.timeline for case in cases if not case.base}) == 1
    for twin in twins:
        before = [*itertools.takewhile(lambda step: not isinstance(step, Restart), twin.schedule.steps)]
        assert any(isinstance(step, Deliver) for step in before)
    assert any(step.events for twin in twins for step in twin.schedule.bundles[:1])


def test_the_file_has_what_was_written(tmp_path):
    rows = [
        Resumed("b", "4.1.4", "4.0.5", ("s/p",), {"s/q": "it starts anew"}, {"s/r": "no answer"}, back=True),
        Resumed("a", "3.5.9", "4.0.5", lacks="no such API"),
    ]
    write(tmp_path / "kept.json", rows)
    assert read(tmp_path / "kept.json", Resumed) == rows[::-1]
    (tmp_path / "kept.json").write_text('[{"engine": "a"}]')
    with pytest.raises(UnreadableMeasurements, match="no file of measured Resumed"):
        read(tmp_path / "kept.json", Resumed)
    with pytest.raises(UnreadableMeasurements):
        read(Path("none.json"), Resumed)


def test_a_table_has_upgrades_and_rollbacks_of_engines_that_were_asked():
    known = [
        Resumed("a", "3.5.9", "4.0.5", ("s/p", "s/q")),
        Resumed("a", "3.5.9", "4.0.5", ("s/p",), {"s/q": "it has another count"}, back=True),
        Resumed("a", "4.0.5", "3.5.9", ("s/p",), {"s/q": "it starts anew"}),
        Resumed("b", "3.5.9", "4.0.5", lacks="no such API"),
    ]
    (table,) = tables(known, ["a", "a", "b", "c"])
    assert table.releases == ("3.5.9", "4.0.5")
    (_, (same, upgraded)), (_, (rolled_back, _)) = table.rows
    assert same is None
    assert (upgraded.words, upgraded.kind) == ("2 of 2, and back 1 of 2", "violated")
    assert (rolled_back.words, rolled_back.kind) == ("1 of 2", "violated")
    assert table.lost == (
        ("3.5.9 → 4.0.5 → 3.5.9", "s/q", "it has another count"),
        ("4.0.5 → 3.5.9", "s/q", "it starts anew"),
    )
